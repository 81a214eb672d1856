//! Jobs that wait, by what they need: if the first of a kind does not fit, none of its kind does.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use weft_base::Moment;

use crate::book::Book;
use crate::job::{JobId, Need, QueueId};

/// A queue, and the number of a need.
pub type Pair = (QueueId, usize);
/// Where a job stands: class, rank within it, when it came, which it is.
pub type Key = (i64, u64, Moment, JobId);

/// Jobs that wait.
#[derive(Default)]
pub struct Waiting {
    needs: IndexSet<Need, FxBuildHasher>,
    by_pair: BTreeMap<Pair, BTreeSet<Key>>,
    places: BTreeMap<JobId, (Pair, Key)>,
}

impl Waiting {
    pub fn add(&mut self, book: &Book, job: JobId, key: Key) {
        let of = &book.entry(job).job;
        let need = match self.needs.get_index_of(&of.need) {
            Some(known) => known,
            None => self.needs.insert_full(of.need.clone()).0,
        };
        let pair = (of.queue, need);
        self.by_pair.entry(pair).or_default().insert(key);
        self.places.insert(job, (pair, key));
    }

    pub fn remove(&mut self, job: JobId) {
        let Some((pair, key)) = self.places.remove(&job) else { return };
        if let Some(keys) = self.by_pair.get_mut(&pair) {
            keys.remove(&key);
            if keys.is_empty() {
                self.by_pair.remove(&pair);
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub fn need(&self, number: usize) -> &Need {
        &self.needs[number]
    }

    /// The kind of a job that waits, and where it stands.
    pub fn place(&self, job: JobId) -> Option<(Pair, Key)> {
        self.places.get(&job).copied()
    }

    /// The first of each kind.
    pub fn heads(&self) -> impl Iterator<Item = (Key, Pair)> + use<'_> {
        self.by_pair.iter().filter_map(|(pair, keys)| keys.first().map(|key| (*key, *pair)))
    }

    /// The first of a kind.
    pub fn head(&self, pair: Pair) -> Option<Key> {
        self.by_pair.get(&pair)?.first().copied()
    }

    /// Those of a kind behind one.
    pub fn behind(&self, pair: Pair, key: Key) -> impl Iterator<Item = Key> + use<'_> {
        let keys = self.by_pair.get(&pair);
        let after = (std::ops::Bound::Excluded(key), std::ops::Bound::Unbounded);
        keys.into_iter().flat_map(move |keys| keys.range(after).copied())
    }

    /// The very first.
    pub fn first(&self) -> Option<Key> {
        self.heads().map(|(key, _)| key).min()
    }
}
