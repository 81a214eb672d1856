//! The simulator: plays plans over a topology in virtual time. Whatever is shared is a resource, whatever moves is a
//! flow that uses some, and all flows at once get their max-min fair rates.
//!
//! [`engine`] knows flows and resources and nothing of plans; [`Session`] plays jobs on it; [`fold`] gives the times of
//! plans that need not be played message by message. [`network`] has models of InfiniBand, RoCE and TCP.

pub mod control;
mod critical;
pub mod engine;
mod folded;
pub mod machine;
pub mod network;
mod player;
mod router;
mod session;
pub mod streams;
mod usage;

pub use critical::{CriticalPath, On, Part, critical_path};
pub use engine::{Engine, Event, EventKind, FlowId, PathId, ResourceId, Tag, Use};
pub use folded::fold;
pub use player::{Cause, Impossible, Passage, Record, Stage, StepRecord};
pub use router::Router;
pub use session::{Halt, Job, JobId, Session, SessionError};
pub use usage::Usage;
