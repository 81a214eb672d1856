//! What is promised to jobs that wait: the earliest time at which each fits, if those that run end when they say.

use std::collections::BTreeMap;

use weft_base::{Moment, Period};

use super::{Planner, required_level};
use crate::book::Book;
use crate::cluster::Level;
use crate::job::{JobId, Need};
use crate::policy::Member;
use crate::search::{Promise, Searcher, Trial};

/// A job that runs longer than it said is taken to end after so much more.
const OVERDUE: Period = Period::milliseconds(60_000);

impl Planner {
    /// Promises a job that does not fit now the earliest time at which it does, as far as the strategy promises.
    pub(super) fn promise(&mut self, book: &Book, job: JobId, need: &Need, now: Moment) {
        let is_known = self.promises.iter().any(|promise| promise.job == job);
        if self.running.dues().next().is_none()
            || is_known
            || self.promises.len() >= self.strategy.passing.promises()
        {
            return;
        }
        if let Some(promise) = self.earliest(book, job, need, now) {
            self.promises.push(promise);
        }
    }

    fn earliest(&mut self, book: &Book, job: JobId, need: &Need, now: Moment) -> Option<Promise> {
        let limit = book.entry(job).job.limit;
        let mut trial = Trial::new(book);
        let searcher = self.searcher.as_mut()?;
        let mut rooms = Rooms::new(searcher, &trial, need);
        let mut ends = self.running.dues().peekable();
        while let Some((due, first)) = ends.next() {
            let is_late = due <= now;
            let time = if is_late { now + OVERDUE } else { due };
            let mut is_wide = rooms.put_out(searcher, &mut trial, first);
            while let Some((_, other)) = ends.next_if(|(other, _)| *other == due || is_late && *other <= now)
            {
                is_wide |= rooms.put_out(searcher, &mut trial, other);
            }
            if !is_wide {
                continue;
            }
            let Some((members, _)) = searcher.find(&mut trial, need) else { continue };
            let until = limit.map(|limit| time + limit);
            if !self.promises.iter().any(|promise| delays(promise, &members, (time, until))) {
                return Some(Promise { job, at: time, until, members });
            }
        }
        None
    }
}

/// Whether members that come at a time and stay would be in the way of what is promised.
fn delays(promise: &Promise, members: &[Member], (at, until): (Moment, Option<Moment>)) -> bool {
    let meets = members.iter().any(|member| promise.is_on(member.node));
    let is_over = promise.until.is_some_and(|over| over <= at);
    meets && !is_over && until.is_none_or(|until| until > promise.at)
}

/// Room for the members of a need in each domain in which they have to be, kept up while jobs go: so that a search only
/// follows where one can succeed.
struct Rooms<'n> {
    need: &'n Need,
    level: Level,
    by_group: Vec<BTreeMap<u32, u64>>,
}

impl<'n> Rooms<'n> {
    fn new(searcher: &mut Searcher, trial: &Trial<'_>, need: &'n Need) -> Self {
        let level = required_level(need).unwrap_or(Level::Cluster);
        let of = |group| {
            let rooms = searcher.room(trial, group, level);
            rooms.into_iter().map(|(room, domain)| (domain, room)).collect()
        };
        Self { need, level, by_group: need.groups.iter().map(of).collect() }
    }

    /// A job goes; whether one of its domains now has room for each group.
    fn put_out(&mut self, searcher: &Searcher, trial: &mut Trial<'_>, job: JobId) -> bool {
        let (book, level) = (trial.book(), self.level);
        let mut nodes: Vec<_> = book.entry(job).held().map(|member| member.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let count = |trial: &Trial<'_>| -> Vec<Vec<u64>> {
            let of = |group| nodes.iter().map(|node| searcher.room_on(trial, group, *node)).collect();
            self.need.groups.iter().map(of).collect()
        };
        let before = count(trial);
        trial.put_out(job);
        let after = count(trial);
        for ((rooms, before), after) in self.by_group.iter_mut().zip(&before).zip(&after) {
            for ((node, before), after) in nodes.iter().zip(before).zip(after) {
                let room = rooms.entry(book.cluster().domain(*node, level)).or_default();
                *room = *room + after - before;
            }
        }
        let is_wide = |domain: u32| {
            let mut groups = self.need.groups.iter().zip(&self.by_group);
            groups.all(|(group, rooms)| {
                rooms.get(&domain).is_some_and(|room| *room >= u64::from(group.least_count))
            })
        };
        nodes.iter().any(|node| is_wide(book.cluster().domain(*node, level)))
    }
}
