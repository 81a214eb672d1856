//! The engine: flows over shared resources in virtual time, in picoseconds. It knows neither plans nor topologies.
//!
//! A flow waits for the latency of its path, then shares the resources of the path with all others, max-min fair:
//! no flow can get more without taking from one that has no more than it.

mod plain;
mod types;

pub use plain::Engine;
pub use types::{Event, EventKind, FlowId, PathId, ResourceId, Tag, Use};
