//! What a block may hold: a block of the input, summed over a set of ranks.

use std::collections::BTreeMap;

use super::place::Place;
use super::violation::{Content, Part};

/// What a block holds. Blocks with the same history hold the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Value {
    /// Which sum; 0 where nothing was written yet.
    sum: u32,
    /// Of which block of the input.
    block: u32,
}

impl Value {
    pub const NOTHING: Self = Self { sum: 0, block: 0 };

    pub fn is_nothing(self) -> bool {
        self.sum == 0
    }
}

/// A sum that can no longer become right.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    /// A contribution is in it twice.
    Again { at: Place, part: Part },
    /// Different blocks are in it.
    Mixed { at: Place, added: u32, to: u32 },
}

/// What a value stands for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Meaning<'s> {
    Nothing,
    /// The sum over the ranks of these ranges, first and one beyond the last, of that block.
    Sum(&'s [(u32, u32)], u32),
    Fault(Fault),
}

#[derive(Debug)]
enum Entry {
    Nothing,
    Ranks(Box<[(u32, u32)]>),
    Fault(Fault),
}

/// Every sum that has come up.
#[derive(Debug)]
pub(super) struct Sums {
    entries: Vec<Entry>,
    known: BTreeMap<Box<[(u32, u32)]>, u32>,
    /// The sum of two, where they have nothing in common.
    added: BTreeMap<(u32, u32), u32>,
}

impl Sums {
    pub fn new() -> Self {
        Self { entries: vec![Entry::Nothing], known: BTreeMap::new(), added: BTreeMap::new() }
    }

    /// A block of the input, summed over ranks without a gap.
    pub fn value(&mut self, content: Content) -> Value {
        let first = content.part.rank.get();
        let sum = self.number(Box::new([(first, first + content.ranks)]));
        Value { sum, block: content.part.block }
    }

    pub fn meaning(&self, value: Value) -> Meaning<'_> {
        match self.entries.get(value.sum as usize) {
            Some(Entry::Ranks(ranks)) => Meaning::Sum(ranks, value.block),
            Some(Entry::Fault(fault)) => Meaning::Fault(*fault),
            Some(Entry::Nothing) | None => Meaning::Nothing,
        }
    }

    /// The sum of two values, of which neither is nothing.
    pub fn add(&mut self, value: Value, to: Value, at: Place) -> Value {
        for known in [to, value] {
            if matches!(self.meaning(known), Meaning::Fault(_)) {
                return known;
            }
        }
        if value.block != to.block {
            return self.fault(Fault::Mixed { at, added: value.block, to: to.block });
        }
        let key = (value.sum.min(to.sum), value.sum.max(to.sum));
        if let Some(sum) = self.added.get(&key) {
            return Value { sum: *sum, block: to.block };
        }
        let (Meaning::Sum(one, block), Meaning::Sum(other, _)) = (self.meaning(value), self.meaning(to))
        else {
            return Value::NOTHING;
        };
        match union(one, other) {
            Ok(ranks) => {
                let sum = self.number(ranks);
                self.added.insert(key, sum);
                Value { sum, block }
            }
            Err(rank) => {
                let part = Part { rank: crate::Rank::new(rank), block };
                self.fault(Fault::Again { at, part })
            }
        }
    }

    fn number(&mut self, ranks: Box<[(u32, u32)]>) -> u32 {
        if let Some(number) = self.known.get(&ranks) {
            return *number;
        }
        let number = self.push(Entry::Ranks(ranks.clone()));
        self.known.insert(ranks, number);
        number
    }

    fn fault(&mut self, fault: Fault) -> Value {
        Value { sum: self.push(Entry::Fault(fault)), block: 0 }
    }

    fn push(&mut self, entry: Entry) -> u32 {
        self.entries.push(entry);
        u32::try_from(self.entries.len() - 1).unwrap_or(u32::MAX)
    }
}

/// The union of two sets of ranges, or the first element that both have.
fn union(one: &[(u32, u32)], other: &[(u32, u32)]) -> Result<Box<[(u32, u32)]>, u32> {
    let mut all: Vec<(u32, u32)> = Vec::with_capacity(one.len() + other.len());
    let (mut one, mut other) = (one.iter().copied().peekable(), other.iter().copied().peekable());
    loop {
        let next = match (one.peek(), other.peek()) {
            (Some(left), Some(right)) if left <= right => one.next(),
            (Some(_), None) => one.next(),
            (Some(_) | None, Some(_)) => other.next(),
            (None, None) => return Ok(all.into()),
        };
        let Some((first, end)) = next else { return Ok(all.into()) };
        match all.last_mut() {
            Some(last) if first < last.1 => return Err(first),
            Some(last) if first == last.1 => last.1 = end,
            Some(_) | None => all.push((first, end)),
        }
    }
}
