//! What a policy is, and what passes between it and the cluster: changes, decisions, outcomes.
//!
//! A policy reads the `Book` and writes decisions into it. The book accepts only what is possible, holds it, and gives
//! the driver (a simulation, or a live cluster) commands; the driver answers with events, since a bind may conflict and an
//! eviction takes its time.

use weft_base::{Moment, Period};

use crate::book::{Book, Refused};
use crate::cluster::{Level, NodeId};
use crate::job::{Job, JobId, QueueId};
use crate::stand::{Gpus, Health};

/// A decision, in the order in which they were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DecisionId(pub u32);

/// One member of a job on its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Member {
    /// Its group, by number of `Need::groups`.
    pub group: u16,
    /// Its node.
    pub node: NodeId,
    /// Its GPUs there.
    pub gpus: Gpus,
}

/// What is to happen to a job, or to a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// A waiting job starts. Members stand in the order of their ranks.
    Start(JobId, Vec<Member>),
    /// A waiting job starts where others are first put out.
    Transact {
        /// The job that starts.
        job: JobId,
        /// Those that are put out; they wait again.
        evict: Vec<JobId>,
        /// Where it starts.
        then: Vec<Member>,
    },
    /// Lost members of a running job come up elsewhere.
    Replace(JobId, Vec<(u32, Member)>),
    /// A job that lost members goes on without them.
    Shrink(JobId),
    /// A running job gets further members.
    Grow(JobId, Vec<Member>),
    /// A running job is put out and waits again.
    Requeue(JobId),
    /// A waiting job is promised places from a time on; others keep off them.
    Reserve(Promise),
    /// All promises fall: they are to be made anew.
    Unreserve,
    /// Nothing new comes to a node.
    Drain(NodeId),
}

/// When something is to be free, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promise {
    /// The job that it is for.
    pub job: JobId,
    /// When.
    pub at: Moment,
    /// Until when, if it says how long it takes.
    pub until: Option<Moment>,
    /// Where.
    pub members: Vec<Member>,
}

impl Promise {
    /// Whether it is on that node.
    pub fn is_on(&self, node: NodeId) -> bool {
        self.members.iter().any(|member| member.node == node)
    }
}

/// Why.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// It fits in one domain of that level, which has room for so many members.
    Fits {
        /// The level.
        level: Level,
        /// The domain.
        domain: u32,
        /// Members like these that it could have held.
        room_count: u32,
    },
    /// It fits, but not in one domain of the level that it prefers.
    Apart {
        /// The level that it prefers.
        level: Level,
        /// Domains of that level in which it is.
        domain_count: u32,
    },
    /// It ends before a job that waits can start, or keeps off its nodes.
    Backfill {
        /// The job that waits.
        ahead: JobId,
        /// When that can start.
        at: Moment,
    },
    /// Others give way.
    Instead(Vec<JobId>),
    /// There is not enough room.
    Lacks(Lack),
    /// Its queue, or one above, has no quota left.
    Quota {
        /// The queue.
        queue: QueueId,
        /// Thousandths of GPUs that it may have.
        limit_milli: u64,
        /// Thousandths of GPUs that it has.
        used_milli: u64,
    },
    /// A job before it waits, and none may pass.
    Behind(JobId),
    /// It would delay a job that waits.
    Delays {
        /// The job that waits.
        ahead: JobId,
        /// When that can start.
        at: Moment,
    },
    /// It cannot fit even on the empty cluster.
    Never(Lack),
    /// Members were lost.
    Lost(u32),
    /// Nodes refused it, and it is tried again later.
    HeldOff {
        /// How often since it last ran.
        failed_count: u32,
        /// When it is tried again.
        again: Moment,
    },
}

/// What there is too little of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lack {
    /// Members that are needed.
    pub needed_count: u32,
    /// What a member asks for, in words.
    pub each: String,
    /// Where they have to be together.
    pub level: Level,
    /// Domains with most room, and for how many members.
    pub best: Vec<(u32, u32)>,
    /// Jobs that would have to give way for it to fit, if there are such.
    pub blockers: Vec<JobId>,
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Which.
    pub id: DecisionId,
    /// When.
    pub at: Moment,
    /// What.
    pub act: Act,
    /// Why.
    pub why: Vec<Reason>,
}

/// What the driver has to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Bring members up; answered by `Event::Bound`.
    Bind {
        /// The decision.
        decision: DecisionId,
        /// The job.
        job: JobId,
        /// Members by their number.
        members: Vec<(u32, Member)>,
    },
    /// Put a job out, with its grace period; answered by `Event::Evicted`.
    Evict(JobId),
    /// Let a job go on with the members that it still has.
    Resize(JobId),
}

/// What became of a bind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Members run, with these GPUs: those that were chosen, or others where the kubelet chooses.
    Done(Vec<Gpus>),
    /// Somebody else was there first, or the node refused.
    Conflict,
    /// It took too long.
    Expired,
}

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// It was done.
    Done,
    /// It failed by itself.
    Failed,
    /// Its user took it back.
    Cancelled,
}

/// What happened in the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A job came.
    Submitted(Box<Job>),
    /// A bind has an outcome.
    Bound(DecisionId, Outcome),
    /// A job ended.
    Ended(JobId, End),
    /// A job was put out.
    Evicted(JobId),
    /// Members of a job died, by number, on nodes that are well.
    Crashed(JobId, Vec<u32>),
    /// A node is well, drains, or is down.
    Node(NodeId, Health),
    /// A GPU of a node is well, or not.
    Gpu(NodeId, u8, bool),
}

/// What a policy learns of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A job waits for the first time.
    Submitted(JobId),
    /// A job runs.
    Started(JobId),
    /// A job waits again: its bind failed, it was put out, or its claim fell.
    Waits(JobId),
    /// A job lost members.
    Broken(JobId),
    /// A job ended.
    Ended(JobId),
    /// A node's health changed, or that of one of its GPUs.
    Health(NodeId),
}

/// How much a policy may do at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Decisions.
    pub decision_count: u32,
    /// Jobs that are looked at.
    pub job_count: u32,
}

impl Budget {
    /// Whatever there is to do.
    pub const ALL: Self = Self { decision_count: u32::MAX, job_count: u32::MAX };
}

/// Decides who runs where. It keeps what it knows by observing changes; one that is made anew in the middle decides the
/// same.
pub trait Policy: Send {
    /// A change, right after the book has it.
    fn observe(&mut self, book: &Book, change: Change);

    /// Decides what can be decided now, each by `Book::decide`.
    fn decide(&mut self, book: &mut Book, now: Moment, budget: Budget);

    /// Why a job still waits, if it was looked at.
    fn why(&mut self, book: &Book, job: JobId) -> Vec<Reason>;

    /// After which time it wants to be asked again even if nothing happens (time slices, backoff).
    fn again(&self) -> Option<Period> {
        None
    }

    /// What the book refused: a mistake of the policy, or a race.
    fn refused(&self) -> &[Refused] {
        &[]
    }
}
