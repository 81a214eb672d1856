//! What is expected, written for others: a table for a tuner plugin of NCCL, and the settings that come nearest to it.

mod tuner;

pub use tuner::{GlobalSetting, TunerRow, TunerTable, tuner_table};
