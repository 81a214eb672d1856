//! The book: who has what. The only place where room is taken and given back, so that nothing is ever taken twice.

mod audit;
mod decide;
mod events;
mod queues;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use weft_base::Moment;

use crate::cluster::{Cluster, NodeId};
use crate::job::{Ask, Job, JobId, QueueId};
use crate::policy::{Command, Decision, DecisionId, End, Member, Promise};
use crate::stand::Stand;

pub use audit::Unbalanced;
pub use decide::Refused;
pub use queues::{Queue, Usage};

/// Where a member stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seat {
    /// It has its place.
    Held,
    /// Its place is promised, once others have left.
    Claimed,
    /// It has lost its place.
    Lost,
}

/// Where a job stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// It waits.
    Queued,
    /// It waits for others to leave the places that are its own already.
    Claiming(DecisionId, Vec<JobId>),
    /// Its members come up.
    Binding(DecisionId),
    /// It runs.
    Running,
    /// It runs, and further members come up: those from this number on, or those that replace lost ones.
    Repairing(DecisionId, Vec<u32>),
    /// Members are lost: nothing goes on.
    Broken,
    /// It is put out, for that job if for one.
    Leaving(Option<JobId>),
    /// It has ended.
    Ended(End),
}

/// A job and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The job.
    pub job: Job,
    /// Where it stands.
    pub stage: Stage,
    /// Its members, in the order of their ranks.
    pub seats: Vec<(Member, Seat)>,
    /// When it last began to run, or to come up.
    pub since: Moment,
    /// What it has had: thousandths of GPUs times milliseconds, up to when it last stopped running.
    pub attained: u128,
    /// How often a bind of it failed since it last ran.
    pub failed_count: u32,
    /// When one last failed.
    pub failed_at: Moment,
    /// Nodes of members that were refused since it last ran.
    pub refused_on: Vec<NodeId>,
    /// How often it was put out.
    pub evicted_count: u32,
    /// Whether the members that come up while it runs come in addition, and replace none.
    pub grows: bool,
}

impl Entry {
    /// What a member asks for.
    pub fn ask(&self, member: &Member) -> &Ask {
        &self.job.need.groups[usize::from(member.group)].ask
    }

    /// Members that have their places.
    pub fn held(&self) -> impl Iterator<Item = &Member> {
        self.seats.iter().filter(|(_, seat)| *seat == Seat::Held).map(|(member, _)| member)
    }

    /// Thousandths of GPUs of the members that have their places.
    pub fn held_milli(&self) -> u64 {
        self.held().map(|member| u64::from(self.ask(member).pod.asked_milli())).sum()
    }

    /// What it has had until now: thousandths of GPUs times milliseconds.
    pub fn attained_until(&self, now: Moment) -> u128 {
        let ran = if matches!(self.stage, Stage::Running | Stage::Leaving(_)) {
            now - self.since
        } else {
            Moment::ZERO
        };
        self.attained + u128::from(self.held_milli()) * u128::from(ran.get())
    }

    /// When it ends at the latest, if it runs and says how long it takes.
    pub fn due(&self) -> Option<Moment> {
        self.is_on().then_some(self.job.limit).flatten().map(|limit| self.since + limit)
    }

    /// Whether it has members that are up, or come up.
    pub fn is_on(&self) -> bool {
        match self.stage {
            Stage::Binding(_) | Stage::Running | Stage::Repairing(..) | Stage::Broken | Stage::Leaving(_) => {
                true
            }
            Stage::Queued | Stage::Claiming(..) | Stage::Ended(_) => false,
        }
    }
}

/// What is promised to jobs that wait, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Promises {
    /// Each.
    pub list: Vec<Promise>,
    /// When the first of them was made.
    pub made_at: Moment,
    /// `Book::loosened_count` at that time.
    pub loosened_count: u64,
}

/// Who has what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Book {
    cluster: Cluster,
    capacity: Usage,
    stands: Vec<Stand>,
    /// Members on each node that are held or claimed there: job and number.
    residents: Vec<Vec<(JobId, u32)>>,
    /// Claims on each node that are not held yet.
    claim_counts: Vec<u32>,
    entries: Vec<Entry>,
    queues: Vec<Queue>,
    /// What each has, its children's included.
    used: Vec<Usage>,
    /// Nodes in the order in which they changed.
    touched: Vec<NodeId>,
    /// How often room came free somewhere.
    loosened_count: u64,
    promises: Promises,
    commands: VecDeque<Command>,
    decisions: Vec<Decision>,
    /// Whose each decision is.
    decided_for: Vec<JobId>,
    keeps_decisions: bool,
    now: Moment,
}

impl Book {
    /// Of a cluster where nothing runs; queue 0 is there even if none is given.
    pub fn new(cluster: Cluster, queues: Vec<Queue>) -> Self {
        let stands: Vec<Stand> = cluster.ids().map(|node| Stand::empty(cluster.shape(node))).collect();
        let of = |node: NodeId| Usage::of_kind(&cluster.shape(node).kind);
        let capacity = cluster.ids().map(of).fold(Usage::default(), Usage::plus);
        let queues = if queues.is_empty() { vec![Queue::named("default")] } else { queues };
        Self {
            residents: vec![Vec::new(); stands.len()],
            claim_counts: vec![0; stands.len()],
            stands,
            capacity,
            entries: Vec::new(),
            used: vec![Usage::default(); queues.len()],
            queues,
            touched: Vec::new(),
            loosened_count: 0,
            promises: Promises::default(),
            commands: VecDeque::new(),
            decisions: Vec::new(),
            decided_for: Vec::new(),
            keeps_decisions: false,
            now: Moment::ZERO,
            cluster,
        }
    }

    /// Keeps decisions with their reasons, for whoever wants to read them later.
    #[must_use]
    pub fn keeping_decisions(mut self) -> Self {
        self.keeps_decisions = true;
        self
    }

    /// The machines.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// What is free on a node.
    pub fn stand(&self, node: NodeId) -> &Stand {
        &self.stands[node.at()]
    }

    /// Whether places on a node are promised to a job, so that nothing else may come there.
    pub fn is_claimed(&self, node: NodeId) -> bool {
        self.claim_counts[node.at()] > 0
    }

    /// Members that are on a node or have a claim there: job and number.
    pub fn residents(&self, node: NodeId) -> &[(JobId, u32)] {
        &self.residents[node.at()]
    }

    /// A job and where it stands.
    pub fn entry(&self, job: JobId) -> &Entry {
        &self.entries[job.at()]
    }

    /// All jobs.
    pub fn jobs(&self) -> impl Iterator<Item = (JobId, &Entry)> {
        (0..).map(JobId).zip(&self.entries)
    }

    /// How many jobs have come.
    pub fn job_count(&self) -> usize {
        self.entries.len()
    }

    /// The queues.
    pub fn queues(&self) -> &[Queue] {
        &self.queues
    }

    /// What all nodes have together, well or not.
    pub fn capacity(&self) -> Usage {
        self.capacity
    }

    /// What a queue has or has been promised, its children's included.
    pub fn used(&self, queue: QueueId) -> Usage {
        self.used[queue.at()]
    }

    /// Nodes that have changed, in that order; a reader remembers how many it has seen.
    pub fn touched(&self) -> &[NodeId] {
        &self.touched
    }

    /// How often room came free, so that what did not fit before may fit now.
    pub fn loosened_count(&self) -> u64 {
        self.loosened_count
    }

    /// What is promised to jobs that wait.
    pub fn promises(&self) -> &Promises {
        &self.promises
    }

    /// The decisions, if they are kept.
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// The next thing that the driver has to do.
    pub fn command(&mut self) -> Option<Command> {
        self.commands.pop_front()
    }

    /// The time of the last event or decision.
    pub fn now(&self) -> Moment {
        self.now
    }

    fn hold(&mut self, job: JobId, number: u32) {
        let entry = &mut self.entries[job.at()];
        let (member, seat) = &mut entry.seats[number as usize];
        *seat = Seat::Held;
        let member = *member;
        let ask = &self.entries[job.at()].job.need.groups[usize::from(member.group)].ask;
        let shape = self.cluster.shape(member.node);
        self.stands[member.node.at()].take(ask, shape, member.gpus);
        self.touched.push(member.node);
    }

    /// Lists a member on its node and puts it on its queue's account, whether it gets its place now or later.
    fn enter(&mut self, job: JobId, number: u32) {
        let entry = &self.entries[job.at()];
        let member = entry.seats[number as usize].0;
        let (usage, queue) = (Usage::of(&entry.ask(&member).pod), entry.job.queue);
        self.residents[member.node.at()].push((job, number));
        self.charge(queue, |used| used.plus(usage));
    }

    /// Gives back the place of a member that held one; its seat is lost then.
    fn release(&mut self, job: JobId, number: u32) {
        let entry = &mut self.entries[job.at()];
        let (member, seat) = &mut entry.seats[number as usize];
        let (member, before) = (*member, *seat);
        *seat = Seat::Lost;
        if before == Seat::Lost {
            return;
        }
        self.residents[member.node.at()].retain(|resident| *resident != (job, number));
        self.touched.push(member.node);
        let entry = &self.entries[job.at()];
        let (usage, queue) = (Usage::of(&entry.ask(&member).pod), entry.job.queue);
        self.charge(queue, |used| used.minus(usage));
        if before == Seat::Claimed {
            self.claim_counts[member.node.at()] -= 1;
            self.loosened_count += 1;
            return;
        }
        let ask = &self.entries[job.at()].job.need.groups[usize::from(member.group)].ask;
        self.stands[member.node.at()].give(ask, self.cluster.shape(member.node), member.gpus);
        self.loosened_count += 1;
    }

    fn release_all(&mut self, job: JobId) {
        for number in self.numbers(job) {
            self.release(job, number);
        }
        self.entries[job.at()].seats.clear();
    }

    fn numbers(&self, job: JobId) -> std::ops::Range<u32> {
        0..u32::try_from(self.entries[job.at()].seats.len()).unwrap_or(u32::MAX)
    }
}
