//! Flaps of links come in bursts: a day has none or several, more often than chance would have it.
//!
//! The count of a day is negative binomial: its variance is a multiple of its mean (the dispersion), where that of
//! independent events (Poisson) is the mean itself. Populations that do not share a cause add up with the same dispersion,
//! so it holds for more links too, with a mean in proportion.

use thiserror::Error;
use weft_base::FailureRate;

/// How many flaps a day has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bursts {
    /// Flaps of a day, on average.
    pub mean_count: f64,
    /// Variance over mean; 1 for independent flaps.
    pub dispersion_ratio: f64,
}

/// Why counts say nothing of bursts. Reads as "failed to fit bursts: {error}".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NotCounts {
    /// Fewer than two days.
    #[error("two days at least are needed")]
    TooFew,
    /// Nothing ever happened.
    #[error("no day has an event")]
    NoEvent,
}

impl Bursts {
    /// From the counts of days, those without an event included.
    pub fn of_counts(counts: &[u32]) -> Result<Self, NotCounts> {
        if counts.len() < 2 {
            return Err(NotCounts::TooFew);
        }
        #[expect(clippy::cast_precision_loss, reason = "a list of days")]
        let days = counts.len() as f64;
        let mean = counts.iter().map(|count| f64::from(*count)).sum::<f64>() / days;
        if mean <= 0.0 {
            return Err(NotCounts::NoEvent);
        }
        let square = |count: &u32| (f64::from(*count) - mean) * (f64::from(*count) - mean);
        let variance = counts.iter().map(square).sum::<f64>() / (days - 1.0);
        Ok(Self { mean_count: mean, dispersion_ratio: (variance / mean).max(1.0) })
    }

    /// Of `links` links that flap so often each.
    #[expect(clippy::cast_precision_loss, reason = "no fabric has 2^53 links")]
    pub fn of_links(rate: FailureRate, link_count: u64, dispersion_ratio: f64) -> Self {
        Self { mean_count: rate.per_day() * link_count as f64, dispersion_ratio: dispersion_ratio.max(1.0) }
    }

    /// The size parameter of the distribution: small where bursts are strong, `None` where there are none.
    pub fn size_ratio(&self) -> Option<f64> {
        let excess = self.dispersion_ratio - 1.0;
        (excess > 1e-9).then(|| self.mean_count / excess)
    }

    /// The chance that a day has exactly `count` flaps.
    pub fn chance_of(&self, count: u32) -> f64 {
        let (none, step): (f64, &dyn Fn(f64) -> f64) = match self.size_ratio() {
            None => (libm::exp(-self.mean_count), &|k| self.mean_count / (k + 1.0)),
            Some(size) => {
                let stop = 1.0 / self.dispersion_ratio;
                (libm::pow(stop, size), &move |k| (k + size) / (k + 1.0) * (1.0 - stop))
            }
        };
        (0..count).fold(none, |chance, k| chance * step(f64::from(k)))
    }

    /// The chance that a day has `count` flaps or more.
    pub fn chance_of_at_least(&self, count: u32) -> f64 {
        (1.0 - (0..count).map(|below| self.chance_of(below)).sum::<f64>()).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_leave_more_days_alone_than_chance_would() {
        // Fire-Flyer: 213 flaps in 348 days, variance over mean 3.31. Size 0.612 / 2.31 = 0.265, days without one
        // 3.31^-0.265 = 72.8 %, so 253 of 348; 248 were counted, and independent flaps would leave 189.
        let bursts = Bursts { mean_count: 213.0 / 348.0, dispersion_ratio: 3.31 };
        assert!((bursts.size_ratio().unwrap() - 0.265).abs() < 0.001);
        assert!((bursts.chance_of(0) * 348.0 - 253.4).abs() < 0.5);
        let independent = Bursts { dispersion_ratio: 1.0, ..bursts };
        assert!((independent.chance_of(0) * 348.0 - 188.7).abs() < 0.1);
        // Days with five or more: nine were counted. Independent flaps: one in 17 years.
        let days = bursts.chance_of_at_least(5) * 348.0;
        assert!((6.0..13.0).contains(&days), "{days}");
        assert!(independent.chance_of_at_least(5) * 348.0 < 0.2);
    }

    #[test]
    fn chances_add_up_and_have_the_mean_and_the_variance() {
        let bursts = Bursts { mean_count: 2.0, dispersion_ratio: 4.0 };
        let moment = |power: i32| -> f64 {
            (0..400).map(|count| f64::from(count).powi(power) * bursts.chance_of(count)).sum()
        };
        assert!((moment(0) - 1.0).abs() < 1e-9 && (moment(1) - 2.0).abs() < 1e-6);
        assert!((moment(2) - 4.0 - 8.0).abs() < 1e-5);
    }

    #[test]
    fn counts_without_events_say_nothing() {
        assert_eq!(Bursts::of_counts(&[1]), Err(NotCounts::TooFew));
        assert_eq!(Bursts::of_counts(&[0, 0]), Err(NotCounts::NoEvent));
        // Evenly spread counts are no burst: mean 1, variance 0.
        assert_eq!(Bursts::of_counts(&[1, 1, 1]).unwrap().size_ratio(), None);
    }
}
