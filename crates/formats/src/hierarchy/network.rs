//! Hierarchies of networks: of switches that were discovered, and of GPU fabrics that span hosts.

use std::collections::{BTreeMap, BTreeSet};

use weft_topology::{NodeKind, Subnet, SubnetNodeKind, Topology, fabric_islands};

use crate::evidence::{Hierarchy, HierarchyKind, HierarchyLeaf, HierarchyNode};

/// Every switch under all switches of the next tier that it has a cable to, and every host under all its leaves.
pub(crate) fn of_subnet(subnet: &Subnet) -> Hierarchy {
    let tiers = subnet.tiers();
    let mut made = Hierarchy::default();
    let mut index: BTreeMap<u32, usize> = BTreeMap::new();
    for (node, switch) in subnet.of_kind(SubnetNodeKind::Switch) {
        if tiers.get(node as usize).is_some_and(Option::is_some) {
            index.insert(node, made.nodes.len());
            let name = switch_name(&subnet.label(node));
            made.nodes.push(HierarchyNode { name, line: switch.line, ..HierarchyNode::default() });
        }
    }
    let mut above: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
    for link in &subnet.links {
        for (lower, upper) in link.directions() {
            let tier = |node: u32| tiers.get(node as usize).copied().flatten();
            let goes_up = match (tier(lower.node), tier(upper.node)) {
                (Some(lower), Some(upper)) => upper > lower,
                (None, Some(_)) => true,
                (_, None) => false,
            };
            if let Some(upper) = index.get(&upper.node).filter(|_| goes_up) {
                above.entry(lower.node).or_default().insert(*upper);
            }
        }
    }
    for (node, own) in &index {
        made.nodes[*own].under = above.remove(node).unwrap_or_default().into_iter().collect();
    }
    for host in subnet.hosts() {
        let under: BTreeSet<usize> =
            host.adapters.iter().filter_map(|adapter| above.get(adapter)).flatten().copied().collect();
        made.leaves.push(HierarchyLeaf { name: host.name, under: under.into_iter().collect() });
    }
    made
}

/// `leaf-1` of `MF0;leaf-1:MQM8700/U1`.
fn switch_name(description: &str) -> String {
    let named = description.split_once(';').map_or(description, |(_, name)| name);
    named.split(':').next().unwrap_or(named).to_owned()
}

/// One block for each GPU fabric that spans hosts; `None` where none does.
pub(crate) fn of_fabrics(topology: &Topology) -> Option<Hierarchy> {
    let mut made = Hierarchy { kind: HierarchyKind::Blocks, ..Hierarchy::default() };
    for island in fabric_islands(topology) {
        let hosts: BTreeSet<u32> = island
            .iter()
            .map(|gpu| topology.node(*gpu))
            .filter(|node| node.kind == NodeKind::Gpu)
            .filter_map(|node| node.host)
            .collect();
        if hosts.len() > 1 {
            let block = made.nodes.len();
            let name = format!("block-{block}");
            made.nodes.push(HierarchyNode { name, is_block: true, ..HierarchyNode::default() });
            let leaf = |host: u32| HierarchyLeaf { name: format!("host-{host}"), under: vec![block] };
            made.leaves.extend(hosts.into_iter().map(leaf));
        }
    }
    made.block_sizes = block_sizes(&made);
    (!made.nodes.is_empty()).then_some(made)
}

/// The hosts of the smallest block, doubled as often as there are blocks for it.
fn block_sizes(hierarchy: &Hierarchy) -> Vec<u32> {
    let hosts = hierarchy.hosts();
    let Some(base) = hosts.iter().map(Vec::len).min().and_then(|base| u32::try_from(base).ok()) else {
        return Vec::new();
    };
    let doublings = hosts.len().checked_ilog2().unwrap_or(0);
    (0..=doublings).filter_map(|power| base.checked_shl(power).filter(|size| *size > 0)).collect()
}
