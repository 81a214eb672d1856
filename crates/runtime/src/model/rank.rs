//! Where a rank is in its script, in virtual time.

use crate::script::{Action, Kind, Script};

/// A rank, as far as it has come.
#[derive(Debug)]
pub(super) struct Walker<'s> {
    pub script: &'s Script,
    threads: Vec<Thread>,
    states: Vec<State>,
    /// Calls that are over.
    pub calls: usize,
    /// Whether the present call has begun.
    pub begun: bool,
}

#[derive(Debug, Default, Clone)]
struct Thread {
    step: usize,
    /// Sends of earlier steps that are not over, with their steps.
    sends: Vec<(usize, usize)>,
}

/// What is over of an action.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct State {
    pub piece: u32,
    pub bytes: usize,
    /// Whether the present piece waits for the receiver to read it.
    pub posted: bool,
    pub over: bool,
}

/// What a rank did when it was asked to go on.
pub(super) enum Did {
    /// Something that took so many seconds.
    Worked(f64),
    /// Nothing can be done.
    Nothing,
    /// The call is over.
    Over,
}

/// Goes on with one action by one part, if it can: the seconds it took. Sets [`State::over`] at the end.
pub(super) trait Advance {
    fn advance(&mut self, script: &Script, action: Action, state: &mut State) -> Option<f64>;
}

impl<'s> Walker<'s> {
    pub fn new(script: &'s Script) -> Self {
        let mut walker = Self { script, threads: Vec::new(), states: Vec::new(), calls: 0, begun: false };
        walker.rewind();
        walker
    }

    /// Stands before the first step again.
    pub fn rewind(&mut self) {
        self.threads.clear();
        self.threads.resize(self.script.threads.len(), Thread::default());
        self.states.clear();
        self.states.resize(self.script.actions.len(), State::default());
        self.begun = false;
    }

    /// The first thing that can be done, in the order in which the player looks for it.
    pub fn go_on(&mut self, advance: &mut impl Advance) -> Did {
        loop {
            let before: usize = self.threads.iter().map(|thread| thread.step).sum();
            let did = self.sweep(advance);
            let after: usize = self.threads.iter().map(|thread| thread.step).sum();
            // A thread may have waited for the step of another one that is looked at after it.
            if !matches!(did, Did::Nothing) || before == after {
                return did;
            }
        }
    }

    fn sweep(&mut self, advance: &mut impl Advance) -> Did {
        let mut over = true;
        for thread in 0..self.threads.len() {
            for at in 0..self.threads[thread].sends.len() {
                if let Some(seconds) = self.act(self.threads[thread].sends[at].1, advance) {
                    return Did::Worked(seconds);
                }
            }
            let states = &self.states;
            self.threads[thread].sends.retain(|(_, action)| !states[*action].over);
            while let Some(actions) = self.present(thread) {
                for at in actions.clone() {
                    if let Some(seconds) = self.act(at, advance) {
                        return Did::Worked(seconds);
                    }
                }
                let open = |at: &usize| !self.states[*at].over;
                if actions.clone().any(|at| open(&at) && !self.script.actions[at].kind.sends()) {
                    break;
                }
                let step = self.threads[thread].step;
                let left: Vec<_> = actions.filter(open).map(|at| (step, at)).collect();
                self.threads[thread].sends.extend(left);
                self.threads[thread].step += 1;
            }
            over &= self.present(thread).is_none() && self.threads[thread].sends.is_empty();
        }
        if over { Did::Over } else { Did::Nothing }
    }

    /// The actions of a thread's present step.
    fn present(&self, thread: usize) -> Option<std::ops::Range<usize>> {
        let (steps, step) = (&self.script.threads[thread], self.threads[thread].step);
        let end = *steps.ends.get(step)?;
        let first = if step == 0 { steps.first } else { steps.ends[step - 1] };
        Some(first as usize..end as usize)
    }

    /// Goes on with an action, if it is its turn and anything can be done.
    fn act(&mut self, at: usize, advance: &mut impl Advance) -> Option<f64> {
        let mut state = self.states[at];
        if state.over {
            return None;
        }
        let action = self.script.actions[at];
        let Action { kind, after, .. } = action;
        let earlier = &self.script.earlier[after.range()];
        if !earlier.iter().all(|before| self.states[*before as usize].over) {
            return None;
        }
        if let Kind::Await { thread, steps } = kind {
            self.states[at].over = self.steps_over(usize::from(thread)) >= steps as usize;
            return None;
        }
        let done = advance.advance(self.script, action, &mut state);
        self.states[at] = state;
        done
    }

    /// How many steps of a thread are over, with all that they sent.
    fn steps_over(&self, thread: usize) -> usize {
        let walk = &self.threads[thread];
        walk.sends.iter().map(|(step, _)| *step).min().unwrap_or(walk.step)
    }
}
