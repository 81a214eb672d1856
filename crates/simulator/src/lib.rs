//! The simulator: plays plans over a topology in virtual time. Whatever is shared is a resource, whatever moves is a
//! flow that uses some, and all flows at once get their max-min fair rates.

pub mod engine;

pub use engine::{Engine, Event, EventKind, FlowId, PathId, ResourceId, Tag, Use};
