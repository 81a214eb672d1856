//! A policy that means no good: it proposes whatever comes to its mind, and only now and then what makes sense.

use std::collections::BTreeMap;

use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use weft_base::{Moment, Period};
use weft_scheduler::book::{Book, Seat, Stage};
use weft_scheduler::cluster::{Level, NodeId};
use weft_scheduler::devices::Chooser;
use weft_scheduler::job::JobId;
use weft_scheduler::policy::{Act, Budget, Change, Lack, Member, Policy, Reason};
use weft_scheduler::stand::{Gpus, Health, Stand};

pub struct Hostile {
    random: ChaCha8Rng,
    /// Proposals that make no sense, until it is tired of them: jobs could never end otherwise.
    mischief: u32,
    /// Jobs that did not fit with their fewest members, as of that count of `Book::loosened_count`.
    too_large: BTreeMap<JobId, u64>,
}

impl Hostile {
    pub fn new(seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed ^ 0x5eed);
        let mischief = random.random_range(0..300);
        Self { random, mischief, too_large: BTreeMap::new() }
    }
}

impl Policy for Hostile {
    fn observe(&mut self, book: &Book, change: Change) {
        // What it hears is so.
        match change {
            Change::Submitted(job) | Change::Waits(job) => assert_eq!(book.entry(job).stage, Stage::Queued),
            Change::Started(job) => assert_eq!(book.entry(job).stage, Stage::Running),
            Change::Broken(job) => assert_eq!(book.entry(job).stage, Stage::Broken),
            Change::Ended(job) => assert!(matches!(book.entry(job).stage, Stage::Ended(_))),
            Change::Health(_) => {}
        }
    }

    fn decide(&mut self, book: &mut Book, now: Moment, _budget: Budget) {
        for _ in 0..self.random.random_range(0..4) {
            if self.mischief > 0 && book.job_count() > 0 {
                self.mischief -= 1;
                let act = self.nonsense(book);
                propose(book, now, &act);
            }
        }
        let mut jobs: Vec<JobId> = book.jobs().map(|(job, _)| job).collect();
        jobs.shuffle(&mut self.random);
        for job in jobs {
            self.make_sense(book, now, job);
        }
    }

    fn why(&mut self, book: &Book, job: JobId) -> Vec<Reason> {
        let entry = book.entry(job);
        match book.exceeded(entry.job.queue, entry.job.need.least_gpu_milli()) {
            Some(queue) => vec![Reason::Quota { queue, limit_milli: 0, used_milli: 0 }],
            None if fitting(book, job).is_none() => vec![Reason::Lacks(Lack {
                needed_count: entry.job.need.most_count(),
                each: String::new(),
                level: Level::Cluster,
                best: Vec::new(),
                blockers: Vec::new(),
            })],
            None => Vec::new(),
        }
    }

    fn again(&self) -> Option<Period> {
        Some(Period::milliseconds(20_000))
    }
}

fn known(job: JobId, book: &Book) -> JobId {
    JobId(job.0.min(u32::try_from(book.job_count()).unwrap() - 1))
}

/// Where a job that waits could start now, as far as this policy sees.
pub fn fitting(book: &Book, job: JobId) -> Option<Vec<Member>> {
    let entry = book.entry(job);
    let is_free = book.exceeded(entry.job.queue, entry.job.need.least_gpu_milli()).is_none();
    let mut stands = stands(book);
    let mut found = || place(book, job, &mut stands, |group| group.least_count);
    if entry.stage == Stage::Queued && is_free { found() } else { None }
}

/// Proposes it, and checks that a refusal changes nothing and that a decision keeps the books in balance.
fn propose(book: &mut Book, now: Moment, act: &Act) -> bool {
    let before = book.clone();
    let is_taken = match book.decide(now, act.clone(), Vec::new()) {
        Ok(_) => true,
        Err(why) => {
            let same = before.jobs().eq(book.jobs())
                && book.cluster().ids().all(|node| book.stand(node) == before.stand(node));
            assert!(same, "{act:?} was refused ({why}) and yet something changed");
            false
        }
    };
    if let Err(unbalanced) = book.audit() {
        panic!("after {act:?}: {unbalanced}");
    }
    is_taken
}

impl Hostile {
    fn make_sense(&mut self, book: &mut Book, now: Moment, job: JobId) {
        let is_patient = self.mischief > 0 && self.random.random_range(0..4) == 0;
        match book.entry(job).stage {
            Stage::Queued if self.too_large.get(&job) == Some(&book.loosened_count()) => {}
            Stage::Queued if !is_patient => {
                let wants_most = self.random.random();
                let count = |group: &weft_scheduler::job::Group| {
                    if wants_most { group.most_count } else { group.least_count }
                };
                if let Some(members) = place(book, job, &mut stands(book), count) {
                    propose(book, now, &Act::Start(job, members));
                } else if !wants_most {
                    self.too_large.insert(job, book.loosened_count());
                }
            }
            Stage::Broken if !is_patient => {
                let mut acts = vec![Act::Shrink(job)];
                acts.extend(replacement(book, job));
                acts.shuffle(&mut self.random);
                acts.push(Act::Requeue(job));
                let _ = acts.into_iter().any(|act| propose(book, now, &act));
            }
            Stage::Queued
            | Stage::Claiming(..)
            | Stage::Binding(_)
            | Stage::Running
            | Stage::Repairing(..)
            | Stage::Broken
            | Stage::Leaving(_)
            | Stage::Ended(_) => {}
        }
    }

    fn job(&mut self, book: &Book) -> JobId {
        // Now and then one that does not exist.
        JobId(u32::try_from(self.random.random_range(0..=book.job_count())).unwrap())
    }

    fn member(&mut self, book: &Book) -> Member {
        Member {
            group: self.random.random_range(0..2),
            node: NodeId(u32::try_from(self.random.random_range(0..=book.cluster().nodes.len())).unwrap()),
            gpus: Gpus {
                mask_row: self.random.random_range(0..16),
                slots_row: u8::from(self.random.random_range(0..5) == 0),
            },
        }
    }

    fn members(&mut self, book: &Book) -> Vec<Member> {
        (0..self.random.random_range(0..4)).map(|_| self.member(book)).collect()
    }

    fn nonsense(&mut self, book: &Book) -> Act {
        let job = self.job(book);
        match self.random.random_range(0..12) {
            0 => Act::Start(job, self.members(book)),
            1 => {
                let mut members = fitting(book, known(job, book)).unwrap_or_default();
                // What fits, but for one.
                let at = self.random.random_range(0..=members.len());
                let other = self.member(book);
                if let Some(member) = members.get_mut(at) {
                    *member = other;
                } else {
                    members.push(other);
                }
                Act::Start(job, members)
            }
            2..=5 => self.transaction(book, job),
            6 => Act::Replace(
                job,
                (0..3).map(|_| (self.random.random_range(0..4), self.member(book))).collect(),
            ),
            7 => Act::Shrink(job),
            8 => Act::Requeue(job),
            9 | 10 => self.growth(book, job),
            // Nobody lets go of a node that is drained in vain.
            _ if self.random.random_range(0..8) == 0 => Act::Drain(self.member(book).node),
            _ => Act::Grow(job, self.members(book)),
        }
    }

    /// A job that waits instead of some that run, often so that it is possible.
    fn transaction(&mut self, book: &Book, job: JobId) -> Act {
        let mut evict: Vec<JobId> = (0..self.random.random_range(0..4)).map(|_| self.job(book)).collect();
        if self.random.random_range(0..4) > 0 {
            let runs = |job: &JobId| {
                book.jobs().any(|(id, entry)| {
                    id == *job
                        && matches!(entry.stage, Stage::Running | Stage::Broken)
                        && entry.job.preemptible
                })
            };
            evict.retain(runs);
            evict.sort_unstable();
            evict.dedup();
        }
        let job_known = known(job, book);
        let mut stands = stands(book);
        let mut known_victims: Vec<JobId> = evict.iter().map(|victim| known(*victim, book)).collect();
        known_victims.sort_unstable();
        known_victims.dedup();
        for victim in known_victims.into_iter().map(|victim| book.entry(victim)) {
            for member in victim.held() {
                let shape = book.cluster().shape(member.node);
                stands[member.node.at()].give(victim.ask(member), shape, member.gpus);
            }
        }
        let then = place(book, job_known, &mut stands, |group| group.least_count);
        Act::Transact { job, evict, then: then.unwrap_or_else(|| self.members(book)) }
    }

    fn growth(&mut self, book: &Book, job: JobId) -> Act {
        let job = known(job, book);
        let running: Vec<JobId> = book
            .jobs()
            .filter(|(_, entry)| entry.stage == Stage::Running && !entry.seats.is_empty())
            .map(|(job, _)| job)
            .collect();
        let job = running.choose(&mut self.random).copied().unwrap_or(job);
        let group = self.random.random_range(0..book.entry(job).job.need.groups.len());
        let mut stands = stands(book);
        let found = one(book, job, group, &mut stands, &|_| true);
        Act::Grow(job, found.into_iter().collect())
    }
}

/// What is free on nodes that take members.
fn stands(book: &Book) -> Vec<Stand> {
    let of = |node: NodeId| {
        let mut stand = book.stand(node).clone();
        if book.is_claimed(node) {
            stand.health = Health::Draining;
        }
        stand
    };
    book.cluster().ids().map(of).collect()
}

/// Lost members again, on whatever nodes.
fn replacement(book: &Book, job: JobId) -> Option<Act> {
    let entry = book.entry(job);
    let mut stands = stands(book);
    let lost = (0..).zip(&entry.seats).filter(|(_, (_, seat))| *seat == Seat::Lost);
    let with: Option<Vec<(u32, Member)>> = lost
        .map(|(number, (member, _))| {
            Some((number, one(book, job, usize::from(member.group), &mut stands, &|_| true)?))
        })
        .collect();
    Some(Act::Replace(job, with?))
}

/// Members of a job, first fit, in the first domains that have room for what must be together.
fn place(
    book: &Book,
    job: JobId,
    stands: &mut Vec<Stand>,
    count: impl Fn(&weft_scheduler::job::Group) -> u32,
) -> Option<Vec<Member>> {
    let need = &book.entry(job).job.need;
    let level = |within: Option<weft_scheduler::job::Within>| {
        within.filter(|within| within.required).map_or(Level::Cluster, |within| within.level)
    };
    let all = |_: NodeId| true;
    tried(book, level(need.within), stands, &all, &mut |stands, inside| {
        let mut members = Vec::new();
        for (number, group) in need.groups.iter().enumerate() {
            let count = count(group);
            let (size, sets) = group.sets.map_or((count.max(1), None), |(size, within)| (size, Some(within)));
            let of_group = tried(book, level(group.within), stands, inside, &mut |stands, inside| {
                let mut of_group = Vec::new();
                while of_group.len() < count as usize {
                    let left = count as usize - of_group.len();
                    let set = tried(book, level(sets), stands, inside, &mut |stands, inside| {
                        (0..left.min(size as usize)).map(|_| one(book, job, number, stands, inside)).collect()
                    });
                    of_group.extend(set?);
                }
                Some(of_group)
            });
            members.extend(of_group?);
        }
        Some(members)
    })
}

type Inside<'i> = dyn Fn(NodeId) -> bool + 'i;

type Attempt<'a> = dyn FnMut(&mut Vec<Stand>, &Inside<'_>) -> Option<Vec<Member>> + 'a;

/// The first domain of a level where it works; what did not work leaves nothing behind.
fn tried(
    book: &Book,
    level: Level,
    stands: &mut Vec<Stand>,
    inside: &Inside<'_>,
    what: &mut Attempt<'_>,
) -> Option<Vec<Member>> {
    for domain in 0..book.cluster().domain_count(level) {
        let before = stands.clone();
        let within = |node: NodeId| inside(node) && book.cluster().domain(node, level) == domain;
        if let Some(found) = what(stands, &within) {
            return Some(found);
        }
        *stands = before;
    }
    None
}

fn one(book: &Book, job: JobId, group: usize, stands: &mut [Stand], inside: &Inside<'_>) -> Option<Member> {
    let ask = &book.entry(job).job.need.groups[group].ask;
    for node in book.cluster().ids().filter(|node| inside(*node)) {
        let (about, shape) = (&book.cluster().nodes[node.at()], book.cluster().shape(node));
        let model = ask.pod.gpu_count == 0 || ask.tiers().any(|models| models.holds(shape.kind.model));
        let stand = &mut stands[node.at()];
        if !model || stand.health != Health::Up || !about.taints.within(ask.tolerates) {
            continue;
        }
        let gpus = Chooser::default().choose((shape, about.shape), stand, ask, None);
        if let Some(gpus) = gpus.filter(|gpus| stand.allows(ask, shape, *gpus)) {
            stand.take(ask, shape, gpus);
            return Some(Member { group: u16::try_from(group).unwrap(), node, gpus });
        }
    }
    None
}
