//! How much of a long job's time is work: failures, flaps, checkpoints and restarts.
//!
//! Rates, sizes and times come in with their units; this crate has no figures of its own besides the borders of
//! validity that its models' papers state. What is outside them is refused with the reason.

mod checkpoint;
mod flap;
mod goodput;
mod link;
mod xid;

pub use checkpoint::{Storage, best_interval};
pub use flap::{Bursts, MEAN_MOST, NotCounts};
pub use goodput::{Goodput, Job, Refusal, SMALLEST_GPUS, mean_time_to_failure};
pub use link::{Expected, expected, gap_at};
pub use xid::{Action, Class, class};
