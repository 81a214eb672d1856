//! Who sends what to whom, folded: what all ranks do alike is said once.

use std::sync::Arc;

use crate::movement::At;
use crate::{Groups, Movement, Op, Rank};

/// A plan: for each thread the phases that every rank goes through, one after the other.
///
/// Threads of a rank run side by side. On a thread a rank does one step after the other; see [`Op`] for what a step
/// is. Messages between two ranks are matched in order, channel by channel.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Ranks that take part.
    pub ranks: u32,
    /// Pieces into which each part of a buffer is cut; see [`crate::Layout`].
    pub pieces: u32,
    /// Scratch buffers of each rank.
    pub scratch: u16,
    /// The phases of each thread.
    pub threads: Vec<Vec<Phase>>,
}

/// Steps of one kind, done by all groups side by side.
#[derive(Debug, Clone)]
pub struct Phase {
    /// The channel of its messages.
    pub channel: u16,
    /// Who does it with whom.
    pub groups: Groups,
    /// Which blocks it is about.
    pub window: Window,
    /// What is done.
    pub movement: Arc<dyn Movement>,
}

/// The blocks that a phase is about, which may depend on where a rank sits in other groupings.
#[derive(Debug, Clone, Default)]
pub struct Window {
    /// The first block for all.
    pub offset: u32,
    /// Blocks further on for each position in a grouping.
    pub terms: Vec<(Groups, u32)>,
    /// Blocks of a chunk that follow each other: a row.
    pub unit: u32,
    /// Blocks from the start of a chunk to the start of the next.
    pub pitch: u32,
    /// Rows of a chunk.
    pub rows: u32,
    /// Blocks from the start of a row to the start of the next.
    pub row_pitch: u32,
    /// The block of the rank's own part, where the collective has one, at which this window begins.
    pub part: u32,
}

impl Window {
    /// From a block on, in chunks of `unit` blocks that follow each other.
    pub fn at(offset: u32, unit: u32) -> Self {
        Self { offset, terms: Vec::new(), unit, pitch: unit, rows: 1, row_pitch: 0, part: 0 }
    }

    /// With chunks that begin `blocks` apart.
    #[must_use]
    pub fn pitch(self, blocks: u32) -> Self {
        Self { pitch: blocks, ..self }
    }

    /// With chunks of so many rows, `blocks` apart. Such chunks are taken one at a time.
    #[must_use]
    pub fn rows(self, rows: u32, blocks: u32) -> Self {
        Self { rows, row_pitch: blocks, ..self }
    }

    /// Beginning at this block of the rank's own part.
    #[must_use]
    pub fn part(self, block: u32) -> Self {
        Self { part: block, ..self }
    }

    /// Further on by `blocks` for each position in `groups`.
    #[must_use]
    pub fn by(mut self, groups: Groups, blocks: u32) -> Self {
        self.terms.push((groups, blocks));
        self
    }

    fn base(&self, rank: Rank) -> u32 {
        let moved =
            |(groups, blocks): &(Groups, u32)| groups.seat(rank).map_or(0, |seat| seat.position) * blocks;
        self.offset + self.terms.iter().map(moved).sum::<u32>()
    }
}

impl Phase {
    /// Where `rank` is in this phase; `None` where it takes no part.
    pub fn at(&self, rank: Rank) -> Option<At<'_>> {
        let seat = self.groups.seat(rank)?;
        Some(At { rank, seat, groups: &self.groups, base: self.window.base(rank), window: &self.window })
    }

    /// The channel of a rank's messages.
    pub fn channel_of(&self, rank: Rank) -> u16 {
        self.movement.channel(rank).unwrap_or(self.channel)
    }
}

impl Plan {
    /// A plan in which nobody does anything.
    pub fn empty(ranks: u32) -> Self {
        Self { ranks, pieces: 1, scratch: 0, threads: Vec::new() }
    }

    /// The steps of one rank on one thread, in order.
    pub fn steps(&self, rank: Rank, thread: u16) -> Steps<'_> {
        let phases = self.threads.get(usize::from(thread)).map_or(&[][..], Vec::as_slice);
        Steps { rank, phases, current: None, next: 0, end: 0, channel: 0 }
    }
}

/// A rank's walk through a thread.
#[derive(Debug, Clone)]
pub struct Steps<'p> {
    rank: Rank,
    /// Phases after the current one.
    phases: &'p [Phase],
    current: Option<(At<'p>, &'p dyn Movement)>,
    next: u32,
    end: u32,
    channel: u16,
}

impl Steps<'_> {
    /// How many steps follow the last one that was given and differ from it in nothing but their blocks.
    pub fn alike(&self) -> u32 {
        let Some((at, movement)) = &self.current else { return 0 };
        let alike = movement.alike(at);
        let last = self.next.wrapping_sub(1);
        if alike.contains(&last) { alike.end - self.next } else { 0 }
    }

    /// Passes over so many of the steps that [`Steps::alike`] counts.
    pub fn skip_alike(&mut self, count: u32) {
        self.next += count.min(self.alike());
    }

    /// Adds the operations of the next step to `ops` and gives the channel of its messages; `None` at the end.
    /// A step may have no operation: it is over at once, but counts.
    pub fn next_into(&mut self, ops: &mut Vec<Op>) -> Option<u16> {
        loop {
            if let Some((at, movement)) = &self.current
                && self.next < self.end
            {
                movement.ops(at, self.next, ops);
                self.next += 1;
                return Some(self.channel);
            }
            let (phase, rest) = self.phases.split_first()?;
            self.phases = rest;
            self.current = phase.at(self.rank).map(|at| (at, &*phase.movement));
            self.channel = phase.channel_of(self.rank);
            self.next = 0;
            self.end = self.current.as_ref().map_or(0, |(at, movement)| movement.steps(at));
        }
    }
}
