//! Collectives of one root or one pair: the least of the maximum flows from it.

use super::{Cut, Fraction, Limit, Reason};
use crate::Terrain;
use crate::graph::Graph;

pub(super) fn broadcast(terrain: &Terrain, graph: &Graph, root: usize) -> Limit {
    let (capacity, side) = spread(graph, root);
    whole(terrain, capacity, &side)
}

pub(super) fn reduce(terrain: &Terrain, graph: &Graph, root: usize) -> Limit {
    let (capacity, side) = spread(&graph.reversed(), root);
    let others: Vec<bool> = side.iter().map(|inside| !inside).collect();
    whole(terrain, capacity, &others)
}

pub(super) fn send(terrain: &Terrain, graph: &Graph, root: usize, peer: usize) -> Limit {
    let mut network = graph.network(1, 0);
    let capacity = network.push(root, peer, u128::MAX);
    whole(terrain, capacity, &network.reached(root))
}

fn whole(terrain: &Terrain, capacity: u128, side: &[bool]) -> Limit {
    let busbw_in_units = Fraction::new(capacity, 1);
    Limit { busbw_in_units, cuts: vec![Cut::around(terrain, side)], reason: Reason::MessageLeaves }
}

/// What the root can spread to all other ranks at once (Edmonds 1973): the least of its maximum flows, and the cut's
/// side. The graph has at least two ranks.
pub(crate) fn spread(graph: &Graph, root: usize) -> (u128, Vec<bool>) {
    let mut least = (graph.degrees()[root].0, (0..graph.vertices).map(|vertex| vertex == root).collect());
    let network = graph.network(1, 0);
    let mut first = 0;
    loop {
        let sinks = (first..graph.ranks).filter(|sink| *sink != root);
        let Some(obstacle) = network.obstacle(root, sinks, least.0) else { return least };
        // Sinks before this one have been reached by more than is asked for now.
        first = obstacle.sink + 1;
        least = (obstacle.pushed, obstacle.side);
    }
}

/// The cut that separates ranks with the least capacity, in whichever direction.
pub(super) fn narrowest(graph: &Graph) -> (u128, Vec<bool>) {
    let (out, back) = (spread(graph, 0), spread(&graph.reversed(), 0));
    if back.0 < out.0 { (back.0, back.1.iter().map(|inside| !inside).collect()) } else { out }
}
