//! What one rank does of a plan, written out: which bytes go where, in which order.

mod compile;
mod extents;
mod sent_on;
mod writing;

use weft_collective::{Call, Layout, Plan, Rank};

use crate::{Fault, Port};

use extents::Mapping;
pub(crate) use extents::{Extent, Region, Run};
pub(crate) use writing::Writing;

/// One rank's part of a plan, with all blocks resolved to bytes. Made once for a call, played as often as it is made.
///
/// A step does not wait for its sends: a plan may count on messages that wait at their end until somebody asks for
/// them, and a transport has no room for all of them. So what is sent stays where it is, and only what would overwrite
/// it waits, and threads that wait for the step.
#[derive(Debug)]
pub struct Script {
    pub(crate) threads: Vec<Thread>,
    pub(crate) actions: Vec<Action>,
    pub(crate) extents: Vec<Extent>,
    /// What [`Action::after`] lists: numbers of actions.
    pub(crate) earlier: Vec<u32>,
    input_bytes: usize,
    output_bytes: usize,
    scratch_bytes: Vec<usize>,
}

/// The steps of a thread: for each the end of its actions; the first begins at `first`.
#[derive(Debug)]
pub(crate) struct Thread {
    pub first: u32,
    pub ends: Vec<u32>,
}

/// One thing to do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Action {
    pub kind: Kind,
    /// Earlier actions of the thread that must be over before this one begins, though their step may be: sends of what
    /// this one overwrites, and the last one that used the same end of the same port.
    pub after: Run,
    /// Whether something of what this one writes is sent by a later action; of one that sends, whether an earlier one
    /// wrote something of it.
    pub sent_on: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Send {
        port: Port,
        from: Run,
    },
    Receive {
        port: Port,
        into: Run,
    },
    /// The runs have pieces of the same lengths.
    ReceiveReduce {
        port: Port,
        local: Run,
        into: Run,
    },
    /// The runs have pieces of the same lengths.
    Copy {
        from: Run,
        into: Run,
    },
    /// The runs have pieces of the same lengths.
    Reduce {
        from: Run,
        into: Run,
    },
    Await {
        thread: u16,
        steps: u32,
    },
}

impl Script {
    /// What `rank` does of a plan for a call. Fails where the plan needs switches that add or copy.
    pub fn new(plan: &Plan, call: &Call, rank: Rank) -> Result<Self, Fault> {
        compile::compile(plan, call, rank, 1)
    }

    /// The same for so many parts of the call, one after the other: what a part has written is still in the caches when
    /// it goes on. Calls that cannot be cut are played whole.
    pub(crate) fn in_parts(plan: &Plan, call: &Call, rank: Rank, parts: u32) -> Result<Self, Fault> {
        compile::compile(plan, call, rank, parts)
    }

    /// Whether a call can be cut so.
    pub(crate) fn can_be_cut(call: &Call) -> bool {
        compile::can_be_cut(call)
    }

    /// Bytes of the two buffers that `rank` of so many gives to a call by any plan: input, output.
    pub(crate) fn lengths(call: &Call, ranks: u32, rank: Rank) -> (usize, usize) {
        Mapping::new(call, Layout::new(call, ranks, 1), rank).lengths(call)
    }

    /// Bytes of the buffer that the rank brings; none if it is part of the other one.
    pub fn input_bytes(&self) -> usize {
        self.input_bytes
    }

    /// Bytes of the buffer that the rank ends with; of a call in place, of the larger of the two.
    pub fn output_bytes(&self) -> usize {
        self.output_bytes
    }

    /// Bytes of each scratch buffer.
    pub fn scratch_bytes(&self) -> &[usize] {
        &self.scratch_bytes
    }

    /// Bytes that an action sends, receives or copies.
    pub(crate) fn bytes(&self, kind: Kind) -> usize {
        let run = match kind {
            Kind::Send { from, .. } => from,
            Kind::Receive { into, .. }
            | Kind::ReceiveReduce { into, .. }
            | Kind::Copy { into, .. }
            | Kind::Reduce { into, .. } => into,
            Kind::Await { .. } => return 0,
        };
        self.extents[run.range()].iter().map(|extent| extent.length).sum()
    }

    /// Whether it sends anything but what the call is given.
    pub(crate) fn passes_on(&self) -> bool {
        let sent = self.actions.iter().filter_map(|action| match action.kind {
            Kind::Send { from, .. } => Some(from),
            Kind::Receive { .. }
            | Kind::ReceiveReduce { .. }
            | Kind::Copy { .. }
            | Kind::Reduce { .. }
            | Kind::Await { .. } => None,
        });
        sent.flat_map(|from| &self.extents[from.range()]).any(|extent| extent.region != Region::Input)
    }

    /// The pieces of two runs that are cut alike.
    pub(crate) fn pieces(&self, first: Run, second: Run) -> impl Iterator<Item = (Extent, Extent)> {
        let of = |run: Run| self.extents[run.range()].iter().copied();
        of(first).zip(of(second))
    }

    /// The highest channel on which it sends or receives, and one more.
    pub fn channels(&self) -> u16 {
        let channels = self.actions.iter().filter_map(|action| action.kind.port()).map(|port| port.channel);
        channels.max().map_or(0, |channel| channel + 1)
    }
}

impl Kind {
    /// The port that is used.
    pub fn port(self) -> Option<Port> {
        match self {
            Self::Send { port, .. } | Self::Receive { port, .. } | Self::ReceiveReduce { port, .. } => {
                Some(port)
            }
            Self::Copy { .. } | Self::Reduce { .. } | Self::Await { .. } => None,
        }
    }

    /// The pieces that are written.
    pub fn written(self) -> Option<Run> {
        match self {
            Self::Receive { into, .. }
            | Self::ReceiveReduce { into, .. }
            | Self::Copy { into, .. }
            | Self::Reduce { into, .. } => Some(into),
            Self::Send { .. } | Self::Await { .. } => None,
        }
    }

    pub fn sends(self) -> bool {
        matches!(self, Self::Send { .. })
    }
}
