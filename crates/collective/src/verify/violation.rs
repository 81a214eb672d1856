//! What can be wrong with a plan.

use std::fmt;

use thiserror::Error;

use super::place::{Block, Place};
use crate::{Collective, Rank};

/// Why a plan is wrong. Every rank, thread, step, operation and block is counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Violation {
    /// The call itself makes no sense for so many ranks.
    #[error("the call does not fit the plan: {0}")]
    Call(CallFault),
    /// More blocks than the verifier keeps in mind.
    #[error("the plan has {block_count} blocks on all ranks together, and at most {limit_count} are checked")]
    TooLarge {
        /// How many there are.
        block_count: u64,
        /// How many there may be.
        limit_count: u64,
    },
    /// A rank is named that does not exist.
    #[error("{at} names rank {rank}, but there are {ranks} ranks")]
    UnknownRank {
        /// Where.
        at: Place,
        /// Who is named; 64 bits because a stride may lead anywhere.
        rank: u64,
        /// How many there are.
        ranks: u32,
    },
    /// A rank exchanges a message with itself.
    #[error("{at} is a message from a rank to itself; a copy does that")]
    OwnMessage {
        /// Where.
        at: Place,
    },
    /// A multicast or a reduction in switches names a group without the rank that does it.
    #[error("{at} is done for a group of ranks of which the rank itself is none")]
    NotOfGroup {
        /// Where.
        at: Place,
    },
    /// A scratch buffer is used for which the plan does not ask.
    #[error("{at} uses scratch buffer {buffer}, but the plan asks for {scratch}")]
    UnknownBuffer {
        /// Where.
        at: Place,
        /// Which one.
        buffer: u16,
        /// How many there are.
        scratch: u16,
    },
    /// A slice reaches beyond its buffer.
    #[error("{at} reaches {block}, but that buffer has {blocks} blocks")]
    OutOfRange {
        /// Where.
        at: Place,
        /// The first block beyond, or the last that can be named.
        block: Block,
        /// How many there are.
        blocks: u32,
    },
    /// A slice counts its chunks modulo 0, has runs of no chunk, or more chunks than there are blocks.
    #[error("{at} has a slice with `wrap` or `run` 0, or with more chunks than its buffer has blocks")]
    Malformed {
        /// Where.
        at: Place,
    },
    /// An operation writes a block twice.
    #[error("{at} writes {block} twice")]
    Twice {
        /// Where.
        at: Place,
        /// What.
        block: Block,
    },
    /// The input is overwritten.
    #[error("{at} writes {block}, but the input must stay as it is")]
    InputWritten {
        /// Where.
        at: Place,
        /// What.
        block: Block,
    },
    /// An operation reads a block and writes it as another one.
    #[error("{at} reads {block} for one place and overwrites it from another")]
    Shifted {
        /// Where.
        at: Place,
        /// What.
        block: Block,
    },
    /// Two operations of a step get into each other's way.
    #[error("{first} and {second} run side by side, and at least one of them writes {block}")]
    Overlap {
        /// The one.
        first: Place,
        /// The other one.
        second: Place,
        /// What both use.
        block: Block,
    },
    /// What is read and what is written differ in their number of blocks.
    #[error("{from} gives {given} blocks, but {into} takes {taken}")]
    Blocks {
        /// Where it is read.
        from: Place,
        /// Where it is written.
        into: Place,
        /// Blocks that are read.
        given: u32,
        /// Blocks that are written.
        taken: u32,
    },
    /// A block and its place differ in size.
    #[error("{from} gives {given_bytes} bytes for {block} of {into}, which has {taken_bytes}")]
    Sizes {
        /// Where it is read.
        from: Place,
        /// Where it is written.
        into: Place,
        /// The place.
        block: Block,
        /// Bytes of the block that is read.
        given_bytes: u64,
        /// Bytes of the place.
        taken_bytes: u64,
    },
    /// A thread waits for itself, for one that does not exist, or for more steps than that has.
    #[error("{at} waits for {steps} steps of thread {thread}, which never come")]
    UnknownStep {
        /// Where.
        at: Place,
        /// Whose steps.
        thread: u16,
        /// How many.
        steps: u32,
    },
    /// Something is read that nobody has written.
    #[error("{at} reads {block} before anything was written to it")]
    Undefined {
        /// Where.
        at: Place,
        /// What.
        block: Block,
    },
    /// Two threads use a block in an order that nothing fixes.
    #[error("nothing orders {first} and {second}, and at least one of them writes {block}")]
    Race {
        /// The one.
        first: Place,
        /// The other one.
        second: Place,
        /// What both use.
        block: Block,
    },
    /// Two threads use one channel between two ranks in an order that nothing fixes.
    #[error("nothing orders {first} and {second}, so that either may have the other's message")]
    Ambiguous {
        /// The one.
        first: Place,
        /// The other one.
        second: Place,
    },
    /// A multicast is not taken as it is.
    #[error("{recv} takes the multicast of {send}, which can only be received")]
    MulticastReduced {
        /// The multicast.
        send: Place,
        /// Who takes it.
        recv: Place,
    },
    /// A message is awaited that nobody sends.
    #[error("{at} waits for a message that nobody sends")]
    NeverSent {
        /// Where.
        at: Place,
    },
    /// A message is sent that nobody takes.
    #[error("{at} gives something that nobody takes")]
    NeverReceived {
        /// Where.
        at: Place,
    },
    /// Operations wait for each other in a circle.
    #[error("deadlock: {}", circle(.0))]
    Deadlock(Vec<Place>),
    /// An output block was never written.
    #[error("rank {rank} ends without anything in {block}, which should hold {wanted}")]
    Missing {
        /// Whose output.
        rank: Rank,
        /// Which block.
        block: Block,
        /// What it should hold.
        wanted: Content,
    },
    /// An output block holds something else.
    #[error("{block} of rank {rank} should hold {wanted}, but holds {held}")]
    Wrong {
        /// Whose output.
        rank: Rank,
        /// Which block.
        block: Block,
        /// What it should hold.
        wanted: Content,
        /// What it holds.
        held: Content,
    },
    /// A sum lacks a rank.
    #[error("{block} of rank {rank} lacks what rank {lacks} brings")]
    Lacks {
        /// Whose output.
        rank: Rank,
        /// Which block.
        block: Block,
        /// Who is not in it.
        lacks: Rank,
    },
    /// Something is added twice, and ends in an output.
    #[error("{block} of rank {rank} is wrong, because {at} adds input block {} of rank {} a second time", .part.block, .part.rank)]
    Again {
        /// Whose output.
        rank: Rank,
        /// Which block.
        block: Block,
        /// Where it is added.
        at: Place,
        /// What.
        part: Part,
    },
    /// Blocks are added that do not belong together, and end in an output.
    #[error("{block} of rank {rank} is wrong, because {at} adds input block {added} to input block {to}")]
    Mixed {
        /// Whose output.
        rank: Rank,
        /// Which block.
        block: Block,
        /// Where they are added.
        at: Place,
        /// The block that is added.
        added: u32,
        /// To what.
        to: u32,
    },
    /// A rank leaves a barrier without knowing that another one has come.
    #[error("rank {rank} leaves the barrier without having heard of rank {of}, directly or through others")]
    Unheard {
        /// Who leaves.
        rank: Rank,
        /// Who may not have come.
        of: Rank,
    },
    /// Fewer bytes are moved than the collective needs: never of a plan that is right, so a mistake of the verifier.
    #[error("{} is proved with {moved_bytes} bytes, below the bound of {bound_bytes}: a mistake of the verifier", .collective.name())]
    BelowBound {
        /// What.
        collective: Collective,
        /// Bytes that are moved.
        moved_bytes: u64,
        /// Bytes that must be moved.
        bound_bytes: u64,
    },
}

impl Violation {
    /// The operation that it is about, the first where it is about several.
    pub fn place(&self) -> Option<Place> {
        let mut first = None;
        let _same = self.clone().with_places(|at| {
            first = first.or(Some(at));
            at
        });
        first
    }

    /// The rank whose output is wrong, or that has not heard of another one.
    pub fn rank(&self) -> Option<Rank> {
        match *self {
            Self::Missing { rank, .. }
            | Self::Wrong { rank, .. }
            | Self::Lacks { rank, .. }
            | Self::Again { rank, .. }
            | Self::Mixed { rank, .. }
            | Self::Unheard { rank, .. } => Some(rank),
            Self::Call(_)
            | Self::TooLarge { .. }
            | Self::UnknownRank { .. }
            | Self::OwnMessage { .. }
            | Self::NotOfGroup { .. }
            | Self::UnknownBuffer { .. }
            | Self::OutOfRange { .. }
            | Self::Malformed { .. }
            | Self::Twice { .. }
            | Self::InputWritten { .. }
            | Self::Shifted { .. }
            | Self::Overlap { .. }
            | Self::Blocks { .. }
            | Self::Sizes { .. }
            | Self::UnknownStep { .. }
            | Self::Undefined { .. }
            | Self::Race { .. }
            | Self::Ambiguous { .. }
            | Self::MulticastReduced { .. }
            | Self::NeverSent { .. }
            | Self::NeverReceived { .. }
            | Self::Deadlock(_)
            | Self::BelowBound { .. } => None,
        }
    }

    /// The same with other places: for plans that number their steps otherwise.
    #[must_use]
    pub fn with_places(mut self, mut place: impl FnMut(Place) -> Place) -> Self {
        match &mut self {
            Self::UnknownRank { at, .. }
            | Self::OwnMessage { at }
            | Self::NotOfGroup { at }
            | Self::UnknownBuffer { at, .. }
            | Self::OutOfRange { at, .. }
            | Self::Malformed { at }
            | Self::Twice { at, .. }
            | Self::InputWritten { at, .. }
            | Self::Shifted { at, .. }
            | Self::UnknownStep { at, .. }
            | Self::Undefined { at, .. }
            | Self::NeverSent { at }
            | Self::NeverReceived { at }
            | Self::Again { at, .. }
            | Self::Mixed { at, .. } => *at = place(*at),
            Self::Overlap { first, second, .. }
            | Self::Race { first, second, .. }
            | Self::Ambiguous { first, second }
            | Self::Blocks { from: first, into: second, .. }
            | Self::Sizes { from: first, into: second, .. }
            | Self::MulticastReduced { send: first, recv: second } => {
                *first = place(*first);
                *second = place(*second);
            }
            Self::Deadlock(all) => all.iter_mut().for_each(|at| *at = place(*at)),
            Self::Call(_)
            | Self::TooLarge { .. }
            | Self::Missing { .. }
            | Self::Wrong { .. }
            | Self::Lacks { .. }
            | Self::Unheard { .. }
            | Self::BelowBound { .. } => {}
        }
        self
    }
}

/// What is wrong with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CallFault {
    /// There is no rank.
    #[error("no rank takes part")]
    NoRanks,
    /// The root or the peer is none of the ranks.
    #[error("rank {rank} is root or receiver, but there are {ranks} ranks")]
    Root {
        /// Who is named.
        rank: Rank,
        /// How many there are.
        ranks: u32,
    },
    /// Counts per rank or per pair of a collective that has none, or not as many as there are ranks or pairs.
    #[error("{given} counts, where {} over {ranks} ranks takes {}", .collective.name(), counts(*.wanted_count))]
    Counts {
        /// What.
        collective: Collective,
        /// How many counts there are.
        given: usize,
        /// How many there should be; `None` where all parts are alike.
        wanted_count: Option<u64>,
        /// How many ranks.
        ranks: u32,
    },
    /// An all-to-all in place whose counts differ between the two directions of a pair.
    #[error("in place, ranks {one} and {other} must exchange as much in one direction as in the other")]
    Asymmetric {
        /// The one.
        one: Rank,
        /// The other one.
        other: Rank,
    },
    /// Sizes that do not fit 64 bits.
    #[error("its buffers have more than 2^64 bytes")]
    Bytes,
}

/// A block of a rank's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Whose.
    pub rank: Rank,
    /// Which one.
    pub block: u32,
}

/// A block of the input, summed over some ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// Which block, and the first of the ranks.
    pub part: Part,
    /// How many ranks.
    pub ranks: u32,
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { part: Part { rank, block }, ranks } = self;
        if *ranks == 1 {
            write!(f, "input block {block} of rank {rank}")
        } else {
            write!(f, "the sum of input block {block} over {ranks} ranks, of which rank {rank} is the first")
        }
    }
}

/// The first places of a circle; a long one says no more with all of them.
fn circle(places: &[Place]) -> String {
    const NAMED: usize = 6;
    let named: Vec<String> = places.iter().take(NAMED).map(ToString::to_string).collect();
    let more = places.len().saturating_sub(NAMED);
    let end = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("these wait for each other: {}{end}", named.join("; "))
}

fn counts(wanted: Option<u64>) -> String {
    wanted.map_or_else(|| "one count for all".to_owned(), |wanted| wanted.to_string())
}
