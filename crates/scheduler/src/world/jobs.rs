//! What jobs do: they come, work, wait for links, and end.

use weft_base::{Moment, Period};

use super::life::{Life, Phase};
use super::record::{Happening, Leave};
use super::tally::Standing;
use super::{Item, Load, World};
use crate::book::{Seat, Stage};
use crate::job::JobId;
use crate::policy::{End, Event};

impl World {
    pub(super) fn arrive(&mut self, load: Load) {
        self.idle_wake_count = 0;
        let id = JobId(u32::try_from(self.lives.len()).unwrap_or(u32::MAX));
        let is_watched = self.setup.stories.has(&load.job.name);
        if is_watched {
            self.watched.push(id);
        }
        if let Some(at) = load.cancelled {
            self.agenda.add(at.max(self.now), Item::Cancel(id));
        }
        let job = Box::new(load.job.clone());
        self.lives.push(Life::new(load, self.now, is_watched));
        self.standings.push(Standing::None);
        self.lives[id.at()].beat(self.now, Happening::Came);
        self.apply(Event::Submitted(job));
        self.enter(id, Phase::Out);
    }

    /// All members are up: the job begins, or goes on after its members have changed.
    pub(super) fn begin(&mut self, job: JobId, changed: bool) {
        let latencies = self.setup.latencies;
        let was_at_work = self.lives[job.at()].phase == Phase::Working;
        self.stop(job);
        let life = &mut self.lives[job.at()];
        let mut after = if changed || life.begun_count > 1 { latencies.restart } else { latencies.start };
        if was_at_work {
            // Those that were at work save what they have before others join them.
            after = after + life.load.saves.map_or(Period::ZERO, |saves| saves.cost);
            life.progress.save();
        }
        life.start_count += 1;
        life.started.get_or_insert(self.now);
        (life.link_up, life.told_share) = (None, None);
        let (nodes, spans) = life.stay(self.now, self.book.cluster());
        let saved_share = life.progress.saved_share();
        let works_from = self.now + after;
        life.beat(self.now, Happening::Up { nodes, spans, works_from, saved_share });
        self.enter(job, Phase::Starting);
        if !self.lives[job.at()].all_live() {
            self.hit(job, None);
        } else if let Some(cut) = self.cut_members(job) {
            // It cannot reach the others: it crashes as it begins.
            self.crash(job, &cut);
        } else {
            self.later(job, after, Item::Ready);
        }
    }

    pub(super) fn ready(&mut self, job: JobId) {
        self.enter(job, Phase::Working);
        let members: Vec<_> = self.lives[job.at()].here().map(|(_, here)| here.member).collect();
        let load = &self.lives[job.at()].load;
        let others = self.setup.speed.comes(self.book.cluster(), job, &load.job, &members);
        self.rate(job);
        for other in others {
            self.rate(other);
        }
    }

    /// Asks anew how fast a job is.
    fn rate(&mut self, job: JobId) {
        if self.lives.get(job.at()).is_none_or(|life| life.phase != Phase::Working) {
            return;
        }
        let share = self.setup.speed.share(job);
        self.enter(job, Phase::Working);
        let life = &mut self.lives[job.at()];
        life.set_speed(share);
        let is_news = life.told_share.is_none_or(|told| (told - share).abs() > 1e-9);
        if is_news && (share < 1.0 || life.told_share.is_some()) {
            life.beat(self.now, Happening::Speed(share));
        }
        life.told_share = Some(share);
        if let Some(after) = life.remaining() {
            self.later(job, after, Item::Finish);
        }
    }

    /// If it works it does no longer, and others may be faster.
    pub(super) fn stop(&mut self, job: JobId) {
        if self.lives[job.at()].phase != Phase::Working {
            return;
        }
        self.enter(job, Phase::Stalled);
        let others = self.setup.speed.goes(job);
        others.into_iter().filter(|other| *other != job).for_each(|other| self.rate(other));
    }

    /// The book has more or less for a job that goes on doing what it does.
    pub(super) fn hold(&mut self, job: JobId) {
        let entry = self.book.entry(job);
        let held = entry.held().map(|member| u64::from(entry.ask(member).pod.asked_milli())).sum();
        let life = &mut self.lives[job.at()];
        life.account(self.now);
        life.held_milli = held;
        let standing = match self.standings[job.at()] {
            Standing::On(_) => Standing::On(held),
            Standing::Working(_) => Standing::Working(held),
            other @ (Standing::None | Standing::Queued(_)) => other,
        };
        let before = std::mem::replace(&mut self.standings[job.at()], standing);
        self.tally.turn(before, standing);
    }

    /// A link of the job is down until then; it goes on where it stopped.
    pub(super) fn pause(&mut self, job: JobId, until: Moment) {
        let life = &mut self.lives[job.at()];
        let is_paused = life.link_up.is_some();
        if life.phase != Phase::Working && !is_paused {
            return;
        }
        let until = life.link_up.unwrap_or_default().max(until);
        self.stop(job);
        self.enter(job, Phase::Stalled);
        let life = &mut self.lives[job.at()];
        life.link_up = Some(until);
        life.beat(self.now, Happening::Stalled(until - self.now));
        self.later(job, until - self.now, Item::Resume);
    }

    pub(super) fn resume(&mut self, job: JobId) {
        self.lives[job.at()].link_up = None;
        self.ready(job);
    }

    pub(super) fn end(&mut self, job: JobId, how: End) {
        if self.lives[job.at()].phase == Phase::Over {
            return;
        }
        self.stop(job);
        let life = &mut self.lives[job.at()];
        life.account(self.now);
        life.leave(self.now, Leave::Ended(how));
        life.beat(self.now, Happening::Ended(how));
        life.ended = Some((self.now, how));
        self.clear_all(job);
        self.over_count += 1;
        self.apply(Event::Ended(job, how));
        self.enter(job, Phase::Over);
    }

    pub(super) fn time_out(&mut self, job: JobId, begun: u32) {
        let life = &self.lives[job.at()];
        let is_on = !matches!(life.phase, Phase::Out | Phase::Coming | Phase::Over);
        if is_on && life.begun_count == begun {
            self.lives[job.at()].beat(self.now, Happening::TimedOut);
            self.end(job, End::Failed);
        }
    }

    /// The scheduler has heard that members are lost.
    pub(super) fn known_broken(&mut self, job: JobId) {
        let seats = (0..).zip(&self.book.entry(job).seats);
        let lost: Vec<u32> =
            seats.filter(|(_, (_, seat))| *seat == Seat::Lost).map(|(number, _)| number).collect();
        let life = &mut self.lives[job.at()];
        life.broken_count += 1;
        life.beat(self.now, Happening::Broken(lost));
    }

    /// After an event about its places: what the book counts as lost is cleared away, and the job stands still if it is
    /// not whole.
    pub(super) fn follow(&mut self, job: JobId) {
        self.sync(job);
        match self.book.entry(job).stage {
            Stage::Broken if matches!(self.lives[job.at()].phase, Phase::Starting | Phase::Working) => {
                self.hit(job, None);
            }
            Stage::Broken
            | Stage::Queued
            | Stage::Claiming(..)
            | Stage::Binding(_)
            | Stage::Running
            | Stage::Repairing(..)
            | Stage::Leaving(_)
            | Stage::Ended(_) => {}
        }
        self.hold(job);
    }
}
