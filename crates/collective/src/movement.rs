//! What the ranks of a group do, step by step, as a function of where they sit.

use std::fmt;
use std::ops::Range;

use crate::{Buffer, Groups, Op, Rank, Ranks, Seat, Slice, Window};

/// A pattern of operations. What a rank does in a step must cost no more than the operations of that step.
pub trait Movement: fmt::Debug + Send + Sync {
    /// What it is, in the field's words: `ring reduce-scatter`.
    fn title(&self) -> &'static str;

    /// How many steps the rank at `at` takes.
    fn steps(&self, at: &At<'_>) -> u32;

    /// Adds the operations of a step to `ops`.
    fn ops(&self, at: &At<'_>, step: u32, ops: &mut Vec<Op>);

    /// What all positions have in common.
    fn symmetry(&self) -> Symmetry {
        Symmetry::None
    }

    /// Steps that differ in nothing but which blocks they are about: the same operations with the same peers, and as
    /// many blocks. Who has taken the first of them knows what the others cost.
    fn alike(&self, _at: &At<'_>) -> Range<u32> {
        0..0
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
    /// The shape of its chunks.
    pub window: &'p Window,
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
        let there = i64::from(self.seat.position) + distance;
        // A division costs more than all else here, and most distances are less than a turn.
        let around = if (0..size).contains(&there) {
            there
        } else if (-size..0).contains(&there) {
            there + size
        } else {
            there.rem_euclid(size)
        };
        u32::try_from(around).unwrap_or(0)
    }

    /// How many sit in the group; at least 1.
    pub fn size(&self) -> u32 {
        self.seat.size.max(1)
    }

    /// Everyone else of the group as `(position, rank)`, from the next neighbour around to the one before.
    pub fn others(&self) -> impl Iterator<Item = (u32, Rank)> {
        (1..i64::from(self.size())).map(|distance| {
            let position = self.position(distance);
            (position, self.at(position))
        })
    }

    /// The ranks of the group, which must be evenly spaced.
    pub fn ranks(&self) -> Ranks {
        Ranks { first: self.at(0), stride: self.groups.stride().unwrap_or(1), count: self.size() }
    }

    /// `count` chunks from chunk `first` on, around the window of as many chunks as the group has seats.
    pub fn chunks(&self, buffer: Buffer, first: u32, count: u32) -> Slice {
        let Window { unit, pitch, rows, .. } = *self.window;
        if rows > 1 {
            return self.chunk(buffer, first);
        }
        let (wrap, base) = (self.size(), self.base);
        if unit == pitch {
            let run = count.max(1);
            return Slice { buffer, base, unit, wrap, first, run, stride: run, count };
        }
        let (wrap, first) = (wrap * pitch, first * pitch);
        Slice { buffer, base, unit: 1, wrap, first, run: unit, stride: pitch, count: count * unit }
    }

    /// One chunk, which may lie beyond those of the group's seats.
    pub fn chunk(&self, buffer: Buffer, chunk: u32) -> Slice {
        let Window { unit, pitch, rows, row_pitch, .. } = *self.window;
        if rows <= 1 {
            return Slice::range(buffer, self.base + chunk * pitch, unit);
        }
        let (first, wrap) = (chunk * pitch, rows * row_pitch);
        Slice {
            buffer,
            base: self.base,
            unit: 1,
            wrap,
            first,
            run: unit,
            stride: row_pitch,
            count: rows * unit,
        }
    }

    /// `count` chunks, each `stride` further on around the window than the one before. The window's chunks must
    /// follow each other.
    pub fn comb(&self, buffer: Buffer, first: u32, stride: u32, count: u32) -> Slice {
        let (base, unit, wrap) = (self.base, self.window.unit, self.size());
        Slice { buffer, base, unit, wrap, first, run: 1, stride, count }
    }

    /// The whole window: as many chunks as the group has seats.
    pub fn whole(&self, buffer: Buffer) -> Slice {
        self.chunks(buffer, 0, self.size())
    }

    /// The rank's own part, as far as the window is about it.
    pub fn own_part(&self, buffer: Buffer) -> Slice {
        Slice::range(buffer, self.window.part, self.window.unit)
    }
}
