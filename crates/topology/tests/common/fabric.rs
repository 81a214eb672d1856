//! What tests of networks need.

use weft_catalogue::LinkFamily;
use weft_topology::{NodeId, NodeKind, Topology};

/// Network switches by tier: leaves first.
pub fn tiers(topology: &Topology) -> Vec<Vec<NodeId>> {
    let switches_at = |node: NodeId| {
        let ends = topology.links_from(node).map(|(_, link)| link.to);
        ends.filter(|end| topology.node(*end).kind == NodeKind::NetworkSwitch).collect::<Vec<_>>()
    };
    let mut tiers: Vec<Vec<NodeId>> = Vec::new();
    let mut front: Vec<NodeId> = topology.of_kind(NodeKind::Nic).flat_map(switches_at).collect();
    while !front.is_empty() {
        front.sort();
        front.dedup();
        front.retain(|node| !tiers.iter().flatten().any(|known| known == node));
        if front.is_empty() {
            break;
        }
        let next = front.iter().flat_map(|node| switches_at(*node)).collect();
        tiers.push(std::mem::replace(&mut front, next));
    }
    tiers
}

/// Cables that join NICs to switches, and those between the switches of two tiers, or of one and the same.
pub fn cables(topology: &Topology, tiers: &[Vec<NodeId>], from: Option<usize>, to: usize) -> u32 {
    let is_from = |node: NodeId| match from {
        Some(tier) => tiers[tier].binary_search(&node).is_ok(),
        None => topology.node(node).kind == NodeKind::Nic,
    };
    let both_ways = topology
        .links()
        .filter(|(_, link)| is_from(link.from) && tiers[to].binary_search(&link.to).is_ok())
        .map(|(_, link)| u32::from(link.count))
        .sum::<u32>();
    if from == Some(to) { both_ways / 2 } else { both_ways }
}

/// Ports in use of a switch.
pub fn degree(topology: &Topology, switch: NodeId) -> u32 {
    topology.links_from(switch).map(|(_, link)| u32::from(link.count)).sum()
}

/// NICs that the network joins.
pub fn joined(topology: &Topology) -> Vec<NodeId> {
    let is_joined = |nic: &NodeId| {
        topology.links_from(*nic).any(|(_, link)| topology.family(link) == LinkFamily::Network)
    };
    topology.of_kind(NodeKind::Nic).filter(is_joined).collect()
}

/// Links of the shortest way from `from` to every node, over network links and through switches alone.
pub fn distances(topology: &Topology, from: NodeId) -> Vec<Option<u32>> {
    let mut found = vec![None; topology.nodes().len()];
    found[from.index()] = Some(0);
    let mut open = std::collections::VecDeque::from([from]);
    while let Some(node) = open.pop_front() {
        if node != from && topology.node(node).kind == NodeKind::Nic {
            continue;
        }
        let next = found[node.index()].map(|steps| steps + 1);
        for (_, link) in topology.links_from(node) {
            if topology.family(link) == LinkFamily::Network && found[link.to.index()].is_none() {
                found[link.to.index()] = next;
                open.push_back(link.to);
            }
        }
    }
    found
}
