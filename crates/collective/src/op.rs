//! What a rank does in a step, and to which blocks of which buffer.

use crate::Rank;

/// A buffer of one rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Buffer {
    /// What the rank brings. Never written, unless the call is in place.
    Input,
    /// What the rank shall end with.
    Output,
    /// Space that the plan asks for besides; laid out like the larger of input and output.
    Scratch(u16),
}

/// Blocks of a buffer, in chunks: `unit` blocks that follow each other make a chunk, and chunks are counted from
/// block `base`, modulo `wrap`.
///
/// The slice takes `count` chunks: runs of `run` neighbours, `stride` apart from start to start, from chunk `first`
/// on. So one slice says a chunk, a range that wraps around a ring, or every other pair of chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slice {
    /// Whose blocks.
    pub buffer: Buffer,
    /// The block at which chunk 0 begins.
    pub base: u32,
    /// Blocks in a chunk.
    pub unit: u32,
    /// Chunks in all; positions are taken modulo this. At least 1.
    pub wrap: u32,
    /// The first chunk.
    pub first: u32,
    /// Chunks in a run. At least 1.
    pub run: u32,
    /// From the start of one run to the start of the next.
    pub stride: u32,
    /// Chunks in all runs together.
    pub count: u32,
}

impl Slice {
    /// So many blocks from `first` on, without wrapping.
    pub fn range(buffer: Buffer, first: u32, blocks: u32) -> Self {
        Self { buffer, base: first, unit: blocks, wrap: 1, first: 0, run: 1, stride: 1, count: 1 }
    }

    /// How many blocks.
    pub fn blocks(&self) -> u32 {
        self.count * self.unit
    }

    /// The blocks as ranges `(first, length)`, in order.
    pub fn ranges(&self) -> impl Iterator<Item = (u32, u32)> + use<> {
        let slice = *self;
        (0..slice.count).map(move |index| {
            let (run, within) = (index / slice.run, index % slice.run);
            let chunk =
                (u64::from(slice.first) + u64::from(run) * u64::from(slice.stride) + u64::from(within))
                    % u64::from(slice.wrap);
            // A chunk is below `wrap`, which fits 32 bits.
            (slice.base + u32::try_from(chunk).unwrap_or(u32::MAX) * slice.unit, slice.unit)
        })
    }

    /// The same blocks of another buffer.
    #[must_use]
    pub fn of(self, buffer: Buffer) -> Self {
        Self { buffer, ..self }
    }
}

/// One thing that a rank does in a step.
///
/// All operations of a step start together, when the rank's previous step on the same thread is over; the step is
/// over when all of them are. No operation of a step writes a block that another one of the step reads or writes, nor,
/// but for a sum in place, one that it reads itself; so it does not matter when within a step they are done.
/// An [`Op::Await`] holds back the steps after its own, not the other operations of its step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// Sends blocks to a rank. Done when they have arrived. Does not wait for the receiver: a message that nobody
    /// has asked for yet waits at its end. A rank sends nothing to itself.
    Send {
        /// Who gets them.
        to: Rank,
        /// What is sent.
        from: Slice,
    },
    /// Takes the next message of a rank on this channel: messages of a pair arrive in the order of their sends.
    Recv {
        /// Who sends.
        from: Rank,
        /// Where it goes.
        into: Slice,
    },
    /// Takes the next message of a rank, adds it to `local` and puts the sum into `into` (which may be `local`).
    RecvReduce {
        /// Who sends.
        from: Rank,
        /// What it is added to.
        local: Slice,
        /// Where the sum goes.
        into: Slice,
    },
    /// Copies within the rank.
    Copy {
        /// What is copied.
        from: Slice,
        /// Where it goes.
        into: Slice,
    },
    /// Adds within the rank: `into` becomes `into + from`.
    Reduce {
        /// What is added.
        from: Slice,
        /// To what.
        into: Slice,
    },
    /// One flow that switches copy to all other ranks of a group; each of them receives it by `Recv`, in order with
    /// the sender's other messages to it.
    Multicast {
        /// The ranks that get it, the sender among them.
        to: Ranks,
        /// What is sent.
        from: Slice,
    },
    /// Gives blocks to a `SwitchReduce` of another rank: to the next on this channel that has not yet had one of this
    /// rank. Done when that is done.
    Contribute {
        /// Who gets the sum.
        to: Rank,
        /// What is given.
        from: Slice,
    },
    /// One flow that switches reduce on its way: the sum of what the other ranks contribute and of `local`.
    SwitchReduce {
        /// The ranks that are added, this one among them.
        of: Ranks,
        /// This rank's own part of the sum.
        local: Slice,
        /// Where the sum goes.
        into: Slice,
    },
    /// Waits until another thread of this rank has finished so many steps.
    Await {
        /// Which thread.
        thread: u16,
        /// How many of its steps must be over.
        steps: u32,
    },
}

/// Ranks at even distances: `first`, `first + stride`, … `count` of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ranks {
    /// The first.
    pub first: Rank,
    /// From one to the next.
    pub stride: u32,
    /// How many.
    pub count: u32,
}

impl Ranks {
    /// One after the other.
    pub fn iter(self) -> impl Iterator<Item = Rank> {
        (0..self.count).map(move |index| Rank::new(self.first.get() + index * self.stride))
    }

    /// Whether `rank` is one of them.
    pub fn contains(self, rank: Rank) -> bool {
        let Some(distance) = rank.get().checked_sub(self.first.get()) else { return false };
        if self.stride == 0 {
            return distance == 0 && self.count > 0;
        }
        distance.is_multiple_of(self.stride) && distance / self.stride < self.count
    }
}
