//! What is promised to jobs that wait: the earliest time at which each fits, if those that run end when they say.

use std::collections::BTreeMap;

use weft_base::{Moment, Period};

use super::{Planner, required_level};
use crate::book::Book;
use crate::cluster::{Level, NodeId};
use crate::job::{Ask, Group, JobId, Need};
use crate::policy::Member;
use crate::policy::{Act, Promise};
use crate::search::{Searcher, Trial, any_model};

/// A job that runs longer than it said is taken to end after so much more.
const OVERDUE: Period = Period::milliseconds(60_000);

impl Planner {
    /// Promises a job that does not fit now the earliest time at which it does, as far as the strategy promises.
    pub(super) fn promise(&mut self, book: &mut Book, job: JobId, need: &Need, now: Moment) {
        let is_known = book.promises().list.iter().any(|promise| promise.job == job);
        if self.running.dues().next().is_none()
            || is_known
            || book.promises().list.len() >= self.strategy.passing.promises()
        {
            return;
        }
        if let Some(promise) = self.earliest(book, job, need, now) {
            self.decide_aside(book, now, Act::Reserve(promise));
        }
    }

    pub(super) fn unreserve(&mut self, book: &mut Book, now: Moment) {
        if !book.promises().list.is_empty() {
            self.decide_aside(book, now, Act::Unreserve);
        }
    }

    fn decide_aside(&mut self, book: &mut Book, now: Moment, act: Act) {
        self.refused.extend(book.decide(now, act, Vec::new()).err());
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
            let mut is_wide = rooms.put_out(&mut trial, first);
            while let Some((_, other)) = ends.next_if(|(other, _)| *other == due || is_late && *other <= now)
            {
                is_wide |= rooms.put_out(&mut trial, other);
            }
            if !is_wide {
                continue;
            }
            let Some((members, _)) = searcher.find(&mut trial, need) else { continue };
            let until = limit.map(|limit| time + limit);
            if !book.promises().list.iter().any(|promise| delays(promise, &members, (time, until))) {
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
struct Rooms {
    level: Level,
    groups: Vec<GroupRooms>,
}

struct GroupRooms {
    ask: Ask,
    least_count: u64,
    by_node: Vec<u64>,
    by_domain: BTreeMap<u32, u64>,
}

impl Rooms {
    fn new(searcher: &mut Searcher, trial: &Trial<'_>, need: &Need) -> Self {
        let level = required_level(need).unwrap_or(Level::Cluster);
        let of = |group: &Group| GroupRooms {
            ask: any_model(&group.ask),
            least_count: u64::from(group.least_count),
            by_node: searcher.room(trial, group, Level::Node).into_iter().map(|(room, _)| room).collect(),
            by_domain: searcher
                .room(trial, group, level)
                .into_iter()
                .map(|(room, domain)| (domain, room))
                .collect(),
        };
        Self { level, groups: need.groups.iter().map(of).collect() }
    }

    /// A job goes; whether one of its domains now has room for each group.
    fn put_out(&mut self, trial: &mut Trial<'_>, job: JobId) -> bool {
        let (book, level) = (trial.book(), self.level);
        let mut nodes: Vec<NodeId> = book.entry(job).held().map(|member| member.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        trial.put_out(job);
        for group in &mut self.groups {
            for node in &nodes {
                let after = Searcher::room_on(trial, &group.ask, *node);
                let before = std::mem::replace(&mut group.by_node[node.at()], after);
                let room = group.by_domain.entry(book.cluster().domain(*node, level)).or_default();
                *room = *room + after - before;
            }
        }
        let mut domains: Vec<u32> = nodes.iter().map(|node| book.cluster().domain(*node, level)).collect();
        domains.dedup();
        domains.iter().any(|domain| self.groups.iter().all(|group| group.is_wide(*domain)))
    }
}

impl GroupRooms {
    fn is_wide(&self, domain: u32) -> bool {
        self.by_domain.get(&domain).is_some_and(|room| *room >= self.least_count)
    }
}
