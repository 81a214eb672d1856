//! A world to schedule in: jobs that come, run, break and end on machines that have a truth of their own.
//!
//! It is the driver of a `Book`: it carries out commands, after the time that they take and unless something comes in
//! between, and answers with events. Nothing here looks at what a policy knows; what is broken, where kubelets have put
//! members and how long jobs really take is known here alone, and told late.

mod agenda;
mod binds;
mod draw;
mod faults;
mod jobs;
mod life;
mod progress;
mod setup;
mod speed;
mod tally;
mod truth;

pub mod fault;
pub mod record;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::mem::discriminant;

use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use weft_base::{Moment, Period};

use crate::book::{Book, Seat, Stage};
use crate::cluster::NodeId;
use crate::job::JobId;
use crate::policy::{Act, Budget, Change, DecisionId, Event, Policy};
use agenda::{Agenda, Item};
use binds::Flight;
use life::{Life, Phase};
use tally::{Standing, Tally};
use truth::Truth;

pub use draw::{Rates, Repairs, draw};
pub use fault::{Fault, Trouble};
pub use record::{
    Areas, Beat, Fate, GpuTime, Happening, JobRecord, Leave, Record, Sample, Spans, Spent, Spread, Stay,
    Totals,
};
pub use setup::{Chances, LETHAL_FLAP, Latencies, Load, Saves, Setup, Stories};
pub use speed::{ByLevel, Ideal, Speed};

/// A policy that asks to be woken so often while nothing else is to happen, and decides nothing, has given up.
const WAKES_MOST: u32 = 100;

/// A world in which time passes.
pub struct World {
    book: Book,
    policy: Box<dyn Policy>,
    setup: Setup,
    /// Those that have not come yet, in order of time.
    to_come: VecDeque<Load>,
    lives: Vec<Life>,
    /// How each job counts.
    standings: Vec<Standing>,
    over_count: usize,
    truth: Truth,
    agenda: Agenda,
    flights: BTreeMap<DecisionId, Flight>,
    tally: Tally,
    watched: Vec<JobId>,
    random: ChaCha8Rng,
    now: Moment,
    /// Decisions that were read.
    read_count: usize,
    idle_wake_count: u32,
}

impl World {
    /// A world at the time of the first arrival. The book must be new. Faults of nodes and GPUs that the cluster does not
    /// have are passed over.
    pub fn new(book: Book, policy: Box<dyn Policy>, mut setup: Setup) -> Self {
        let mut loads = std::mem::take(&mut setup.loads);
        loads.sort_by_key(|load| load.job.submitted);
        let book = if setup.stories == Stories::None { book } else { book.keeping_decisions() };
        setup.faults.retain(|fault| fault.what.is_in(book.cluster()));
        let start = loads.first().map_or(Moment::ZERO, |load| load.job.submitted);
        let mut agenda = Agenda::default();
        for (number, fault) in setup.faults.iter().enumerate() {
            agenda.add(fault.at.max(start), Item::Strike(number));
        }
        Self {
            truth: Truth::new(book.cluster()),
            tally: Tally::new(&book, start, setup.sample_count),
            random: ChaCha8Rng::seed_from_u64(setup.seed),
            to_come: loads.into(),
            lives: Vec::new(),
            standings: Vec::new(),
            over_count: 0,
            flights: BTreeMap::new(),
            watched: Vec::new(),
            now: start,
            read_count: 0,
            idle_wake_count: 0,
            agenda,
            book,
            policy,
            setup,
        }
    }

    /// Who has what, as the scheduler sees it.
    pub fn book(&self) -> &Book {
        &self.book
    }

    /// Who decides.
    pub fn policy(&self) -> &dyn Policy {
        self.policy.as_ref()
    }

    /// What time it is.
    pub fn now(&self) -> Moment {
        self.now
    }

    /// Goes to the next time at which something happens, and lets it happen; `None` when nothing more will.
    pub fn step(&mut self) -> Option<Moment> {
        let arrival = self.to_come.front().map(|load| load.job.submitted);
        if arrival.is_none() && (self.over_count == self.lives.len() || self.has_stopped()) {
            return None;
        }
        let next = [arrival, self.agenda.next_at()].into_iter().flatten().min()?;
        if self.setup.until.is_some_and(|until| next > until) {
            return None;
        }
        self.now = self.now.max(next);
        self.tally.advance(self.now);
        while self.round() {}
        self.tally.sample(&self.book);
        Some(self.now)
    }

    /// Goes on until nothing more will happen.
    pub fn run(mut self) -> Record {
        while self.step().is_some() {}
        self.finish()
    }

    /// Ends the run as it stands.
    pub fn finish(mut self) -> Record {
        if let Some(until) = self.setup.until.filter(|_| self.over_count < self.lives.len()) {
            self.now = self.now.max(until);
            self.tally.advance(self.now);
        }
        let (samples, areas) = self.tally.end();
        let (mut jobs, mut stories) = (Vec::new(), BTreeMap::new());
        for (id, life) in (0..).map(JobId).zip(self.lives) {
            let fate = match (&self.book.entry(id).stage, life.ended) {
                (_, Some((_, how))) => Fate::Ended(how),
                (Stage::Queued | Stage::Claiming(..), None) => Fate::Waits(self.policy.why(&self.book, id)),
                (_, None) => Fate::On,
            };
            let is_watched = life.is_watched;
            let (record, beats) = life.record(self.now, fate);
            jobs.push(record);
            if is_watched {
                stories.insert(id, beats);
            }
        }
        let troubles = self.setup.faults.iter().map(|fault| (fault.at, fault.what, fault.at + fault.lasts));
        let troubles = troubles.filter(|(at, ..)| *at <= self.now).collect();
        let totals = Totals::of(&jobs, areas);
        Record { totals, jobs, samples, stories, troubles, ended: self.now }
    }

    /// What is at this time, then what the policy makes of it. Whether something follows at once.
    fn round(&mut self) -> bool {
        while self.to_come.front().is_some_and(|load| load.job.submitted <= self.now) {
            if let Some(load) = self.to_come.pop_front() {
                self.arrive(load);
            }
        }
        while let Some(item) = self.agenda.take(self.now) {
            self.handle(item);
        }
        self.policy.decide(&mut self.book, self.now, Budget::ALL);
        let mut is_idle = true;
        while let Some(command) = self.book.command() {
            is_idle = false;
            self.obey(command);
        }
        self.read_decisions();
        self.ask_why();
        self.idle_wake_count = if is_idle { self.idle_wake_count } else { 0 };
        if let Some(after) = self.policy.again().filter(|_| !self.agenda.has_wake()) {
            self.agenda.add(self.now + after.max(Period::milliseconds(1)), Item::Wake);
        }
        self.agenda.next_at() == Some(self.now)
    }

    fn handle(&mut self, item: Item) {
        self.idle_wake_count = if item == Item::Wake { self.idle_wake_count + 1 } else { 0 };
        match item {
            Item::Admit(decision) => self.admit(decision),
            Item::Report(decision) => self.report(decision),
            Item::Refuse(decision, is_away) => self.refuse(decision, is_away),
            Item::Ready(job, turn) => self.in_turn(job, turn, Self::ready),
            Item::Finish(job, turn) => self.in_turn(job, turn, |world, job| {
                let how = world.lives[job.at()].load.how;
                world.end(job, how);
            }),
            Item::Resume(job, turn) => self.in_turn(job, turn, Self::resume),
            Item::Gone(job, turn) => self.in_turn(job, turn, Self::gone),
            Item::Cancel(job) => self.end(job, crate::policy::End::Cancelled),
            Item::Limit(job, begun) => self.time_out(job, begun),
            Item::Strike(number) => self.strike(number),
            Item::Detect(number) => self.detect(number),
            Item::Mend(number) => self.mend(number),
            Item::Crashed(job) => self.tell_dead(job),
            Item::Wake => {}
        }
    }

    fn in_turn(&mut self, job: JobId, turn: u32, what: impl Fn(&mut Self, JobId)) {
        if self.lives[job.at()].turn == turn {
            what(self, job);
        }
    }

    /// Tells the book, and the policy what that means.
    fn apply(&mut self, event: Event) -> Vec<Change> {
        let changes = self.book.apply(self.now, event);
        for change in &changes {
            self.policy.observe(&self.book, *change);
            match *change {
                // A claim fell: the job had nothing on nodes, and still waits.
                Change::Waits(job) if self.lives[job.at()].phase == Phase::Out => {
                    self.lives[job.at()].beat(self.now, Happening::ClaimFell);
                }
                Change::Broken(job) => self.known_broken(job),
                Change::Submitted(_)
                | Change::Started(_)
                | Change::Waits(_)
                | Change::Ended(_)
                | Change::Health(_) => {}
            }
        }
        if let Some(check) = self.setup.after_event {
            check(&self.book);
        }
        changes
    }

    /// A job does something else from now on.
    fn enter(&mut self, job: JobId, phase: Phase) {
        let entry = self.book.entry(job);
        let held = entry.held().map(|member| u64::from(entry.ask(member).pod.asked_milli())).sum();
        let life = &mut self.lives[job.at()];
        life.account(self.now);
        (life.phase, life.held_milli) = (phase, held);
        life.turn += 1;
        let standing = match phase {
            Phase::Out => Standing::Queued(life.load.job.need.gpu_milli()),
            Phase::Coming | Phase::Starting | Phase::Stalled | Phase::Leaving => Standing::On(held),
            Phase::Working => Standing::Working(held),
            Phase::Over => Standing::None,
        };
        let before = std::mem::replace(&mut self.standings[job.at()], standing);
        self.tally.turn(before, standing);
    }

    /// Something happens to a job later, if nothing comes in between.
    fn later(&mut self, job: JobId, after: Period, item: fn(JobId, u32) -> Item) {
        let turn = self.lives[job.at()].turn;
        self.agenda.add(self.now + after, item(job, turn));
    }

    fn has_stopped(&self) -> bool {
        self.agenda.only_wakes() && self.idle_wake_count >= WAKES_MOST
    }

    fn read_decisions(&mut self) {
        for at in self.read_count..self.book.decisions().len() {
            let decision = &self.book.decisions()[at];
            let job = match &decision.act {
                Act::Start(job, _)
                | Act::Replace(job, _)
                | Act::Shrink(job)
                | Act::Grow(job, _)
                | Act::Requeue(job)
                | Act::Transact { job, .. } => *job,
                Act::Reserve(promise) => promise.job,
                Act::Unreserve | Act::Drain(_) => continue,
            };
            if self.lives[job.at()].is_watched {
                let what = Happening::Decided(decision.act.clone(), decision.why.clone());
                self.lives[job.at()].beat(self.now, what);
            }
        }
        self.read_count = self.book.decisions().len();
    }

    /// Notes why watched jobs wait, when that has changed in kind.
    fn ask_why(&mut self) {
        let lives = &self.lives;
        self.watched.retain(|job| lives[job.at()].phase != Phase::Over);
        for job in self.watched.clone() {
            if self.book.entry(job).stage != Stage::Queued {
                continue;
            }
            let why = self.policy.why(&self.book, job);
            let kinds = |list: &[crate::policy::Reason]| list.iter().map(discriminant).collect::<Vec<_>>();
            let life = &mut self.lives[job.at()];
            let said = life.beats.last().is_some_and(
                |beat| matches!(&beat.what, Happening::Waits(known) if kinds(known) == kinds(&why)),
            );
            if !said && !why.is_empty() {
                life.beat(self.now, Happening::Waits(why));
            }
        }
    }

    /// What does not agree between the book and the nodes: members that run have in the book what they have on their
    /// nodes, and no node has more than it holds. For tests; takes as long as there are members.
    ///
    /// # Errors
    ///
    /// The first node or job that does not agree, in words.
    pub fn check(&self) -> Result<(), String> {
        for (job, entry) in self.book.jobs() {
            let life = &self.lives[job.at()];
            if matches!(entry.stage, Stage::Queued | Stage::Claiming(..) | Stage::Ended(_))
                && life.here().next().is_some()
            {
                return Err(format!("job {} has members on nodes though it waits or has ended", job.0));
            }
            let coming: &[u32] = if let Stage::Repairing(_, numbers) = &entry.stage { numbers } else { &[] };
            let is_up = matches!(
                entry.stage,
                Stage::Running | Stage::Broken | Stage::Repairing(..) | Stage::Leaving(_)
            );
            for (number, (member, seat)) in (0_u32..).zip(&entry.seats) {
                let here = life.members.get(number as usize).and_then(Option::as_ref);
                let agrees = match seat {
                    Seat::Held => here.is_some_and(|here| here.member == *member),
                    Seat::Claimed | Seat::Lost => here.is_none(),
                };
                if is_up && !coming.contains(&number) && !agrees {
                    return Err(format!(
                        "member {number} of job {} is {member:?} {seat:?} in the book, and {here:?}",
                        job.0
                    ));
                }
            }
        }
        for (at, life) in self.lives.iter().enumerate().filter(|(_, life)| life.phase == Phase::Working) {
            let members = |group: u16| life.here().filter(|(_, here)| here.member.group == group).count();
            let is_short =
                |(group, needed): (u16, &crate::job::Group)| members(group) < needed.least_count as usize;
            if !life.all_live() || (0..).zip(&life.load.job.need.groups).any(is_short) {
                return Err(format!("job {at} works though it is not whole"));
            }
        }
        self.truth.check(self.book.cluster(), &self.lives)
    }

    fn node_members(&self, node: NodeId) -> Vec<(JobId, u32)> {
        self.truth.machines[node.at()].members.clone()
    }
}
