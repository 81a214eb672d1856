//! Who gives way: the cheapest jobs, so that all members of another fit where they have to be together.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use weft_base::Moment;

use super::{Planner, required_level};
use crate::book::{Book, Stage};
use crate::cluster::Level;
use crate::job::{JobId, Need};
use crate::policy::Member;
use crate::search::Trial;
use crate::strategies::PutOut;

/// Domains for which a plan is made; those with most to win come first.
const DOMAINS_MOST: usize = 64;

/// What it costs to put jobs out: work that is repeated at worst, and how many.
type Cost = (u128, usize);

impl Planner {
    /// Jobs to put out and the places that the job then has; nothing if that does not help.
    pub(super) fn instead(
        &mut self,
        book: &Book,
        job: JobId,
        need: &Need,
        now: Moment,
    ) -> Option<(Vec<JobId>, Vec<Member>)> {
        let is_single = need.most_count() == 1;
        let level = required_level(need).unwrap_or(if is_single { Level::Node } else { Level::Cluster });
        let mut best: Option<(Cost, Vec<JobId>, Vec<Member>)> = None;
        let plans = self.candidates(book, level, now, |book, victim| self.gives_way(book, job, victim, now));
        for victims in plans {
            let Some((evict, then)) = self.plan(book, need, victims) else { continue };
            let lost: u128 = evict.iter().map(|victim| lost(book, *victim, now)).sum();
            let cost = (lost, evict.len());
            if best.as_ref().is_none_or(|(known, _, _)| cost < *known) {
                best = Some((cost, evict, then));
            }
        }
        best.map(|(_, evict, then)| (evict, then))
    }

    /// Jobs of lower importance that would have to give way for a job to fit, whether or not the strategy puts jobs out.
    pub(super) fn blockers(&mut self, book: &Book, job: JobId, need: &Need, now: Moment) -> Vec<JobId> {
        let is_single = need.most_count() == 1;
        let level = required_level(need).unwrap_or(if is_single { Level::Node } else { Level::Cluster });
        let plans = self.candidates(book, level, now, |book, victim| {
            book.entry(victim).job.priority < book.entry(job).job.priority
        });
        let found = plans.into_iter().filter_map(|victims| self.plan(book, need, victims));
        found.map(|(evict, _)| evict).min_by_key(Vec::len).unwrap_or_default()
    }

    /// Jobs that may be put out, by the domain in which they have members; least valuable first.
    fn candidates(
        &self,
        book: &Book,
        level: Level,
        now: Moment,
        gives_way: impl Fn(&Book, JobId) -> bool,
    ) -> Vec<Vec<JobId>> {
        let mut by_domain: BTreeMap<u32, (u64, BTreeSet<JobId>)> = BTreeMap::new();
        for victim in self.running.iter().filter(|victim| gives_way(book, **victim)) {
            let entry = book.entry(*victim);
            for member in entry.held() {
                let domain = book.cluster().domain(member.node, level);
                let (milli, jobs) = by_domain.entry(domain).or_default();
                *milli += u64::from(entry.ask(member).pod.asked_milli());
                jobs.insert(*victim);
            }
        }
        let mut domains: Vec<(u64, BTreeSet<JobId>)> = by_domain.into_values().collect();
        domains.sort_by_key(|(milli, _)| Reverse(*milli));
        domains.truncate(DOMAINS_MOST);
        let class = |victim: &JobId| (self.strategy.order.class)(book.entry(*victim), now);
        let sorted = |(_, jobs): (u64, BTreeSet<JobId>)| {
            let mut jobs: Vec<JobId> = jobs.into_iter().collect();
            jobs.sort_by_key(|victim| (Reverse(class(victim)), Reverse(book.entry(*victim).since), *victim));
            jobs
        };
        domains.into_iter().map(sorted).collect()
    }

    /// Whether one job gives way to another.
    pub(super) fn gives_way(&self, book: &Book, job: JobId, victim: JobId, now: Moment) -> bool {
        let (entry, other) = (book.entry(job), book.entry(victim));
        if !other.job.preemptible || other.stage != Stage::Running {
            return false;
        }
        let class = |entry| (self.strategy.order.class)(entry, now);
        let is_lower = class(entry) < class(other);
        match self.strategy.puts_out {
            PutOut::Nobody => false,
            PutOut::ByClass | PutOut::ByClassOfTime => is_lower,
            PutOut::Reclaim => is_lower && entry.job.queue == other.job.queue || reclaims(book, job, victim),
        }
    }

    /// Puts jobs out one by one until the need fits, then lets back in whoever need not go.
    fn plan(&mut self, book: &Book, need: &Need, victims: Vec<JobId>) -> Option<(Vec<JobId>, Vec<Member>)> {
        let searcher = self.searcher.as_mut()?;
        let mut trial = Trial::new(book);
        let mut out = Vec::new();
        let mut found = None;
        for victim in victims {
            trial.put_out(victim);
            out.push(victim);
            if searcher.has_room(&trial, need) {
                found = searcher.find(&mut trial, need);
                if found.is_some() {
                    break;
                }
            }
        }
        let mut members = found?.0;
        for victim in out.clone() {
            trial.put_back(victim);
            match searcher.find(&mut trial, need) {
                Some((without, _)) => {
                    members = without;
                    out.retain(|other| *other != victim);
                }
                None => trial.put_out(victim),
            }
        }
        Some((out, members))
    }
}

/// Whether the job's queue takes back what is its own from a queue that has more than its own: both stay on their side of
/// the border, so that nothing goes back and forth.
fn reclaims(book: &Book, job: JobId, victim: JobId) -> bool {
    let (entry, other) = (book.entry(job), book.entry(victim));
    let own = |queue: crate::job::QueueId| book.queues()[queue.at()].own_milli;
    let held: u64 = other.held().map(|member| u64::from(other.ask(member).pod.asked_milli())).sum();
    let (mine, theirs) = (entry.job.queue, other.job.queue);
    let stays = book.used(mine).gpu_milli + entry.job.need.least_gpu_milli() <= own(mine);
    mine != theirs && stays && book.used(theirs).gpu_milli >= own(theirs) + held
}

/// GPU time since a job came up: what it repeats at worst.
fn lost(book: &Book, job: JobId, now: Moment) -> u128 {
    let entry = book.entry(job);
    entry.attained_until(now) - entry.attained
}
