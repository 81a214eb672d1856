//! All-gather and reduce-scatter: the tightest cut, exactly.

use super::{Cut, Fraction, Limit, Reason};
use crate::Terrain;
use crate::flow::Network;
use crate::graph::Graph;

/// The vertices from which too much must leave: the part of each rank inside, over the edges that leave.
#[derive(Debug, Clone)]
pub(crate) struct Tightest {
    pub(crate) side: Vec<bool>,
    pub(crate) capacity: u128,
    pub(crate) ranks: u128,
}

impl Tightest {
    fn of(graph: &Graph, side: Vec<bool>) -> Self {
        let ranks = side[..graph.ranks].iter().filter(|inside| **inside).count() as u128;
        Self { capacity: graph.leaving(&side), side, ranks }
    }

    /// What each rank can spread to all others at most.
    pub(crate) fn rate(&self) -> Fraction {
        Fraction::new(self.capacity, self.ranks)
    }
}

pub(super) fn all_gather(terrain: &Terrain, graph: &Graph) -> Limit {
    let tightest = gather(graph);
    let busbw_in_units = Fraction::new(tightest.capacity * (graph.ranks as u128 - 1), tightest.ranks);
    Limit { busbw_in_units, cuts: vec![Cut::around(terrain, &tightest.side)], reason: Reason::PartsLeave }
}

pub(super) fn reduce_scatter(terrain: &Terrain, graph: &Graph) -> Limit {
    let tightest = gather(&graph.reversed());
    let busbw_in_units = Fraction::new(tightest.capacity * (graph.ranks as u128 - 1), tightest.ranks);
    // What leaves a side of the reversed graph enters it here, so it leaves the other vertices.
    let others: Vec<bool> = tightest.side.iter().map(|inside| !inside).collect();
    Limit { busbw_in_units, cuts: vec![Cut::around(terrain, &others)], reason: Reason::SumsLeave }
}

/// The tightest cut of an all-gather over at least two ranks.
///
/// A cut is assumed the tightest. If a source feeds every rank at the cut's rate, then every rank can be reached by
/// all that is fed, unless some cut is tighter; that one is taken instead (Newton's method on ratios, Dinkelbach
/// 1967), until all ranks are reached.
pub(crate) fn gather(graph: &Graph) -> Tightest {
    let mut tightest = around_single_ranks(graph);
    let mut first = 0;
    loop {
        let rate = tightest.rate();
        let sinks = (first..graph.ranks).chain(0..first);
        let needed = rate.numerator * graph.ranks as u128;
        let Some(obstacle) = fed(graph, rate).obstacle(graph.vertices, sinks, needed) else {
            return tightest;
        };
        first = obstacle.sink;
        let mut side = obstacle.side;
        side.truncate(graph.vertices);
        tightest = Tightest::of(graph, side);
    }
}

/// All capacities, and a source after all vertices that feeds each rank at the cut's rate, both scaled to whole numbers.
fn fed(graph: &Graph, rate: Fraction) -> Network {
    let mut network = graph.network(rate.denominator, 1);
    for rank in 0..graph.ranks {
        network.add(graph.vertices, rank, rate.numerator);
    }
    network
}

/// The tightest of the cuts around one rank and around all but one: in most machines the tightest of all.
fn around_single_ranks(graph: &Graph) -> Tightest {
    let others = graph.ranks as u128 - 1;
    let degrees = graph.degrees();
    let out = (0..graph.ranks).map(|rank| (Fraction::new(degrees[rank].0, 1), rank, false));
    let all_in = (0..graph.ranks).map(|rank| (Fraction::new(degrees[rank].1, others), rank, true));
    let (_, rank, without) = all_in.chain(out).min_by_key(|(rate, ..)| *rate).unwrap_or_default();
    let side = (0..graph.vertices).map(|vertex| (vertex == rank) != without).collect();
    Tightest::of(graph, side)
}
