//! What is to be run: jobs, their groups of alike members, and what each member asks for.

use weft_base::{Moment, Period};

use crate::cluster::{Level, Taints};
use crate::fleet::{Models, Pod};

/// A job, by its place in the book.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u32);

impl JobId {
    /// As a place in a list.
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// A queue, by its place in the book.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct QueueId(pub u32);

impl QueueId {
    /// As a place in a list.
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// Where members have to be together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Within {
    /// In one domain of this level.
    pub level: Level,
    /// Whether they wait rather than be apart.
    pub required: bool,
}

/// What one member asks for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ask {
    /// CPU, memory, GPUs. Of `models` those that are tried first.
    pub pod: Pod,
    /// The partition that it takes of one GPU, by name; `gpu_count` is then 1.
    pub slice: Option<String>,
    /// Models that are tried when the first are not to be had, in this order.
    pub fallback: Vec<Models>,
    /// Taints that it can bear.
    pub tolerates: Taints,
    /// Whether its GPUs must be on one NUMA node.
    pub one_numa: bool,
}

impl Ask {
    /// A pod without further wishes.
    pub fn of(pod: Pod) -> Self {
        Self { pod, slice: None, fallback: Vec::new(), tolerates: Taints::default(), one_numa: false }
    }

    /// Sets of models from the most wanted to the last.
    pub fn tiers(&self) -> impl Iterator<Item = Models> + use<'_> {
        std::iter::once(self.pod.models).chain(self.fallback.iter().copied())
    }
}

/// Members that are alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group {
    /// What it is called, `worker`.
    pub name: String,
    /// What each member asks for.
    pub ask: Ask,
    /// Fewest members with which it runs.
    pub least_count: u32,
    /// Members that it wants.
    pub most_count: u32,
    /// Where all of them have to be together.
    pub within: Option<Within>,
    /// Members that follow each other and have to be closer still: how many, and where (tensor-parallel groups of 8 in
    /// one NVLink domain, while the whole job spans leaves).
    pub sets: Option<(u32, Within)>,
}

impl Group {
    /// `count` members, no fewer.
    pub fn rigid(name: &str, ask: Ask, member_count: u32) -> Self {
        Self {
            name: name.to_owned(),
            ask,
            least_count: member_count,
            most_count: member_count,
            within: None,
            sets: None,
        }
    }
}

/// What is the same for jobs that wait for the same: if one does not fit, none does.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Need {
    /// Its members.
    pub groups: Vec<Group>,
    /// Where all groups have to be together.
    pub within: Option<Within>,
}

impl Need {
    /// Members that it wants.
    pub fn most_count(&self) -> u32 {
        self.groups.iter().map(|group| group.most_count).sum()
    }

    /// Thousandths of GPUs with which it runs.
    pub fn least_gpu_milli(&self) -> u64 {
        self.groups
            .iter()
            .map(|group| u64::from(group.ask.pod.asked_milli()) * u64::from(group.least_count))
            .sum()
    }

    /// With no more members than have so many thousandths of GPUs, but with those that it needs.
    #[must_use]
    pub fn at_most(&self, gpu_milli: u64) -> Self {
        let mut need = self.clone();
        let mut over_milli = self.gpu_milli().saturating_sub(gpu_milli);
        for group in need.groups.iter_mut().rev() {
            let each_milli = u64::from(group.ask.pod.asked_milli());
            let spare_count = u64::from(group.most_count.saturating_sub(group.least_count));
            let less_count = if each_milli == 0 { 0 } else { over_milli.div_ceil(each_milli) };
            let less_count = u32::try_from(less_count.min(spare_count)).unwrap_or(0);
            group.most_count -= less_count;
            over_milli = over_milli.saturating_sub(u64::from(less_count) * each_milli);
        }
        need
    }

    /// Thousandths of GPUs that it wants.
    pub fn gpu_milli(&self) -> u64 {
        self.groups
            .iter()
            .map(|group| u64::from(group.ask.pod.asked_milli()) * u64::from(group.most_count))
            .sum()
    }
}

/// How the nodes of a job talk to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pattern {
    /// Each to the next (rings of data-parallel training): all that a node sends crosses each leaf's uplinks once.
    Ring,
    /// Each to all (experts): what goes to nodes of other leaves crosses the uplinks.
    AllToAll,
}

/// What a job sends between nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Traffic {
    /// Thousandths of a step that are communication between nodes which nothing hides, on nodes under one leaf and with
    /// nobody else in the way.
    pub exposed_milli: u16,
    /// Who talks to whom.
    pub pattern: Pattern,
}

/// A job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// What it is called.
    pub name: String,
    /// Whose it is.
    pub queue: QueueId,
    /// Higher goes first, where a policy looks at it.
    pub priority: i32,
    /// When it came.
    pub submitted: Moment,
    /// What it asks for.
    pub need: Need,
    /// How long it says that it will take at most; none for services, and for those that do not say.
    pub limit: Option<Period>,
    /// Whether it may be put out for others.
    pub preemptible: bool,
    /// What it sends between nodes, if that is known.
    pub traffic: Option<Traffic>,
}
