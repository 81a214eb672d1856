//! Patterns of operations, of which algorithms are made.
//!
//! Most come in halves: one that *scatters* (each position of a group ends with the sum of its chunk) and one that
//! *gathers* (each position ends with the chunks of all). What they read and where they leave it is said by
//! [`Scatter`] and [`Gather`], so that halves can be joined and nested.

mod bruck;
mod direct;
mod exchange;
mod fan;
mod fold;
mod pat;
mod ring;
mod switch;
mod tree;
mod xor;

pub use bruck::{BruckExchange, BruckGather, Dissemination};
pub use direct::{DirectGather, DirectScatter};
pub use exchange::{Aside, Exchange, Keep, Peers};
pub use fan::{Collect, Fan, SendRecv, Share};
pub use fold::{Fold, Unfold};
pub use pat::{PatGather, PatScatter};
pub use ring::{Direction, Numbering, RingGather, RingScatter};
pub use switch::{SwitchCollect, SwitchFollow, SwitchGather, SwitchScatter, SwitchSpread};
pub use tree::{Reached, Tree, TreeDown, TreeUp};
pub use xor::{Doubling, DoublingGather, HalvingScatter, Nearest, RootGather};

use crate::movement::At;
use crate::{Buffer, Op, Slice};

/// Where the parts that positions end with are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// At their chunk of the window of a buffer.
    Chunk(Buffer),
    /// In the output, which is the rank's own part.
    Part,
}

/// What a scattering half reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scatter {
    /// What a position adds.
    pub local: Buffer,
    /// Where sums grow.
    pub sums: Buffer,
    /// Where each position's own sum ends.
    pub end: End,
    /// Whether a position that is alone finds its sum in place.
    pub in_place: bool,
    /// Positions below this have what they add among the sums already.
    pub folded: u32,
}

impl Scatter {
    /// The first half of an all-reduce: from input to output.
    pub fn all_reduce(in_place: bool) -> Self {
        let end = End::Chunk(Buffer::Output);
        Self { local: Buffer::Input, sums: Buffer::Output, end, in_place, folded: 0 }
    }

    /// A reduce-scatter: from input through scratch buffer 0 to the rank's own part.
    pub fn part(in_place: bool) -> Self {
        Self { local: Buffer::Input, sums: Buffer::Scratch(0), end: End::Part, in_place, folded: 0 }
    }

    /// What is added by a position.
    fn local(&self, at: &At<'_>) -> Buffer {
        if at.seat.position < self.folded { self.sums } else { self.local }
    }

    /// Where a position's own sum ends, which is that of `chunk`.
    fn end(&self, at: &At<'_>, chunk: u32) -> Slice {
        match self.end {
            End::Chunk(buffer) => at.chunk(buffer, chunk),
            End::Part => at.own_part(Buffer::Output),
        }
    }

    /// What a position does that is alone: steps of one rank are never none, so that it ends with its own data.
    fn alone(&self, at: &At<'_>, ops: &mut Vec<Op>) {
        let from = self.local(at);
        if !self.in_place && self.end != End::Chunk(from) {
            ops.push(Op::Copy { from: at.chunk(from, 0), into: self.end(at, 0) });
        }
    }
}

/// What a gathering half finds: each position's own chunk. It writes to the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gather {
    /// In the window already.
    Placed,
    /// In the input, and not yet in the window.
    Input,
    /// In the input, which is its place in the window.
    InPlace,
}

impl Gather {
    /// An all-gather.
    pub fn part(in_place: bool) -> Self {
        if in_place { Self::InPlace } else { Self::Input }
    }

    /// What a position gives of its own in its first step, and the copy that puts it into its place.
    fn own(self, at: &At<'_>, chunk: u32, ops: &mut Vec<Op>) -> Slice {
        let into = at.chunk(Buffer::Output, chunk);
        let from = at.own_part(Buffer::Input);
        match self {
            Self::Placed => into,
            Self::InPlace => from,
            Self::Input => {
                ops.push(Op::Copy { from, into });
                from
            }
        }
    }

    /// Steps of a position that is alone.
    fn steps_alone(self) -> u32 {
        u32::from(self == Self::Input)
    }
}
