//! Which pools are used together, in one arena: a list for each path, shared by the flows on it, and one for each flow
//! with a cap.

use super::types::narrow;
use super::weights::Weights;

#[derive(Default)]
pub(super) struct Lists {
    /// Of each list its length, then its pools.
    entries: Vec<u32>,
    weights: Weights,
    /// Lists that can be written anew, by their length.
    free: Vec<Vec<u32>>,
}

impl Lists {
    pub fn add(&mut self, uses: &[(u32, f64)]) -> u32 {
        let list = self.entries.len();
        self.entries.push(narrow(uses.len()));
        self.entries.extend(uses.iter().map(|part| part.0));
        for (at, part) in (list + 1..).zip(uses) {
            self.weights.set(at, part.1);
        }
        narrow(list)
    }

    /// The pools of a list.
    pub fn of(&self, list: u32) -> &[u32] {
        let (first, count) = (list as usize + 1, self.entries[list as usize] as usize);
        &self.entries[first..first + count]
    }

    /// The pools of a list with their weights.
    pub fn weighted(&self, list: u32) -> impl ExactSizeIterator<Item = (u32, f64)> {
        let first = list as usize + 1;
        let pools = self.of(list).iter().enumerate();
        pools.map(move |(offset, pool)| (*pool, self.weights.get(first + offset)))
    }

    /// Another list, with one more pool at its end.
    pub fn with(&mut self, list: u32, pool: u32) -> u32 {
        let mut uses: Vec<(u32, f64)> = self.weighted(list).collect();
        uses.push((pool, 1.0));
        let Some(free) = self.free.get_mut(uses.len()).and_then(Vec::pop) else { return self.add(&uses) };
        for (at, part) in (free as usize + 1..).zip(&uses) {
            self.entries[at] = part.0;
            self.weights.set(at, part.1);
        }
        free
    }

    /// A list made by `with` is of no use any more.
    pub fn release(&mut self, list: u32) {
        let length = self.of(list).len();
        if self.free.len() <= length {
            self.free.resize_with(length + 1, Vec::new);
        }
        self.free[length].push(list);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_with_one_more_takes_the_place_of_one_that_was_released() {
        let mut lists = Lists::default();
        let (none, two) = (lists.add(&[]), lists.add(&[(7, 1.0), (3, 0.5)]));
        let three = lists.with(two, 9);
        assert!(lists.of(none).is_empty());
        assert_eq!(lists.weighted(three).collect::<Vec<_>>(), [(7, 1.0), (3, 0.5), (9, 1.0)]);
        lists.release(three);
        assert_eq!(lists.with(none, 4), lists.add(&[]) - 2);
        assert_eq!(lists.with(two, 8), three);
        assert_eq!(lists.of(three), [7, 3, 8]);
        assert_eq!(lists.of(two), [7, 3]);
    }
}
