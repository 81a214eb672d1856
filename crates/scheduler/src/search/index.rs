//! How many members of each kind fit on each node and in each domain, and how much the placing likes each node; kept up
//! with the book, node by node.

use indexmap::IndexMap;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use rustc_hash::FxBuildHasher;

use super::trial;
use crate::book::Book;
use crate::cluster::{LEVELS, NodeId, Shape, Taints};
use crate::devices::Chooser;
use crate::job::Ask;
use crate::placings::Scorer;
use crate::policy::Member;
use crate::stand::Stand;

/// Kinds that are remembered; beyond them all are worked out anew.
const KINDS_MOST: usize = 1024;
/// Members on one node that are counted; more make no difference.
pub const COUNT_MOST: u32 = 4096;

/// What is known of one kind of member.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// By node.
    pub(super) counts: Vec<u32>,
    /// By level and domain.
    pub(super) sums: [Vec<u64>; LEVELS.len()],
    /// By node; minus infinity where none fits.
    pub(super) scores: Vec<f32>,
    /// On the emptiest node of all.
    most_count: u64,
    seen: usize,
}

/// What is known of all kinds.
pub struct Index {
    scorer: Box<dyn Scorer>,
    kinds: IndexMap<Ask, Known, FxBuildHasher>,
    chooser: Chooser,
    random: ChaCha8Rng,
    /// When each node was last worked out, so that one that changed often is worked out once.
    stamps: Vec<u32>,
    stamp: u32,
}

impl Index {
    /// Of nothing yet.
    pub fn new(scorer: Box<dyn Scorer>, seed: u64) -> Self {
        Self {
            scorer,
            kinds: IndexMap::default(),
            chooser: Chooser::default(),
            random: ChaCha8Rng::seed_from_u64(seed),
            stamps: Vec::new(),
            stamp: 0,
        }
    }

    /// What is known of a kind, as the book is now.
    pub fn known(&mut self, book: &Book, ask: &Ask) -> &Known {
        if self.kinds.len() > KINDS_MOST {
            self.kinds.clear();
        }
        let mut known = match self.kinds.get_mut(ask) {
            Some(known) if known.seen == book.touched().len() => return &self.kinds[ask],
            Some(known) => std::mem::take(known),
            None => Known::default(),
        };
        if known.counts.is_empty() {
            known.counts = vec![0; book.cluster().nodes.len()];
            known.scores = vec![f32::NEG_INFINITY; book.cluster().nodes.len()];
            known.most_count = most(book, ask);
            known.sums = LEVELS.map(|level| vec![0; book.cluster().domain_count(level) as usize]);
            book.cluster().ids().for_each(|node| self.renew(book, ask, node, &mut known));
        } else {
            self.stamp += 1;
            self.stamps.resize(known.counts.len(), 0);
            for node in &book.touched()[known.seen..] {
                if self.stamps[node.at()] != self.stamp {
                    self.stamps[node.at()] = self.stamp;
                    self.renew(book, ask, *node, &mut known);
                }
            }
        }
        known.seen = book.touched().len();
        let (at, _) = self.kinds.insert_full(ask.clone(), known);
        &self.kinds[at]
    }

    fn renew(&mut self, book: &Book, ask: &Ask, node: NodeId, known: &mut Known) {
        let stand = book.stand(node);
        let count = trial::count(book, node, ask, stand).min(COUNT_MOST);
        let before = std::mem::replace(&mut known.counts[node.at()], count);
        for level in LEVELS {
            let sum = &mut known.sums[level as usize][book.cluster().domain(node, level) as usize];
            *sum = *sum + u64::from(count) - u64::from(before);
        }
        known.scores[node.at()] =
            if count == 0 { f32::NEG_INFINITY } else { self.score(book, ask, node, stand) };
    }

    /// How much the placing likes a node on which the member fits.
    pub fn score(&mut self, book: &Book, ask: &Ask, node: NodeId, stand: &Stand) -> f32 {
        if self.scorer.is_random() {
            return 0.0;
        }
        let room = stand.room(book.cluster().nodes[node.at()].shape);
        // Scorers know shares and whole GPUs; of partitions none is better than another.
        if ask.slice.is_some() { 0.0 } else { self.scorer.place(&room, &ask.pod).value }
    }

    /// GPUs for a member on a node where it fits.
    pub fn member(
        &mut self,
        book: &Book,
        ask: &Ask,
        group: u16,
        node: NodeId,
        stand: &Stand,
    ) -> Option<Member> {
        let shape_row = book.cluster().nodes[node.at()].shape;
        let free_milli = (ask.slice.is_none() && ask.pod.is_share()).then(|| {
            let room = stand.room(shape_row);
            room.gpus_milli[self.scorer.place(&room, &ask.pod).gpu]
        });
        let gpus = self.chooser.choose((book.cluster().shape(node), shape_row), stand, ask, free_milli)?;
        Some(Member { group, node, gpus })
    }

    /// Whether any node is as good as any other.
    pub fn is_random(&self) -> bool {
        self.scorer.is_random()
    }

    /// A random one of `count`.
    pub fn draw(&mut self, choice_count: usize) -> usize {
        self.random.random_range(0..choice_count.max(1))
    }

    /// Members that would fit on one node if nothing else were there.
    pub fn most(&mut self, book: &Book, ask: &Ask) -> u64 {
        self.known(book, ask).most_count
    }
}

/// Members that would fit on one node of any shape.
fn most(book: &Book, ask: &Ask) -> u64 {
    let of =
        |shape: &Shape| u64::from(Stand::empty(shape).count(ask, shape, Taints::default()).min(COUNT_MOST));
    book.cluster().shapes.iter().map(of).max().unwrap_or(0)
}
