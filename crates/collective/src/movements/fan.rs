//! From one position to others and from others to one.

use crate::movement::At;
use crate::{Buffer, Movement, Op, Rank};

/// What of the root's data others get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// All of it: chunk 0 of the window.
    All,
    /// Each position its chunk.
    Chunk,
}

/// One position sends to all others of its group at once. Of the groups those act that lie, as one of their block,
/// beside that of the root: for groups of neighbours only its own.
#[derive(Debug)]
pub struct Fan {
    /// Whose position sends.
    pub root: Rank,
    /// What others get.
    pub share: Share,
    /// Where the sender has it.
    pub from: Buffer,
    /// Whether the sender copies its window to the output.
    pub copies: bool,
}

impl Fan {
    /// The position that sends, if the group acts.
    fn sender(&self, at: &At<'_>) -> Option<u32> {
        let (root, stride) = (at.groups.seat(self.root)?, at.groups.stride().unwrap_or(1));
        (root.group / stride == at.seat.group / stride).then_some(root.position)
    }
}

impl Movement for Fan {
    fn title(&self) -> &'static str {
        match self.share {
            Share::All => "the root sends to each at once",
            Share::Chunk => "the root scatters, a chunk to each",
        }
    }

    fn steps(&self, at: &At<'_>) -> u32 {
        let Some(sender) = self.sender(at) else { return 0 };
        u32::from(at.size() > 1 || (self.copies && at.seat.position == sender))
    }

    fn ops(&self, at: &At<'_>, _step: u32, ops: &mut Vec<Op>) {
        let Some(sender) = self.sender(at) else { return };
        let chunk = |buffer, position| match self.share {
            Share::All => at.chunk(buffer, 0),
            Share::Chunk => at.chunk(buffer, position),
        };
        if at.seat.position != sender {
            ops.push(Op::Recv { from: at.at(sender), into: chunk(Buffer::Output, at.seat.position) });
            return;
        }
        if self.copies {
            let from = match self.share {
                Share::All => at.chunk(self.from, 0),
                Share::Chunk => at.whole(self.from),
            };
            ops.push(Op::Copy { from, into: from.of(Buffer::Output) });
        }
        ops.extend(at.others().map(|(position, to)| Op::Send { to, from: chunk(self.from, position) }));
    }
}

/// All others send the root their input at once; it adds one message after the other.
#[derive(Debug)]
pub struct Collect {
    /// The position that ends with the sum.
    pub root: u32,
    /// Whether input and output are the same memory.
    pub in_place: bool,
}

impl Movement for Collect {
    fn title(&self) -> &'static str {
        "each sends to the root, which adds"
    }

    fn steps(&self, at: &At<'_>) -> u32 {
        if at.seat.position == self.root { (at.size() - 1).max(1) } else { 1 }
    }

    fn ops(&self, at: &At<'_>, step: u32, ops: &mut Vec<Op>) {
        let (input, into) = (at.chunk(Buffer::Input, 0), at.chunk(Buffer::Output, 0));
        if at.seat.position != self.root {
            ops.push(Op::Send { to: at.at(self.root), from: input });
        } else if at.size() > 1 {
            let local = if step == 0 { input } else { into };
            ops.push(Op::RecvReduce { from: at.peer(i64::from(step) + 1), local, into });
        } else if !self.in_place {
            ops.push(Op::Copy { from: input, into });
        }
    }
}

/// One position sends its input to another.
#[derive(Debug)]
pub struct SendRecv {
    /// Who sends.
    pub from: u32,
    /// Who receives.
    pub to: u32,
}

impl Movement for SendRecv {
    fn title(&self) -> &'static str {
        "one sends to one"
    }

    fn steps(&self, at: &At<'_>) -> u32 {
        u32::from([self.from, self.to].contains(&at.seat.position))
    }

    fn ops(&self, at: &At<'_>, _step: u32, ops: &mut Vec<Op>) {
        let (from, into) = (at.chunk(Buffer::Input, 0), at.chunk(Buffer::Output, 0));
        ops.push(if self.from == self.to {
            Op::Copy { from, into }
        } else if at.seat.position == self.from {
            Op::Send { to: at.at(self.to), from }
        } else {
            Op::Recv { from: at.at(self.from), into }
        });
    }
}
