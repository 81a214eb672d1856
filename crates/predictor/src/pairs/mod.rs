//! Rates of all pairs of hosts: which pairs to measure at a time, and what stands out of the matrix.
//!
//! Nothing here measures. `weft bench pairs` plays the rounds of [`rounds`] and judges what came of them; a matrix that
//! another tool measured is judged by the same [`judge`].

mod judge;
mod schedule;
mod statistics;
#[cfg(test)]
mod tests;

use weft_base::Rate;

pub use judge::{LEAST_LOSS, Limit, SlowHost, SlowPair, Verdict, judge};
pub use schedule::rounds;

/// What was measured from one host to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairRate {
    /// The median of the repeats, in this direction.
    pub median: Rate,
    /// The best repeat; the median where there was one only.
    pub best: Rate,
}

/// A matrix of rates, each in one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairRates {
    names: Vec<String>,
    /// By sender, then receiver.
    cells: Vec<Option<PairRate>>,
}

impl PairRates {
    /// A matrix of these hosts; `rate` gives what was measured from the first to the second, if anything was. It is
    /// not asked for a host and itself.
    pub fn new(names: Vec<String>, mut rate: impl FnMut(usize, usize) -> Option<PairRate>) -> Self {
        let hosts = names.len();
        let cells = (0..hosts * hosts).map(|at| (at / hosts, at % hosts));
        let cells = cells.map(|(from, to)| if from == to { None } else { rate(from, to) }).collect();
        Self { names, cells }
    }

    /// How many hosts there are.
    pub fn hosts(&self) -> usize {
        self.names.len()
    }

    /// The hosts, in the order of rows and columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What was measured from one host to another.
    pub fn get(&self, from: usize, to: usize) -> Option<PairRate> {
        let inside = from < self.hosts() && to < self.hosts();
        self.cells.get(from * self.hosts() + to).copied().flatten().filter(|_| inside)
    }

    /// All that was measured: from, to, what.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize, PairRate)> {
        let hosts = self.hosts().max(1);
        self.cells.iter().enumerate().filter_map(move |(at, cell)| Some((at / hosts, at % hosts, (*cell)?)))
    }
}
