//! From operations on blocks to actions on bytes.

use weft_collective::{Buffer, Call, Collective, Layout, Op, Plan, Rank, Slice};

use super::extents::{Extent, Mapping, Run, alike};
use super::sent_on::mark_sent_on;
use super::{Action, Kind, Script, Thread};
use crate::{Fault, Port};

pub(super) fn compile(plan: &Plan, call: &Call, rank: Rank) -> Result<Script, Fault> {
    let mapping = Mapping::new(call, Layout::new(call, plan.ranks, plan.pieces), rank);
    let (input_bytes, output_bytes) = mapping.lengths(call);
    let scratch = (0..plan.scratch).map(|number| mapping.bytes(Buffer::Scratch(number))).collect();
    // A barrier is nothing but empty messages. Elsewhere nobody needs them, unless threads wait for each other by them.
    let keeps_empty = call.collective == Collective::Barrier || plan.threads.len() > 1;
    let (actions, extents, earlier) = (Vec::new(), Vec::new(), Vec::new());
    let mut writer = Writer { mapping, keeps_empty, actions, extents, earlier, first: 0 };
    let mut threads = Vec::with_capacity(plan.threads.len());
    let mut ops = Vec::new();
    for number in 0..plan.threads.len() {
        let mut steps = plan.steps(rank, u16::try_from(number).unwrap_or(u16::MAX));
        writer.first = writer.actions.len();
        let (first, mut ends) = (count(writer.first), Vec::new());
        while let Some(channel) = steps.next_into(&mut ops) {
            for op in ops.drain(..) {
                writer.write(op, channel)?;
            }
            ends.push(count(writer.actions.len()));
        }
        threads.push(Thread { first, ends });
    }
    mark_sent_on(&mut writer.actions, &writer.extents);
    Ok(Script {
        threads,
        actions: writer.actions,
        extents: writer.extents,
        earlier: writer.earlier,
        input_bytes,
        output_bytes,
        scratch_bytes: scratch,
    })
}

struct Writer<'c> {
    mapping: Mapping<'c>,
    keeps_empty: bool,
    actions: Vec<Action>,
    extents: Vec<Extent>,
    earlier: Vec<u32>,
    /// The first action of the thread.
    first: usize,
}

impl Writer<'_> {
    fn write(&mut self, op: Op, channel: u16) -> Result<(), Fault> {
        match op {
            Op::Send { to, from } => {
                let from = self.run(&self.mapping.extents(&from));
                let port = Port { peer: to, channel };
                self.message(from, Kind::Send { port, from });
            }
            Op::Recv { from, into } => {
                let into = self.run(&self.mapping.extents(&into));
                let port = Port { peer: from, channel };
                self.message(into, Kind::Receive { port, into });
            }
            Op::RecvReduce { from, local, into } => {
                let (local, into) = self.pair(&local, &into);
                let port = Port { peer: from, channel };
                self.message(into, Kind::ReceiveReduce { port, local, into });
            }
            Op::Copy { from, into } => {
                let (from, into) = self.pair(&from, &into);
                self.within(into, Kind::Copy { from, into });
            }
            Op::Reduce { from, into } => {
                let (from, into) = self.pair(&from, &into);
                self.within(into, Kind::Reduce { from, into });
            }
            Op::Await { thread, steps } => {
                self.push(Kind::Await { thread, steps });
            }
            Op::Multicast { .. } | Op::Contribute { .. } | Op::SwitchReduce { .. } => {
                return Err(Fault::Lacking {
                    what: "switches that add or copy",
                    how: "the plan needs them; choose an algorithm that does not".to_owned(),
                });
            }
        }
        Ok(())
    }

    fn message(&mut self, run: Run, kind: Kind) {
        if run.count > 0 || self.keeps_empty {
            self.push(kind);
        }
    }

    fn within(&mut self, into: Run, kind: Kind) {
        if into.count > 0 {
            self.push(kind);
        }
    }

    fn push(&mut self, kind: Kind) {
        let first = count(self.earlier.len());
        let written = kind.written().map_or(&[][..], |run| &self.extents[run.range()]);
        let overwritten = |action: &Action| match action.kind {
            Kind::Send { from, .. } => {
                let sent = &self.extents[from.range()];
                sent.iter().any(|sent| written.iter().any(|written| sent.overlaps(*written)))
            }
            Kind::Receive { .. }
            | Kind::ReceiveReduce { .. }
            | Kind::Copy { .. }
            | Kind::Reduce { .. }
            | Kind::Await { .. } => false,
        };
        let mut port_is_free = kind.port().is_none();
        for (at, action) in self.actions.iter().enumerate().skip(self.first).rev() {
            let same = action.kind.port() == kind.port() && action.kind.sends() == kind.sends();
            if (same && !std::mem::replace(&mut port_is_free, true)) || overwritten(action) {
                self.earlier.push(count(at));
            }
        }
        let after = Run { first, count: count(self.earlier.len()) - first };
        self.actions.push(Action { kind, after, sent_on: false });
    }

    fn pair(&mut self, first: &Slice, second: &Slice) -> (Run, Run) {
        let (first, second) = alike(&self.mapping.extents(first), &self.mapping.extents(second));
        (self.run(&first), self.run(&second))
    }

    fn run(&mut self, extents: &[Extent]) -> Run {
        let first = count(self.extents.len());
        self.extents.extend(extents);
        Run { first, count: count(extents.len()) }
    }
}

/// A script has fewer than 2^32 of anything: it is in memory.
fn count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
