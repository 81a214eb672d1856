//! What blocks hold and who knows what, while a plan is played.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::clock::Clocks;
use super::place::Place;
use super::space::{Cell, Space};
use super::sums::{Sums, Value};
use super::survey::{Key, Survey, slices};
use super::violation::{Content, Part, Violation};
use crate::{Buffer, Op, Rank, Slice};

/// What a message carries.
#[derive(Debug, Clone)]
pub(super) struct Given {
    values: Rc<[Value]>,
    slice: Option<Slice>,
    /// What the giver knew of others.
    clock: Option<Rc<[u32]>>,
    /// Messages of the longest chain that ends with this one.
    chain: u32,
}

impl Given {
    pub fn nothing() -> Self {
        Self { values: Rc::from([]), slice: None, clock: None, chain: 0 }
    }
}

/// Bytes that ranks have moved.
#[derive(Debug)]
pub(super) struct Traffic {
    pub sent: Vec<u64>,
    pub received: Vec<u64>,
    pub messages: u64,
}

#[derive(Debug)]
pub(super) struct State<'s, 'c> {
    space: &'s Space<'c>,
    survey: &'s Survey,
    pub sums: Sums,
    cells: Vec<Value>,
    pub clocks: Option<Clocks<'s>>,
    pub traffic: Traffic,
    /// Messages of the longest chain to the start of each thread's current step, and to its end.
    chains: Vec<(u32, u32)>,
    /// The same at the ends of steps for which others wait.
    ends: BTreeMap<(usize, u32), u32>,
}

impl<'s, 'c> State<'s, 'c> {
    pub fn new(space: &'s Space<'c>, survey: &'s Survey, clocks: Option<Clocks<'s>>) -> Self {
        let mut state = Self {
            space,
            survey,
            sums: Sums::new(),
            cells: vec![Value::NOTHING; space.cells() * space.ranks as usize],
            clocks,
            traffic: Traffic {
                sent: vec![0; space.ranks as usize],
                received: vec![0; space.ranks as usize],
                messages: 0,
            },
            chains: vec![(0, 0); space.walkers()],
            ends: BTreeMap::new(),
        };
        for rank in (0..space.ranks).map(Rank::new).filter(|rank| space.brings(*rank)) {
            for block in 0..space.blocks(Buffer::Input) {
                let value = state.sums.value(Content { part: Part { rank, block }, ranks: 1 });
                let cell = space.cell(rank, super::place::Block { buffer: Buffer::Input, number: block });
                state.write(rank, cell, value);
            }
        }
        state
    }

    pub fn value(&self, rank: Rank, cell: Cell) -> Value {
        let index = rank.index() * self.space.cells() + cell.index;
        self.cells.get(index).copied().unwrap_or(Value::NOTHING)
    }

    /// The longest chain of messages of all threads.
    pub fn longest_chain(&self) -> u32 {
        self.chains.iter().map(|(_, end)| *end).max().unwrap_or(0)
    }

    fn write(&mut self, rank: Rank, cell: Cell, value: Value) {
        let index = rank.index() * self.space.cells() + cell.index;
        if cell.bytes > 0
            && let Some(held) = self.cells.get_mut(index)
        {
            *held = value;
        }
    }

    /// A block without a byte holds nothing, and nobody misses it.
    fn read(&self, at: Place, cell: Cell) -> Result<Value, Violation> {
        let value = self.value(at.rank, cell);
        if value.is_nothing() && cell.bytes > 0 {
            return Err(Violation::Undefined { at, block: cell.block });
        }
        Ok(value)
    }

    /// A thread begins a step.
    pub fn begin(&mut self, walker: usize, step: u32, ops: &[Op]) {
        if let Some((start, end)) = self.chains.get_mut(walker) {
            *start = *end;
        }
        if let Some(clocks) = &mut self.clocks {
            let mut others = ops.iter().filter(|op| !matches!(op, Op::Await { .. }));
            // A multicast may have arrived here and not yet there.
            let alone = others.next().is_some_and(|op| !matches!(op, Op::Multicast { .. }))
                && others.next().is_none();
            clocks.begin(walker, step, alone);
        }
    }

    /// A thread has ended so many steps.
    pub fn end(&mut self, walker: usize, steps: u32) {
        let threads = usize::from(self.space.threads);
        let (rank, thread) = (walker / threads, walker % threads);
        let key = (u32::try_from(rank).map(Rank::new), u16::try_from(thread));
        let (Ok(rank), Ok(thread)) = key else { return };
        let awaited = self.survey.awaited.get(&(rank, thread, steps)).copied().unwrap_or(0);
        if let (true, Some((_, end))) = (awaited > 0, self.chains.get(walker)) {
            self.ends.insert((walker, steps), *end);
        }
        if let Some(clocks) = &mut self.clocks {
            clocks.end(walker, steps, awaited);
        }
    }

    /// A thread has waited for so many steps of another one.
    pub fn awaited(&mut self, walker: usize, watched: usize, steps: u32) {
        let chain = self.ends.get(&(watched, steps)).copied().unwrap_or(0);
        self.lengthen(walker, chain);
        if let Some(clocks) = &mut self.clocks {
            clocks.awaited(walker, watched, steps);
        }
    }

    /// The current step of a thread ends not before the end of a chain of so many messages.
    fn lengthen(&mut self, walker: usize, chain: u32) {
        if let Some((_, end)) = self.chains.get_mut(walker) {
            *end = (*end).max(chain);
        }
    }

    /// An operation uses its blocks from now on.
    pub fn touch(&mut self, at: Place, op: &Op) -> Result<(), Violation> {
        let Some(clocks) = &mut self.clocks else { return Ok(()) };
        let (read, written) = slices(op);
        for (slice, writes) in [(read, false), (written, true)] {
            let cells = slice.into_iter().flat_map(|slice| self.space.slice(at.rank, slice));
            for cell in cells.filter(|cell| cell.bytes > 0) {
                let index = at.rank.index() * self.space.cells() + cell.index;
                clocks.touch(at, index, cell.block, writes)?;
            }
        }
        Ok(())
    }

    /// An operation uses one end of a queue.
    pub fn order(&mut self, key: Key, takes: bool, at: Place) -> Result<(), Violation> {
        self.traffic.messages += u64::from(!takes);
        self.clocks.as_mut().map_or(Ok(()), |clocks| clocks.order(key, takes, at))
    }

    /// What an operation gives.
    pub fn give(&mut self, walker: usize, at: Place, from: Slice) -> Result<Given, Violation> {
        let cells = self.space.slice(at.rank, from);
        let values = cells.map(|cell| self.read(at, cell)).collect::<Result<_, _>>()?;
        let chain = self.chains.get(walker).map_or(0, |(start, _)| start + 1);
        self.lengthen(walker, chain);
        if let Some(sent) = self.traffic.sent.get_mut(at.rank.index()) {
            *sent = sent.saturating_add(self.space.layout.slice_bytes(at.rank, &from));
        }
        let clock = self.clocks.as_ref().and_then(|clocks| clocks.given(walker));
        Ok(Given { values, slice: Some(from), clock, chain })
    }

    /// A rank copies or adds its own blocks.
    pub fn local(&mut self, at: Place, from: Slice, into: Slice, adds: bool) -> Result<(), Violation> {
        fits(self.space, (at, from), (at, into))?;
        let mut values = Vec::new();
        for (cell, place) in self.space.slice(at.rank, from).zip(self.space.slice(at.rank, into)) {
            let value = self.read(at, cell)?;
            let value = if adds && place.bytes > 0 {
                let held = self.read(at, place)?;
                self.sums.add(value, held, at)
            } else {
                value
            };
            values.push((place, value));
        }
        for (place, value) in values {
            self.write(at.rank, place, value);
        }
        Ok(())
    }

    /// A message arrives.
    pub fn receive(
        &mut self,
        walker: usize,
        at: Place,
        op: &Op,
        sender: Place,
        given: &Given,
    ) -> Result<(), Violation> {
        let (local, into) = slices(op);
        let (Some(into), Some(from)) = (into, given.slice) else { return Ok(()) };
        if local.is_some() && sender.action == super::place::Action::Multicast {
            return Err(Violation::MulticastReduced { send: sender, recv: at });
        }
        self.arrive(walker, at, into, &[(walker, sender, given)]);
        fits(self.space, (sender, from), (at, into))?;
        self.sum(at, local, into, &[given])
    }

    /// All contributions to a reduction in switches are there.
    pub fn switch_reduce(
        &mut self,
        walker: usize,
        at: Place,
        op: &Op,
        all: &[(usize, Place, &Given)],
    ) -> Result<(), Violation> {
        let (Some(local), Some(into)) = slices(op) else { return Ok(()) };
        self.arrive(walker, at, into, all);
        for (_, sender, given) in all {
            if let Some(from) = given.slice {
                fits(self.space, (*sender, from), (at, into))?;
            }
        }
        // Everyone is released by the sum, which is a message later than the last one that gave to it.
        let start = self.chains.get(walker).map_or(0, |(start, _)| *start);
        let own = if all.is_empty() { start } else { start + 1 };
        let chain = all.iter().map(|(_, _, given)| given.chain).fold(own, u32::max);
        self.lengthen(walker, chain);
        let released = self.clocks.as_ref().and_then(|clocks| clocks.given(walker));
        for (giver, ..) in all {
            self.lengthen(*giver, chain);
            let Some(clocks) = &mut self.clocks else { continue };
            for clock in all.iter().filter_map(|(_, _, given)| given.clock.as_ref()).chain(&released) {
                clocks.hear(*giver, clock);
            }
        }
        let given: Vec<_> = all.iter().map(|(_, _, given)| *given).collect();
        self.sum(at, Some(local), into, &given)
    }

    /// Counts what arrives, and lets the taker know what the givers knew.
    fn arrive(&mut self, walker: usize, at: Place, into: Slice, all: &[(usize, Place, &Given)]) {
        let bytes = if all.is_empty() { 0 } else { self.space.layout.slice_bytes(at.rank, &into) };
        if let Some(received) = self.traffic.received.get_mut(at.rank.index()) {
            *received = received.saturating_add(bytes);
        }
        for (_, _, given) in all {
            self.lengthen(walker, given.chain);
            if let (Some(clocks), Some(clock)) = (&mut self.clocks, &given.clock) {
                clocks.hear(walker, clock);
            }
        }
    }

    /// Writes the sum of what is local and what was given.
    fn sum(&mut self, at: Place, local: Option<Slice>, into: Slice, all: &[&Given]) -> Result<(), Violation> {
        if let Some(local) = local {
            fits(self.space, (at, local), (at, into))?;
        }
        let mut held = Vec::new();
        for cell in local.into_iter().flat_map(|local| self.space.slice(at.rank, local)) {
            held.push(self.read(at, cell)?);
        }
        for (number, place) in self.space.slice(at.rank, into).enumerate() {
            if place.bytes == 0 {
                continue;
            }
            let mut parts = held.get(number).copied().into_iter();
            let mut given = all.iter().filter_map(|given| given.values.get(number).copied());
            let Some(mut value) = parts.next().or_else(|| given.next()) else { continue };
            for part in given {
                value = self.sums.add(part, value, at);
            }
            self.write(at.rank, place, value);
        }
        Ok(())
    }
}

/// Whether what is read has as many blocks as what is written, each as large as its place.
fn fits(space: &Space<'_>, from: (Place, Slice), into: (Place, Slice)) -> Result<(), Violation> {
    let ((from, source), (into, target)) = (from, into);
    let (given, taken) = (blocks(&source), blocks(&target));
    if given != taken {
        return Err(Violation::Blocks { from, into, given, taken });
    }
    if space.layout.is_even() {
        return Ok(());
    }
    for (cell, place) in space.slice(from.rank, source).zip(space.slice(into.rank, target)) {
        if cell.bytes != place.bytes {
            let (given_bytes, taken_bytes) = (cell.bytes, place.bytes);
            return Err(Violation::Sizes { from, into, block: place.block, given_bytes, taken_bytes });
        }
    }
    Ok(())
}

/// Blocks of a slice; a slice of no chunk may have chunks of any size.
fn blocks(slice: &Slice) -> u32 {
    slice.count.saturating_mul(slice.unit)
}
