//! Whether intervals hold as much as they say, also for groups that had no part in how wide they are.

use weft_base::Rate;

use super::score::quantile;
use super::{GroupScore, Kind, Scored};

/// The share of measurements that an interval is to hold.
const HELD: f64 = 0.9;

/// Where a row lies in its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    /// Distance from the prediction in half-widths, of logarithms: 1 is the interval's end.
    pub distance_factor: f64,
    /// The interval's end over its begin.
    pub width_factor: f64,
}

impl Place {
    /// Of a measured value that may be any between `from` and `to`: the nearest counts.
    pub fn of(predicted: Rate, low: Rate, high: Rate, (from, to): (Rate, Rate)) -> Self {
        let gbps = Rate::as_gigabytes;
        let nearest = gbps(predicted.clamp(from, to));
        let distance = libm::log(nearest / gbps(predicted));
        let half = if distance < 0.0 {
            libm::log(gbps(low) / gbps(predicted))
        } else {
            libm::log(gbps(high) / gbps(predicted))
        };
        let distance_factor = match distance {
            distance if distance.abs() < 1e-9 => 0.0,
            _ if half.abs() < 1e-9 => f64::INFINITY,
            distance => distance / half,
        };
        Self { distance_factor, width_factor: gbps(high) / gbps(low) }
    }
}

/// Share of the predicted rows within their intervals; `None` of none.
#[expect(clippy::cast_precision_loss, reason = "row counts stay far below 2^53")]
pub(super) fn held<'s>(rows: impl Iterator<Item = &'s Scored>, widened: f64) -> Option<f64> {
    let (mut inside, mut all) = (0usize, 0usize);
    for row in rows {
        inside += usize::from(row.distance_factor <= widened + 1e-9);
        all += 1;
    }
    (all > 0).then(|| inside as f64 / all as f64)
}

/// By how much intervals must be widened so that they hold nine tenths of the rows of every other group of the
/// kind; each group weighs the same.
#[expect(clippy::cast_precision_loss, reason = "row counts stay far below 2^53")]
pub(super) fn widened_by_others(groups: &[GroupScore], kind: Kind, left_out: usize) -> Option<f64> {
    let others = groups.iter().enumerate().filter(|(index, group)| *index != left_out && group.kind == kind);
    let weighted: Vec<(f64, f64)> = others
        .flat_map(|(_, group)| {
            let weight = 1.0 / group.scored.len() as f64;
            group.scored.iter().map(move |row| (row.distance_factor, weight))
        })
        .collect();
    quantile(&weighted, HELD)
}

#[cfg(test)]
mod tests {
    use super::Place;
    use weft_base::Rate;

    fn gb(rate: f64) -> Rate {
        Rate::from_gigabytes(rate)
    }

    #[test]
    fn a_place_counts_half_widths_on_its_own_side() {
        // 100 with an interval from 50 to 400: a factor of 2 below is one half-width, one above is a half.
        let place = |measured: f64| Place::of(gb(100.0), gb(50.0), gb(400.0), (gb(measured), gb(measured)));
        assert!((place(50.0).distance_factor - 1.0).abs() < 1e-6);
        assert!((place(200.0).distance_factor - 0.5).abs() < 1e-6);
        assert!((place(25.0).distance_factor - 2.0).abs() < 1e-6);
        assert!(place(100.0).distance_factor.abs() < 1e-9);
        assert!((place(1.0).width_factor - 8.0).abs() < 1e-9);
    }

    #[test]
    fn what_may_have_been_meant_counts_by_its_nearest_value() {
        // Read as 40, but up to 60 may be meant; the interval begins at 50.
        let place = Place::of(gb(100.0), gb(50.0), gb(400.0), (gb(40.0), gb(60.0)));
        assert!(place.distance_factor < 1.0, "{place:?}");
        // A prediction without a width holds only itself.
        let certain = Place::of(gb(100.0), gb(100.0), gb(100.0), (gb(90.0), gb(90.0)));
        assert!(certain.distance_factor.is_infinite());
    }
}
