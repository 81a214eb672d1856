//! Who gets which GPUs: jobs and nodes, the book of who has what, policies that decide, placings that say where a pod goes,
//! policies on published traces.
//!
//! A policy scores what is free on a node before a pod is there (`Scorer`). It knows the kinds of pods that are usual
//! (`Setting`), never the pods that are still to come.

pub mod book;
pub mod cluster;
pub mod contention;
pub mod devices;
pub mod fleet;
pub mod job;
pub mod openb;
pub mod orders;
pub mod philly;
pub mod placings;
pub mod planner;
pub mod policy;
pub mod room;
pub mod scenario;
pub mod search;
pub mod stand;
pub mod strategies;
pub mod study;
pub mod words;
pub mod world;

pub use fleet::{Fleet, Models, NodeKind, Pod, Typical};
pub use placings::{PLACINGS, Place, Placing, Scorer, Setting};
pub use planner::Planner;
pub use room::Room;
pub use strategies::{STRATEGIES, Strategy};

/// Diagnostic codes of this crate.
pub const CODES: &[weft_base::Code] = &[scenario::SCHEDULE_SCENARIO];
