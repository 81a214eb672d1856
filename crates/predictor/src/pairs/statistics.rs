//! Numbers that a few odd values do not move.

/// What makes the median absolute deviation of normally distributed values their standard deviation: 1 / 0.6745.
const NORMAL: f64 = 1.4826;

/// The upper median; `None` of nothing.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

/// The value that three quarters do not exceed, by nearest rank; `None` of nothing. Of up to three it is the largest.
pub(super) fn upper_quartile(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get((3 * sorted.len()).div_ceil(4).saturating_sub(1)).copied()
}

/// How far values lie from a centre, as the standard deviation that normal ones would have.
pub(super) fn spread(values: &[f64], centre: f64) -> f64 {
    let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    NORMAL * median(&distances).unwrap_or(0.0)
}

/// How many standard deviations so many normal values stay within, all of them, with a chance of 99 %: one passes `z`
/// with a chance below `exp(-z^2 / 2)`.
#[expect(clippy::cast_precision_loss, reason = "a count of pairs")]
pub(super) fn deviations(count: usize) -> f64 {
    libm::sqrt(2.0 * libm::log(count.max(1) as f64 / 0.01))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_odd_values_do_not_count() {
        let values = [10.0, 11.0, 9.0, 10.0, 1000.0];
        assert_eq!(median(&values), Some(10.0));
        // Distances from 10: 0, 1, 1, 0, 990; their median is 1.
        assert!((spread(&values, 10.0) - 1.4826).abs() < 1e-12);
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn quartiles_are_by_nearest_rank() {
        // ceil(0.75 * 7) = 6: the sixth of seven; of three the third, of two the second.
        assert_eq!(upper_quartile(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), Some(6.0));
        assert_eq!(upper_quartile(&[1.0, 3.0, 2.0]), Some(3.0));
        assert_eq!(upper_quartile(&[1.0, 2.0]), Some(2.0));
        assert_eq!(upper_quartile(&[1.0]), Some(1.0));
        assert_eq!(upper_quartile(&[]), None);
    }

    #[test]
    fn more_values_may_lie_further_out() {
        // sqrt(2 ln 100) = 3.035, sqrt(2 ln 5600) = 4.155.
        assert!((deviations(1) - 3.0349).abs() < 1e-3);
        assert!((deviations(56) - 4.1547).abs() < 1e-3);
    }
}
