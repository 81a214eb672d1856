//! Queues, what they may have and what they have.

use super::Book;
use crate::fleet::{NodeKind, Pod, WHOLE_MILLI};
use crate::job::{JobId, QueueId};

/// Amounts of what is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Thousandths of GPUs.
    pub gpu_milli: u64,
    /// Thousandths of cores.
    pub cpu_milli: u64,
    /// Memory of hosts.
    pub memory_mib: u64,
}

impl Usage {
    /// What a pod asks for.
    pub fn of(pod: &Pod) -> Self {
        Self {
            gpu_milli: u64::from(pod.asked_milli()),
            cpu_milli: u64::from(pod.cpu_milli),
            memory_mib: u64::from(pod.memory_mib),
        }
    }

    /// What an empty node has.
    pub fn of_kind(kind: &NodeKind) -> Self {
        Self {
            gpu_milli: u64::from(kind.gpu_count) * u64::from(WHOLE_MILLI),
            cpu_milli: u64::from(kind.cpu_milli),
            memory_mib: u64::from(kind.memory_mib),
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            gpu_milli: self.gpu_milli + other.gpu_milli,
            cpu_milli: self.cpu_milli + other.cpu_milli,
            memory_mib: self.memory_mib + other.memory_mib,
        }
    }

    /// Without the other, which must be part of it.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self {
            gpu_milli: self.gpu_milli - other.gpu_milli,
            cpu_milli: self.cpu_milli - other.cpu_milli,
            memory_mib: self.memory_mib - other.memory_mib,
        }
    }

    /// The largest of the three shares of `all` (dominant resource fairness: Ghodsi et al., NSDI'11).
    pub fn dominant_share(self, all: Self) -> f64 {
        let share = |part: u64, whole: u64| {
            #[expect(clippy::cast_precision_loss, reason = "amounts of a cluster stay below 2^53")]
            if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
        };
        let host = share(self.cpu_milli, all.cpu_milli).max(share(self.memory_mib, all.memory_mib));
        share(self.gpu_milli, all.gpu_milli).max(host)
    }
}

/// A queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// What it is called.
    pub name: String,
    /// The queue that it is part of; it must come earlier in the list.
    pub parent: Option<QueueId>,
    /// Its share beside its siblings'.
    pub weight: u32,
    /// Thousandths of GPUs that it may never exceed.
    pub limit_milli: Option<u64>,
    /// Thousandths of GPUs that it can take back from queues that have more than their own.
    pub own_milli: u64,
}

impl Queue {
    /// Without limit and of weight 1.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), parent: None, weight: 1, limit_milli: None, own_milli: 0 }
    }
}

impl Book {
    /// A queue and those that it is part of, from itself up.
    pub fn line(&self, queue: QueueId) -> impl Iterator<Item = QueueId> + use<'_> {
        std::iter::successors(Some(queue), |queue| self.queues[queue.at()].parent)
    }

    /// The first queue of the line that would exceed its limit with so much more.
    pub fn exceeded(&self, queue: QueueId, more_milli: u64) -> Option<QueueId> {
        self.exceeded_without(&[], queue, more_milli)
    }

    /// The same without what those jobs have.
    pub fn exceeded_without(&self, gone: &[JobId], queue: QueueId, more_milli: u64) -> Option<QueueId> {
        self.line(queue).find(|queue| {
            let is_within =
                |job: &&JobId| self.line(self.entry(**job).job.queue).any(|above| above == *queue);
            let freed_milli =
                || gone.iter().filter(is_within).map(|job| self.entry(*job).held_milli()).sum::<u64>();
            let limit = self.queues[queue.at()].limit_milli;
            limit.is_some_and(|limit| self.used(*queue).gpu_milli + more_milli > limit + freed_milli())
        })
    }

    /// Thousandths of GPUs that a queue may have in addition, if it or one above has a limit.
    pub fn left_milli(&self, queue: QueueId) -> Option<u64> {
        let left = |queue: QueueId| {
            let limit = self.queues[queue.at()].limit_milli?;
            Some(limit.saturating_sub(self.used(queue).gpu_milli))
        };
        self.line(queue).filter_map(left).min()
    }

    /// Whether one of the line may never have so much.
    pub fn is_beyond(&self, queue: QueueId, asked_milli: u64) -> bool {
        let mut limits = self.line(queue).filter_map(|queue| self.queues[queue.at()].limit_milli);
        limits.any(|limit| asked_milli > limit)
    }

    pub(super) fn charge(&mut self, queue: QueueId, change: impl Fn(Usage) -> Usage) {
        let mut next = Some(queue);
        while let Some(queue) = next {
            let used = &mut self.used[queue.at()];
            *used = change(*used);
            next = self.queues[queue.at()].parent;
        }
    }
}
