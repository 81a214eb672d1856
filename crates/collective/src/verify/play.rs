//! Plays a plan once. Which message meets which receive does not depend on the order in which threads happen to run,
//! so if this one run ends, every run ends.

use std::collections::{BTreeMap, VecDeque};

use super::place::{Action, Place};
use super::space::Space;
use super::state::{Given, State};
use super::survey::{Key, Survey, User};
use super::violation::Violation;
use crate::plan::Steps;
use crate::{Op, Plan, Rank, Slice};

/// A thread of a rank, counted over all ranks.
type Walker = usize;

/// When a send is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sends {
    /// Whether or not anyone takes it.
    Buffered,
    /// When the receiver has started to take it.
    Rendezvous,
}

/// Something on its way.
#[derive(Debug)]
struct Message {
    walker: Walker,
    at: Place,
    given: Given,
}

/// An operation that takes something.
#[derive(Debug, Clone, Copy)]
struct Taker {
    walker: Walker,
    at: Place,
    op: Op,
}

#[derive(Debug, Default)]
struct Queue {
    messages: VecDeque<Message>,
    takers: VecDeque<Taker>,
}

/// What a reduction in switches has so far.
#[derive(Debug)]
struct Gathering {
    missing: usize,
    contributions: Vec<Message>,
}

#[derive(Debug)]
struct Thread<'p> {
    rank: Rank,
    number: u16,
    steps: Steps<'p>,
    /// Steps begun.
    begun: u32,
    /// Steps over.
    over: u32,
    /// Operations of the current step that are not over.
    pending: usize,
    finished: bool,
    /// Who waits for how many steps.
    watchers: Vec<(u32, Walker, Place)>,
    gatherings: BTreeMap<u32, Gathering>,
}

/// A run.
#[derive(Debug)]
pub(super) struct Play<'p, 'c> {
    space: &'p Space<'c>,
    sends: Sends,
    /// What the blocks hold; `None` where only progress is asked for.
    state: Option<State<'p, 'c>>,
    threads: Vec<Thread<'p>>,
    queues: BTreeMap<Key, Queue>,
    ready: VecDeque<Walker>,
}

impl<'p, 'c> Play<'p, 'c> {
    pub fn new(plan: &'p Plan, space: &'p Space<'c>, sends: Sends, state: Option<State<'p, 'c>>) -> Self {
        let thread = |rank, number| Thread {
            rank,
            number,
            steps: plan.steps(rank, number),
            begun: 0,
            over: 0,
            pending: 0,
            finished: false,
            watchers: Vec::new(),
            gatherings: BTreeMap::new(),
        };
        let threads: Vec<_> = (0..space.ranks)
            .flat_map(|rank| (0..space.threads).map(move |number| thread(Rank::new(rank), number)))
            .collect();
        let ready = (0..threads.len()).collect();
        Self { space, sends, state, threads, queues: BTreeMap::new(), ready }
    }

    /// Plays to the end, and gives what the blocks then hold.
    pub fn run(mut self, survey: &Survey) -> Result<Option<State<'p, 'c>>, Violation> {
        let mut ops = Vec::new();
        while let Some(walker) = self.ready.pop_front() {
            self.step(walker, &mut ops)?;
        }
        if let Some(message) = self.queues.values().find_map(|queue| queue.messages.front()) {
            // A message may be left because its taker is stuck; then that is what is wrong.
            if self.threads.iter().all(|thread| thread.finished) {
                return Err(Violation::NeverReceived { at: message.at });
            }
        }
        if self.threads.iter().any(|thread| !thread.finished) {
            return Err(self.stuck(survey));
        }
        Ok(self.state)
    }

    /// Begins the next step of a thread whose step before is over.
    fn step(&mut self, walker: Walker, ops: &mut Vec<Op>) -> Result<(), Violation> {
        ops.clear();
        let Some(thread) = self.threads.get_mut(walker) else { return Ok(()) };
        let Some(channel) = thread.steps.next_into(ops) else {
            thread.finished = true;
            return Ok(());
        };
        let (rank, number, step) = (thread.rank, thread.number, thread.begun);
        thread.begun += 1;
        // Held until all operations have started, so that the step is not over before.
        thread.pending = 1;
        if let Some(state) = &mut self.state {
            state.begin(walker, step, ops);
        }
        for (index, op) in (0..).zip(ops.iter()) {
            let at = Place { rank, thread: number, step, op: index, action: Action::from(op) };
            if let Some(state) = &mut self.state {
                state.touch(at, op)?;
            }
            self.start(walker, at, channel, *op)?;
        }
        self.over(walker);
        Ok(())
    }

    fn start(&mut self, walker: Walker, at: Place, channel: u16, op: Op) -> Result<(), Violation> {
        let key = |from, to, contribution| Key { from, to, channel, contribution };
        match op {
            Op::Send { to, from } => {
                let given = self.give(walker, at, from)?;
                self.post(key(at.rank, to, false), Message { walker, at, given })
            }
            Op::Multicast { to, from } => {
                let given = self.give(walker, at, from)?;
                let others = to.iter().filter(|rank| *rank != at.rank);
                others.into_iter().try_for_each(|rank| {
                    self.post(key(at.rank, rank, false), Message { walker, at, given: given.clone() })
                })
            }
            Op::Contribute { to, from } => {
                let given = self.give(walker, at, from)?;
                self.post(key(at.rank, to, true), Message { walker, at, given })
            }
            Op::Recv { from, .. } | Op::RecvReduce { from, .. } => {
                self.take(key(from, at.rank, false), Taker { walker, at, op })
            }
            Op::SwitchReduce { of, .. } => {
                let others = of.iter().filter(|rank| *rank != at.rank);
                let gathering = Gathering { missing: others.count(), contributions: Vec::new() };
                let alone = gathering.missing == 0;
                self.wait(walker);
                if let Some(thread) = self.threads.get_mut(walker) {
                    thread.gatherings.insert(at.op, gathering);
                }
                let taker = Taker { walker, at, op };
                if alone {
                    return self.reduced(taker);
                }
                let others = of.iter().filter(|rank| *rank != at.rank);
                others.into_iter().try_for_each(|rank| self.take(key(rank, at.rank, true), taker))
            }
            Op::Copy { from, into } | Op::Reduce { from, into } => match &mut self.state {
                Some(state) => state.local(at, from, into, matches!(op, Op::Reduce { .. })),
                None => Ok(()),
            },
            Op::Await { thread, steps } => {
                self.watch(walker, at, thread, steps);
                Ok(())
            }
        }
    }

    fn give(&mut self, walker: Walker, at: Place, from: Slice) -> Result<Given, Violation> {
        match &mut self.state {
            Some(state) => state.give(walker, at, from),
            None => Ok(Given::nothing()),
        }
    }

    /// Whether the giver of `key` waits for the taker.
    fn waits(&self, key: Key) -> bool {
        key.contribution || self.sends == Sends::Rendezvous
    }

    fn post(&mut self, key: Key, message: Message) -> Result<(), Violation> {
        if let Some(state) = &mut self.state {
            state.order(key, false, message.at)?;
        }
        if self.waits(key) {
            self.wait(message.walker);
        }
        let queue = self.queues.entry(key).or_default();
        if let Some(taker) = queue.takers.pop_front() {
            return self.meet(key, message, taker);
        }
        queue.messages.push_back(message);
        Ok(())
    }

    fn take(&mut self, key: Key, taker: Taker) -> Result<(), Violation> {
        if let Some(state) = &mut self.state {
            state.order(key, true, taker.at)?;
        }
        if !key.contribution {
            self.wait(taker.walker);
        }
        let queue = self.queues.entry(key).or_default();
        if let Some(message) = queue.messages.pop_front() {
            return self.meet(key, message, taker);
        }
        queue.takers.push_back(taker);
        Ok(())
    }

    fn meet(&mut self, key: Key, message: Message, taker: Taker) -> Result<(), Violation> {
        if key.contribution {
            let gatherings = self.threads.get_mut(taker.walker).map(|thread| &mut thread.gatherings);
            let Some(gathering) = gatherings.and_then(|all| all.get_mut(&taker.at.op)) else { return Ok(()) };
            gathering.contributions.push(message);
            gathering.missing -= 1;
            return if gathering.missing == 0 { self.reduced(taker) } else { Ok(()) };
        }
        if let Some(state) = &mut self.state {
            state.receive(taker.walker, taker.at, &taker.op, message.at, &message.given)?;
        }
        if self.waits(key) {
            self.over(message.walker);
        }
        self.over(taker.walker);
        Ok(())
    }

    /// All contributions of a reduction in switches are there.
    fn reduced(&mut self, taker: Taker) -> Result<(), Violation> {
        let thread = self.threads.get_mut(taker.walker);
        let gathering = thread.and_then(|thread| thread.gatherings.remove(&taker.at.op));
        let contributions = gathering.map_or_else(Vec::new, |gathering| gathering.contributions);
        if let Some(state) = &mut self.state {
            let given: Vec<_> =
                contributions.iter().map(|message| (message.walker, message.at, &message.given)).collect();
            state.switch_reduce(taker.walker, taker.at, &taker.op, &given)?;
        }
        for message in contributions {
            self.over(message.walker);
        }
        self.over(taker.walker);
        Ok(())
    }

    fn watch(&mut self, walker: Walker, at: Place, number: u16, steps: u32) {
        let watched = at.rank.index() * usize::from(self.space.threads) + usize::from(number);
        let Some(thread) = self.threads.get_mut(watched) else { return };
        if thread.over < steps {
            thread.watchers.push((steps, walker, at));
            self.wait(walker);
        } else if let Some(state) = &mut self.state {
            state.awaited(walker, watched, steps);
        }
    }

    fn wait(&mut self, walker: Walker) {
        if let Some(thread) = self.threads.get_mut(walker) {
            thread.pending += 1;
        }
    }

    /// An operation is over, and maybe its step, and maybe what others wait for.
    fn over(&mut self, walker: Walker) {
        let mut over = vec![walker];
        while let Some(walker) = over.pop() {
            let Some(thread) = self.threads.get_mut(walker) else { continue };
            thread.pending -= 1;
            if thread.pending > 0 {
                continue;
            }
            thread.over += 1;
            self.ready.push_back(walker);
            let (steps, watched) = (thread.over, thread.watchers.len());
            let mut watchers = std::mem::take(&mut thread.watchers);
            if let Some(state) = &mut self.state {
                state.end(walker, steps);
            }
            for (wanted, watcher, _) in watchers.extract_if(..watched, |(wanted, ..)| *wanted <= steps) {
                if let Some(state) = &mut self.state {
                    state.awaited(watcher, walker, wanted);
                }
                over.push(watcher);
            }
            if let Some(thread) = self.threads.get_mut(walker) {
                thread.watchers = watchers;
            }
        }
    }

    /// Why nothing moves any more.
    fn stuck(&self, survey: &Survey) -> Violation {
        let waits = self.waiting(survey);
        let ends =
            |wait: &Wait| wait.key.and_then(|key| survey.queues.get(&key)).copied().unwrap_or_default();
        if let Some(wait) = waits.iter().find(|wait| !wait.gives() && ends(wait).given < ends(wait).taken) {
            return Violation::NeverSent { at: wait.at };
        }
        if let Some(wait) = waits.iter().find(|wait| wait.gives() && ends(wait).taken < ends(wait).given) {
            return Violation::NeverReceived { at: wait.at };
        }
        // Everyone who is stuck waits for someone who is stuck: following that leads into a circle.
        let mut path: Vec<&Wait> = Vec::new();
        let mut next = waits.first();
        while let Some(wait) = next {
            if let Some(start) = path.iter().position(|seen| seen.walker == wait.walker) {
                path.drain(..start);
                break;
            }
            path.push(wait);
            let on = waits.partition_point(|other| other.walker < wait.on);
            next = waits.get(on).filter(|other| other.walker == wait.on);
        }
        Violation::Deadlock(path.into_iter().map(|wait| wait.at).collect())
    }

    /// For what each stuck thread waits, in the order of threads.
    fn waiting(&self, survey: &Survey) -> Vec<Wait> {
        let walker = |rank: Rank, user: User| {
            let number = if let User::Thread(number) = user { number } else { 0 };
            rank.index() * usize::from(self.space.threads) + usize::from(number)
        };
        let mut waits = Vec::new();
        for (key, queue) in &self.queues {
            let ends = survey.queues.get(key).copied().unwrap_or_default();
            let (from, to, key) = (key.from, key.to, Some(*key));
            for Taker { walker: waiting, at, .. } in &queue.takers {
                let on = walker(from, ends.giver);
                waits.push(Wait { walker: *waiting, at: *at, key, on });
            }
            for Message { walker: waiting, at, .. } in &queue.messages {
                let on = walker(to, ends.taker);
                waits.push(Wait { walker: *waiting, at: *at, key, on });
            }
        }
        for (on, thread) in self.threads.iter().enumerate() {
            let watchers = thread.watchers.iter().map(|(_, waiting, at)| (*waiting, *at));
            // A contribution that has met its reduction waits for the contributions that this one lacks.
            let given = thread.gatherings.values().flat_map(|gathering| &gathering.contributions);
            let all = watchers.chain(given.map(|message| (message.walker, message.at)));
            waits.extend(all.map(|(walker, at)| Wait { walker, at, key: None, on }));
        }
        // A buffered message may be left of a thread that has gone on.
        waits.retain(|wait| {
            self.threads
                .get(wait.walker)
                .is_some_and(|thread| thread.begun == wait.at.step + 1 && !thread.finished)
        });
        waits.sort_by_key(|wait| (wait.walker, wait.at.op));
        waits
    }
}

/// An operation that is not over.
#[derive(Debug)]
struct Wait {
    walker: Walker,
    at: Place,
    key: Option<Key>,
    /// For which thread.
    on: Walker,
}

impl Wait {
    /// Whether it gives, and does not take.
    fn gives(&self) -> bool {
        matches!(self.at.action, Action::Send(_) | Action::Multicast | Action::Contribute(_))
    }
}
