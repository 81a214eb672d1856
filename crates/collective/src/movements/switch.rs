//! Patterns of switches that add and copy on the way. Groups must be evenly spaced.

use super::{Gather, Scatter};
use crate::movement::At;
use crate::{Buffer, Movement, Op};

/// Each position has switches add its chunk of all others, turn by turn: a turn is over as many chunks as the group has
/// seats, and each follows the one before.
#[derive(Debug)]
pub struct SwitchScatter {
    /// What is added.
    pub data: Scatter,
    /// How many turns; of a group of one, and where sums end in the rank's own part, a single one.
    pub turns: u32,
}

impl Movement for SwitchScatter {
    fn title(&self) -> &'static str {
        "in-switch reduce-scatter"
    }

    fn steps(&self, _at: &At<'_>) -> u32 {
        self.turns
    }

    fn ops(&self, at: &At<'_>, step: u32, ops: &mut Vec<Op>) {
        if at.size() == 1 {
            return self.data.alone(at, ops);
        }
        let (own, source) = (at.seat.position + step * at.size(), self.data.local(at));
        let local = at.chunk(source, own);
        ops.push(Op::SwitchReduce { of: at.ranks(), local, into: self.data.end(at, own) });
        let give = |(chunk, to)| Op::Contribute { to, from: at.chunk(source, chunk + step * at.size()) };
        ops.extend(at.others().map(give));
    }
}

/// Each position has switches copy its chunk to all others.
#[derive(Debug)]
pub struct SwitchGather {
    /// Where each position's own chunk is.
    pub data: Gather,
}

impl Movement for SwitchGather {
    fn title(&self) -> &'static str {
        "multicast all-gather"
    }

    fn steps(&self, at: &At<'_>) -> u32 {
        if at.size() == 1 { self.data.steps_alone() } else { 1 }
    }

    fn ops(&self, at: &At<'_>, _step: u32, ops: &mut Vec<Op>) {
        let from = self.data.own(at, at.seat.position, ops);
        if at.size() > 1 {
            ops.push(Op::Multicast { to: at.ranks(), from });
        }
        let receive = |(chunk, from)| Op::Recv { from, into: at.chunk(Buffer::Output, chunk) };
        ops.extend(at.others().map(receive));
    }
}

/// Each position has switches copy its chunk to all others, turn by turn, as soon as another thread has finished the
/// same turn.
#[derive(Debug)]
pub struct SwitchFollow {
    /// Which thread, one step of which is a turn.
    pub thread: u16,
    /// How many turns.
    pub turns: u32,
}

impl Movement for SwitchFollow {
    fn title(&self) -> &'static str {
        "multicast all-gather, turn by turn"
    }

    fn steps(&self, _at: &At<'_>) -> u32 {
        self.turns + 1
    }

    fn ops(&self, at: &At<'_>, step: u32, ops: &mut Vec<Op>) {
        if let Some(turn) = step.checked_sub(1) {
            let first = turn * at.size();
            let from = at.chunk(Buffer::Output, first + at.seat.position);
            ops.push(Op::Multicast { to: at.ranks(), from });
            let receive = |(chunk, from)| Op::Recv { from, into: at.chunk(Buffer::Output, first + chunk) };
            ops.extend(at.others().map(receive));
        }
        // An await holds back the next step.
        if step < self.turns {
            ops.push(Op::Await { thread: self.thread, steps: step + 1 });
        }
    }
}

/// The root has switches copy its input, chunk 0 of the window, to all others.
#[derive(Debug)]
pub struct SwitchSpread {
    /// Its position.
    pub root: u32,
    /// Whether input and output are the same memory.
    pub in_place: bool,
}

impl Movement for SwitchSpread {
    fn title(&self) -> &'static str {
        "multicast from the root"
    }

    fn steps(&self, _at: &At<'_>) -> u32 {
        1
    }

    fn ops(&self, at: &At<'_>, _step: u32, ops: &mut Vec<Op>) {
        let (from, into) = (at.chunk(Buffer::Input, 0), at.chunk(Buffer::Output, 0));
        if at.seat.position != self.root {
            return ops.push(Op::Recv { from: at.at(self.root), into });
        }
        if !self.in_place {
            ops.push(Op::Copy { from, into });
        }
        if at.size() > 1 {
            ops.push(Op::Multicast { to: at.ranks(), from });
        }
    }
}

/// The root has switches add the inputs, chunk 0 of the window, of all.
#[derive(Debug)]
pub struct SwitchCollect {
    /// Its position.
    pub root: u32,
    /// Whether input and output are the same memory.
    pub in_place: bool,
}

impl Movement for SwitchCollect {
    fn title(&self) -> &'static str {
        "in-switch reduce to the root"
    }

    fn steps(&self, _at: &At<'_>) -> u32 {
        1
    }

    fn ops(&self, at: &At<'_>, _step: u32, ops: &mut Vec<Op>) {
        let (local, into) = (at.chunk(Buffer::Input, 0), at.chunk(Buffer::Output, 0));
        if at.seat.position != self.root {
            ops.push(Op::Contribute { to: at.at(self.root), from: local });
        } else if at.size() > 1 {
            ops.push(Op::SwitchReduce { of: at.ranks(), local, into });
        } else if !self.in_place {
            ops.push(Op::Copy { from: local, into });
        }
    }
}
