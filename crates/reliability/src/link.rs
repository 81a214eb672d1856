//! How many of many things fail in a time: always a range, since published rates of links differ by two.

use weft_base::{FailureRate, Period};

/// Expected events: by the least, the usual and the highest published rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// Events by the least rate.
    pub low_count: f64,
    /// Events by the usual rate.
    pub count: f64,
    /// Events by the highest rate.
    pub high_count: f64,
}

/// Events of `count` like things in `period`; `range` is the least and the highest rate for such things.
pub fn expected(
    rate: FailureRate,
    range: (FailureRate, FailureRate),
    count: u64,
    period: Period,
) -> Expected {
    #[expect(clippy::cast_precision_loss, reason = "no fabric has 2^53 links")]
    let of = |rate: FailureRate| rate.per_hour() * count as f64 * period.as_hours();
    let [a, b, c] = [of(range.0), of(rate), of(range.1)];
    Expected { low_count: a.min(b), count: b, high_count: c.max(b) }
}

/// The time until the next event of `count` like things that fail independently, whose place among all such times, in
/// order, is that share: with shares that are drawn evenly from 0 to 1, gaps as they come. Never, where nothing fails.
pub fn gap_at(rate: FailureRate, count: u64, place_share: f64) -> Option<Period> {
    #[expect(clippy::cast_precision_loss, reason = "no cluster has 2^53 parts")]
    let per_hour = rate.per_hour() * count as f64;
    let hours = -libm::log(1.0 - place_share.clamp(0.0, 1.0)) / per_hour;
    (per_hour > 0.0 && hours.is_finite()).then(|| Period::from_hours(hours))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hpn_loses_one_or_two_links_a_month() {
        // 3,072 links x 0.057 % = 1.75; the paper says one or two crashes a month for a job.
        let rate = |text: &str| -> FailureRate { text.parse().unwrap() };
        let usual = rate("0.057 % per link-month");
        let month = "1 month".parse().unwrap();
        let links = expected(usual, (usual, rate("0.12 % per link-month")), 3072, month);
        assert!((links.count - 1.751).abs() < 0.001 && (links.low_count - links.count).abs() < 1e-9);
        assert!((links.high_count - 3.686).abs() < 0.001);
        // What an analyst assumed of transceivers, 0.2 a year for each of two: 20 to 30 times that.
        let modules = rate("0.2 per transceiver-year");
        let feared = expected(modules, (modules, modules), 2 * 3072, month).count;
        assert!((feared / links.count - 58.5).abs() < 0.5, "{feared}");
    }

    #[test]
    fn gaps_are_exponential() {
        // A thousand nodes at 1 per 1000 node-days: one a day. Half of the gaps are below ln 2 days = 16.64 h.
        let rate: FailureRate = "1 per 1000 node-days".parse().unwrap();
        assert!((gap_at(rate, 1000, 0.5).unwrap().as_hours() - 16.636).abs() < 0.001);
        let mean: f64 = (0..10_000)
            .map(|at| gap_at(rate, 1000, (f64::from(at) + 0.5) / 10_000.0).unwrap().as_hours())
            .sum::<f64>()
            / 10_000.0;
        assert!((mean - 24.0).abs() < 0.05, "{mean}");
        assert_eq!(gap_at(rate, 0, 0.5), None);
    }
}
