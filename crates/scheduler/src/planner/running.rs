//! Jobs that run, by queue and by the class that they had when they came up.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use weft_base::Moment;

use crate::job::{JobId, QueueId};

/// A queue and a class.
pub type Bracket = (QueueId, i64);

/// Jobs that run.
#[derive(Default)]
pub struct Running {
    by_bracket: BTreeMap<Bracket, BTreeSet<JobId>>,
    brackets: BTreeMap<JobId, (Bracket, Option<Moment>)>,
    dues: BTreeSet<(Moment, JobId)>,
}

impl Running {
    /// Adds a job, unless it is there.
    pub fn insert(&mut self, bracket: Bracket, job: JobId) {
        if let Entry::Vacant(place) = self.brackets.entry(job) {
            place.insert((bracket, None));
            self.by_bracket.entry(bracket).or_default().insert(job);
        }
    }

    /// Queue and class of a job, if it is there.
    pub fn bracket(&self, job: JobId) -> Option<Bracket> {
        self.brackets.get(&job).map(|(bracket, _)| *bracket)
    }

    /// Says when a job ends at the latest.
    pub fn set_due(&mut self, job: JobId, due: Option<Moment>) {
        let Some((_, known)) = self.brackets.get_mut(&job) else { return };
        if let Some(before) = std::mem::replace(known, due) {
            self.dues.remove(&(before, job));
        }
        self.dues.extend(due.map(|due| (due, job)));
    }

    /// Those that say when they end, the earliest first.
    pub fn dues(&self) -> impl Iterator<Item = (Moment, JobId)> {
        self.dues.iter().copied()
    }

    /// Takes a job out, if it is there.
    pub fn remove(&mut self, job: JobId) {
        let Some((bracket, due)) = self.brackets.remove(&job) else { return };
        if let Some(due) = due {
            self.dues.remove(&(due, job));
        }
        if let Some(jobs) = self.by_bracket.get_mut(&bracket) {
            jobs.remove(&job);
            if jobs.is_empty() {
                self.by_bracket.remove(&bracket);
            }
        }
    }

    /// Those of the brackets that a test lets through.
    pub fn of(&self, mut is_wanted: impl FnMut(Bracket) -> bool) -> impl Iterator<Item = JobId> {
        let brackets = self.by_bracket.iter().filter(move |(bracket, _)| is_wanted(**bracket));
        brackets.flat_map(|(_, jobs)| jobs.iter().copied())
    }
}
