//! Which job comes next: by the order alone, or first by whose queue has had least.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use weft_base::Period;

use super::waiting::{Key, Pair};
use super::{DEPTH_MOST, Planner};
use crate::book::Book;
use crate::job::{JobId, QueueId};
use crate::strategies::{Passing, Sharing};

/// The first jobs of each kind, by queue where queues take turns.
pub struct Heads {
    by_queue: BTreeMap<QueueId, BinaryHeap<Reverse<(Key, Pair)>>>,
    /// How many of a kind were looked at beyond the first.
    depths: BTreeMap<Pair, usize>,
}

impl Planner {
    pub(super) fn heads(&self, book: &Book) -> Heads {
        let mut by_queue: BTreeMap<QueueId, BinaryHeap<Reverse<(Key, Pair)>>> = BTreeMap::new();
        let may_skip = self.strategy.passing != Passing::Nobody;
        for (key, pair) in self.waiting.heads() {
            // Where others may pass, whoever is known not to fit need not be looked at.
            let known = || self.blocked.get(&pair).is_some_and(|block| block.holds(book));
            if !(may_skip && known()) {
                by_queue.entry(self.line_of(pair)).or_default().push(Reverse((key, pair)));
            }
        }
        Heads { by_queue, depths: BTreeMap::new() }
    }

    fn line_of(&self, pair: Pair) -> QueueId {
        match self.strategy.sharing {
            Sharing::Joint => QueueId(0),
            Sharing::Fair => pair.0,
        }
    }

    /// The next job, and its kind.
    pub(super) fn next_head(&self, book: &Book, heads: &mut Heads) -> Option<(Pair, JobId)> {
        heads.by_queue.retain(|_, heap| !heap.is_empty());
        let queue = match self.strategy.sharing {
            Sharing::Joint => *heads.by_queue.keys().next()?,
            Sharing::Fair => {
                let all = book.capacity();
                let queues = heads.by_queue.keys().map(|queue| (shares(book, *queue, all), *queue));
                queues.min_by(|a, b| compare(&a.0, &b.0).then(a.1.cmp(&b.1)))?.1
            }
        };
        let Reverse((key, pair)) = heads.by_queue.get_mut(&queue)?.pop()?;
        Some((pair, key.3))
    }

    /// The kind has a new first job.
    pub(super) fn again_head(&self, heads: &mut Heads, pair: Pair) {
        if let Some(key) = self.waiting.head(pair) {
            heads.by_queue.entry(self.line_of(pair)).or_default().push(Reverse((key, pair)));
        }
    }

    /// Another job of the kind may do what this one may not: it is shorter.
    pub(super) fn next_of_pair(
        &self,
        book: &Book,
        heads: &mut Heads,
        (pair, job): (Pair, JobId),
        shorter_than: Option<Period>,
    ) {
        let depth = heads.depths.entry(pair).or_default();
        let Some((_, key)) = self.waiting.place(job) else { return };
        for next in self.waiting.behind(pair, key) {
            *depth += 1;
            if *depth > DEPTH_MOST {
                return;
            }
            let is_short = |most: Period| book.entry(next.3).job.limit.is_some_and(|limit| limit <= most);
            if shorter_than.is_none_or(is_short) {
                heads.by_queue.entry(self.line_of(pair)).or_default().push(Reverse((next, pair)));
                return;
            }
        }
    }

    /// Nobody passes this job: its line ends here. Whether all lines have.
    pub(super) fn stop(&self, heads: &mut Heads, pair: Pair) -> bool {
        heads.by_queue.remove(&self.line_of(pair));
        heads.by_queue.is_empty()
    }
}

/// Dominant shares over weight, from the outermost queue to this one.
fn shares(book: &Book, queue: QueueId, all: crate::book::Usage) -> Vec<f64> {
    let share = |queue: QueueId| {
        let of = &book.queues()[queue.at()];
        book.used(queue).dominant_share(all) / f64::from(of.weight.max(1))
    };
    let mut shares: Vec<f64> = book.line(queue).map(share).collect();
    shares.reverse();
    shares
}

fn compare(a: &[f64], b: &[f64]) -> std::cmp::Ordering {
    let pairs = a.iter().zip(b).map(|(a, b)| a.total_cmp(b));
    pairs.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
}
