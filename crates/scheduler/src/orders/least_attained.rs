//! Those that got least so far first (Tiresias: Gu et al., NSDI'19, with discretised two-dimensional attained service).

use super::Order;
use weft_base::Moment;

use crate::book::Entry;

/// GPU time after which a job falls into the next class, in thousandths of a GPU times milliseconds: an hour of one GPU,
/// then ten hours. Tiresias sets the borders so that jobs are spread over the classes; they are rules, not measurements.
const BORDERS: [u128; 2] = [3_600_000 * 1000, 36_000_000 * 1000];

/// The order.
pub const ORDER: Order = Order {
    name: "least-attained",
    title: "the least GPU time so far, in classes up to an hour, ten hours, and beyond",
    class,
    rank: |entry| entry.job.submitted.get(),
};

fn class(entry: &Entry, now: Moment) -> i64 {
    let attained = entry.attained_until(now);
    BORDERS.iter().map(|border| i64::from(attained >= *border)).sum()
}
