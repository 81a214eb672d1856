//! One look at every operation by itself and beside the others of its step, before anything is played.

use std::collections::BTreeMap;

use super::place::{Action, Block, Place};
use super::space::Space;
use super::violation::Violation;
use crate::{Op, Plan, Rank, Ranks, Slice};

/// What one rank gives to another: messages and contributions, each in their own order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub from: Rank,
    pub to: Rank,
    pub channel: u16,
    pub contribution: bool,
}

/// Who uses one of the ends of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum User {
    #[default]
    Nobody,
    Thread(u16),
    Several,
}

impl User {
    fn and(self, thread: u16) -> Self {
        match self {
            Self::Nobody => Self::Thread(thread),
            Self::Thread(known) if known == thread => self,
            Self::Thread(_) | Self::Several => Self::Several,
        }
    }
}

/// Both ends of a queue.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ends {
    pub given: u64,
    pub taken: u64,
    pub giver: User,
    pub taker: User,
}

/// What the look has shown.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub queues: BTreeMap<Key, Ends>,
    /// Steps for whose end other threads wait: rank, thread, steps; and how often.
    pub awaited: BTreeMap<(Rank, u16, u32), u32>,
    /// Whether threads of a rank share blocks or queues, so that their order matters.
    pub shared: bool,
    pub multicasts: bool,
    pub switch_reduces: bool,
}

/// What an operation reads and writes. A local sum writes what it reads.
pub(super) fn slices(op: &Op) -> (Option<Slice>, Option<Slice>) {
    match *op {
        Op::Send { from, .. } | Op::Multicast { from, .. } | Op::Contribute { from, .. } => {
            (Some(from), None)
        }
        Op::Recv { into, .. } => (None, Some(into)),
        Op::Copy { from, into } | Op::Reduce { from, into } => (Some(from), Some(into)),
        Op::RecvReduce { local, into, .. } | Op::SwitchReduce { local, into, .. } => {
            (Some(local), Some(into))
        }
        Op::Await { .. } => (None, None),
    }
}

impl Survey {
    pub fn of(plan: &Plan, space: &Space<'_>) -> Result<Self, Violation> {
        let mut survey = Self::default();
        let mut marks = vec![Mark::default(); space.cells()];
        let (mut ops, mut serial) = (Vec::new(), 0);
        for rank in (0..space.ranks).map(Rank::new) {
            for mark in &mut marks {
                (mark.writer, mark.reader) = (User::Nobody, User::Nobody);
            }
            let lengths = lengths(plan, rank);
            for thread in 0..space.threads {
                let mut walk = plan.steps(rank, thread);
                for step in 0.. {
                    ops.clear();
                    let Some(channel) = walk.next_into(&mut ops) else { break };
                    serial += 1;
                    let mut look =
                        Look { survey: &mut survey, space, marks: &mut marks, serial, lengths: &lengths };
                    for (number, op) in (0..).zip(&ops) {
                        let at = Place { rank, thread, step, op: number, action: Action::from(op) };
                        look.peers(at, channel, op)?;
                        look.blocks(at, op)?;
                    }
                }
            }
            survey.shared |= marks.iter().any(Mark::shared);
        }
        let several = |ends: &Ends| ends.giver == User::Several || ends.taker == User::Several;
        survey.shared |= survey.queues.values().any(several);
        Ok(survey)
    }
}

/// The steps of each thread of a rank.
fn lengths(plan: &Plan, rank: Rank) -> Vec<u64> {
    let length = |phases: &Vec<crate::Phase>| {
        let steps = phases.iter().filter_map(|phase| phase.at(rank).map(|at| phase.movement.steps(&at)));
        steps.map(u64::from).sum()
    };
    plan.threads.iter().map(length).collect()
}

/// Who has used a cell in the current step, and in the rank's threads so far.
#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    /// The step's serial number and the place of the write.
    write: (u64, Option<Place>),
    /// The same of a read, and which block of the slice it was.
    read: (u64, Option<Place>, u32),
    writer: User,
    reader: User,
}

impl Mark {
    fn shared(&self) -> bool {
        match (self.writer, self.reader) {
            (User::Nobody, _) => false,
            (User::Several, _) | (User::Thread(_), User::Several) => true,
            (User::Thread(_), User::Nobody) => false,
            (User::Thread(writer), User::Thread(reader)) => writer != reader,
        }
    }
}

struct Look<'l, 'c> {
    survey: &'l mut Survey,
    space: &'l Space<'c>,
    marks: &'l mut [Mark],
    serial: u64,
    lengths: &'l [u64],
}

impl Look<'_, '_> {
    /// Whether the ranks and threads exist that an operation has to do with, and which queues it uses.
    fn peers(&mut self, at: Place, channel: u16, op: &Op) -> Result<(), Violation> {
        match *op {
            Op::Send { to, .. } => self.give(at, to, channel, false),
            Op::Contribute { to, .. } => self.give(at, to, channel, true),
            Op::Recv { from, .. } | Op::RecvReduce { from, .. } => self.take(at, from, channel, false),
            Op::Multicast { to, .. } => {
                self.survey.multicasts |= to.count > 1;
                self.group(at, to)?;
                let others = to.iter().filter(|rank| *rank != at.rank);
                others.into_iter().try_for_each(|rank| self.give(at, rank, channel, false))
            }
            Op::SwitchReduce { of, .. } => {
                self.survey.switch_reduces |= of.count > 1;
                self.group(at, of)?;
                let others = of.iter().filter(|rank| *rank != at.rank);
                others.into_iter().try_for_each(|rank| self.take(at, rank, channel, true))
            }
            Op::Await { thread, steps } => {
                let known = self.lengths.get(usize::from(thread)).copied().unwrap_or(0);
                if thread == at.thread || known < u64::from(steps) {
                    return Err(Violation::UnknownStep { at, thread, steps });
                }
                *self.survey.awaited.entry((at.rank, thread, steps)).or_default() += 1;
                Ok(())
            }
            Op::Copy { .. } | Op::Reduce { .. } => Ok(()),
        }
    }

    fn known(&self, at: Place, rank: Rank) -> Result<(), Violation> {
        if rank.get() >= self.space.ranks {
            return Err(Violation::UnknownRank { at, rank: rank.get().into(), ranks: self.space.ranks });
        }
        if rank == at.rank { Err(Violation::OwnMessage { at }) } else { Ok(()) }
    }

    fn give(&mut self, at: Place, to: Rank, channel: u16, contribution: bool) -> Result<(), Violation> {
        self.known(at, to)?;
        let ends = self.survey.queues.entry(Key { from: at.rank, to, channel, contribution }).or_default();
        (ends.given, ends.giver) = (ends.given + 1, ends.giver.and(at.thread));
        Ok(())
    }

    fn take(&mut self, at: Place, from: Rank, channel: u16, contribution: bool) -> Result<(), Violation> {
        self.known(at, from)?;
        let ends = self.survey.queues.entry(Key { from, to: at.rank, channel, contribution }).or_default();
        (ends.taken, ends.taker) = (ends.taken + 1, ends.taker.and(at.thread));
        Ok(())
    }

    /// Ranks of a group all exist, once each, and the rank itself is one of them.
    fn group(&self, at: Place, group: Ranks) -> Result<(), Violation> {
        let last =
            u64::from(group.first.get()) + u64::from(group.count.saturating_sub(1)) * u64::from(group.stride);
        let rank = last.max(u64::from(group.first.get()));
        if rank >= u64::from(self.space.ranks) {
            return Err(Violation::UnknownRank { at, rank, ranks: self.space.ranks });
        }
        if group.contains(at.rank) && (group.stride > 0 || group.count == 1) {
            return Ok(());
        }
        Err(Violation::NotOfGroup { at })
    }

    /// Whether the blocks exist, may be written, and no other operation of the step is at them. Blocks without a
    /// byte cannot get into anyone's way.
    fn blocks(&mut self, at: Place, op: &Op) -> Result<(), Violation> {
        let (read, written) = slices(op);
        for slice in read.iter().chain(&written) {
            self.space.check(at, slice)?;
        }
        let space = self.space;
        let cells = |slice: Option<Slice>| {
            let cells = slice.into_iter().flat_map(move |slice| space.slice(at.rank, slice));
            (0..).zip(cells).filter(|(_, cell)| cell.bytes > 0)
        };
        for (_, cell) in cells(read) {
            self.clash(at, cell.index, cell.block, false)?;
        }
        for (_, cell) in cells(written) {
            if !space.writable(at.rank, cell.block) {
                return Err(Violation::InputWritten { at, block: cell.block });
            }
            self.clash(at, cell.index, cell.block, true)?;
        }
        for (number, cell) in cells(read) {
            if let Some(mark) = self.marks.get_mut(cell.index) {
                mark.read = (self.serial, Some(at), number);
                mark.reader = mark.reader.and(at.thread);
            }
        }
        for (number, cell) in cells(written) {
            let Some(mark) = self.marks.get_mut(cell.index) else { continue };
            if mark.write == (self.serial, Some(at)) {
                return Err(Violation::Twice { at, block: cell.block });
            }
            let (serial, reader, of) = mark.read;
            if serial == self.serial && reader == Some(at) && of != number {
                return Err(Violation::Shifted { at, block: cell.block });
            }
            mark.write = (self.serial, Some(at));
            mark.writer = mark.writer.and(at.thread);
        }
        Ok(())
    }

    /// Whether an earlier operation of the step is at a cell.
    fn clash(&self, at: Place, index: usize, block: Block, writes: bool) -> Result<(), Violation> {
        let Some(mark) = self.marks.get(index) else { return Ok(()) };
        let (written, by) = mark.write;
        let (read, reader, _) = mark.read;
        let first = match (by, reader) {
            (Some(by), _) if written == self.serial => by,
            (_, Some(reader)) if writes && read == self.serial => reader,
            (Some(_) | None, Some(_) | None) => return Ok(()),
        };
        if first == at { Ok(()) } else { Err(Violation::Overlap { first, second: at, block }) }
    }
}
