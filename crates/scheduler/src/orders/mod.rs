//! Orders in which jobs are looked at, one file each.

mod aged;
mod fifo;
mod least_attained;
mod priority;
mod shortest;
mod smallest;

use weft_base::Moment;

use crate::book::Entry;

pub use aged::ORDER as AGED;
pub use fifo::ORDER as FIFO;
pub use least_attained::ORDER as LEAST_ATTAINED;
pub use priority::ORDER as PRIORITY;
pub use shortest::ORDER as SHORTEST;
pub use smallest::ORDER as SMALLEST;

/// An order.
pub struct Order {
    /// What it is called.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub title: &'static str,
    /// The class of a job: one of a lower class comes first, and may put out one of a higher class where the strategy
    /// does that.
    pub class: fn(&Entry, Moment) -> i64,
    /// Within a class, lower comes first; then whoever came earlier.
    pub rank: fn(&Entry) -> u64,
}

/// All of them.
pub const ORDERS: &[Order] = &[FIFO, PRIORITY, SHORTEST, SMALLEST, AGED, LEAST_ATTAINED];

impl Order {
    /// The order of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        ORDERS.iter().find(|order| order.name == name)
    }
}
