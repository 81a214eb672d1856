//! The ways that flows take.

use weft_base::{Rate, Span};

use super::lists::Lists;
use super::numbers::{SECOND, rate_f64};
use super::sharing::{NONE, Sharing};
use super::types::{Use, narrow};

/// A path, with what a flow that has it to itself needs at its start.
pub(super) struct Path {
    /// The pools that it uses.
    pub list: u32,
    /// The pool that limits a flow that shares nothing; none if that is its cap.
    pub narrowest: u32,
    /// The state of the capacities for which `per_byte` holds.
    stand: u32,
    terms: u32,
    /// How long a byte takes if nothing is shared; infinite if it never arrives.
    pub per_byte: f64,
    /// The bytes that flows on it have moved.
    pub carried: f64,
}

/// What many paths have in common.
#[derive(Clone, Copy)]
pub(super) struct Terms {
    pub latency: u64,
    pub cap: f64,
}

#[derive(Default)]
pub(super) struct Paths {
    records: Vec<Path>,
    terms: Vec<Terms>,
    /// The uses of the path that is being added.
    parts: Vec<(u32, f64)>,
}

impl Paths {
    /// Adds a path; `pool_of` gives the pool of each resource.
    pub fn add(
        &mut self,
        uses: &[Use],
        pool_of: &[u32],
        lists: &mut Lists,
        latency: Span,
        cap: Option<Rate>,
    ) -> usize {
        merge(uses, pool_of, &mut self.parts);
        let list = lists.add(&self.parts);
        let terms = self.terms_of(latency.get(), cap.map_or(f64::INFINITY, rate_f64));
        self.records.push(Path { list, narrowest: NONE, stand: NEVER, terms, per_byte: 0.0, carried: 0.0 });
        self.records.len() - 1
    }

    /// The number of these terms; new ones if those of late are others.
    fn terms_of(&mut self, latency: u64, cap: f64) -> u32 {
        let same = |terms: &Terms| terms.latency == latency && terms.cap.to_bits() == cap.to_bits();
        let of_late = self.terms.len().saturating_sub(FEW);
        let known = self.terms[of_late..].iter().position(same);
        let at = known.map_or(self.terms.len(), |offset| of_late + offset);
        if known.is_none() {
            self.terms.push(Terms { latency, cap });
        }
        narrow(at)
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

    /// Latency and cap of a path.
    pub fn terms(&self, path: &Path) -> Terms {
        self.terms[path.terms as usize]
    }

    /// Finds what a flow alone gets anew if capacities have changed since; the path.
    pub fn refreshed(&mut self, path: usize, stand_number: u32, sharing: &Sharing) -> &Path {
        if self.records[path].stand != stand_number {
            self.refresh(path, stand_number, sharing);
        }
        &self.records[path]
    }

    #[cold]
    fn refresh(&mut self, path: usize, stand_number: u32, sharing: &Sharing) {
        let record = &self.records[path];
        let (mut rate, mut narrowest) = (self.terms(record).cap, NONE);
        for (pool, weight) in sharing.lists.weighted(record.list) {
            let share = sharing.capacity(pool) / weight;
            if share < rate {
                (rate, narrowest) = (share, pool);
            }
        }
        let record = &mut self.records[path];
        (record.per_byte, record.narrowest, record.stand) = (SECOND / rate, narrowest, stand_number);
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

/// Up to so many are compared each with each.
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
