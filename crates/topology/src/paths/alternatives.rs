//! All shortest ways: one after the other, counted, and with what goes over each link.

use std::collections::BTreeMap;

use super::{NetworkPaths, Spread};
use crate::graph::{LinkId, NodeId};

/// Shortest ways one after the other; see [`NetworkPaths::alternatives`].
#[derive(Debug)]
pub struct Alternatives<'p, 't> {
    paths: &'p mut NetworkPaths<'t>,
    to: NodeId,
    /// For each step of the way the links to choose from, and how many of them are done.
    open: Vec<(Vec<LinkId>, usize)>,
}

impl<'p, 't> Alternatives<'p, 't> {
    pub(super) fn new(paths: &'p mut NetworkPaths<'t>, from: NodeId, to: NodeId) -> Self {
        let first = paths.next_hops(from, to).to_vec();
        Self { paths, to, open: vec![(first, 0)] }
    }
}

impl Iterator for Alternatives<'_, '_> {
    type Item = Vec<LinkId>;

    fn next(&mut self) -> Option<Vec<LinkId>> {
        while let Some((links, done)) = self.open.last_mut() {
            let Some(link) = links.get(*done).copied() else {
                self.open.pop();
                continue;
            };
            *done += 1;
            let end = self.paths.topology.link(link).to;
            if end == self.to {
                return Some(self.open.iter().map(|(links, done)| links[done - 1]).collect());
            }
            let next = self.paths.next_hops(end, self.to).to_vec();
            self.open.push((next, 0));
        }
        None
    }
}

pub(super) fn count(paths: &mut NetworkPaths<'_>, from: NodeId, to: NodeId) -> u64 {
    let mut ways = BTreeMap::from([(from, 1u64)]);
    while !ways.is_empty() && !ways.contains_key(&to) {
        let mut next: BTreeMap<NodeId, u64> = BTreeMap::new();
        for (node, count) in ways {
            for link in paths.next_hops(node, to).to_vec() {
                let sum = next.entry(paths.topology.link(link).to).or_default();
                *sum = sum.saturating_add(count);
            }
        }
        ways = next;
    }
    if from == to { 0 } else { ways.get(&to).copied().unwrap_or(0) }
}

pub(super) fn shares(
    paths: &mut NetworkPaths<'_>,
    from: NodeId,
    to: NodeId,
    spread: Spread,
) -> Vec<(LinkId, f64)> {
    let topology = paths.topology;
    let weight = |link: LinkId| match spread {
        Spread::Evenly => f64::from(topology.link(link).count),
        Spread::ByCapacity => topology.link(link).capacity.as_gigabytes(),
    };
    let mut found = Vec::new();
    let mut arriving = BTreeMap::from([(from, 1.0)]);
    while !arriving.is_empty() && !arriving.contains_key(&to) {
        let mut next: BTreeMap<NodeId, f64> = BTreeMap::new();
        for (node, share) in arriving {
            paths.find_hops(node, to);
            let all: f64 = paths.hops.iter().map(|link| weight(*link)).sum();
            for link in &paths.hops {
                let part = share * weight(*link) / all;
                found.push((*link, part));
                *next.entry(topology.link(*link).to).or_default() += part;
            }
        }
        arriving = next;
    }
    found
}
