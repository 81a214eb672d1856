//! The fewest GPUs first.

use super::Order;

/// The order.
pub const ORDER: Order = Order {
    name: "smallest",
    title: "the fewest GPUs",
    class: |_, _| 0,
    rank: |entry| entry.job.need.gpu_milli(),
};
