//! A plan written out rank by rank: what an imported plan is, and what any plan can be unfolded to.

use std::sync::Arc;

use crate::movement::At;
use crate::{Groups, Movement, Op, Phase, Plan, Rank, Window};

/// What one rank does on one thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Thread {
    /// The channel of its messages.
    pub channel: u16,
    /// The operations of each step.
    pub steps: Vec<Vec<Op>>,
}

/// Every operation of every rank.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program {
    /// Pieces into which each part of a buffer is cut.
    pub pieces: u32,
    /// Scratch buffers of each rank.
    pub scratch: u16,
    /// The threads of each rank.
    pub ranks: Vec<Vec<Thread>>,
}

impl Program {
    /// Writes a plan out.
    pub fn of(plan: &Plan) -> Self {
        let threads = u16::try_from(plan.threads.len()).unwrap_or(u16::MAX);
        let thread = |rank, thread| {
            let mut walk = plan.steps(rank, thread);
            let mut written = Thread { channel: thread, steps: Vec::new() };
            loop {
                let mut ops = Vec::new();
                let Some(channel) = walk.next_into(&mut ops) else { return written };
                written.channel = channel;
                written.steps.push(ops);
            }
        };
        let ranks = (0..plan.ranks)
            .map(|rank| (0..threads).map(|number| thread(Rank::new(rank), number)).collect())
            .collect();
        Self { pieces: plan.pieces, scratch: plan.scratch, ranks }
    }

    /// As a plan: one phase on each thread, in which each rank has steps of its own.
    pub fn into_plan(self) -> Plan {
        let ranks = u32::try_from(self.ranks.len()).unwrap_or(u32::MAX);
        let threads = self.ranks.iter().map(Vec::len).max().unwrap_or(0);
        let mut columns: Vec<Vec<Thread>> = vec![Vec::new(); threads];
        for rank in self.ranks {
            let mut rank = rank.into_iter();
            for column in &mut columns {
                column.push(rank.next().unwrap_or_default());
            }
        }
        let phase = |written: Vec<Thread>| Phase {
            channel: 0,
            groups: Groups::all(ranks),
            window: Window::at(0, 1),
            movement: Arc::new(Written(written)),
        };
        let threads = columns.into_iter().map(|column| vec![phase(column)]).collect();
        Plan { ranks, pieces: self.pieces, scratch: self.scratch, threads }
    }
}

/// The steps of each rank on one thread.
#[derive(Debug)]
struct Written(Vec<Thread>);

impl Movement for Written {
    fn title(&self) -> &'static str {
        "written out rank by rank"
    }

    fn steps(&self, at: &At<'_>) -> u32 {
        self.0.get(at.rank.index()).map_or(0, |thread| u32::try_from(thread.steps.len()).unwrap_or(u32::MAX))
    }

    fn ops(&self, at: &At<'_>, step: u32, ops: &mut Vec<Op>) {
        let written = self.0.get(at.rank.index()).and_then(|thread| thread.steps.get(step as usize));
        ops.extend(written.into_iter().flatten().copied());
    }

    fn channel(&self, rank: Rank) -> Option<u16> {
        self.0.get(rank.index()).map(|thread| thread.channel)
    }
}
