//! The shortest first, by what jobs say of themselves.

use weft_base::Period;

use super::Order;

/// The order.
pub const ORDER: Order = Order {
    name: "shortest",
    title: "the shortest run time as far as jobs say one",
    class: |_, _| 0,
    rank: |entry| entry.job.limit.map_or(u64::MAX, Period::get),
};
