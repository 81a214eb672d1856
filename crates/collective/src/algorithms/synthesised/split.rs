//! Takes switches out of a graph: what went through them goes straight, and every rank is reached by as much as
//! before.

use std::collections::BTreeMap;

use crate::flow::Network;
use crate::graph::Graph;

/// The ways between two vertices: the vertices along each, both ends included, and how many trees it carries.
type Ways = Vec<(Vec<usize>, u128)>;

/// Ranks and switches, with a whole number of trees that each edge carries.
#[derive(Debug, Clone)]
pub(super) struct Wiring {
    pub(super) ranks: usize,
    vertices: usize,
    /// Where trees begin, and how many at each.
    pub(super) roots: Vec<(usize, u128)>,
    edges: BTreeMap<(usize, usize), Ways>,
}

impl Wiring {
    pub(super) fn new(graph: &Graph, roots: Vec<(usize, u128)>) -> Self {
        let edge =
            |way: &crate::graph::Way| ((way.from, way.to), vec![(vec![way.from, way.to], way.capacity)]);
        Self {
            ranks: graph.ranks,
            vertices: graph.vertices,
            roots,
            edges: graph.edges.iter().map(edge).collect(),
        }
    }

    /// Whether every rank can be reached by all trees, and if not, how many cannot reach some rank.
    pub(super) fn missing(&self) -> Option<u128> {
        self.missing_of(self.roots.iter().map(|(_, count)| count).sum())
    }

    /// How many of `needed` trees cannot reach some rank; `None` where every rank is reached by so many.
    pub(super) fn missing_of(&self, needed: u128) -> Option<u128> {
        let mut network = Network::new(self.vertices + 1);
        for (&(from, to), ways) in &self.edges {
            network.add(from, to, total(ways));
        }
        for &(root, count) in &self.roots {
            network.add(self.vertices, root, count);
        }
        let obstacle = network.obstacle(self.vertices, 0..self.ranks, needed)?;
        Some(needed - obstacle.pushed)
    }

    pub(super) fn capacity(&self, from: usize, to: usize) -> u128 {
        self.edges.get(&(from, to)).map_or(0, total)
    }

    /// Takes one tree's way off an edge.
    pub(super) fn take_one(&mut self, from: usize, to: usize) -> Option<Vec<usize>> {
        Some(take(self.edges.get_mut(&(from, to))?, 1).pop()?.0)
    }

    /// Takes all switches out. An edge into a switch is joined to one out of it, as much of both as leaves every rank
    /// within reach of all trees (edge splitting; Bang-Jensen, Frank and Jackson 1995 show that all that leaves a
    /// switch can be joined where no less enters it).
    pub(super) fn take_switches_out(&mut self) {
        for switch in self.ranks..self.vertices {
            self.join_evenly(switch);
            self.join_greedily(switch);
            self.edges.retain(|&(from, to), _| from != switch && to != switch);
        }
    }

    fn entering(&self, switch: usize) -> Vec<(usize, u128)> {
        let edges = self.edges.iter().filter(|((_, to), _)| *to == switch);
        edges.map(|((from, _), ways)| (*from, total(ways))).collect()
    }

    fn leaving(&self, switch: usize) -> Vec<(usize, u128)> {
        let edges = self.edges.iter().filter(|((from, _), _)| *from == switch);
        edges.map(|((_, to), ways)| (*to, total(ways))).collect()
    }

    /// Joins a like share of every edge to every other, so that trees become flat, if that is allowed as a whole.
    fn join_evenly(&mut self, switch: usize) {
        let (entering, leaving) = (self.entering(switch), self.leaving(switch));
        let sum = |edges: &[(usize, u128)], but: usize| -> u128 {
            edges.iter().filter(|(end, _)| *end != but).map(|(_, capacity)| capacity).sum()
        };
        let before = self.edges.clone();
        for &(from, enters) in &entering {
            for &(to, leaves) in leaving.iter().filter(|(to, _)| *to != from) {
                let others = sum(&leaving, from).max(sum(&entering, to)).max(1);
                self.join(from, switch, to, enters * leaves / others);
            }
        }
        if self.missing().is_some() {
            self.edges = before;
        }
    }

    fn join_greedily(&mut self, switch: usize) {
        let entering: Vec<usize> = self.entering(switch).into_iter().map(|(from, _)| from).collect();
        for (to, _) in self.leaving(switch) {
            // From the one before it on, so that rings come about, and last from itself, which is of no use.
            let first = entering.partition_point(|from| *from < to);
            let (later, earlier) = entering.split_at(first);
            let others = earlier.iter().rev().chain(later.iter().rev()).filter(|from| **from != to);
            for &from in others.chain([&to]) {
                self.join_most(from, switch, to);
            }
        }
    }

    /// Joins as much as is allowed.
    fn join_most(&mut self, from: usize, switch: usize, to: usize) {
        let mut amount = self.capacity(from, switch).min(self.capacity(switch, to));
        while amount > 0 {
            let before = self.edges.clone();
            self.join(from, switch, to, amount);
            let Some(missing) = self.missing() else { return };
            // Each unit less gives the cut that is short one more.
            amount = amount.saturating_sub(missing);
            self.edges = before;
        }
    }

    fn join(&mut self, from: usize, switch: usize, to: usize, amount: u128) {
        let half = |edges: &mut BTreeMap<(usize, usize), Ways>, ends| {
            edges.get_mut(&ends).map(|ways| take(ways, amount)).unwrap_or_default()
        };
        let mut first = half(&mut self.edges, (from, switch));
        let mut second = half(&mut self.edges, (switch, to));
        if from == to {
            return;
        }
        while let (Some((way, count)), Some((onward, onward_count))) = (first.pop(), second.pop()) {
            let both = count.min(onward_count);
            let whole = way.iter().chain(&onward[1..]).copied().collect();
            self.edges.entry((from, to)).or_default().push((whole, both));
            if count > both {
                first.push((way, count - both));
            }
            if onward_count > both {
                second.push((onward, onward_count - both));
            }
        }
    }
}

fn total(ways: &Ways) -> u128 {
    ways.iter().map(|(_, count)| count).sum()
}

/// Takes so many trees off ways, or all there are.
fn take(ways: &mut Ways, mut amount: u128) -> Ways {
    let mut taken = Vec::new();
    while amount > 0
        && let Some((way, count)) = ways.pop()
    {
        if count > amount {
            ways.push((way.clone(), count - amount));
        }
        taken.push((way, count.min(amount)));
        amount -= count.min(amount);
    }
    taken
}
