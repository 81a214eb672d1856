//! The policy that all strategies are made of: an order, whether later jobs may pass, a placing, and who may be put out.

mod fair;
mod instead;
mod promises;
mod repair;
mod running;
mod waiting;
mod why;

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use weft_base::{Moment, Period};

use crate::book::{Book, Refused, Stage};
use crate::cluster::{Level, Shape};
use crate::fleet::{Models, Pod, Typical, WHOLE_MILLI};
use crate::job::{JobId, Need, QueueId};
use crate::placings::Setting;
use crate::policy::{Act, Budget, Change, Member, Policy, Promise, Reason};
use crate::search::{Searcher, Trial};
use crate::strategies::{Passing, PutOut, Strategy};

use running::Running;
use waiting::{Pair, Waiting};

/// The first wait after a bind failed; it doubles each time.
const BACKOFF_FIRST: Period = Period::milliseconds(1000);
/// The longest.
const BACKOFF_MOST: Period = Period::milliseconds(300_000);
/// How often classes that depend on time are looked at again.
const QUANTUM: Period = Period::milliseconds(60_000);
/// How long promises stand though room came free: a later time than possible delays nobody, it only lets fewer pass.
const PROMISED: Period = Period::milliseconds(60_000);
/// Jobs of one kind that are looked at beyond the first, where the first may not start because it would take too long.
const DEPTH_MOST: usize = 64;

/// Why jobs of a kind do not start now.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Block {
    /// There is no room, as of that count of `Book::loosened_count`.
    Room(u64),
    /// There is not even room on the empty cluster.
    Never,
    /// A queue has no quota left, as of that count.
    Quota(u64, Reason),
    /// A queue may never have so much.
    Beyond(Reason),
}

/// A strategy at work.
pub struct Planner {
    strategy: &'static Strategy,
    seed: u64,
    searcher: Option<Searcher>,
    /// An empty cluster, to tell what can never fit.
    idle: Option<(Book, Searcher)>,
    waiting: Waiting,
    blocked: IndexMap<Pair, Block, FxBuildHasher>,
    /// By number of the need; nothing for those that were not looked at.
    never: Vec<Option<bool>>,
    are_promises_stale: bool,
    running: Running,
    broken: BTreeSet<JobId>,
    leaving: BTreeSet<JobId>,
    held_off: BTreeSet<(Moment, JobId)>,
    asked: Moment,
    learnt_count: usize,
    refused: Vec<Refused>,
}

impl Planner {
    /// Of a strategy; `seed` only matters where it draws lots.
    pub fn new(strategy: &'static Strategy, seed: u64) -> Self {
        Self {
            strategy,
            seed,
            searcher: None,
            idle: None,
            waiting: Waiting::default(),
            blocked: IndexMap::default(),
            never: Vec::new(),
            are_promises_stale: false,
            running: Running::default(),
            broken: BTreeSet::new(),
            leaving: BTreeSet::new(),
            held_off: BTreeSet::new(),
            asked: Moment::ZERO,
            learnt_count: 0,
            refused: Vec::new(),
        }
    }

    /// One that has seen nothing of what happened, and reads it all from the book.
    pub fn rebuilt(strategy: &'static Strategy, seed: u64, book: &Book) -> Self {
        let mut planner = Self::new(strategy, seed);
        for (job, entry) in book.jobs() {
            match entry.stage {
                Stage::Queued => planner.wait_or_hold_off(book, job),
                Stage::Broken => {
                    planner.broken.insert(job);
                }
                Stage::Running | Stage::Binding(_) | Stage::Repairing(..) => {
                    planner.runs(book, job);
                }
                Stage::Leaving(_) => {
                    planner.leaving.insert(job);
                    planner.runs(book, job);
                }
                Stage::Claiming(..) | Stage::Ended(_) => {}
            }
        }
        planner
    }

    /// The strategy.
    pub fn strategy(&self) -> &'static Strategy {
        self.strategy
    }

    /// A job whose binds fail waits longer each time (kubernetes#70010: 1181 failed pods).
    fn wait_or_hold_off(&mut self, book: &Book, job: JobId) {
        let entry = book.entry(job);
        if entry.failed_count == 0 {
            self.wait(book, job);
            return;
        }
        let wait = (BACKOFF_FIRST * (1 << (entry.failed_count - 1).min(20))).min(BACKOFF_MOST);
        self.held_off.insert((entry.failed_at + wait, job));
    }

    fn wait(&mut self, book: &Book, job: JobId) {
        let key = self.key(book, job);
        if book.promises().list.iter().any(|promise| key < self.key(book, promise.job)) {
            self.are_promises_stale = true;
        }
        self.waiting.add(book, job, key);
        // One that is more important than those of its kind so far may put out whom they could not.
        if self.strategy.puts_out != PutOut::Nobody
            && let Some((pair, _)) =
                self.waiting.place(job).filter(|(pair, _)| self.waiting.head(*pair) == Some(key))
        {
            self.blocked.swap_remove(&pair);
        }
    }

    /// A job is up: those that wait for its room may put it out from now on.
    fn can_be_put_out(&mut self, book: &Book, job: JobId) {
        // Where classes depend on time everything is looked at again every so often.
        if matches!(self.strategy.puts_out, PutOut::Nobody | PutOut::ByClassOfTime) {
            return;
        }
        let Some(bracket) = self.running.bracket(job) else { return };
        let can = |(key, pair): (waiting::Key, Pair)| self.may_give_way(book, (pair.0, key.0), bracket);
        if self.waiting.heads().any(can) {
            self.blocked.clear();
        }
    }

    /// Where a job stands in the order.
    fn key(&self, book: &Book, job: JobId) -> waiting::Key {
        let entry = book.entry(job);
        let order = self.strategy.order;
        ((order.class)(entry, book.now()), (order.rank)(entry), entry.job.submitted, job)
    }

    /// Learns what pods are usual from the first jobs that came, anew when their number has doubled: so that whoever reads
    /// the book later learns the same.
    fn learn(&mut self, book: &Book) {
        let jobs = book.job_count();
        let learnt = if jobs == 0 { 0 } else { 1 << jobs.ilog2() };
        if self.searcher.is_some() && (learnt == self.learnt_count || !self.strategy.placing.learns) {
            return;
        }
        self.learnt_count = learnt;
        // Before much is known, a pod that needs a whole node is as usual as any.
        let whole = book.cluster().shapes.iter().filter_map(whole_node);
        let known = book.jobs().take(learnt).flat_map(|(_, entry)| pods(&entry.job.need));
        let pods: Vec<Pod> = known.chain(whole).collect();
        let fleet = Arc::new(book.cluster().fleet());
        let setting = Setting { fleet, typical: Arc::new(Typical::of(&pods)) };
        let scorer = (self.strategy.placing.scorer)(setting);
        let mut searcher = Searcher::new(book, scorer, self.strategy.nearness, self.seed);
        self.running.of(|_| true).for_each(|job| searcher.count_traffic(book, job));
        self.searcher = Some(searcher);
    }

    /// What the strategy does about the job that comes next; whether it started.
    fn attempt(&mut self, book: &mut Book, pair: Pair, job: JobId, now: Moment) -> Attempt {
        let need = self.waiting.need(pair.1).clone();
        let queue = book.entry(job).job.queue;
        if let Some(over) = book.exceeded(queue, need.least_gpu_milli()) {
            if book.is_beyond(queue, need.least_gpu_milli()) {
                return Attempt::Blocked(Block::Beyond(quota(book, over)));
            }
            let others = self.put_others_out(book, job, &need.at_most(0), now);
            let block = || Attempt::Blocked(Block::Quota(book.loosened_count(), quota(book, over)));
            return others.unwrap_or_else(block);
        }
        let need = if let Some(left) = book.left_milli(queue) { need.at_most(left) } else { need };
        match self.place(book, job, &need, now) {
            Ok((members, why)) => self.decide_on(book, now, Act::Start(job, members), why),
            Err(Hindrance::Promise(at)) => Attempt::Delayed(at),
            Err(Hindrance::Room) if self.is_never_known(book, pair.1) => Attempt::Blocked(Block::Never),
            Err(Hindrance::Room) => {
                if let Some(attempt) = self.put_others_out(book, job, &need, now) {
                    return attempt;
                }
                self.promise(book, job, &need, now);
                Attempt::Blocked(Block::Room(book.loosened_count()))
            }
        }
    }

    fn put_others_out(&mut self, book: &mut Book, job: JobId, need: &Need, now: Moment) -> Option<Attempt> {
        if self.strategy.puts_out == PutOut::Nobody {
            return None;
        }
        let (evict, then) = self.instead(book, job, need, now)?;
        let why = vec![Reason::Instead(evict.clone())];
        Some(self.decide_on(book, now, Act::Transact { job, evict, then }, why))
    }

    fn decide_on(&mut self, book: &mut Book, now: Moment, act: Act, why: Vec<Reason>) -> Attempt {
        let evict = if let Act::Transact { evict, .. } = &act { evict.clone() } else { Vec::new() };
        match book.decide(now, act, why) {
            Ok(_) => {
                self.leaving.extend(evict);
                Attempt::Started
            }
            Err(why) => {
                self.refused.push(why);
                Attempt::Blocked(Block::Room(book.loosened_count()))
            }
        }
    }

    /// Places for a job that does not delay those to whom something is promised.
    fn place(
        &mut self,
        book: &Book,
        job: JobId,
        need: &Need,
        now: Moment,
    ) -> Result<(Vec<Member>, Vec<Reason>), Hindrance> {
        let until = book.entry(job).job.limit.map(|limit| now + limit);
        let delays = |promise: &Promise| promise.job != job && until.is_none_or(|until| until > promise.at);
        let ahead: Vec<&Promise> = book.promises().list.iter().filter(|promise| delays(promise)).collect();
        let Some(searcher) = &mut self.searcher else { return Err(Hindrance::Room) };
        // Not again where it was refused, unless there is no other place.
        let refused = &book.entry(job).refused_on;
        let elsewhere = searcher.find(&mut Trial::without(book, refused), need);
        let is_all = elsewhere.is_some() || refused.is_empty();
        let found = if is_all { elsewhere } else { searcher.find(&mut Trial::new(book), need) };
        let Some((members, mut why)) = found else { return Err(Hindrance::Room) };
        let meets = |promise: &&&Promise| members.iter().any(|member| promise.is_on(member.node));
        let Some(first) = ahead.iter().find(meets) else {
            if let Some(promise) = book.promises().list.iter().find(|promise| promise.job != job) {
                why.push(Reason::Backfill { ahead: promise.job, at: promise.at });
            }
            return Ok((members, why));
        };
        let mut trial = Trial::new(book);
        ahead.iter().flat_map(|promise| &promise.members).for_each(|member| trial.close(member.node));
        let (members, mut why) = searcher.find(&mut trial, need).ok_or(Hindrance::Promise(first.at))?;
        why.push(Reason::Backfill { ahead: first.job, at: first.at });
        Ok((members, why))
    }

    /// Whether it would not fit on the empty cluster either.
    fn is_never_known(&mut self, book: &Book, number: usize) -> bool {
        if let Some(known) = self.never.get(number).copied().flatten() {
            return known;
        }
        let need = self.waiting.need(number).clone();
        let found = self.is_never(book, &need);
        self.never.resize(self.never.len().max(number + 1), None);
        self.never[number] = Some(found);
        found
    }

    fn is_never(&mut self, book: &Book, need: &Need) -> bool {
        let (strategy, seed) = (self.strategy, self.seed);
        let (idle, searcher) = self.idle.get_or_insert_with(|| {
            let idle = Book::new(book.cluster().clone(), Vec::new());
            let setting =
                Setting { fleet: Arc::new(book.cluster().fleet()), typical: Arc::new(Typical::of(&[])) };
            let searcher = Searcher::new(&idle, (strategy.placing.scorer)(setting), strategy.nearness, seed);
            (idle, searcher)
        });
        searcher.find(&mut Trial::new(idle), need).is_none()
    }

    fn refresh(&mut self, book: &mut Book, now: Moment) {
        self.learn(book);
        while let Some((due, job)) = self.held_off.first().copied().filter(|(due, _)| *due <= now) {
            self.held_off.remove(&(due, job));
            if book.entry(job).stage == Stage::Queued {
                self.wait(book, job);
            }
        }
        if self.are_promises_stale || are_due(book, now) {
            self.are_promises_stale = false;
            self.blocked.clear();
            self.unreserve(book, now);
        }
        if self.strategy.puts_out == PutOut::ByClassOfTime && now >= self.asked + QUANTUM {
            self.blocked.clear();
        }
        self.asked = now;
    }
}

fn quota(book: &Book, over: QueueId) -> Reason {
    let limit_milli = book.queues()[over.at()].limit_milli.unwrap_or(0);
    Reason::Quota { queue: over, limit_milli, used_milli: book.used(over).gpu_milli }
}

/// What came of a job.
enum Attempt {
    Started,
    Blocked(Block),
    /// It would delay others, unless it ended by then.
    Delayed(Moment),
}

/// What stands in the way of a job.
enum Hindrance {
    Room,
    /// The first promise that it would delay is for that time.
    Promise(Moment),
}

impl Policy for Planner {
    fn observe(&mut self, book: &Book, change: Change) {
        match change {
            Change::Submitted(job) => self.wait(book, job),
            Change::Waits(job) => {
                self.forget(job);
                self.wait_or_hold_off(book, job);
            }
            Change::Started(job) => {
                self.broken.remove(&job);
                self.runs(book, job);
                self.can_be_put_out(book, job);
            }
            Change::Broken(job) => {
                self.broken.insert(job);
                self.are_promises_stale |= !book.promises().list.is_empty();
            }
            Change::Ended(job) => self.forget(job),
            Change::Health(_) => self.are_promises_stale |= !book.promises().list.is_empty(),
        }
    }

    fn decide(&mut self, book: &mut Book, now: Moment, budget: Budget) {
        self.refresh(book, now);
        self.repair(book, now);
        let mut heads = self.heads(book);
        let (mut decisions, mut looked) = (0, 0);
        while decisions < budget.decision_count && looked < budget.job_count {
            let Some((pair, job)) = self.next_head(book, &mut heads) else { break };
            looked += 1;
            let known = self.blocked.get(&pair).filter(|block| block.holds(book)).cloned();
            let attempt = match known {
                Some(block) => Attempt::Blocked(block),
                None => self.attempt(book, pair, job, now),
            };
            match attempt {
                Attempt::Started => {
                    decisions += 1;
                    self.waiting.remove(job);
                    self.runs(book, job);
                    self.again_head(&mut heads, pair);
                }
                Attempt::Blocked(block) => {
                    let is_for_ever = matches!(block, Block::Never | Block::Beyond(_));
                    let stops = self.strategy.passing == Passing::Nobody && !is_for_ever;
                    if is_for_ever {
                        self.next_of_pair(book, &mut heads, (pair, job), None);
                    }
                    self.blocked.insert(pair, block);
                    if stops && self.stop(&mut heads, pair) {
                        break;
                    }
                }
                Attempt::Delayed(at) => self.next_of_pair(book, &mut heads, (pair, job), Some(at - now)),
            }
        }
    }

    fn why(&mut self, book: &Book, job: JobId) -> Vec<Reason> {
        self.reasons(book, job)
    }

    fn again(&self) -> Option<Period> {
        let timer =
            (self.strategy.puts_out == PutOut::ByClassOfTime && !self.waiting.is_empty()).then_some(QUANTUM);
        let due = self.held_off.first().map(|(due, _)| (*due - self.asked).max(Period::milliseconds(1)));
        timer.into_iter().chain(due).min()
    }

    fn refused(&self) -> &[Refused] {
        &self.refused
    }
}

impl Block {
    /// Whether it still stands.
    fn holds(&self, book: &Book) -> bool {
        match self {
            Self::Room(loosened) | Self::Quota(loosened, _) => *loosened == book.loosened_count(),
            Self::Never | Self::Beyond(_) => true,
        }
    }
}

impl Planner {
    fn runs(&mut self, book: &Book, job: JobId) {
        let entry = book.entry(job);
        let class = (self.strategy.order.class)(entry, book.now());
        self.running.insert((entry.job.queue, class), job);
        if let Some(searcher) = &mut self.searcher {
            searcher.count_traffic(book, job);
        }
        if self.strategy.passing.promises() > 0 {
            self.running.set_due(job, entry.due());
        }
    }

    fn forget(&mut self, job: JobId) {
        self.waiting.remove(job);
        self.running.remove(job);
        if let Some(searcher) = &mut self.searcher {
            searcher.forget_traffic(job);
        }
        self.broken.remove(&job);
        self.leaving.remove(&job);
    }
}

/// Whether promises are to be made anew: one is overdue, or room has come free since, and not just now.
fn are_due(book: &Book, now: Moment) -> bool {
    let promises = book.promises();
    let is_old = promises.loosened_count != book.loosened_count() && now >= promises.made_at + PROMISED;
    promises.list.iter().any(|promise| is_old || promise.at <= now)
}

/// Pods of a job, one for each member up to a few: what is usual does not depend on how many a job has.
fn pods(need: &Need) -> impl Iterator<Item = Pod> + use<'_> {
    need.groups.iter().flat_map(|group| {
        let count = group.most_count.min(64) as usize;
        std::iter::repeat_n(group.ask.pod.clone(), count)
    })
}

/// A pod that asks for all GPUs of a node of that shape, and nothing else.
fn whole_node(shape: &Shape) -> Option<Pod> {
    let gpu_count = shape.kind.gpu_count;
    let pod = Pod { cpu_milli: 0, memory_mib: 0, gpu_count, gpu_milli: WHOLE_MILLI, models: Models::ANY };
    (gpu_count > 0).then_some(pod)
}

/// The level at which a job has to be together, if any.
fn required_level(need: &Need) -> Option<Level> {
    let of_groups = || match need.groups.as_slice() {
        [group] => group.within,
        _ => None,
    };
    need.within.or_else(of_groups).filter(|within| within.required).map(|within| within.level)
}

#[cfg(test)]
mod tests;
