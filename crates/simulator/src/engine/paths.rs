//! The ways that flows take, in one arena.

use weft_base::{Rate, Span};

use super::numbers::{SECOND, rate_f64};
use super::sharing::NONE;
use super::types::{Use, narrow};
use super::weights::Weights;

/// A path, with what a flow that has it to itself needs at its start.
pub(super) struct Path {
    first: u32,
    count: u32,
    /// The pool that limits a flow that shares nothing; none if that is its cap.
    pub narrowest: u32,
    /// The state of the capacities for which `per_byte` holds.
    stand: u32,
    pub latency: u64,
    /// How long a byte takes if nothing is shared; infinite if it never arrives.
    pub per_byte: f64,
    pub cap: f64,
    /// The bytes that flows on it have moved.
    pub carried: f64,
}

#[derive(Default)]
pub(super) struct Paths {
    records: Vec<Path>,
    pools: Vec<u32>,
    weights: Weights,
    /// Of the path that is being added.
    parts: Vec<(u32, f64)>,
}

impl Paths {
    /// Adds a path; `pool_of` gives the pool of each resource.
    pub fn add(&mut self, uses: &[Use], pool_of: &[u32], latency: Span, cap: Option<Rate>) -> usize {
        merge(uses, pool_of, &mut self.parts);
        let first = self.pools.len();
        for (pool, weight) in &self.parts {
            self.weights.set(self.pools.len(), *weight);
            self.pools.push(*pool);
        }
        self.records.push(Path {
            first: narrow(first),
            count: narrow(self.parts.len()),
            narrowest: NONE,
            stand: NEVER,
            latency: latency.get(),
            per_byte: 0.0,
            cap: cap.map_or(f64::INFINITY, rate_f64),
            carried: 0.0,
        });
        self.records.len() - 1
    }

    pub fn get(&self, path: usize) -> &Path {
        &self.records[path]
    }

    pub fn get_mut(&mut self, path: usize) -> &mut Path {
        &mut self.records[path]
    }

    pub fn all(&self) -> &[Path] {
        &self.records
    }

    pub fn pools(&self, path: &Path) -> &[u32] {
        &self.pools[path.first as usize..][..path.count as usize]
    }

    /// The pools of a path with their weights.
    pub fn uses(&self, path: &Path) -> impl ExactSizeIterator<Item = (u32, f64)> {
        let first = path.first as usize;
        self.pools(path)
            .iter()
            .enumerate()
            .map(move |(offset, pool)| (*pool, self.weights.get(first + offset)))
    }

    /// Finds what a flow alone gets anew if capacities have changed since; the path.
    pub fn refreshed(&mut self, path: usize, stand_number: u32, capacity: impl Fn(u32) -> f64) -> &Path {
        if self.records[path].stand != stand_number {
            let record = &self.records[path];
            let (mut rate, mut narrowest) = (record.cap, NONE);
            for (pool, weight) in self.uses(record) {
                let share = capacity(pool) / weight;
                if share < rate {
                    (rate, narrowest) = (share, pool);
                }
            }
            let record = &mut self.records[path];
            (record.per_byte, record.narrowest, record.stand) = (SECOND / rate, narrowest, stand_number);
        }
        &self.records[path]
    }

    /// No path knows any more what a flow alone gets.
    pub fn forget(&mut self) {
        for record in &mut self.records {
            record.stand = NEVER;
        }
    }
}

/// No state of the capacities has this number.
pub(super) const NEVER: u32 = u32::MAX;

/// The uses with those of one resource added up, in the order in which they were first named.
fn merge(uses: &[Use], pool_of: &[u32], parts: &mut Vec<(u32, f64)>) {
    parts.clear();
    let named = uses.iter().filter(|part| part.weight > 0.0);
    parts.extend(named.map(|part| (pool_of[part.resource.index()], part.weight)));
    let twice = |at: usize| parts[..at].iter().any(|before| before.0 == parts[at].0);
    if parts.len() <= FEW && !(1..parts.len()).any(twice) {
        return;
    }
    let mut sorted: Vec<usize> = (0..parts.len()).collect();
    sorted.sort_by_key(|at| parts[*at].0);
    for pair in sorted.windows(2).rev() {
        if parts[pair[0]].0 == parts[pair[1]].0 {
            parts[pair[0]].1 += parts[pair[1]].1;
            parts[pair[1]].1 = 0.0;
        }
    }
    parts.retain(|part| part.1 > 0.0);
}

/// Up to so many uses are compared each with each.
const FEW: usize = 8;

#[cfg(test)]
mod tests {
    use super::super::types::ResourceId;
    use super::*;

    #[test]
    fn a_resource_that_is_named_twice_counts_once_with_the_sum_of_its_weights() {
        let part = |resource, weight| Use { resource: ResourceId::new(resource), weight };
        let uses = [part(2, 1.0), part(0, 2.0), part(2, 0.5), part(1, 1.0), part(2, 0.25)];
        let mut parts = Vec::new();
        merge(&uses, &[10, 11, 12], &mut parts);
        assert_eq!(parts, [(12, 1.75), (10, 2.0), (11, 1.0)]);
    }
}
