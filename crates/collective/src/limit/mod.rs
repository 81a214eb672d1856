//! How fast a collective can be at best on a terrain, whatever the algorithm.
//!
//! Every bound is that of a cut: what must leave some ranks, over what the edges carry that leave them. For all-gather
//! and reduce-scatter the tightest cut is found exactly, and there are schedules that reach it (ForestColl,
//! arXiv:2402.06787).

mod cut;
mod gather;
mod one;
mod pairs;
mod parts;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;

pub use cut::Cut;
pub(crate) use gather::gather;
pub(crate) use one::spread;
pub(crate) use parts::exchanged;

use crate::graph::Graph;
use crate::{Collective, Rank, Terrain};

/// Up to so many ranks an all-reduce's limit is that of the worst of all ways to take them apart.
pub const MOST_RANKS_TAKEN_APART: usize = 128;

/// A bound that no plan can beat on this terrain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// The largest busbw, as nccl-tests defines it, in the terrain's unit of capacity.
    pub busbw_in_units: Fraction,
    /// The ranks whose edges are what limits: one cut, or for an all-reduce the parts between which it happens.
    pub cuts: Vec<Cut>,
    /// Why the cut bounds the busbw.
    pub reason: Reason,
}

/// Why a cut bounds a busbw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The part of each rank inside must leave at least once.
    PartsLeave,
    /// For each rank outside, a sum must leave at least once.
    SumsLeave,
    /// The whole message must leave at least once.
    MessageLeaves,
    /// Every rank inside sends a part to every rank outside.
    PairsLeave,
    /// What n parts add and share needs at least 2 (n - 1) messages between them, as everybody's news do that are told
    /// in one-way calls (Harary and Schwenk, 1974).
    PartsExchange,
}

/// A ratio of two whole numbers, in lowest terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fraction {
    /// Above the line.
    pub numerator: u128,
    /// Below it, never 0.
    pub denominator: u128,
}

impl Fraction {
    /// The fraction in lowest terms; below the line 0 counts as 1.
    pub fn new(numerator: u128, denominator: u128) -> Self {
        let denominator = denominator.max(1);
        let common = common_divisor(numerator, denominator);
        Self { numerator: numerator / common, denominator: denominator / common }
    }

    /// As the nearest number.
    #[expect(clippy::cast_precision_loss, reason = "a number to show; comparisons are exact")]
    pub fn value(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

impl Default for Fraction {
    fn default() -> Self {
        Self { numerator: 0, denominator: 1 }
    }
}

impl Ord for Fraction {
    fn cmp(&self, other: &Self) -> Ordering {
        // By whole parts and then by what remains, since products might not fit.
        let (mut left, mut right) = (*self, *other);
        let mut swapped = false;
        loop {
            let (a, b) = (left.numerator / left.denominator, right.numerator / right.denominator);
            let (c, d) = (left.numerator % left.denominator, right.numerator % right.denominator);
            let order = a.cmp(&b).then(if c == 0 || d == 0 { c.cmp(&d) } else { Ordering::Equal });
            if order != Ordering::Equal || c == 0 {
                return if swapped { order.reverse() } else { order };
            }
            left = Self { numerator: left.denominator, denominator: c };
            right = Self { numerator: right.denominator, denominator: d };
            swapped = !swapped;
        }
    }
}

impl PartialOrd for Fraction {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

pub(crate) fn common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The limit of a collective with root 0 and, for a send-recv, peer 1; see [`limit_of`].
pub fn limit(terrain: &Terrain, collective: Collective) -> Option<Limit> {
    limit_of(terrain, collective, Rank::new(0), Rank::new(1))
}

/// The limit of a collective. `None` where the graph is not known, where there are fewer than two ranks, for a
/// barrier, which moves nothing, and for a root or peer that is no rank.
///
/// All-gather, reduce-scatter, broadcast, reduce and send-recv: the tightest cut, exactly. All-reduce: the tightest
/// cut of all, and, for up to [`MOST_RANKS_TAKEN_APART`] ranks, exactly the tightest way to take the ranks apart (beyond,
/// the tightest of single ranks and the groups of each level). It may be above what reduce-scatter and all-gather
/// reach one after the other. All-to-all: the tightest of the cuts around single ranks, around groups of each level,
/// and those that limit the all-gather and the reduce-scatter; other cuts may be tighter still.
///
/// Costs as many maximum flows as there are ranks for all but an all-reduce, which needs some times as many.
pub fn limit_of(terrain: &Terrain, collective: Collective, root: Rank, peer: Rank) -> Option<Limit> {
    let ranks = terrain.ranks();
    if ranks < 2 || terrain.edges().is_empty() || root.get() >= ranks || peer.get() >= ranks {
        return None;
    }
    let graph = Graph::of(terrain);
    match collective {
        Collective::AllGather => Some(gather::all_gather(terrain, &graph)),
        Collective::ReduceScatter => Some(gather::reduce_scatter(terrain, &graph)),
        Collective::Broadcast => Some(one::broadcast(terrain, &graph, root.index())),
        Collective::Reduce => Some(one::reduce(terrain, &graph, root.index())),
        Collective::SendRecv if root == peer => None,
        Collective::SendRecv => Some(one::send(terrain, &graph, root.index(), peer.index())),
        Collective::AllReduce => Some(parts::all_reduce(terrain, &graph)),
        Collective::AllToAll => Some(pairs::all_to_all(terrain, &graph)),
        Collective::Barrier => None,
    }
}

/// The tighter of two bounds.
fn tighter(one: Limit, other: Limit) -> Limit {
    if other.busbw_in_units < one.busbw_in_units { other } else { one }
}
