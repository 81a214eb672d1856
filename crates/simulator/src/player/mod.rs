//! Plays plans: each rank's threads walk through their steps, and what they send becomes flows of the engine.

mod connection;
mod gather;
mod record;
mod start;
mod walker;

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;
use weft_base::{Bytes, Span, Time};
use weft_collective::{Call, Layout, Op, Plan, Rank, Slice, Steps};

use crate::control::Moving;
use crate::engine::{Engine, FlowId, PathId, ResourceId};
use crate::router::Router;

use connection::Connections;
use gather::Gathers;
pub use record::{Cause, Passage, Record, StepRecord};
use walker::{Walker, WalkerId};

/// What a job does, one after the other. Each rank goes on as soon as it is done itself.
#[derive(Debug, Clone, Copy)]
pub enum Stage<'p> {
    /// Every rank computes for so long.
    Compute(Span),
    /// All ranks play a plan.
    Play(&'p Plan, &'p Call),
}

/// Why a job cannot be played.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Impossible {
    /// Two ranks must talk, and no way leads from one to the other.
    #[error("no path leads from rank {from} to rank {to}")]
    NoPath {
        /// The sender.
        from: Rank,
        /// The receiver.
        to: Rank,
    },
    /// The plan lets switches copy or add, and those between the ranks cannot.
    #[error("the switches at rank {rank} cannot {what} for {ranks} ranks")]
    NoSwitch {
        /// Who asks for it.
        rank: Rank,
        /// `multicast` or `reduce`.
        what: &'static str,
        /// How many ranks take part.
        ranks: u32,
    },
}

/// A job that is played, and how far it has come.
pub struct Player<'p> {
    /// Goes into the upper half of each tag, so that an event finds its player.
    number: u32,
    stages: Vec<Prepared<'p>>,
    threads: u32,
    ranks: Vec<RankState>,
    walkers: Vec<Walker>,
    /// What is left of each walker's stage; `None` before it begins and after it has ended.
    steps: Vec<Option<Steps<'p>>>,
    connections: Connections,
    gathers: Gathers,
    flights: Vec<Option<Flight>>,
    free: Vec<u32>,
    /// Walkers whose step is over.
    ready: Vec<WalkerId>,
    /// Who waits for another thread of its rank: by thread, with the steps that must be over.
    awaiting: BTreeMap<WalkerId, Vec<(u32, WalkerId)>>,
    ops: Vec<Op>,
    stopped: bool,
    now: Time,
    record: Option<Record>,
}

#[derive(Debug)]
enum Prepared<'p> {
    Compute(Span),
    Play(&'p Plan, Layout<'p>),
}

/// Where a rank is.
#[derive(Debug, Clone, Copy, Default)]
struct RankState {
    /// Stages that it has begun.
    begun: u32,
    /// Threads of the stage that are not over.
    open: u32,
    finished: Option<Time>,
}

/// A flow or a timer that is under way, and what its end means.
#[derive(Debug, Clone, Copy)]
enum Flight {
    /// A message, by its number on its connection. The sender's step began it.
    Message { walker: WalkerId, connection: u32, number: u32, step: u32, bytes: Bytes, flow: FlowId },
    /// A flow that switches copy: its list of connections.
    Multicast { walker: WalkerId, group: u32, step: u32, bytes: Bytes, flow: FlowId },
    /// A sum that switches make.
    Reduction { walker: WalkerId, gather: u32, bytes: Bytes, flow: FlowId },
    /// Work within a rank.
    Local { walker: WalkerId, flow: FlowId },
    /// The computation of a stage.
    Compute { rank: u32 },
}

impl Flight {
    /// The flow in the engine; `None` for what only takes time.
    fn flow(self) -> Option<FlowId> {
        match self {
            Self::Message { flow, .. }
            | Self::Multicast { flow, .. }
            | Self::Reduction { flow, .. }
            | Self::Local { flow, .. } => Some(flow),
            Self::Compute { .. } => None,
        }
    }
}

impl<'p> Player<'p> {
    /// A job of `ranks` ranks. `number` tells its events from those of other jobs.
    pub fn new(number: u32, ranks: u32, stages: &[Stage<'p>], recorded: bool) -> Self {
        let prepared = |stage: &Stage<'p>| match *stage {
            Stage::Compute(span) => Prepared::Compute(span),
            Stage::Play(plan, call) => Prepared::Play(plan, Layout::new(call, plan.ranks, plan.pieces)),
        };
        let threads = |stage: &Stage<'p>| match stage {
            Stage::Compute(_) => 0,
            Stage::Play(plan, _) => plan.threads.len(),
        };
        let threads = stages.iter().map(threads).max().unwrap_or(0);
        let walkers = ranks as usize * threads;
        Self {
            number,
            stages: stages.iter().map(prepared).collect(),
            threads: u32::try_from(threads).unwrap_or(u32::MAX),
            ranks: vec![RankState::default(); ranks as usize],
            walkers: (0..walkers).map(|_| Walker::new()).collect(),
            steps: vec![None; walkers],
            connections: Connections::default(),
            gathers: Gathers::default(),
            flights: Vec::new(),
            free: Vec::new(),
            ready: Vec::new(),
            awaiting: BTreeMap::new(),
            ops: Vec::new(),
            stopped: false,
            now: Span::ZERO,
            record: recorded.then(|| Record::new(walkers, u32::try_from(threads).unwrap_or(u32::MAX))),
        }
    }

    /// Begins now on all ranks.
    pub fn begin(&mut self, engine: &mut Engine, router: &mut dyn Router) -> Result<(), Impossible> {
        for rank in 0..u32::try_from(self.ranks.len()).unwrap_or(u32::MAX) {
            self.next_stage(engine, rank);
        }
        self.go_on(engine, router)
    }

    /// Takes note of an end; [`Player::go_on`] must follow once all ends of this time are known.
    pub fn ended(&mut self, engine: &mut Engine, flight: u32, bottleneck: Option<ResourceId>) {
        self.now = engine.now();
        let Some(flown) = self.flights.get_mut(flight as usize).and_then(Option::take) else { return };
        self.free.push(flight);
        match flown {
            Flight::Message { walker, connection, number, step, bytes, .. } => {
                let passage = Passage { bytes, bottleneck };
                self.over(walker, Cause::Sent(passage));
                self.arrived(connection, number, Cause::Received { from: walker, step, passage });
            }
            Flight::Multicast { walker, group, step, bytes, .. } => {
                let passage = Passage { bytes, bottleneck };
                self.over(walker, Cause::Sent(passage));
                for (connection, number) in self.gathers.copies(group) {
                    self.arrived(connection, number, Cause::Received { from: walker, step, passage });
                }
            }
            Flight::Reduction { walker, gather, bytes, .. } => {
                let passage = Passage { bytes, bottleneck };
                self.over(walker, Cause::Sent(passage));
                for giver in self.gathers.end(gather) {
                    self.over(giver, Cause::Sent(passage));
                }
            }
            Flight::Local { walker, .. } => self.over(walker, Cause::Local),
            Flight::Compute { rank } => self.next_stage(engine, rank),
        }
    }

    /// Lets all ranks go on that can.
    pub fn go_on(&mut self, engine: &mut Engine, router: &mut dyn Router) -> Result<(), Impossible> {
        self.now = engine.now();
        if self.stopped {
            self.ready.clear();
        }
        while let Some(walker) = self.ready.pop() {
            self.walk(engine, router, walker)?;
        }
        Ok(())
    }

    /// Takes all its flows off the network; nothing of it ends any more.
    pub fn cancel(&mut self, engine: &mut Engine) {
        self.stopped = true;
        for (index, flight) in (0..).zip(&mut self.flights) {
            if flight.is_some() {
                self.free.push(index);
            }
            if let Some(flow) = flight.take().and_then(Flight::flow) {
                engine.cancel(flow);
            }
        }
    }

    /// Looks for another way for each connection whose path uses a resource that is known to be dead, and for its messages
    /// that are under way; connections that had to leave their usual way go back to it. Those for which there is no
    /// other stay as they are.
    pub fn reroute(
        &mut self,
        engine: &mut Engine,
        router: &mut dyn Router,
        known_dead: &BTreeSet<ResourceId>,
    ) {
        router.avoid(known_dead);
        let dead = |engine: &Engine, path: PathId| {
            engine.uses(path).iter().any(|used| known_dead.contains(&used.resource))
        };
        for connection in 0..self.connections.len() {
            let (ends, path) = self.connections.ends(connection);
            let failed = path.is_some_and(|path| dead(engine, path));
            if !failed && !self.connections.is_detour(connection) {
                continue;
            }
            let (from, to) = (Rank::new(ends.from), Rank::new(ends.to));
            if let Some(other) = router.path(engine, from, to, ends.channel)
                && !dead(engine, other)
            {
                self.connections.set_path(connection, other);
                // While anything is dead nobody knows whether this is the usual way; asking once more does no harm.
                self.connections.set_detour(connection, !known_dead.is_empty());
            }
        }
        for flight in self.flights.iter().flatten() {
            if let Flight::Message { connection, flow, .. } = *flight
                && let Some(path) = self.connections.path(connection)
            {
                engine.reroute(flow, path);
            }
        }
    }

    /// Flows and computations that have not ended.
    pub fn under_way(&self) -> usize {
        self.flights.len() - self.free.len()
    }

    /// The messages that are under way, and the paths of their connections.
    pub fn moving(&self) -> impl Iterator<Item = Moving> {
        self.flights.iter().flatten().filter_map(|flight| match *flight {
            Flight::Message { connection, flow, .. } => {
                Some(Moving { flow, path: self.connections.path(connection)? })
            }
            Flight::Multicast { .. }
            | Flight::Reduction { .. }
            | Flight::Local { .. }
            | Flight::Compute { .. } => None,
        })
    }

    /// When each rank was done; `None` for those that are not.
    pub fn finished(&self) -> impl Iterator<Item = Option<Time>> {
        self.ranks.iter().map(|rank| rank.finished)
    }

    /// How many stages every rank has done.
    pub fn stages_done(&self) -> usize {
        let done = self.ranks.iter().map(|rank| rank.begun.saturating_sub(1));
        done.min().map_or(0, |least| least as usize)
    }

    /// What each step waited for, where that was recorded.
    pub fn record(&self) -> Option<&Record> {
        self.record.as_ref()
    }

    /// Begins the next stage of a rank, and those after it that take no time.
    fn next_stage(&mut self, engine: &mut Engine, rank: u32) {
        loop {
            let stage = self.ranks[rank as usize].begun;
            self.ranks[rank as usize].begun += 1;
            match self.stages.get(stage as usize) {
                None => {
                    self.ranks[rank as usize].finished = Some(engine.now());
                    return;
                }
                Some(Prepared::Compute(span)) => {
                    let span = *span;
                    let tag = self.fly(Flight::Compute { rank });
                    engine.wake(engine.now() + span, tag);
                    return;
                }
                Some(Prepared::Play(plan, _)) => {
                    let plan: &'p Plan = plan;
                    let threads = u32::try_from(plan.threads.len()).unwrap_or(u32::MAX);
                    self.ranks[rank as usize].open = threads;
                    for thread in 0..threads {
                        let walker = rank * self.threads + thread;
                        let number = u16::try_from(thread).unwrap_or(u16::MAX);
                        self.walkers[walker as usize].begin(stage);
                        self.steps[walker as usize] = Some(plan.steps(Rank::new(rank), number));
                        self.ready.push(walker);
                    }
                    if threads > 0 {
                        return;
                    }
                }
            }
        }
    }

    /// Goes from step to step until one does not end at once.
    fn walk(&mut self, engine: &mut Engine, router: &mut dyn Router, id: WalkerId) -> Result<(), Impossible> {
        loop {
            if self.walkers[id as usize].alike > 0 {
                self.repeat(engine, router, id)?;
            } else if !self.step(engine, router, id)? {
                self.thread_over(engine, id);
                return Ok(());
            }
            let walker = &mut self.walkers[id as usize];
            if walker.open > 0 {
                return Ok(());
            }
            walker.finished += 1;
            self.tell_waiting(id);
        }
    }

    /// Begins the next step; false if there is none.
    fn step(
        &mut self,
        engine: &mut Engine,
        router: &mut dyn Router,
        id: WalkerId,
    ) -> Result<bool, Impossible> {
        let mut ops = std::mem::take(&mut self.ops);
        ops.clear();
        let steps = &mut self.steps[id as usize];
        let channel = steps.as_mut().and_then(|steps| steps.next_into(&mut ops));
        if let Some(channel) = channel {
            self.walkers[id as usize].open = u32::try_from(ops.len()).unwrap_or(u32::MAX);
            if let Some(record) = &mut self.record {
                record.begin(id, engine.now());
            }
            for op in &ops {
                self.start(engine, router, (id, channel), op)?;
            }
            self.look_ahead(id, &ops);
        } else {
            *steps = None;
        }
        self.ops = ops;
        Ok(channel.is_some())
    }

    /// Notes how many steps to come are as this one, if they are of the kind that can be repeated without asking what
    /// they consist of.
    fn look_ahead(&mut self, id: WalkerId, ops: &[Op]) {
        let [Op::Send { from, .. }, Op::Recv { .. } | Op::RecvReduce { .. }] = ops else { return };
        let rank = Rank::new(id / self.threads);
        let even = self.layout(id).filter(|layout| layout.is_even());
        let Some(bytes) = even.map(|layout| Bytes::new(layout.slice_bytes(rank, from))) else { return };
        if let Some(steps) = &mut self.steps[id as usize] {
            let alike = steps.alike();
            steps.skip_alike(alike);
            let walker = &mut self.walkers[id as usize];
            (walker.alike, walker.bytes) = (alike, bytes);
        }
    }

    /// Begins a step that is as the last one.
    fn repeat(
        &mut self,
        engine: &mut Engine,
        router: &mut dyn Router,
        id: WalkerId,
    ) -> Result<(), Impossible> {
        if let Some(record) = &mut self.record {
            record.begin(id, engine.now());
        }
        let walker = &mut self.walkers[id as usize];
        walker.alike -= 1;
        walker.open = 2;
        let (sends, bytes, from) = (walker.sends, walker.bytes, walker.receives.connection);
        self.send(engine, router, id, sends, bytes)?;
        if self.connections.ask(from, id) {
            self.walkers[id as usize].open -= 1;
        }
        Ok(())
    }

    /// A message is there: whoever waits for it has one operation less to wait for.
    fn arrived(&mut self, connection: u32, number: u32, cause: Cause) {
        let mut served = [None; 1];
        let mut more = Vec::new();
        self.connections.arrive(connection, number, |receiver| match &mut served {
            [first @ None] => *first = Some(receiver),
            [Some(_)] => more.push(receiver),
        });
        for receiver in served.into_iter().flatten().chain(more) {
            self.over(receiver, cause);
        }
    }

    /// An operation of a walker's step is over.
    fn over(&mut self, id: WalkerId, cause: Cause) {
        let walker = &mut self.walkers[id as usize];
        walker.open -= 1;
        if walker.open > 0 {
            return;
        }
        walker.finished += 1;
        if let Some(record) = &mut self.record {
            record.end(id, self.now, cause);
        }
        self.ready.push(id);
        self.tell_waiting(id);
    }

    /// A walker has finished a step: threads of the same rank may wait for that.
    fn tell_waiting(&mut self, id: WalkerId) {
        if self.awaiting.is_empty() {
            return;
        }
        let finished = self.walkers[id as usize].finished;
        let Some(waiting) = self.awaiting.get_mut(&id) else { return };
        let reached: Vec<WalkerId> =
            waiting.extract_if(.., |(steps, _)| *steps <= finished).map(|(_, walker)| walker).collect();
        if waiting.is_empty() {
            self.awaiting.remove(&id);
        }
        for walker in reached {
            self.over(walker, Cause::Local);
        }
    }

    fn thread_over(&mut self, engine: &mut Engine, id: WalkerId) {
        let rank = id / self.threads;
        self.ranks[rank as usize].open -= 1;
        if self.ranks[rank as usize].open == 0 {
            self.next_stage(engine, rank);
        }
    }

    fn bytes(&self, id: WalkerId, rank: Rank, slice: &Slice) -> Bytes {
        self.layout(id).map_or(Bytes::ZERO, |layout| Bytes::new(layout.slice_bytes(rank, slice)))
    }

    /// How the buffers of a walker's stage are cut.
    fn layout(&self, id: WalkerId) -> Option<&Layout<'p>> {
        match self.stages.get(self.walkers[id as usize].stage as usize)? {
            Prepared::Play(_, layout) => Some(layout),
            Prepared::Compute(_) => None,
        }
    }

    /// Notes what an end will mean, and gives the tag that leads back to it.
    fn fly(&mut self, flight: Flight) -> u64 {
        let (index, tag) = self.reserve();
        self.flights[index] = Some(flight);
        tag
    }

    /// A place in the table of flights, and the tag that leads back to it.
    fn reserve(&mut self) -> (usize, u64) {
        let index = self.free.pop().unwrap_or_else(|| {
            self.flights.push(None);
            u32::try_from(self.flights.len() - 1).unwrap_or(u32::MAX)
        });
        (index as usize, u64::from(self.number) << 32 | u64::from(index))
    }
}
