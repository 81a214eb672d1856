//! Collectives: what they move, the plans that move it, the algorithms that make plans, and the proof that a plan
//! is right. Knows ranks and an abstract terrain; no hardware, no seconds.
//!
//! An [`Algorithm`] turns a [`Call`] on a [`Terrain`] into a [`Plan`]. A plan is read rank by rank ([`Plan::steps`]),
//! by the verifier, by the simulator and by the runtime alike.

mod algorithm;
pub mod algorithms;
mod call;
mod collective;
mod flow;
mod graph;
mod groups;
mod layout;
pub mod limit;
mod movement;
pub mod movements;
mod op;
mod plan;
mod program;
mod terrain;
#[cfg(test)]
mod terrains;
pub mod verify;
mod words;
mod work;

pub use algorithm::{ALGORITHMS, Algorithm, Effort, Shape, Unsuitable, algorithm};
pub use call::{Call, Counts, DataType, ReduceOp};
pub use collective::Collective;
pub use groups::{Groups, Seat};
pub use layout::Layout;
pub use movement::{At, Movement, Symmetry};
pub use op::{Buffer, Op, Ranks, Slice};
pub use plan::{Phase, Plan, Steps, Window};
pub use program::{Program, Thread};
pub use terrain::{Edge, Level, Rank, Switch, Terrain, Vertex};
pub use verify::{Proof, Violation, verify};
pub use work::Work;
