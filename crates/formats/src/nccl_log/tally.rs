//! Counts equal statements, in order of their first appearance.

use std::collections::BTreeMap;

/// Equal statements once, with how often and where first; statements beyond a limit are only counted.
#[derive(Debug)]
pub(super) struct Tally<K> {
    index: BTreeMap<K, usize>,
    entries: Vec<(K, Times)>,
    limit: usize,
    /// Statements that found no room.
    pub left: u32,
}

/// How often, and the first line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Times {
    pub count: u32,
    pub line: u32,
}

impl<K: Ord + Clone> Tally<K> {
    pub fn new(limit: usize) -> Self {
        Self { index: BTreeMap::new(), entries: Vec::new(), limit, left: 0 }
    }

    /// Counts `key` and gives its number; `None` where there is no room for another.
    pub fn add(&mut self, key: K, line: u32) -> Option<usize> {
        if let Some(index) = self.index.get(&key) {
            self.entries[*index].1.count += 1;
            return Some(*index);
        }
        if self.entries.len() >= self.limit {
            self.left += 1;
            return None;
        }
        let index = self.entries.len();
        self.index.insert(key.clone(), index);
        self.entries.push((key, Times { count: 1, line }));
        Some(index)
    }

    /// All of them, each made into an entry.
    pub fn map<T>(self, make: impl Fn(K, Times) -> T) -> Vec<T> {
        self.entries.into_iter().map(|(key, times)| make(key, times)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_statements_are_counted_and_the_rest_too() {
        let mut tally = Tally::new(2);
        for (line, word) in (1u32..).zip(["b", "a", "b", "c", "c"]) {
            tally.add(word, line);
        }
        assert_eq!(tally.left, 2);
        assert_eq!(tally.map(|word, times| (word, times.count, times.line)), [("b", 2, 1), ("a", 1, 2)]);
    }
}
