//! A world to schedule in: jobs that come, run, break and end on machines that have a truth of their own.

pub mod fault;
pub mod record;

pub use fault::{Fault, Trouble};
pub use record::{
    Areas, Beat, Fate, GpuTime, Happening, JobRecord, Leave, Record, Sample, Spans, Spent, Spread, Stay,
    Totals,
};
