//! All-to-all: bounds by cuts that are likely to be narrow.

use super::gather::gather;
use super::parts::around_groups;
use super::{Cut, Fraction, Limit, Reason};
use crate::Terrain;
use crate::graph::Graph;

/// The tightest of some cuts. To find the tightest of all is NP-hard (sparsest cut).
pub(super) fn all_to_all(terrain: &Terrain, graph: &Graph) -> Limit {
    let complement = |side: &Vec<bool>| -> Vec<bool> { side.iter().map(|inside| !inside).collect() };
    let mut best = (rate_around_single_ranks(graph), None);
    let mut sides = around_groups(terrain, graph);
    let entering = around_groups(terrain, &graph.reversed());
    sides.extend(entering.iter().map(complement));
    sides.push(gather(graph).side);
    sides.push(complement(&gather(&graph.reversed()).side));
    for side in sides {
        let inside = side[..graph.ranks].iter().filter(|inside| **inside).count();
        let rate = rate(graph.leaving(&side), inside, graph.ranks);
        if rate < best.0.0 {
            best = ((rate, 0, false), Some(side));
        }
    }
    let ((busbw_in_units, rank, without), side) = best;
    let side = side
        .unwrap_or_else(|| (0..graph.vertices).map(|vertex| (vertex == rank) != without).collect::<Vec<_>>());
    Limit { busbw_in_units, cuts: vec![Cut::around(terrain, &side)], reason: Reason::PairsLeave }
}

/// Every rank inside sends 1/ranks of its message to every rank outside; busbw is what it sends to others.
fn rate(capacity: u128, inside: usize, ranks: usize) -> Fraction {
    Fraction::new(capacity * (ranks as u128 - 1), inside as u128 * (ranks - inside) as u128)
}

/// The tightest cut around one rank or all but one, whose busbw is what leaves or enters the rank.
fn rate_around_single_ranks(graph: &Graph) -> (Fraction, usize, bool) {
    let degrees = graph.degrees();
    let leaving = (0..graph.ranks).map(|rank| (Fraction::new(degrees[rank].0, 1), rank, false));
    let entering = (0..graph.ranks).map(|rank| (Fraction::new(degrees[rank].1, 1), rank, true));
    leaving.chain(entering).min_by_key(|(rate, ..)| *rate).unwrap_or_default()
}
