//! What changes while a scenario is played, and what its jobs do about dead links.

use std::collections::BTreeSet;

use weft_base::{Span, Time};
use weft_simulator::{JobId, ResourceId};

use super::run::{Attempt, Stageplay};
use super::scenario::OnFault;
use super::setup::{Change, Reaction};

impl Stageplay<'_> {
    /// Sets links.
    pub(super) fn change(&mut self, change: &Change) {
        for (link, rate) in &change.links {
            let resource = ResourceId::new(self.first.index() + link.index());
            self.session.set(resource, *rate);
            self.dead.set(resource, *rate, change.at);
        }
        self.happened.push((change.at, change.text.clone()));
    }

    /// When the next job notices a dead link.
    pub(super) fn next_notice(&self) -> Option<Time> {
        if self.dead.is_empty() {
            return None;
        }
        let next = |(index, _, reaction): (usize, JobId, Reaction)| match reaction.on_fault {
            OnFault::Stall => None,
            OnFault::FailOver => self.dead.next(self.looked, reaction.notice),
            OnFault::Rerun => self.begins_again(index, reaction.notice),
        };
        self.open().into_iter().filter_map(next).min()
    }

    /// Lets jobs do what they do about dead links that they have noticed by now.
    pub(super) fn react(&mut self, now: Time) {
        for (index, job, reaction) in self.open() {
            match reaction.on_fault {
                OnFault::Stall => {}
                OnFault::FailOver => self.fail_over(index, job, reaction.notice, now),
                OnFault::Rerun => self.rerun(index, job, reaction, now),
            }
        }
        self.look(now);
    }

    /// Looks which jobs wait for links that they have not noticed to be dead.
    pub(super) fn look(&mut self, now: Time) {
        if !self.dead.is_empty() {
            for (index, job, reaction) in self.open() {
                let dead_since = match reaction.on_fault {
                    OnFault::Stall => None,
                    OnFault::FailOver => self.dead.unnoticed_since(self.looked, reaction.notice),
                    OnFault::Rerun => self.dead.since_other_than(&self.attempts[index].known_dead),
                };
                let session = &mut self.session;
                self.waiting[index].look(dead_since, (self.looked, now), || session.stalled(job) > 0);
            }
        }
        self.looked = now;
    }

    /// The jobs that are not done.
    fn open(&self) -> Vec<(usize, JobId, Reaction)> {
        let jobs = self.setup.jobs.iter().zip(&self.attempts).enumerate();
        jobs.filter(|(_, (_, attempt))| self.session.took(attempt.job).is_none())
            .map(|(index, (setup, attempt))| (index, attempt.job, setup.reaction))
            .collect()
    }

    /// Lets a job take other ways, around those dead links that it has noticed by now.
    fn fail_over(&mut self, index: usize, job: JobId, notice: Span, now: Time) {
        let waited = self.waiting[index].end(now);
        let noticed = self.dead.noticed(now, notice);
        if waited && !noticed.is_empty() {
            let name = &self.setup.jobs[index].name;
            self.happened.push((now, format!("{name} takes other ways")));
        }
        self.session.reroute_around(job, &noticed);
    }

    /// When a job that waits for a dead link gives up.
    fn begins_again(&self, index: usize, notice: Span) -> Option<Time> {
        self.waiting[index].since().map(|since| since + notice)
    }

    /// Lets a job begin again that has waited long enough for links which it did not know to be dead.
    fn rerun(&mut self, index: usize, job: JobId, reaction: Reaction, now: Time) {
        let dead = self.dead.noticed(now, Span::ZERO);
        let attempt = &mut self.attempts[index];
        attempt.known_dead.retain(|link| dead.contains(link));
        if attempt.reruns > 0 {
            self.session.reroute_around(job, &attempt.known_dead);
        }
        if self.session.stalled(job) == 0 {
            self.waiting[index].end(now);
        } else if self.begins_again(index, reaction.notice).is_some_and(|at| at <= now) {
            self.waiting[index].end(now);
            self.begin_again(index, job, reaction, now, dead);
        }
    }

    /// Stops a job, and begins it again from its last checkpoint, around all links that are dead now.
    fn begin_again(
        &mut self,
        index: usize,
        job: JobId,
        reaction: Reaction,
        now: Time,
        dead: BTreeSet<ResourceId>,
    ) {
        let setup = &self.setup.jobs[index];
        let stages = self.stages[index].len() / (setup.repeat as usize).max(1);
        let done = self.session.stages_done(job) / stages.max(1);
        let done = self.attempts[index].before + u32::try_from(done).unwrap_or(u32::MAX);
        let before = reaction.checkpoint.map_or(0, |every| done / every.max(1) * every);
        self.session.cancel(job);
        let again = self.add(index, before as usize * stages, now + reaction.restart);
        self.session.reroute_around(again, &dead);
        let reruns = self.attempts[index].reruns + 1;
        self.attempts[index] = Attempt { job: again, reruns, before, known_dead: dead };
        let (name, repeat) = (&setup.name, setup.repeat);
        let from = match before {
            0 => "from its beginning".to_owned(),
            before => format!("with repetition {} of {repeat}", before + 1),
        };
        let after = if reaction.restart > Span::ZERO {
            format!(" after {}", reaction.restart)
        } else {
            String::new()
        };
        let text = match done - before {
            0 => format!("{name} stops and begins again{after} {from}"),
            1 => format!("{name} stops and begins again{after} {from}; one that was done is lost"),
            lost => format!("{name} stops and begins again{after} {from}; {lost} that were done are lost"),
        };
        self.happened.push((now, text));
    }
}
