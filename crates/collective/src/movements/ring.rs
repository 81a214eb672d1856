//! Around a ring: everyone talks to two neighbours only.

use std::ops::Range;

use super::{Gather, Scatter};
use crate::movement::At;
use crate::{Buffer, Movement, Op, Symmetry};

/// Which way around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the next position.
    Up,
    /// To the one before.
    Down,
}

impl Direction {
    fn sign(self) -> i64 {
        match self {
            Self::Up => 1,
            Self::Down => -1,
        }
    }
}

/// How the chunks of a ring's window are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbering {
    /// As positions in the ring.
    ByPosition,
    /// As the ranks that sit there, whatever the order of the ring: parts of ranks are so.
    ByRank,
}

impl Numbering {
    /// The chunk of who sits `distance` seats further on.
    fn chunk(self, at: &At<'_>, distance: i64) -> u32 {
        match self {
            Self::ByPosition => at.position(distance),
            Self::ByRank => at.peer(distance).get(),
        }
    }
}

/// Sums that grow on their way around: in step s a position passes on the chunk that began s + 1 seats before it.
#[derive(Debug)]
pub struct RingScatter {
    /// What is added.
    pub data: Scatter,
    /// Which way.
    pub direction: Direction,
    /// Which chunk is whose.
    pub numbering: Numbering,
}

impl Movement for RingScatter {
    fn title(&self) -> &'static str {
        match self.direction {
            Direction::Up => "ring reduce-scatter",
            Direction::Down => "ring reduce-scatter, the other way around",
        }
    }

    fn steps(&self, at: &At<'_>) -> u32 {
        (at.size() - 1).max(1)
    }

    fn ops(&self, at: &At<'_>, step: u32, ops: &mut Vec<Op>) {
        if at.size() == 1 {
            return self.data.alone(at, ops);
        }
        let (sign, last) = (self.direction.sign(), step + 2 == at.size());
        let chunk = |steps: u32| self.numbering.chunk(at, -sign * i64::from(steps));
        let (sent, taken) = (chunk(step + 1), chunk(step + 2));
        let local = self.data.local(at);
        let buffer = if step == 0 { local } else { self.data.sums };
        ops.push(Op::Send { to: at.peer(sign), from: at.chunk(buffer, sent) });
        let into = if last { self.data.end(at, taken) } else { at.chunk(self.data.sums, taken) };
        ops.push(Op::RecvReduce { from: at.peer(-sign), local: at.chunk(local, taken), into });
    }

    fn alike(&self, at: &At<'_>) -> Range<u32> {
        0..at.size() - 1
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry::Rotation
    }
}

/// Chunks that are passed on around the ring: in step s a position passes on the one of s seats before it.
#[derive(Debug)]
pub struct RingGather {
    /// Where each position's own chunk is.
    pub data: Gather,
    /// Which way.
    pub direction: Direction,
    /// Which chunk is whose.
    pub numbering: Numbering,
}

impl Movement for RingGather {
    fn title(&self) -> &'static str {
        match self.direction {
            Direction::Up => "ring all-gather",
            Direction::Down => "ring all-gather, the other way around",
        }
    }

    fn steps(&self, at: &At<'_>) -> u32 {
        (at.size() - 1).max(self.data.steps_alone())
    }

    fn ops(&self, at: &At<'_>, step: u32, ops: &mut Vec<Op>) {
        let sign = self.direction.sign();
        let chunk = |steps: u32| self.numbering.chunk(at, -sign * i64::from(steps));
        let sent = chunk(step);
        let from = if step == 0 { self.data.own(at, sent, ops) } else { at.chunk(Buffer::Output, sent) };
        if at.size() == 1 {
            return;
        }
        ops.push(Op::Send { to: at.peer(sign), from });
        let taken = chunk(step + 1);
        ops.push(Op::Recv { from: at.peer(-sign), into: at.chunk(Buffer::Output, taken) });
    }

    fn alike(&self, at: &At<'_>) -> Range<u32> {
        // In the first step it may copy its own chunk as well.
        1..at.size() - 1
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry::Rotation
    }
}
