//! Which devices belong together: GPUs tied by their fabric, devices below one PCIe switch, and the NICs
//! nearest to each GPU.

use std::collections::BTreeMap;

use crate::ReportedClass;
use crate::classify::{is_fabric, reported_class, way_up};
use crate::graph::{NodeId, NodeKind, Topology};

/// Groups of devices that belong together, each in order of ids.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Islands {
    /// GPUs that reach each other over GPU-fabric links alone; single GPUs are not listed.
    pub fabric: Vec<Vec<NodeId>>,
    /// GPUs and NICs below each PCIe switch (the top one, if switches are nested), by switch.
    pub pcie: Vec<(NodeId, Vec<NodeId>)>,
    /// For each GPU the NICs of the best class, with that class.
    pub nics: Vec<(NodeId, ReportedClass, Vec<NodeId>)>,
}

/// Computes the islands of a topology.
pub fn islands(topology: &Topology) -> Islands {
    Islands { fabric: fabric_islands(topology), pcie: pcie_islands(topology), nics: near_nics(topology) }
}

/// GPUs that reach each other over GPU-fabric links alone, in groups of at least two.
pub fn fabric_islands(topology: &Topology) -> Vec<Vec<NodeId>> {
    let mut seen = vec![false; topology.nodes().len()];
    let mut islands = Vec::new();
    for gpu in topology.of_kind(NodeKind::Gpu) {
        if seen[gpu.index()] {
            continue;
        }
        let mut members = Vec::new();
        let mut open = vec![gpu];
        seen[gpu.index()] = true;
        while let Some(node) = open.pop() {
            if topology.node(node).kind == NodeKind::Gpu {
                members.push(node);
            }
            for (_, link) in topology.links_from(node).filter(|(_, link)| is_fabric(topology, link)) {
                if !std::mem::replace(&mut seen[link.to.index()], true) {
                    open.push(link.to);
                }
            }
        }
        members.sort();
        if members.len() > 1 {
            islands.push(members);
        }
    }
    islands
}

fn pcie_islands(topology: &Topology) -> Vec<(NodeId, Vec<NodeId>)> {
    let mut groups: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
    for (id, node) in topology.nodes() {
        if matches!(node.kind, NodeKind::Gpu | NodeKind::Nic) {
            let top =
                way_up(topology, id).into_iter().rfind(|up| topology.node(*up).kind == NodeKind::PcieSwitch);
            if let Some(switch) = top {
                groups.entry(switch).or_default().push(id);
            }
        }
    }
    groups.into_iter().collect()
}

fn near_nics(topology: &Topology) -> Vec<(NodeId, ReportedClass, Vec<NodeId>)> {
    let mut by_host: BTreeMap<Option<u32>, Vec<NodeId>> = BTreeMap::new();
    for nic in topology.of_kind(NodeKind::Nic) {
        by_host.entry(topology.node(nic).host).or_default().push(nic);
    }
    let mut near = Vec::new();
    for gpu in topology.of_kind(NodeKind::Gpu) {
        let Some(nics) = by_host.get(&topology.node(gpu).host) else { continue };
        let classes: Vec<(ReportedClass, NodeId)> = nics
            .iter()
            .filter_map(|nic| reported_class(topology, gpu, *nic).map(|class| (class, *nic)))
            .collect();
        if let Some(best) = classes.iter().map(|(class, _)| *class).min() {
            let members = classes.iter().filter(|(class, _)| *class == best).map(|(_, nic)| *nic).collect();
            near.push((gpu, best, members));
        }
    }
    near
}
