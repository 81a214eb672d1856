//! First come, first served.

use super::Order;

/// The order.
pub const ORDER: Order = Order {
    name: "fifo",
    title: "whoever came first",
    class: |_, _| 0,
    rank: |entry| entry.job.submitted.get(),
};
