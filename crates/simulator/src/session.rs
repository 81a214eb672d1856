//! Jobs on a network, and what happens to them: started, asked, changed and continued.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;
use weft_base::{Rate, Span, Time};

use crate::control::{Control, Counts, Moving};
use crate::critical::{CriticalPath, critical_path};
use crate::engine::{Engine, Event, EventKind, ResourceId};
use crate::player::{Impossible, Player, Record, Stage};
use crate::router::Router;

/// Something that is played: who, what, and over which ways.
pub struct Job<'p> {
    /// How many ranks.
    pub ranks: u32,
    /// What they do, one after the other.
    pub stages: Vec<Stage<'p>>,
    /// When they begin.
    pub start: Time,
    /// Which way their messages go.
    pub router: Box<dyn Router + 'p>,
    /// Whether to keep what each step waited for.
    pub recorded: bool,
}

/// A job of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobId(u32);

impl JobId {
    /// Its position in the order of [`Session::add`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Why a session cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SessionError {
    /// A plan asks for what the network has not.
    #[error("job {}: {reason}", job.0)]
    Impossible {
        /// Which job.
        job: JobId,
        /// What it asks for.
        reason: Impossible,
    },
}

/// How a session stands when it stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Halt {
    /// The time that was asked for has come.
    Reached,
    /// Nothing is under way: all jobs are done, or those that are not wait for what never comes.
    Quiet,
}

/// A network with jobs on it, at some time.
pub struct Session<'p> {
    engine: Engine,
    jobs: Vec<Played<'p>>,
    changes: BTreeMap<u32, (ResourceId, Rate)>,
    /// Starts and changes that are still to come.
    timers: usize,
    events: Vec<Event>,
    control: Option<Box<dyn Control + 'p>>,
    /// The time for which the control was last promised a call.
    promised: Time,
}

struct Played<'p> {
    player: Player<'p>,
    router: Box<dyn Router + 'p>,
    begun: Time,
    cancelled: bool,
}

/// Upper halves of tags that are not a job's number.
const START: u32 = u32::MAX;
const CHANGE: u32 = u32::MAX - 1;
const CONTROL: u32 = u32::MAX - 2;

impl<'p> Session<'p> {
    /// A session on the resources of `engine`.
    pub fn new(engine: Engine) -> Self {
        Self {
            engine,
            jobs: Vec::new(),
            changes: BTreeMap::new(),
            timers: 0,
            events: Vec::new(),
            control: None,
            promised: Time::ZERO,
        }
    }

    /// Lets messages be subject to a control from the next event on.
    pub fn govern(&mut self, control: Box<dyn Control + 'p>) {
        self.control = Some(control);
    }

    /// What the control has counted; nothing where there is none.
    pub fn counts(&self) -> Counts {
        self.control.as_ref().map_or_else(Counts::default, |control| control.counts())
    }

    /// The network as it is now.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The network as it is now, for questions that first settle what has changed.
    pub fn engine_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }

    /// Adds a job. A start that has passed is now.
    pub fn add(&mut self, job: Job<'p>) -> JobId {
        let number = u32::try_from(self.jobs.len()).unwrap_or(u32::MAX);
        let player = Player::new(number, job.ranks, &job.stages, job.recorded);
        let begun = job.start.max(self.engine.now());
        self.timers += 1;
        self.engine.wake(begun, tag(START, number));
        self.jobs.push(Played { player, router: job.router, begun, cancelled: false });
        JobId(number)
    }

    /// Stops a job: its messages vanish, its ranks never finish.
    pub fn cancel(&mut self, job: JobId) {
        if let Some(played) = self.jobs.get_mut(job.index()) {
            played.cancelled = true;
            played.player.cancel(&mut self.engine);
        }
    }

    /// Sets what a resource carries from now on.
    pub fn set(&mut self, resource: ResourceId, capacity: Rate) {
        self.engine.set_capacity(resource, capacity);
    }

    /// Sets what a resource carries from a later time on.
    pub fn set_at(&mut self, time: Time, resource: ResourceId, capacity: Rate) {
        let number = u32::try_from(self.changes.len()).unwrap_or(u32::MAX);
        self.changes.insert(number, (resource, capacity));
        self.timers += 1;
        self.engine.wake(time, tag(CHANGE, number));
    }

    /// Lets a job's messages look for other ways: those that are under way over a resource that carries nothing any
    /// more, and all later ones. Messages for which there is no other way stay where they are.
    pub fn reroute(&mut self, job: JobId) {
        let resources = (0..self.engine.resources()).map(ResourceId::new);
        let dead = resources.filter(|resource| self.engine.capacity(*resource) == Rate::ZERO).collect();
        self.reroute_around(job, &dead);
    }

    /// The same where the job knows of these resources only that they are dead; what waits for others goes on waiting.
    pub fn reroute_around(&mut self, job: JobId, known_dead: &BTreeSet<ResourceId>) {
        if let Some(played) = self.jobs.get_mut(job.index()) {
            played.player.reroute(&mut self.engine, &mut *played.router, known_dead);
        }
    }

    /// Goes on until `time`. What is quiet before that is quiet at `time` as well.
    pub fn run_until(&mut self, time: Time) -> Result<Halt, SessionError> {
        let mut events = std::mem::take(&mut self.events);
        while self.engine.run_until(time, &mut events) {
            self.react(&events)?;
        }
        self.events = events;
        Ok(if self.is_quiet() { Halt::Quiet } else { Halt::Reached })
    }

    /// Goes on until nothing is under way.
    pub fn run(&mut self) -> Result<(), SessionError> {
        let mut events = std::mem::take(&mut self.events);
        while self.engine.advance(&mut events) {
            self.react(&events)?;
        }
        self.events = events;
        Ok(())
    }

    /// Whether nothing will happen any more: what is under way is stalled.
    fn is_quiet(&mut self) -> bool {
        let under_way: usize = self.jobs.iter().map(|played| played.player.under_way()).sum();
        self.timers == 0 && (under_way == 0 || self.engine.stalled().len() >= under_way)
    }

    /// When each rank of a job was done, from the beginning of the session; `None` for those that are not.
    pub fn finished(&self, job: JobId) -> impl Iterator<Item = Option<Time>> {
        self.jobs.get(job.index()).into_iter().flat_map(|played| played.player.finished())
    }

    /// Messages of a job that are under way over a resource that carries nothing.
    pub fn stalled(&mut self, job: JobId) -> usize {
        let own = |tag: &u64| halves(*tag).0 == job.0;
        self.engine.stalled().iter().filter(|tag| own(tag)).count()
    }

    /// How long a job took from its start until its last rank was done; `None` while one is not.
    pub fn took(&self, job: JobId) -> Option<Span> {
        let last = self.finished(job).try_fold(Span::ZERO, |last, time| Some(last.max(time?)))?;
        let begun = self.jobs.get(job.index())?.begun;
        Some(last.max(begun) - begun)
    }

    /// How many of a job's stages all of its ranks have done.
    pub fn stages_done(&self, job: JobId) -> usize {
        self.jobs.get(job.index()).map_or(0, |played| played.player.stages_done())
    }

    /// What each step of a job waited for, where that was recorded.
    pub fn record(&self, job: JobId) -> Option<&Record> {
        self.jobs.get(job.index())?.player.record()
    }

    /// Where the time of a job's slowest rank went, where that was recorded.
    pub fn critical_path(&self, job: JobId) -> Option<CriticalPath> {
        critical_path(self.record(job)?, self.jobs.get(job.index())?.begun)
    }

    /// What all ends of one time mean: first every job hears of its own, then every job goes on.
    fn react(&mut self, events: &[Event]) -> Result<(), SessionError> {
        for event in events {
            let (upper, lower) = halves(event.tag);
            match (upper, event.kind) {
                (START, _) => {
                    self.timers -= 1;
                    self.begin(lower)?;
                }
                // It is asked after all events of a time.
                (CONTROL, _) => {}
                (CHANGE, _) => {
                    self.timers -= 1;
                    if let Some((resource, capacity)) = self.changes.get(&lower) {
                        self.engine.set_capacity(*resource, *capacity);
                    }
                }
                (job, EventKind::Ended { bottleneck }) => {
                    if let Some(played) = self.jobs.get_mut(job as usize) {
                        played.player.ended(&mut self.engine, lower, bottleneck);
                    }
                }
                (job, EventKind::Woke) => {
                    if let Some(played) = self.jobs.get_mut(job as usize) {
                        played.player.ended(&mut self.engine, lower, None);
                    }
                }
            }
        }
        for (number, played) in (0..).zip(&mut self.jobs) {
            let result = played.player.go_on(&mut self.engine, &mut *played.router);
            result.map_err(|reason| SessionError::Impossible { job: JobId(number), reason })?;
        }
        self.ask_control();
        Ok(())
    }

    fn ask_control(&mut self) {
        let Some(control) = &mut self.control else { return };
        let mut moving: Vec<Moving> = Vec::new();
        for played in &self.jobs {
            moving.extend(played.player.moving());
        }
        let next = control.react(&mut self.engine, &moving);
        if let Some(next) = next.filter(|next| *next != self.promised) {
            self.promised = next;
            self.engine.wake(next, tag(CONTROL, 0));
        }
    }

    fn begin(&mut self, number: u32) -> Result<(), SessionError> {
        let Some(played) = self.jobs.get_mut(number as usize) else { return Ok(()) };
        if played.cancelled {
            return Ok(());
        }
        let result = played.player.begin(&mut self.engine, &mut *played.router);
        result.map_err(|reason| SessionError::Impossible { job: JobId(number), reason })
    }
}

fn tag(upper: u32, lower: u32) -> u64 {
    u64::from(upper) << 32 | u64::from(lower)
}

/// The two halves of a tag; both fit by construction.
fn halves(tag: u64) -> (u32, u32) {
    let half = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(u32::MAX);
    (half(tag >> 32), half(tag))
}
