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
}
