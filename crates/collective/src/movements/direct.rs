//! Everyone with everyone at once, each beginning with its next neighbour.

use super::{Gather, Scatter};
use crate::movement::At;
use crate::{Buffer, Movement, Op, Symmetry};

/// Everyone sends each other position its chunk at once, and adds what comes, one message after the other.
#[derive(Debug)]
pub struct DirectScatter {
    /// What is added.
    pub data: Scatter,
}

impl Movement for DirectScatter {
    fn title(&self) -> &'static str {
        "full mesh reduce-scatter"
    }

    fn steps(&self, at: &At<'_>) -> u32 {
        (at.size() - 1).max(1)
    }

    fn ops(&self, at: &At<'_>, step: u32, ops: &mut Vec<Op>) {
        if at.size() == 1 {
            return self.data.alone(at, ops);
        }
        let (own, source) = (at.seat.position, self.data.local(at));
        let into = self.data.end(at, own);
        let from = at.peer(-i64::from(step) - 1);
        if step > 0 {
            return ops.push(Op::RecvReduce { from, local: into, into });
        }
        ops.extend(at.others().map(|(chunk, to)| Op::Send { to, from: at.chunk(source, chunk) }));
        ops.push(Op::RecvReduce { from, local: at.chunk(source, own), into });
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry::Rotation
    }
}

/// Everyone sends its chunk to all others at once.
#[derive(Debug)]
pub struct DirectGather {
    /// Where each position's own chunk is.
    pub data: Gather,
}

impl Movement for DirectGather {
    fn title(&self) -> &'static str {
        "full mesh all-gather"
    }

    fn steps(&self, at: &At<'_>) -> u32 {
        if at.size() == 1 { self.data.steps_alone() } else { 1 }
    }

    fn ops(&self, at: &At<'_>, _step: u32, ops: &mut Vec<Op>) {
        let own = self.data.own(at, at.seat.position, ops);
        for (chunk, peer) in at.others() {
            ops.push(Op::Send { to: peer, from: own });
            ops.push(Op::Recv { from: peer, into: at.chunk(Buffer::Output, chunk) });
        }
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry::Rotation
    }
}
