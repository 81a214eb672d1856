//! Networks side by side: rails of a rail-only network, and planes.

use crate::graph::{NodeId, NodeKind, Topology};

/// Networks of one cluster that no switch joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Separate {
    /// Networks.
    pub networks: usize,
    /// Rails with networks of their own: no network has NICs of two numbers. `None` where one has.
    pub rails: Option<usize>,
}

impl Separate {
    /// `2 planes`, `8 rails`, `8 rails in 2 planes`.
    pub fn words(&self) -> String {
        match self.rails {
            None => format!("{} planes", self.networks),
            Some(rails) if rails == self.networks => format!("{rails} rails"),
            Some(rails) => format!("{rails} rails in {} planes", self.networks / rails.max(1)),
        }
    }
}

/// How the network falls apart; `None` where it is one, or where there is none.
pub fn separate(topology: &Topology) -> Option<Separate> {
    let mut network_of = vec![None; topology.nodes().len()];
    let mut networks = 0;
    for switch in topology.of_kind(NodeKind::NetworkSwitch) {
        if network_of[switch.index()].is_none() {
            fill(topology, switch, networks, &mut network_of);
            networks += 1;
        }
    }
    if networks < 2 {
        return None;
    }
    let mut rail_of: Vec<Option<u32>> = vec![None; networks];
    let mut by_rail = true;
    for nic in topology.of_kind(NodeKind::Nic) {
        let number = topology.node(nic).number;
        for network in topology.links_from(nic).filter_map(|(_, link)| network_of[link.to.index()]) {
            by_rail &= *rail_of[network].get_or_insert(number) == number;
        }
    }
    let mut rails: Vec<u32> = rail_of.into_iter().flatten().collect();
    rails.sort_unstable();
    rails.dedup();
    // Planes of hosts with one NIC each have one rail, too.
    let rails = (by_rail && rails.len() > 1).then_some(rails.len());
    Some(Separate { networks, rails })
}

/// Marks all switches that `from` reaches through switches.
fn fill(topology: &Topology, from: NodeId, network: usize, network_of: &mut [Option<usize>]) {
    network_of[from.index()] = Some(network);
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        for (_, link) in topology.links_from(node) {
            if topology.node(link.to).kind == NodeKind::NetworkSwitch
                && network_of[link.to.index()].replace(network).is_none()
            {
                open.push(link.to);
            }
        }
    }
}
