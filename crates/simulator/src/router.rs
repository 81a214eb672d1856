//! Which way a message takes.

use std::collections::BTreeSet;

use weft_collective::{Rank, Ranks};

use crate::engine::{Engine, PathId, ResourceId};

/// Says which way messages go. Asked once for each pair of ranks and channel of a job, and again after a fault.
pub trait Router {
    /// The path of messages from a rank to another on a channel; `None` where there is none.
    fn path(&mut self, engine: &mut Engine, from: Rank, to: Rank, channel: u16) -> Option<PathId>;

    /// From now on ways avoid these resources. Asked for when a job looks for other ways.
    fn avoid(&mut self, _dead: &BTreeSet<ResourceId>) {}

    /// The path of a copy or a sum within a rank; `None` where it takes no time worth counting.
    fn local(&mut self, _engine: &mut Engine, _rank: Rank) -> Option<PathId> {
        None
    }

    /// The path of one flow that switches copy from `from` to all other ranks of `to`; `None` where they cannot.
    fn multicast(&mut self, _engine: &mut Engine, _from: Rank, _to: Ranks) -> Option<PathId> {
        None
    }

    /// The path of one flow in which switches add what all other ranks of `of` give to `to`; `None` where they cannot.
    fn reduction(&mut self, _engine: &mut Engine, _to: Rank, _of: Ranks) -> Option<PathId> {
        None
    }
}
