//! A terrain's graph as cuts and flows need it.

use crate::Terrain;
use crate::flow::Network;

/// Vertices, of which the first are ranks, and what can be carried between them: at most one edge for each pair in
/// each direction, none from a vertex to itself, none that carries nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Graph {
    pub(crate) ranks: usize,
    pub(crate) vertices: usize,
    /// In order of their ends.
    pub(crate) edges: Vec<Way>,
}

/// An edge: from where, to where, how much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Way {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) capacity: u128,
}

impl Graph {
    pub(crate) fn of(terrain: &Terrain) -> Self {
        let ranks = terrain.ranks() as usize;
        let ways = terrain.edges().iter().map(|edge| Way {
            from: edge.from.0 as usize,
            to: edge.to.0 as usize,
            capacity: u128::from(edge.capacity),
        });
        Self::new(ranks, ranks + terrain.switches().len(), ways.collect())
    }

    pub(crate) fn new(ranks: usize, vertices: usize, mut ways: Vec<Way>) -> Self {
        ways.retain(|way| way.from != way.to && way.capacity > 0);
        ways.sort_unstable();
        let mut edges: Vec<Way> = Vec::with_capacity(ways.len());
        for way in ways {
            match edges.last_mut() {
                Some(last) if (last.from, last.to) == (way.from, way.to) => last.capacity += way.capacity,
                Some(_) | None => edges.push(way),
            }
        }
        Self { ranks, vertices, edges }
    }

    /// The same graph with every edge turned around.
    pub(crate) fn reversed(&self) -> Self {
        let turned = |way: &Way| Way { from: way.to, to: way.from, ..*way };
        Self::new(self.ranks, self.vertices, self.edges.iter().map(turned).collect())
    }

    /// A network of all edges, their capacities times `scale`, with room for `more` vertices.
    pub(crate) fn network(&self, scale: u128, more: usize) -> Network {
        let mut network = Network::new(self.vertices + more);
        for way in &self.edges {
            network.add(way.from, way.to, way.capacity * scale);
        }
        network
    }

    /// What leaves the vertices of a side.
    pub(crate) fn leaving(&self, side: &[bool]) -> u128 {
        let leaves = |way: &&Way| side[way.from] && !side[way.to];
        self.edges.iter().filter(leaves).map(|way| way.capacity).sum()
    }

    /// What leaves and what enters each vertex.
    pub(crate) fn degrees(&self) -> Vec<(u128, u128)> {
        let mut degrees = vec![(0, 0); self.vertices];
        for way in &self.edges {
            degrees[way.from].0 += way.capacity;
            degrees[way.to].1 += way.capacity;
        }
        degrees
    }

    /// Whether every rank has a way to every other.
    pub(crate) fn is_connected(&self) -> bool {
        self.reaches_all_ranks(0) && self.reversed().reaches_all_ranks(0)
    }

    /// Whether there is a way from `root` to every rank.
    pub(crate) fn reaches_all_ranks(&self, root: usize) -> bool {
        self.ranks == 0 || self.network(1, 0).reached(root)[..self.ranks].iter().all(|reached| *reached)
    }
}
