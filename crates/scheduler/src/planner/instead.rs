//! Who gives way: the cheapest jobs, so that all members of another fit where they have to be together.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use weft_base::Moment;

use super::running::Bracket;
use super::{Planner, required_level};
use crate::book::{Book, Stage};
use crate::cluster::Level;
use crate::job::{JobId, Need, QueueId};
use crate::policy::Member;
use crate::search::Trial;
use crate::strategies::PutOut;

/// Domains for which a plan is made; those with most to win come first.
const DOMAINS_MOST: usize = 64;

/// What it costs to put jobs out: how important the most important of them is, work that is repeated at worst, how many.
type Cost = (Reverse<i64>, u128, usize);

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
        let class = (self.strategy.order.class)(book.entry(job), now);
        let queue = book.entry(job).job.queue;
        let victims: Vec<JobId> = self
            .running
            .of(|bracket| self.may_give_way(book, (queue, class), bracket))
            .filter(|victim| self.gives_way(book, job, *victim, now))
            .collect();
        let mut plans = self.candidates(book, level, now, &victims);
        let least_milli = need.least_gpu_milli();
        if book.exceeded(queue, least_milli).is_some() {
            // What frees quota may stand elsewhere than what frees room.
            plans.extend(self.candidates(book, Level::Cluster, now, &victims));
        }
        // Where a queue takes back its own, those go first that leave their queue its own.
        let rounds: &[bool] =
            if self.strategy.puts_out == PutOut::Reclaim { &[true, false] } else { &[true] };
        for keeps_own in rounds {
            for victims in &plans {
                let victims = self.within_own(book, job, victims, *keeps_own);
                let is_within = |out: &[JobId]| book.exceeded_without(out, queue, least_milli).is_none();
                let Some((evict, then)) = self.plan(book, job, need, victims, is_within) else { continue };
                let cost = self.cost(book, &evict, now);
                if best.as_ref().is_none_or(|(known, _, _)| cost < *known) {
                    best = Some((cost, evict, then));
                }
            }
            if best.is_some() {
                break;
            }
        }
        best.map(|(_, evict, then)| (evict, then))
    }

    fn cost(&self, book: &Book, evict: &[JobId], now: Moment) -> Cost {
        let class = evict.iter().map(|victim| (self.strategy.order.class)(book.entry(*victim), now)).min();
        let lost = evict.iter().map(|victim| lost(book, *victim, now)).sum();
        (Reverse(class.unwrap_or(i64::MAX)), lost, evict.len())
    }

    /// Jobs of lower importance that would have to give way for a job to fit, whether or not the strategy puts jobs out.
    pub(super) fn blockers(&mut self, book: &Book, job: JobId, need: &Need, now: Moment) -> Vec<JobId> {
        let is_single = need.most_count() == 1;
        let level = required_level(need).unwrap_or(if is_single { Level::Node } else { Level::Cluster });
        let is_less = |victim: &JobId| book.entry(*victim).job.priority < book.entry(job).job.priority;
        let victims: Vec<JobId> = self.running.of(|_| true).filter(is_less).collect();
        let plans = self.candidates(book, level, now, &victims);
        let found = plans.into_iter().filter_map(|victims| self.plan(book, job, need, victims, |_| true));
        found.map(|(evict, _)| evict).min_by_key(Vec::len).unwrap_or_default()
    }

    /// Jobs that may be put out, by the domain in which they have members; least valuable first.
    fn candidates(&self, book: &Book, level: Level, now: Moment, victims: &[JobId]) -> Vec<Vec<JobId>> {
        let mut by_domain: BTreeMap<u32, (u64, BTreeSet<JobId>)> = BTreeMap::new();
        for victim in victims {
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

    /// Whether any job of a bracket may give way to one of another: what can be said without looking at it.
    pub(super) fn may_give_way(
        &self,
        book: &Book,
        (queue, class): Bracket,
        (theirs, other): Bracket,
    ) -> bool {
        match self.strategy.puts_out {
            PutOut::Nobody => false,
            PutOut::ByClass => class < other,
            // Classes have changed since.
            PutOut::ByClassOfTime => true,
            PutOut::Reclaim if queue == theirs => class < other,
            PutOut::Reclaim => {
                let own = |queue: QueueId| book.queues()[queue.at()].own_milli;
                book.used(queue).gpu_milli < own(queue) && book.used(theirs).gpu_milli > own(theirs)
            }
        }
    }

    /// Whether one job gives way to another. Where a queue takes back its own, both queues stay on their side of the
    /// border, so that nothing goes back and forth.
    fn gives_way(&self, book: &Book, job: JobId, victim: JobId, now: Moment) -> bool {
        let (entry, other) = (book.entry(job), book.entry(victim));
        if !other.job.preemptible || other.stage != Stage::Running {
            return false;
        }
        if self.strategy.puts_out == PutOut::Reclaim && entry.job.queue != other.job.queue {
            let own = book.queues()[entry.job.queue.at()].own_milli;
            return book.used(entry.job.queue).gpu_milli + entry.job.need.least_gpu_milli() <= own;
        }
        (self.strategy.order.class)(entry, now) < (self.strategy.order.class)(other, now)
    }

    /// What a queue keeps once those have left that are leaving already.
    fn kept_milli(&self, book: &Book, queue: QueueId) -> u64 {
        let leave = self.leaving.iter().filter(|job| book.entry(**job).job.queue == queue);
        book.used(queue).gpu_milli - leave.map(|job| book.entry(*job).held_milli()).sum::<u64>()
    }

    /// Those of the jobs that other queues can lose: that are beyond their own or, if they need not keep all of it, in
    /// part.
    fn within_own(&self, book: &Book, by: JobId, victims: &[JobId], keeps_own: bool) -> Vec<JobId> {
        if self.strategy.puts_out != PutOut::Reclaim {
            return victims.to_vec();
        }
        let mine = book.entry(by).job.queue;
        let mut kept: BTreeMap<QueueId, u64> = BTreeMap::new();
        let mut can_go = |victim: &JobId| {
            let queue = book.entry(*victim).job.queue;
            if queue == mine {
                return true;
            }
            let kept = kept.entry(queue).or_insert_with(|| self.kept_milli(book, queue));
            let (own, held) = (book.queues()[queue.at()].own_milli, book.entry(*victim).held_milli());
            let is_over = if keeps_own { *kept >= own + held } else { *kept > own };
            *kept -= if is_over { held } else { 0 };
            is_over
        };
        victims.iter().copied().filter(|victim| can_go(victim)).collect()
    }

    /// Puts jobs out one by one until the need fits and its queue may have it, then lets back in whoever need not go, the
    /// most important first.
    fn plan(
        &mut self,
        book: &Book,
        job: JobId,
        need: &Need,
        victims: Vec<JobId>,
        is_within: impl Fn(&[JobId]) -> bool,
    ) -> Option<(Vec<JobId>, Vec<Member>)> {
        let searcher = self.searcher.as_mut()?;
        // Nobody leaves a node for a job that it refused.
        let mut trial = Trial::without(book, &book.entry(job).refused_on);
        let mut out = Vec::new();
        let mut found = None;
        for victim in victims {
            trial.put_out(victim);
            out.push(victim);
            if is_within(&out) && searcher.has_room(&trial, need) {
                found = searcher.find(&mut trial, need);
                if found.is_some() {
                    break;
                }
            }
        }
        let mut members = found?.0;
        for victim in out.clone().into_iter().rev() {
            let without: Vec<JobId> = out.iter().copied().filter(|other| *other != victim).collect();
            trial.put_back(victim);
            let fits = if is_within(&without) { searcher.find(&mut trial, need) } else { None };
            match fits {
                Some((found, _)) => (members, out) = (found, without),
                None => trial.put_out(victim),
            }
        }
        Some((out, members))
    }
}

/// GPU time since a job came up: what it repeats at worst.
fn lost(book: &Book, job: JobId, now: Moment) -> u128 {
    let entry = book.entry(job);
    entry.attained_until(now) - entry.attained
}
