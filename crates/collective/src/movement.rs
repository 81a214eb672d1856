//! What the ranks of a group do, step by step, as a function of where they sit.

use std::fmt;

use crate::{Buffer, Groups, Op, Rank, Seat, Slice};

/// A pattern of operations. What a rank does in a step must cost no more than the operations of that step.
pub trait Movement: fmt::Debug + Send + Sync {
    /// How many steps the rank at `at` takes.
    fn steps(&self, at: &At<'_>) -> u32;

    /// Adds the operations of a step to `ops`.
    fn ops(&self, at: &At<'_>, step: u32, ops: &mut Vec<Op>);

    /// What all positions have in common.
    fn symmetry(&self) -> Symmetry {
        Symmetry::None
    }

    /// The channel of the rank's messages, where that is not the one of the phase.
    fn channel(&self, _rank: Rank) -> Option<u16> {
        None
    }
}

/// What all positions of a movement have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symmetry {
    /// Nothing that is known.
    None,
    /// Every position does in every step what position 0 does, with peers counted from itself around the group, and
    /// as many blocks.
    Rotation,
}

/// A rank's place in a phase.
#[derive(Debug, Clone, Copy)]
pub struct At<'p> {
    /// The rank.
    pub rank: Rank,
    /// Where it sits.
    pub seat: Seat,
    /// The phase's groups.
    pub groups: &'p Groups,
    /// The block at which chunk 0 of its window begins.
    pub base: u32,
    /// Blocks in a chunk.
    pub unit: u32,
}

impl At<'_> {
    /// Who sits `distance` seats further on around the group.
    pub fn peer(&self, distance: i64) -> Rank {
        self.at(self.position(distance))
    }

    /// Who sits at a position of the own group.
    pub fn at(&self, position: u32) -> Rank {
        self.groups.member(self.seat.group, position).unwrap_or(self.rank)
    }

    /// The position `distance` seats further on around the group.
    pub fn position(&self, distance: i64) -> u32 {
        let size = i64::from(self.seat.size.max(1));
        // A remainder of a 32-bit size.
        u32::try_from((i64::from(self.seat.position) + distance).rem_euclid(size)).unwrap_or(0)
    }

    /// `count` chunks from chunk `first` on, around the window of as many chunks as the group has seats.
    pub fn chunks(&self, buffer: Buffer, first: u32, count: u32) -> Slice {
        Slice {
            buffer,
            base: self.base,
            unit: self.unit,
            wrap: self.seat.size.max(1),
            first,
            run: count.max(1),
            stride: count.max(1),
            count,
        }
    }

    /// The whole window: as many chunks as the group has seats.
    pub fn window(&self, buffer: Buffer) -> Slice {
        self.chunks(buffer, 0, self.seat.size.max(1))
    }
}
