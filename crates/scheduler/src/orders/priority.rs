//! The most important first.

use super::Order;

/// The order.
pub const ORDER: Order = Order {
    name: "priority",
    title: "the highest priority, then whoever came first",
    class: |entry, _| -i64::from(entry.job.priority),
    rank: |entry| entry.job.submitted.get(),
};
