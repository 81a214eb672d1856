//! The network in tiers, with hosts grouped by the leaves that they share.

use std::collections::BTreeMap;

use weft_base::Rate;

use super::fabric::Tie;
use crate::graph::{Link, NodeId, NodeKind, Topology};

/// Hosts that hang off the same leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub leaves: Vec<NodeId>,
    pub hosts: Vec<u32>,
}

/// Leaves and spines that reach each other without the top tier, with the groups below them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pod {
    pub spines: Vec<NodeId>,
    pub groups: Vec<Group>,
}

/// How the switches at the top of what is drawn are joined to each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Across {
    /// Not at all: cores, the spines of two tiers, or one switch.
    None,
    /// A torus of these sizes, with the links of a switch to one neighbour.
    Torus(Vec<u16>, Option<Tie>),
    /// Pods whose spines are linked to those of the others, with all such links of a spine.
    Groups(Tie),
}

/// A network as it is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Network {
    pub across: Across,
    /// Switches above the spines; empty for fewer than three tiers.
    pub cores: Vec<NodeId>,
    pub pods: Vec<Pod>,
}

impl Network {
    /// The tiers, from the leaves up, by their number of switches.
    pub fn tiers(&self) -> Vec<usize> {
        let leaves = self.pods.iter().flat_map(|pod| &pod.groups).map(|group| group.leaves.len()).sum();
        let spines = self.pods.iter().map(|pod| pod.spines.len()).sum();
        [leaves, spines, self.cores.len()].into_iter().filter(|count| *count > 0).collect()
    }
}

/// Reads the tiers off the graph; `None` where no network joins the hosts.
pub(super) fn network(topology: &Topology) -> Option<Network> {
    let mut tier: BTreeMap<NodeId, usize> = BTreeMap::new();
    let mut by_leaves: BTreeMap<Vec<NodeId>, Vec<u32>> = BTreeMap::new();
    let mut leaves_of = vec![Vec::new(); topology.hosts() as usize];
    for nic in topology.of_kind(NodeKind::Nic) {
        for (leaf, _) in switches(topology, nic) {
            tier.insert(leaf, 0);
            if let Some(host) = topology.node(nic).host {
                leaves_of[host as usize].push(leaf);
            }
        }
    }
    for (host, mut leaves) in (0u32..).zip(leaves_of) {
        leaves.sort();
        leaves.dedup();
        if !leaves.is_empty() {
            by_leaves.entry(leaves).or_default().push(host);
        }
    }
    let mut front: Vec<NodeId> = tier.keys().copied().collect();
    for level in 1.. {
        let mut next = Vec::new();
        for (above, _) in front.iter().flat_map(|node| switches(topology, *node)) {
            if let std::collections::btree_map::Entry::Vacant(slot) = tier.entry(above) {
                slot.insert(level);
                next.push(above);
            }
        }
        if next.is_empty() {
            break;
        }
        front = next;
    }
    let by_leaves = without_parts(by_leaves);
    let groups: Vec<Group> = by_leaves.into_iter().map(|(leaves, hosts)| Group { leaves, hosts }).collect();
    if groups.is_empty() {
        return None;
    }
    if let Some(grid) = topology.grids().first() {
        let first = groups[0].leaves[0];
        let tie = grid.next(first, 0).and_then(|next| uplink(topology, first, &[next]));
        let across = Across::Torus(grid.sizes().to_vec(), tie);
        return Some(Network { across, cores: Vec::new(), pods: vec![Pod { spines: Vec::new(), groups }] });
    }
    let pods = pods(topology, &tier, groups);
    Some(Network { across: across(topology, &pods), cores: at(&tier, 2), pods })
}

/// Whether spines are linked to those of other pods.
fn across(topology: &Topology, pods: &[Pod]) -> Across {
    let others: Vec<NodeId> = {
        let mut spines: Vec<NodeId> = pods.iter().flat_map(|pod| pod.spines.iter().copied()).collect();
        spines.sort();
        spines
    };
    let first = pods.iter().find_map(|pod| pod.spines.first());
    match first.and_then(|spine| uplink(topology, *spine, &others)) {
        Some(tie) => Across::Groups(tie),
        None => Across::None,
    }
}

/// Hosts of which an adapter is missing go to those that have all of them: else a leaf would be drawn twice.
fn without_parts(by_leaves: BTreeMap<Vec<NodeId>, Vec<u32>>) -> BTreeMap<Vec<NodeId>, Vec<u32>> {
    let mut widest: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
    for leaves in by_leaves.keys() {
        for leaf in leaves {
            let known = widest.entry(*leaf).or_default();
            if known.len() < leaves.len() {
                known.clone_from(leaves);
            }
        }
    }
    let mut found: BTreeMap<Vec<NodeId>, Vec<u32>> = BTreeMap::new();
    for (leaves, hosts) in by_leaves {
        let whole = leaves.first().and_then(|leaf| widest.get(leaf));
        let whole = whole.filter(|whole| leaves.iter().all(|leaf| whole.binary_search(leaf).is_ok()));
        let into = whole.cloned().unwrap_or(leaves);
        found.entry(into).or_default().extend(hosts);
    }
    for hosts in found.values_mut() {
        hosts.sort_unstable();
    }
    found
}

fn at(tier: &BTreeMap<NodeId, usize>, level: usize) -> Vec<NodeId> {
    tier.iter().filter(|(_, of)| **of == level).map(|(node, _)| *node).collect()
}

/// Groups whose leaves share spines are one pod.
fn pods(topology: &Topology, tier: &BTreeMap<NodeId, usize>, groups: Vec<Group>) -> Vec<Pod> {
    let mut pod_of: BTreeMap<NodeId, usize> = BTreeMap::new();
    let mut pods: Vec<Pod> = Vec::new();
    for group in groups {
        let mut spines: Vec<NodeId> = group
            .leaves
            .iter()
            .flat_map(|leaf| switches(topology, *leaf))
            .map(|(spine, _)| spine)
            .filter(|spine| tier.get(spine) == Some(&1))
            .collect();
        spines.sort();
        spines.dedup();
        let known = spines.iter().find_map(|spine| pod_of.get(spine)).copied();
        let pod = known.unwrap_or(pods.len());
        for spine in &spines {
            pod_of.insert(*spine, pod);
        }
        match pods.get_mut(pod) {
            Some(pod) => {
                pod.spines.extend(spines);
                pod.spines.sort();
                pod.spines.dedup();
                pod.groups.push(group);
            }
            None => pods.push(Pod { spines, groups: vec![group] }),
        }
    }
    pods
}

/// All links of `node` to network switches that `wanted` admits, taken together.
pub(super) fn uplink(topology: &Topology, node: NodeId, wanted: &[NodeId]) -> Option<Tie> {
    let links: Vec<&Link> = switches(topology, node)
        .filter(|(above, _)| wanted.binary_search(above).is_ok())
        .map(|(_, link)| link)
        .collect();
    let kind = links.first()?.kind;
    let count = links.iter().map(|link| u32::from(link.count)).sum();
    let rate = links.iter().map(|link| link.capacity).sum::<Rate>();
    Some(Tie { kind, count, rate })
}

/// Network switches that a NIC or a switch is joined to.
fn switches(topology: &Topology, node: NodeId) -> impl Iterator<Item = (NodeId, &Link)> {
    topology
        .links_from(node)
        .map(|(_, link)| (link.to, link))
        .filter(|(end, _)| topology.node(*end).kind == NodeKind::NetworkSwitch)
}
