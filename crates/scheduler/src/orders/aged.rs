//! Short jobs before long ones, but not for ever.

use super::Order;

/// How many times its run time a job may be passed by one that is much shorter: it stands where a job that takes no time
/// would stand if it came so much later. Chosen among 1 and 4 on generated loads (`examples/compare.rs`).
const PATIENCE: u64 = 4;

/// The order.
pub const ORDER: Order = Order {
    name: "aged",
    title: "the most important; then short ones, until the others have waited a few times their run time",
    class: |entry, _| -i64::from(entry.job.priority),
    rank: |entry| {
        let wait = entry.job.limit.map_or(0, |limit| limit.get().saturating_mul(PATIENCE));
        entry.job.submitted.get().saturating_add(wait)
    },
};
