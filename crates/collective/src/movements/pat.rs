//! Parallel aggregated trees: one binomial tree for each chunk, all turned against each other, so that in a step every
//! position sends one message with the chunks of many trees. Far distances come where messages are small.

use super::bruck::doublings;
use super::{Gather, Scatter};
use crate::movement::At;
use crate::{Buffer, Movement, Op, Slice, Symmetry};

/// How many trees use distance `distance`: those whose node at 0, 2, 4 … distances reaches one further on.
fn trees(size: u32, distance: u32) -> u32 {
    (size - distance).div_ceil(2 * distance)
}

/// The chunks of the trees in which a position is node `first`, `first + 2 distance` … from the root.
fn chunks(at: &At<'_>, buffer: Buffer, first: u32, distance: u32) -> Slice {
    let count = trees(at.size(), distance);
    // The farthest root lies lowest, so that chunks are counted upwards.
    let farthest = i64::from(first) + i64::from(count - 1) * 2 * i64::from(distance);
    at.comb(buffer, at.position(-farthest), 2 * distance, count)
}

/// All-gather: each chunk goes down its tree, the farthest distance first.
#[derive(Debug)]
pub struct PatGather {
    /// Where each position's own chunk is.
    pub data: Gather,
}

impl Movement for PatGather {
    fn title(&self) -> &'static str {
        "PAT all-gather"
    }

    fn steps(&self, at: &At<'_>) -> u32 {
        doublings(at.size()).max(self.data.steps_alone())
    }

    fn ops(&self, at: &At<'_>, step: u32, ops: &mut Vec<Op>) {
        let size = at.size();
        if size == 1 {
            let _own = self.data.own(at, 0, ops);
            return;
        }
        let distance = 1 << (doublings(size) - 1 - step);
        // In the first step only the own tree reaches so far.
        let from = if step == 0 {
            self.data.own(at, at.seat.position, ops)
        } else {
            chunks(at, Buffer::Output, 0, distance)
        };
        ops.push(Op::Send { to: at.peer(i64::from(distance)), from });
        let into = chunks(at, Buffer::Output, distance, distance);
        ops.push(Op::Recv { from: at.peer(-i64::from(distance)), into });
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry::Rotation
    }
}

/// Reduce-scatter: each chunk's sum comes up its tree, the nearest distance first.
#[derive(Debug)]
pub struct PatScatter {
    /// What is added.
    pub data: Scatter,
}

impl Movement for PatScatter {
    fn title(&self) -> &'static str {
        "PAT reduce-scatter"
    }

    fn steps(&self, at: &At<'_>) -> u32 {
        doublings(at.size()).max(1)
    }

    fn ops(&self, at: &At<'_>, step: u32, ops: &mut Vec<Op>) {
        let size = at.size();
        if size == 1 {
            return self.data.alone(at, ops);
        }
        let (distance, local) = (1 << step, self.data.local(at));
        let buffer = if step == 0 { local } else { self.data.sums };
        // Of an odd number of nodes the last one is a leaf that waits for a later step.
        if step == 0 && size % 2 == 1 {
            let leaf = at.position(1);
            ops.push(Op::Copy { from: at.chunk(local, leaf), into: at.chunk(self.data.sums, leaf) });
        }
        ops.push(Op::Send {
            to: at.peer(-i64::from(distance)),
            from: chunks(at, buffer, distance, distance),
        });
        let local = chunks(at, buffer, 0, distance);
        let last = step + 1 == doublings(size);
        let into = if last { self.data.end(at, at.seat.position) } else { local.of(self.data.sums) };
        ops.push(Op::RecvReduce { from: at.peer(i64::from(distance)), local, into });
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry::Rotation
    }
}
