//! What the book wants done: members come up on nodes, or do not.

use rand::Rng as _;
use weft_base::Period;

use super::life::{Here, Phase};
use super::record::{Happening, Leave};
use super::truth::Turned;
use super::{Item, World};
use crate::book::Stage;
use crate::job::JobId;
use crate::policy::{Command, DecisionId, Event, Member, Outcome};
use crate::stand::Gpus;

/// Members that are on their way.
#[derive(Debug, Clone)]
pub struct Flight {
    job: JobId,
    members: Vec<(u32, Member)>,
    /// What kubelets have given them.
    given: Vec<Gpus>,
}

/// A bind that fails costs at least that: a pod that could not be scheduled waits as long before it is tried again
/// (kube-scheduler, `podInitialBackoffSeconds`).
const BACKOFF: Period = Period::milliseconds(1_000);

/// A bind that expires takes so many times as long as one that succeeds.
const EXPIRY_FACTOR: u64 = 10;

impl World {
    pub(super) fn obey(&mut self, command: Command) {
        match command {
            Command::Bind { decision, job, members } => self.bind(decision, job, members),
            Command::Evict(job) => self.evict(job),
            Command::Resize(job) => self.resize(job),
        }
    }

    fn bind(&mut self, decision: DecisionId, job: JobId, members: Vec<(u32, Member)>) {
        if matches!(self.book.entry(job).stage, Stage::Binding(_)) {
            self.enter(job, Phase::Coming);
        } else {
            // Whatever it does it goes on doing, with more in the book.
            self.hold(job);
        }
        self.flights.insert(decision, Flight { job, members, given: Vec::new() });
        let (chances, bind) = (self.setup.chances, self.setup.latencies.bind);
        let drawn = self.random.random_range(0..100_u8);
        if drawn < chances.conflict_percent {
            self.agenda.add(self.now + bind.max(BACKOFF), Item::Refuse(decision, false));
        } else if drawn < chances.conflict_percent.saturating_add(chances.expiry_percent) {
            self.agenda.add(self.now + (bind * EXPIRY_FACTOR).max(BACKOFF), Item::Refuse(decision, true));
        } else {
            self.agenda.add(self.now + bind, Item::Admit(decision));
        }
    }

    /// Whether the book still wants those members.
    fn is_wanted(&self, decision: DecisionId, job: JobId) -> bool {
        match &self.book.entry(job).stage {
            Stage::Binding(id) | Stage::Repairing(id, _) => *id == decision,
            Stage::Queued
            | Stage::Claiming(..)
            | Stage::Running
            | Stage::Broken
            | Stage::Leaving(_)
            | Stage::Ended(_) => false,
        }
    }

    pub(super) fn admit(&mut self, decision: DecisionId) {
        let Some(mut flight) = self.flights.remove(&decision) else { return };
        let job = flight.job;
        if !self.is_wanted(decision, job) {
            return;
        }
        for (number, member) in &flight.members {
            match self.admit_one(job, *number, *member) {
                Ok(gpus) => flight.given.push(gpus),
                Err(turned) => {
                    let admitted = flight.members[..flight.given.len()].to_vec();
                    for (number, _) in admitted {
                        self.clear(job, number);
                    }
                    flight.given.clear();
                    self.flights.insert(decision, flight);
                    let after = self.setup.latencies.report.max(BACKOFF);
                    self.agenda.add(self.now + after, Item::Refuse(decision, turned == Turned::Away));
                    return;
                }
            }
        }
        self.flights.insert(decision, flight);
        self.agenda.add(self.now + self.setup.latencies.report, Item::Report(decision));
    }

    fn admit_one(&mut self, job: JobId, number: u32, member: Member) -> Result<Gpus, Turned> {
        let shape = self.book.cluster().shape(member.node);
        let ask = self.book.entry(job).ask(&member);
        let (what, at) = ((ask, member.gpus), (member.node, shape));
        let gpus = self.truth.admit((job, number), at, what, self.setup.chances, &mut self.random)?;
        let members = &mut self.lives[job.at()].members;
        if members.len() <= number as usize {
            members.resize(number as usize + 1, None);
        }
        members[number as usize] = Some(Here { member: Member { gpus, ..member }, lives: true });
        Ok(gpus)
    }

    pub(super) fn refuse(&mut self, decision: DecisionId, is_away: bool) {
        let Some(Flight { job, .. }) = self.flights.remove(&decision) else { return };
        if !self.is_wanted(decision, job) {
            return;
        }
        let is_first = matches!(self.book.entry(job).stage, Stage::Binding(_));
        self.lives[job.at()].conflict_count += 1;
        self.lives[job.at()].beat(self.now, Happening::BindFailed);
        self.apply(Event::Bound(decision, if is_away { Outcome::Expired } else { Outcome::Conflict }));
        if is_first {
            self.enter(job, Phase::Out);
        } else {
            self.hold(job);
        }
    }

    pub(super) fn report(&mut self, decision: DecisionId) {
        let Some(flight) = self.flights.get(&decision) else { return };
        let (job, given) = (flight.job, flight.given.clone());
        if !self.is_wanted(decision, job) {
            self.flights.remove(&decision);
            return;
        }
        let numbers: Vec<u32> = flight.members.iter().map(|(number, _)| *number).collect();
        let here =
            |number: &u32| self.lives[job.at()].members.get(*number as usize).is_some_and(Option::is_some);
        if !numbers.iter().all(here) {
            // A member died, and the scheduler knows, before it could hear that all were up.
            for number in numbers {
                self.clear(job, number);
            }
            return self.refuse(decision, false);
        }
        self.flights.remove(&decision);
        let is_first = matches!(self.book.entry(job).stage, Stage::Binding(_));
        self.apply(Event::Bound(decision, Outcome::Done(given)));
        self.sync(job);
        let life = &mut self.lives[job.at()];
        if is_first {
            life.begun_count += 1;
            let begun = life.begun_count;
            if let Some(limit) = life.load.job.limit.filter(|_| self.setup.enforces_limits) {
                self.agenda.add(self.now + limit, Item::Limit(job, begun));
            }
        }
        if self.book.entry(job).stage == Stage::Running {
            self.begin(job, !is_first);
        } else if is_first {
            self.enter(job, Phase::Stalled);
        } else {
            self.hit(job, None);
        }
    }

    /// Members that the book counts as lost are cleared away.
    pub(super) fn sync(&mut self, job: JobId) {
        let entry = self.book.entry(job);
        let is_held = |number: u32| {
            entry.seats.get(number as usize).is_some_and(|(_, seat)| *seat == crate::book::Seat::Held)
        };
        let gone: Vec<u32> = self.lives[job.at()]
            .here()
            .map(|(number, _)| number)
            .filter(|number| !is_held(*number))
            .collect();
        for number in gone {
            self.clear(job, number);
        }
    }

    pub(super) fn clear(&mut self, job: JobId, number: u32) {
        let Some(here) = self.lives[job.at()].members[number as usize].take() else { return };
        let ask = self.book.entry(job).ask(&here.member);
        let shape = self.book.cluster().shape(here.member.node);
        self.truth.clear((job, number), (here.member.node, shape), (ask, here.member.gpus));
    }

    pub(super) fn clear_all(&mut self, job: JobId) {
        let count = u32::try_from(self.lives[job.at()].members.len()).unwrap_or(u32::MAX);
        (0..count).for_each(|number| self.clear(job, number));
        self.lives[job.at()].members.clear();
    }

    fn evict(&mut self, job: JobId) {
        let by = if let Stage::Leaving(by) = self.book.entry(job).stage { by } else { None };
        self.lives[job.at()].beat(self.now, Happening::Told(by));
        let (grace, works) = (self.setup.latencies.grace, self.lives[job.at()].phase == Phase::Working);
        let saves = self.lives[job.at()].load.saves.filter(|saves| works && saves.cost <= grace);
        self.stop(job);
        self.enter(job, Phase::Leaving);
        self.lives[job.at()].saves_leaving = saves.is_some();
        let slow = self.random.random_range(0..100) < self.setup.chances.slow_percent;
        let slow = if slow { self.setup.latencies.slow } else { Period::ZERO };
        // A job that does not work has nothing to wait for.
        let after = if works { saves.map_or(grace, |saves| saves.cost) } else { Period::ZERO };
        self.later(job, after + slow, Item::Gone);
    }

    pub(super) fn gone(&mut self, job: JobId) {
        let by = if let Stage::Leaving(by) = self.book.entry(job).stage { by } else { None };
        let life = &mut self.lives[job.at()];
        life.account(self.now);
        let lost = if life.saves_leaving {
            life.progress.save();
            Period::ZERO
        } else {
            life.progress.fall_back()
        };
        life.put_out_count += 1;
        life.leave(self.now, Leave::PutOut(by));
        life.beat(self.now, Happening::PutOut { lost });
        self.clear_all(job);
        self.apply(Event::Evicted(job));
        self.enter(job, Phase::Out);
    }

    /// The job goes on with the members that it still has, which are numbered anew.
    fn resize(&mut self, job: JobId) {
        let old: Vec<(u32, Here)> =
            self.lives[job.at()].here().map(|(number, here)| (number, *here)).collect();
        let seats: Vec<Member> = self.book.entry(job).seats.iter().map(|(member, _)| *member).collect();
        let mut kept: Vec<Option<Here>> = Vec::new();
        let mut left = old;
        for member in seats {
            // Members that are the same in all have the same fate.
            let found = left.iter().position(|(_, here)| here.member == member);
            kept.push(found.map(|at| left.remove(at).1));
        }
        for (number, _) in left {
            self.clear(job, number);
        }
        self.truth.rename(job, &kept);
        self.lives[job.at()].members = kept;
        self.begin(job, true);
    }
}
