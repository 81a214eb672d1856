//! Flaps of links come in bursts: a day has none or several, more often than chance would have it.
//!
//! The count of a day is negative binomial: its variance is a multiple of its mean (the dispersion), where that of
//! independent events (Poisson) is the mean itself. Populations that do not share a cause add up with the same dispersion,
//! so it holds for more links too, with a mean in proportion.

use thiserror::Error;
use weft_base::FailureRate;

/// The largest mean of which counts are drawn at once: the chance of a day without any must not vanish.
pub const MEAN_MOST: f64 = 100.0;

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
        let none = match self.size_ratio() {
            None => libm::exp(-self.mean_count),
            Some(size) => libm::pow(1.0 / self.dispersion_ratio, size),
        };
        (0..count).fold(none, |chance, k| chance * self.step(k))
    }

    /// The count that a day has whose place among all days, in order of their counts, is that share: with shares that are
    /// drawn evenly from 0 to 1, days as they come. For means up to `MEAN_MOST`; more is the sum of several.
    pub fn count_at(&self, place_share: f64) -> u32 {
        let most = self.mean_count + 40.0 * libm::sqrt(self.mean_count * self.dispersion_ratio) + 40.0;
        let (mut chance, mut sum, mut count) = (self.chance_of(0), 0.0, 0_u32);
        loop {
            sum += chance;
            if sum >= place_share || f64::from(count) > most {
                return count;
            }
            chance *= self.step(count);
            count += 1;
        }
    }

    /// Parts that share no cause, each with a mean of at most `MEAN_MOST`, and how many of them: their counts add up to
    /// those of the whole.
    pub fn parts(&self) -> (Self, u32) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturating, and never negative"
        )]
        let count = libm::ceil(self.mean_count / MEAN_MOST).max(1.0) as u32;
        (Self { mean_count: self.mean_count / f64::from(count), ..*self }, count)
    }

    /// The chance of one more than `count` over that of `count`.
    fn step(&self, count: u32) -> f64 {
        let k = f64::from(count);
        match self.size_ratio() {
            None => self.mean_count / (k + 1.0),
            Some(size) => (k + size) / (k + 1.0) * (1.0 - 1.0 / self.dispersion_ratio),
        }
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
    fn counts_of_days_have_the_mean_and_the_variance() {
        // 1000 days at even places.
        let days = |bursts: Bursts| -> (f64, f64) {
            let counts: Vec<u32> =
                (0..1000).map(|day| bursts.count_at((f64::from(day) + 0.5) / 1000.0)).collect();
            let of = Bursts::of_counts(&counts).unwrap();
            (of.mean_count, of.dispersion_ratio)
        };
        let (mean, dispersion) = days(Bursts { mean_count: 0.612, dispersion_ratio: 3.31 });
        assert!((mean - 0.612).abs() < 0.02 && (dispersion - 3.31).abs() < 0.2, "{mean} {dispersion}");
        let (mean, dispersion) = days(Bursts { mean_count: 5.0, dispersion_ratio: 1.0 });
        assert!((mean - 5.0).abs() < 0.02 && (dispersion - 1.0).abs() < 0.05, "{mean} {dispersion}");
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
