//! The ways that flows take, in one arena.

use weft_base::{Rate, Span};

use super::numbers::{SECOND, rate_f64};
use super::sharing::NONE;
use super::types::{Use, narrow};

/// A path, with what a flow that has it to itself needs at its start.
pub(super) struct Path {
    first: u32,
    count: u32,
    pub latency: u64,
    /// How long a byte takes if nothing is shared; infinite if it never arrives.
    pub per_byte: f64,
    /// The pool that limits a flow that shares nothing; none if that is its cap.
    pub narrowest: u32,
    /// The state of the capacities for which `per_byte` holds.
    pub stand: u64,
    pub cap: f64,
    /// The bytes that flows on it have moved.
    pub carried: f64,
}

#[derive(Default)]
pub(super) struct Paths {
    records: Vec<Path>,
    pools: Vec<u32>,
    weights: Vec<f64>,
}

impl Paths {
    /// Adds a path over pools with weights, each pool named once.
    pub fn add(&mut self, uses: &[(u32, f64)], latency: Span, cap: Option<Rate>) -> usize {
        let first = narrow(self.pools.len());
        self.pools.extend(uses.iter().map(|part| part.0));
        self.weights.extend(uses.iter().map(|part| part.1));
        self.records.push(Path {
            first,
            count: narrow(uses.len()),
            latency: latency.get(),
            per_byte: 0.0,
            narrowest: NONE,
            stand: u64::MAX,
            cap: cap.map_or(f64::INFINITY, rate_f64),
            carried: 0.0,
        });
        self.records.len() - 1
    }

    /// The uses with those of one resource added up, in the order in which they were named.
    pub fn merged(uses: &[Use], pool_of: &[u32]) -> Vec<(u32, f64)> {
        let named = uses.iter().filter(|part| part.weight > 0.0);
        let mut parts: Vec<(u32, f64)> =
            named.map(|part| (pool_of[part.resource.index()], part.weight)).collect();
        if parts.len() <= 1 {
            return parts;
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
        parts
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

    pub fn weights(&self, path: &Path) -> &[f64] {
        &self.weights[path.first as usize..][..path.count as usize]
    }

    /// Finds what a flow alone gets anew if capacities have changed since; the path.
    pub fn refreshed(&mut self, path: usize, stand_number: u64, capacity: impl Fn(u32) -> f64) -> &Path {
        if self.records[path].stand != stand_number {
            let record = &self.records[path];
            let (mut rate, mut narrowest) = (record.cap, NONE);
            for (pool, weight) in self.pools(record).iter().zip(self.weights(record)) {
                let share = capacity(*pool) / weight;
                if share < rate {
                    (rate, narrowest) = (share, *pool);
                }
            }
            let record = &mut self.records[path];
            (record.per_byte, record.narrowest) = (SECOND / rate, narrowest);
            self.records[path].stand = stand_number;
        }
        &self.records[path]
    }
}

#[cfg(test)]
mod tests {
    use super::super::types::ResourceId;
    use super::*;

    #[test]
    fn a_resource_that_is_named_twice_counts_once_with_the_sum_of_its_weights() {
        let part = |resource, weight| Use { resource: ResourceId::new(resource), weight };
        let uses = [part(2, 1.0), part(0, 2.0), part(2, 0.5), part(1, 1.0), part(2, 0.25)];
        assert_eq!(Paths::merged(&uses, &[10, 11, 12]), [(12, 1.75), (10, 2.0), (11, 1.0)]);
    }
}
