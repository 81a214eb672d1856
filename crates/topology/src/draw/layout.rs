//! A host as a tree: what hangs off what, from the CPUs down to GPUs and NICs.

use std::collections::BTreeMap;

use crate::classify::parent;
use crate::graph::{LinkId, NodeId, NodeKind, Topology};

/// A node, its link towards the CPU, and what hangs off it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hang {
    pub node: NodeId,
    /// From the node upwards; `None` for CPUs and for devices without a port.
    pub up: Option<LinkId>,
    pub below: Vec<Hang>,
}

impl Hang {
    /// All nodes of a kind in the tree, in drawing order.
    pub fn all(&self, topology: &Topology, kind: NodeKind) -> Vec<NodeId> {
        let own = (topology.node(self.node).kind == kind).then_some(self.node);
        own.into_iter().chain(self.below.iter().flat_map(|hang| hang.all(topology, kind))).collect()
    }

    /// Whether it is, or leads to, a GPU.
    pub fn has_gpu(&self, topology: &Topology) -> bool {
        topology.node(self.node).kind == NodeKind::Gpu || self.below.iter().any(|hang| hang.has_gpu(topology))
    }
}

/// The nodes of each host, in order.
pub(super) fn by_host(topology: &Topology) -> Vec<Vec<NodeId>> {
    let mut hosts = vec![Vec::new(); topology.hosts() as usize];
    for (id, node) in topology.nodes() {
        if let Some(host) = node.host {
            hosts[host as usize].push(id);
        }
    }
    hosts
}

/// The trees of one host's nodes; GPU-fabric switches stand outside.
///
/// The roots are its CPUs, and whatever leads to none.
pub(super) fn trees(topology: &Topology, nodes: &[NodeId]) -> Vec<Hang> {
    let mut below: BTreeMap<Option<NodeId>, Vec<(Option<LinkId>, NodeId)>> = BTreeMap::new();
    for id in nodes {
        let node = topology.node(*id);
        if node.kind == NodeKind::GpuSwitch {
            continue;
        }
        let link = match node.kind {
            NodeKind::Memory => topology.links_from(*id).next(),
            NodeKind::Gpu
            | NodeKind::Nic
            | NodeKind::Cpu
            | NodeKind::HostBridge
            | NodeKind::PcieSwitch
            | NodeKind::GpuSwitch
            | NodeKind::NetworkSwitch => parent(topology, *id),
        };
        let own_cpu = || {
            let is_own = |cpu: &&NodeId| {
                let cpu = topology.node(**cpu);
                cpu.kind == NodeKind::Cpu && node.kind != NodeKind::Cpu && cpu.socket == node.socket
            };
            nodes.iter().find(is_own).copied()
        };
        let above = link.map(|(_, link)| link.to).or_else(own_cpu);
        below.entry(above).or_default().push((link.map(|(id, _)| id), *id));
    }
    hang(topology, &mut below, None)
}

fn hang(
    topology: &Topology,
    below: &mut BTreeMap<Option<NodeId>, Vec<(Option<LinkId>, NodeId)>>,
    above: Option<NodeId>,
) -> Vec<Hang> {
    let children = below.remove(&above).unwrap_or_default();
    let mut hangs: Vec<Hang> = children
        .into_iter()
        .map(|(up, node)| Hang { node, up, below: hang(topology, below, Some(node)) })
        .collect();
    // GPUs in order of their numbers wherever they hang, what has no GPU after them.
    hangs.sort_by_cached_key(|hang| {
        let rank = match topology.node(hang.node).kind {
            NodeKind::Cpu | NodeKind::Memory => 0,
            NodeKind::Gpu
            | NodeKind::Nic
            | NodeKind::HostBridge
            | NodeKind::PcieSwitch
            | NodeKind::GpuSwitch
            | NodeKind::NetworkSwitch => 1,
        };
        let first_gpu = hang.all(topology, NodeKind::Gpu).first().copied();
        (rank, first_gpu.is_none(), first_gpu, hang.node)
    });
    hangs
}
