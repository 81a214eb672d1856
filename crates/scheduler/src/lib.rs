//! Who gets which GPUs: pods and nodes, what is free on them, policies that say where a pod goes, and studies that play
//! policies on published traces.
//!
//! A policy scores what is free on a node before a pod is there (`Scorer`). It knows the kinds of pods that are usual
//! (`Setting`), never the pods that are still to come.

pub mod fleet;
pub mod openb;
pub mod policies;
pub mod room;
pub mod study;

pub use fleet::{Fleet, Models, NodeKind, Pod, Typical};
pub use openb::TRACE_MALFORMED;
pub use policies::{POLICIES, Place, Policy, Scorer, Setting};
pub use room::Room;

/// Diagnostic codes of this crate.
pub const CODES: &[weft_base::Code] = &[TRACE_MALFORMED];
