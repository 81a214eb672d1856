//! What to buy: fabrics counted, bills of material, price, power and goodput of candidates; and what is wrong with
//! counts that others published.

pub mod advice;
pub mod bill;
pub mod candidate;
pub mod claim;
pub mod fabric;
mod judge;
pub mod performance;
mod sizing;
pub mod tables;
pub mod training;
pub mod what_if;
pub mod workload;

pub use tables::{COUNT_UNEVEN, COUNT_WRONG, SHARE_WRONG, SUM_WRONG, TABLE_UNKNOWN};
pub use workload::WORKLOAD_UNREADABLE;

/// Diagnostic codes of this crate.
pub const CODES: &[weft_base::Code] =
    &[COUNT_WRONG, COUNT_UNEVEN, SHARE_WRONG, SUM_WRONG, TABLE_UNKNOWN, WORKLOAD_UNREADABLE];
