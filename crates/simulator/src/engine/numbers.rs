//! Between whole numbers and floating-point ones.

use weft_base::Rate;

/// A second in picoseconds.
pub(super) const SECOND: f64 = 1e12;

/// A count of picoseconds in seconds.
#[expect(clippy::cast_precision_loss, reason = "spans between events are far below 2^53 ps")]
pub(super) fn seconds(span: u64) -> f64 {
    span as f64 * 1e-12
}

#[expect(clippy::cast_precision_loss, reason = "rates stay far below 2^53 B/s")]
pub(super) fn rate_f64(rate: Rate) -> f64 {
    rate.get() as f64
}

/// The nearest whole number of what is not negative; saturates.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a saturating cast of what is not negative"
)]
pub(super) fn whole(value: f64) -> u64 {
    (value + 0.5) as u64
}
