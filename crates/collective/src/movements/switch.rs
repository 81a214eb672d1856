//! Patterns of switches that add and copy on the way. Groups must be evenly spaced.

use super::{Gather, Scatter};
use crate::movement::At;
use crate::{Buffer, Movement, Op};

/// Each position has switches add its chunk of all others.
#[derive(Debug)]
pub struct SwitchScatter {
    /// What is added.
    pub data: Scatter,
}

impl Movement for SwitchScatter {
    fn title(&self) -> &'static str {
        "in-switch reduce-scatter"
    }

    fn steps(&self, _at: &At<'_>) -> u32 {
        1
    }

    fn ops(&self, at: &At<'_>, _step: u32, ops: &mut Vec<Op>) {
        if at.size() == 1 {
            return self.data.alone(at, ops);
        }
        let (own, source) = (at.seat.position, self.data.local(at));
        let local = at.chunk(source, own);
        ops.push(Op::SwitchReduce { of: at.ranks(), local, into: self.data.end(at, own) });
        ops.extend(at.others().map(|(chunk, to)| Op::Contribute { to, from: at.chunk(source, chunk) }));
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
