//! How a measured time stands to an expected one: the one place that judges, for whoever measures.

/// Where a prediction is right whatever its interval and the repeats say.
const CLOSE: f64 = 0.1;
/// By how much clocks and printed digits make a run seem quicker than its wires allow.
const ROUNDING: f64 = 0.02;

/// What to think of a measured time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Within a tenth, within the interval of what is expected, or between the shortest and the longest repeat.
    AsExpected,
    /// It takes more.
    Low,
    /// It takes less, and the wires allow that.
    High,
    /// It takes less than the wires allow.
    TooGood,
}

/// A time that is expected, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expectation {
    /// Expected.
    pub time_s: f64,
    /// From where to where nine of ten measurements lie; the time itself twice where that is not known.
    pub interval_s: (f64, f64),
    /// What no run can do it in, where that is known.
    pub least_s: Option<f64>,
}

impl Expectation {
    /// A time without an interval or a bound.
    pub fn of(time_s: f64) -> Self {
        Self { time_s, interval_s: (time_s, time_s), least_s: None }
    }

    /// Judges a time, of which the repeats lie between `repeats_s`.
    pub fn judge(&self, measured_s: f64, repeats_s: (f64, f64)) -> Verdict {
        if self.least_s.is_some_and(|least_s| measured_s < least_s * (1.0 - ROUNDING)) {
            return Verdict::TooGood;
        }
        let (low_s, high_s) = self.interval_s;
        let is_close = (self.time_s / measured_s - 1.0).abs() <= CLOSE;
        if is_close || (repeats_s.0 <= high_s && repeats_s.1 >= low_s) {
            Verdict::AsExpected
        } else if measured_s < self.time_s {
            Verdict::High
        } else {
            Verdict::Low
        }
    }
}

impl Verdict {
    /// In words, of a bandwidth.
    pub fn of_rate(self) -> &'static str {
        match self {
            Self::AsExpected => "as expected",
            Self::Low => "low",
            Self::High => "better than expected",
            Self::TooGood => "too good to be true: check units",
        }
    }

    /// In words, of a time that was predicted.
    pub fn of_time(self) -> &'static str {
        match self {
            Self::AsExpected => "as predicted",
            Self::Low => "slower",
            Self::High | Self::TooGood => "quicker",
        }
    }

    /// The name used in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::AsExpected => "as-expected",
            Self::Low => "low",
            Self::High => "high",
            Self::TooGood => "too-good",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Expectation, Verdict};

    #[test]
    fn times_are_judged_by_tenth_interval_repeats_and_bound() {
        let expected = Expectation { time_s: 10.0, interval_s: (7.0, 14.0), least_s: Some(5.0) };
        let judged = |measured_s| expected.judge(measured_s, (measured_s, measured_s));
        assert_eq!(judged(7.5), Verdict::AsExpected);
        assert_eq!(judged(14.5), Verdict::Low);
        assert_eq!(judged(6.0), Verdict::High);
        // 2 % below the bound may be rounding, more is not.
        assert_eq!([judged(4.95), judged(4.8)], [Verdict::High, Verdict::TooGood]);
        // Without an interval a tenth of the measured time counts, and repeats that lie on both sides.
        let plain = Expectation::of(10.0);
        assert_eq!(plain.judge(11.0, (11.0, 11.0)), Verdict::AsExpected);
        assert_eq!(plain.judge(11.2, (11.2, 11.2)), Verdict::Low);
        assert_eq!(plain.judge(11.2, (9.9, 14.0)), Verdict::AsExpected);
    }
}
