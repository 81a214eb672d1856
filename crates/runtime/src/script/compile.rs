//! From operations on blocks to actions on bytes.

use weft_collective::{Buffer, Call, Collective, Counts, Layout, Op, Plan, Rank, Slice};

use super::extents::{Extent, Mapping, Run, alike};
use super::sent_on::mark_sent_on;
use super::{Action, Kind, Script, Thread};
use crate::{Fault, Port};

/// Cuts the call into so many parts, of which each is played by the plan, one after the other.
pub(super) fn compile(plan: &Plan, call: &Call, rank: Rank, parts: u32) -> Result<Script, Fault> {
    let whole = Mapping::new(call, Layout::new(call, plan.ranks, plan.pieces), rank);
    let (input_bytes, output_bytes) = whole.lengths(call);
    let calls = cut(call, parts);
    // A barrier is nothing but empty messages. Elsewhere nobody needs them, unless threads wait for each other by them.
    let keeps_empty = call.collective == Collective::Barrier || plan.threads.len() > 1;
    let (actions, extents, earlier) = (Vec::new(), Vec::new(), Vec::new());
    let steps = if calls.len() > 1 { steps(plan, rank) } else { vec![0; plan.threads.len()] };
    let mut writer =
        Writer { mapping: whole, keeps_empty, actions, extents, earlier, first: 0, part: 0, steps };
    let mut threads = Vec::with_capacity(plan.threads.len());
    for number in 0..plan.threads.len() {
        threads.push(writer.thread(plan, (rank, number), &calls)?);
    }
    mark_sent_on(&mut writer.actions, &writer.extents);
    let scratch = |number| {
        let bytes = calls.iter().map(|part| part.mapping(plan, rank).bytes(Buffer::Scratch(number)));
        bytes.max().unwrap_or(0)
    };
    Ok(Script {
        threads,
        actions: writer.actions,
        extents: writer.extents,
        earlier: writer.earlier,
        input_bytes,
        output_bytes,
        scratch_bytes: (0..plan.scratch).map(scratch).collect(),
    })
}

/// A part of a call.
struct Part {
    call: Call,
    /// Bytes before it in each buffer.
    before: usize,
}

impl Part {
    fn mapping(&self, plan: &Plan, rank: Rank) -> Mapping<'_> {
        Mapping::new(&self.call, Layout::new(&self.call, plan.ranks, plan.pieces), rank).behind(self.before)
    }
}

/// Cuts a call into parts as even as whole elements allow, where its buffers can be cut so.
fn cut(call: &Call, parts: u32) -> Vec<Part> {
    let whole = || vec![Part { call: call.clone(), before: 0 }];
    let Counts::Even(elements) = call.counts else { return whole() };
    if parts < 2 || !can_be_cut(call) {
        return whole();
    }
    let at = |part: u32| {
        elements / u64::from(parts) * u64::from(part)
            + elements % u64::from(parts) * u64::from(part) / u64::from(parts)
    };
    let part = |part: u32| {
        let counts = Counts::Even(at(part + 1) - at(part));
        let before = usize::try_from(at(part) * call.data_type.size_bytes()).unwrap_or(usize::MAX);
        Part { call: Call { counts, ..call.clone() }, before }
    };
    (0..parts).map(part).collect()
}

/// Whether element i of one buffer belongs to element i of the other, on all ranks.
pub(super) fn can_be_cut(call: &Call) -> bool {
    let whole = match call.collective {
        Collective::AllReduce | Collective::Broadcast | Collective::Reduce => true,
        Collective::AllGather
        | Collective::ReduceScatter
        | Collective::AllToAll
        | Collective::SendRecv
        | Collective::Barrier => false,
    };
    whole && matches!(call.counts, Counts::Even(_))
}

struct Writer<'c> {
    mapping: Mapping<'c>,
    keeps_empty: bool,
    actions: Vec<Action>,
    extents: Vec<Extent>,
    earlier: Vec<u32>,
    /// The first action of the thread that may have to be over before another one begins.
    first: usize,
    /// The part that is written, and the steps of each thread in a part.
    part: u32,
    steps: Vec<u32>,
}

/// Steps of each thread.
fn steps(plan: &Plan, rank: Rank) -> Vec<u32> {
    let mut ops = Vec::new();
    let mut of = |number: usize| {
        let (mut steps, mut length) = (plan.steps(rank, u16::try_from(number).unwrap_or(u16::MAX)), 0);
        while steps.next_into(&mut ops).is_some() {
            ops.clear();
            length += 1;
        }
        length
    };
    (0..plan.threads.len()).map(&mut of).collect()
}

impl<'c> Writer<'c> {
    /// Writes a thread: part after part.
    fn thread(
        &mut self,
        plan: &Plan,
        (rank, number): (Rank, usize),
        parts: &'c [Part],
    ) -> Result<Thread, Fault> {
        let (first, mut ends, mut ops) = (count(self.actions.len()), Vec::new(), Vec::new());
        let (mut before, mut present) = (self.actions.len(), self.actions.len());
        for (part, number_of_part) in parts.iter().zip(0..) {
            (self.mapping, self.part) = (part.mapping(plan, rank), number_of_part);
            // What is before the last part was over before something of that was written.
            self.first = before;
            let mut steps = plan.steps(rank, u16::try_from(number).unwrap_or(u16::MAX));
            while let Some(channel) = steps.next_into(&mut ops) {
                for op in ops.drain(..) {
                    self.write(op, channel)?;
                }
                ends.push(count(self.actions.len()));
            }
            (before, present) = (present, self.actions.len());
        }
        Ok(Thread { first, ends })
    }

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
                // Those of the parts before are over too.
                let before = self.steps.get(usize::from(thread)).map_or(0, |all| all * self.part);
                self.push(Kind::Await { thread, steps: before + steps });
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
