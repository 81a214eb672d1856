//! What to buy: fabrics counted, bills of material, price, power and goodput of candidates; and what is wrong with
//! counts that others published.

pub mod advice;
pub mod bill;
pub mod candidate;
pub mod claim;
pub mod fabric;
mod judge;
pub mod performance;
pub mod tables;
pub mod what_if;

pub use tables::{COUNT_UNEVEN, COUNT_WRONG, SHARE_WRONG, SUM_WRONG, TABLE_UNKNOWN};

/// Diagnostic codes of this crate.
pub const CODES: &[weft_base::Code] = &[COUNT_WRONG, COUNT_UNEVEN, SHARE_WRONG, SUM_WRONG, TABLE_UNKNOWN];
