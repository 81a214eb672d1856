//! Goes through a script as far as its ports let it. Does no I/O, waits for nothing, knows no clock.

mod memory;

use crate::reduce::{
    STREAMED_SUM_BYTES, accumulate, accumulate_streamed, combine, combine_streamed, copy_streamed,
};
use crate::script::{Action, Kind, Run, Script};
use crate::{Element, Fault, Port, Ports, Reduction};

pub use memory::Memory;
use memory::Pair;

/// How far it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Something moved.
    Moved,
    /// Nothing moved.
    Still,
    /// All is done.
    Over,
}

/// Where a rank is in its script.
#[derive(Debug, Default)]
pub struct Player {
    threads: Vec<Walk>,
    /// What is over of each action.
    states: Vec<State>,
}

/// Where a thread is.
#[derive(Debug, Default)]
struct Walk {
    /// The present step.
    step: usize,
    /// Sends of earlier steps that are not over, with their steps.
    sends: Vec<(usize, usize)>,
}

/// What is over of an action.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    piece: u32,
    bytes: usize,
    over: bool,
}

impl Player {
    /// Stands before the first step of a script.
    pub fn begin(&mut self, script: &Script) {
        self.threads.resize_with(script.threads.len(), Walk::default);
        for walk in &mut self.threads {
            walk.step = 0;
            walk.sends.clear();
        }
        self.states.clear();
        self.states.resize(script.actions.len(), State::default());
    }

    /// Goes on until nothing moves any more.
    pub fn advance(
        &mut self,
        script: &Script,
        (element, reduction): (Element, Reduction),
        memory: &mut Memory<'_>,
        ports: &mut impl Ports,
    ) -> Result<Progress, Fault> {
        let (mut moved, mut over) = (false, true);
        let mut act = Act { script, element, reduction, memory, ports, moved: &mut moved };
        for thread in 0..self.threads.len() {
            over &= self.walk(thread, &mut act)?;
        }
        Ok(if over {
            Progress::Over
        } else if moved {
            Progress::Moved
        } else {
            Progress::Still
        })
    }

    /// Goes on with a thread; whether it is over.
    fn walk<P: Ports>(&mut self, thread: usize, act: &mut Act<'_, '_, P>) -> Result<bool, Fault> {
        for at in 0..self.threads[thread].sends.len() {
            self.go_on(self.threads[thread].sends[at].1, act)?;
        }
        let states = &self.states;
        self.threads[thread].sends.retain(|(_, action)| !states[*action].over);
        while let Some((first, end)) = step(act.script, thread, self.threads[thread].step) {
            let (mut whole, mut left) = (true, 0);
            for at in first..end {
                if !self.go_on(at, act)? {
                    let sends = act.script.actions[at].kind.sends();
                    whole &= sends;
                    left += usize::from(sends);
                }
            }
            if !whole {
                return Ok(false);
            }
            let walk = &mut self.threads[thread];
            if left > 0 {
                let open = (first..end).filter(|at| !self.states[*at].over);
                walk.sends.extend(open.map(|at| (walk.step, at)));
            }
            walk.step += 1;
            *act.moved = true;
        }
        Ok(self.threads[thread].sends.is_empty())
    }

    /// Goes on with an action; whether it is over.
    fn go_on<P: Ports>(&mut self, at: usize, act: &mut Act<'_, '_, P>) -> Result<bool, Fault> {
        let mut state = self.states[at];
        if !state.over {
            let action = &act.script.actions[at];
            let earlier = &act.script.earlier[action.after.range()];
            if earlier.iter().all(|before| self.states[*before as usize].over) {
                act.go_on(self, action, &mut state)?;
                self.states[at] = state;
            }
        }
        Ok(state.over)
    }

    /// How many steps of a thread are over, with all that they sent.
    fn steps_over(&self, thread: usize) -> usize {
        let walk = &self.threads[thread];
        walk.sends.iter().map(|(step, _)| *step).min().unwrap_or(walk.step)
    }

    /// The ports at which it waits.
    pub fn waits_for<'p>(&'p self, script: &'p Script) -> impl Iterator<Item = Port> + 'p {
        let present = |(thread, walk): (usize, &'p Walk)| {
            let (first, end) = step(script, thread, walk.step).unwrap_or_default();
            walk.sends.iter().map(|(_, action)| *action).chain(first..end)
        };
        let actions = self.threads.iter().enumerate().flat_map(present);
        actions.filter(|at| !self.states[*at].over).filter_map(|at| script.actions[at].kind.port())
    }
}

/// What an empty message consists of.
const TOKEN: [u8; 1] = [0];

/// The actions of a step of a thread.
fn step(script: &Script, thread: usize, step: usize) -> Option<(usize, usize)> {
    let thread = &script.threads[thread];
    let end = *thread.ends.get(step)?;
    let first = if step == 0 { thread.first } else { thread.ends[step - 1] };
    Some((first as usize, end as usize))
}

/// All that an action needs.
struct Act<'a, 'b, P> {
    script: &'a Script,
    element: Element,
    reduction: Reduction,
    memory: &'a mut Memory<'b>,
    ports: &'a mut P,
    moved: &'a mut bool,
}

impl<P: Ports> Act<'_, '_, P> {
    fn go_on(&mut self, player: &Player, action: &Action, state: &mut State) -> Result<(), Fault> {
        match action.kind {
            Kind::Send { port, from } => self.send(port, from, state),
            Kind::Receive { port, into } => self.receive(port, into, action.sent_on, state),
            Kind::ReceiveReduce { port, local, into } => {
                self.receive_reduce(port, (local, into), action.sent_on, state)
            }
            Kind::Copy { from, into } => {
                let script = self.script;
                for (from, into) in script.pieces(from, into) {
                    if let Pair::Apart(from, into) = self.memory.pair(from, into) {
                        if action.sent_on && self.ports.passes_on(into) {
                            copy_streamed(from, into);
                        } else {
                            into.copy_from_slice(from);
                        }
                    }
                }
                state.over = true;
                Ok(())
            }
            Kind::Reduce { from, into } => {
                let script = self.script;
                for (from, into) in script.pieces(from, into) {
                    if let Pair::Apart(from, into) = self.memory.pair(from, into) {
                        let streams = action.sent_on && self.ports.passes_on(into);
                        let accumulate = if streams { accumulate_streamed } else { accumulate };
                        accumulate(self.element, self.reduction, from, into);
                    }
                }
                state.over = true;
                Ok(())
            }
            Kind::Await { thread, steps } => {
                state.over = player.steps_over(usize::from(thread)) >= steps as usize;
                Ok(())
            }
        }
    }

    fn send(&mut self, port: Port, from: Run, state: &mut State) -> Result<(), Fault> {
        if from.count == 0 {
            // What is sent for its own sake, as in a barrier, is a byte.
            if self.ports.push(port, &TOKEN, 0, true)? == TOKEN.len() {
                self.finish(state);
            }
            return Ok(());
        }
        while state.piece < from.count {
            let extent = self.script.extents[(from.first + state.piece) as usize];
            let end = state.piece + 1 == from.count;
            let done = self.ports.push(port, self.memory.read(extent), state.bytes, end)?;
            self.note(state, done, extent.length);
            if done < extent.length {
                return Ok(());
            }
        }
        self.finish(state);
        Ok(())
    }

    fn receive(&mut self, port: Port, into: Run, sent_on: bool, state: &mut State) -> Result<(), Fault> {
        if into.count == 0 {
            return self.receive_nothing(port, state);
        }
        while state.piece < into.count {
            let extent = self.script.extents[(into.first + state.piece) as usize];
            let end = state.piece + 1 == into.count;
            let rest = &mut self.memory.write(extent)[state.bytes..];
            let unit = self.element.size_bytes();
            let came = if sent_on && self.ports.passes_on(rest) {
                let (mut at, want) = (0, rest.len());
                self.ports.pull(port, want, unit, end, |part| {
                    copy_streamed(part, &mut rest[at..at + part.len()]);
                    at += part.len();
                })?
            } else {
                self.ports.pull_into(port, rest, unit, end)?
            };
            let done = state.bytes + came;
            self.note(state, done, extent.length);
            if done < extent.length {
                return Ok(());
            }
        }
        self.finish(state);
        Ok(())
    }

    fn receive_reduce(
        &mut self,
        port: Port,
        (local, into): (Run, Run),
        sent_on: bool,
        state: &mut State,
    ) -> Result<(), Fault> {
        if into.count == 0 {
            return self.receive_nothing(port, state);
        }
        let (element, reduction) = (self.element, self.reduction);
        while state.piece < into.count {
            let (from, extent) = (
                self.script.extents[(local.first + state.piece) as usize],
                self.script.extents[(into.first + state.piece) as usize],
            );
            let end = state.piece + 1 == into.count;
            let (mut at, want) = (state.bytes, extent.length - state.bytes);
            let passes_on = sent_on && self.ports.passes_on(self.memory.read(extent));
            let mut pair = self.memory.pair(from, extent);
            let came = self.ports.pull(port, want, element.size_bytes(), end, |part| {
                let range = at..at + part.len();
                at += part.len();
                match &mut pair {
                    Pair::Same(sum) => {
                        let accumulate = if passes_on { accumulate_streamed } else { accumulate };
                        accumulate(element, reduction, part, &mut sum[range]);
                    }
                    Pair::Apart(local, sum) => {
                        let streams = passes_on || extent.length >= STREAMED_SUM_BYTES;
                        let combine = if streams { combine_streamed } else { combine };
                        combine(element, reduction, &local[range.clone()], part, &mut sum[range]);
                    }
                }
            })?;
            let done = state.bytes + came;
            self.note(state, done, extent.length);
            if done < extent.length {
                return Ok(());
            }
        }
        self.finish(state);
        Ok(())
    }

    fn receive_nothing(&mut self, port: Port, state: &mut State) -> Result<(), Fault> {
        if self.ports.pull(port, TOKEN.len(), 1, true, |_| {})? == TOKEN.len() {
            self.finish(state);
        }
        Ok(())
    }

    /// So many bytes of a piece are over.
    fn note(&mut self, state: &mut State, done: usize, length: usize) {
        *self.moved |= done > state.bytes;
        state.bytes = done;
        if done >= length {
            (state.piece, state.bytes) = (state.piece + 1, 0);
        }
    }

    fn finish(&mut self, state: &mut State) {
        (state.over, *self.moved) = (true, true);
    }
}
