//! What class two devices of a host are to each other, computed from the graph.

use weft_catalogue::LinkFamily;

use crate::graph::{Link, LinkId, NodeId, NodeKind, Topology};
use crate::{NcclPath, ReportedClass};

/// What `nvidia-smi topo -m` (or `amd-smi`) would print between two devices of one host; `None` where it would
/// print nothing (other hosts, devices without a socket).
pub fn reported_class(topology: &Topology, a: NodeId, b: NodeId) -> Option<ReportedClass> {
    let links = fabric_links(topology, a, b);
    if let Some(links) = u8::try_from(links).ok().filter(|links| *links > 0) {
        return Some(if has_xgmi(topology, a) { ReportedClass::Xgmi } else { ReportedClass::Nv(links) });
    }
    if topology.node(a).host != topology.node(b).host || a == b {
        return None;
    }
    let (up_a, up_b) = (way_up(topology, a), way_up(topology, b));
    let common = up_a.iter().find(|node| up_b.contains(node));
    match common {
        Some(node) if topology.node(*node).kind == NodeKind::PcieSwitch => {
            let direct = up_a.first() == Some(node) && up_b.first() == Some(node);
            Some(if direct { ReportedClass::Pix } else { ReportedClass::Pxb })
        }
        Some(node) if topology.node(*node).kind == NodeKind::HostBridge => Some(ReportedClass::Phb),
        Some(_) => Some(ReportedClass::Node),
        None => {
            let (socket_a, socket_b) = (topology.node(a).socket?, topology.node(b).socket?);
            Some(if socket_a == socket_b { ReportedClass::Node } else { ReportedClass::Sys })
        }
    }
}

/// Whether the fabric at a GPU is AMD's.
fn has_xgmi(topology: &Topology, gpu: NodeId) -> bool {
    topology.links_from(gpu).any(|(_, link)| topology.kind(link.kind).name.starts_with("xgmi"))
}

/// What NCCL computes between two devices; [`NcclPath::Dis`] where it finds no path.
pub fn nccl_path(topology: &Topology, a: NodeId, b: NodeId) -> NcclPath {
    if a == b {
        return NcclPath::Loc;
    }
    if fabric_links(topology, a, b) > 0 {
        return NcclPath::Nvl;
    }
    let both_gpus = [a, b].iter().all(|node| topology.node(*node).kind == NodeKind::Gpu);
    if both_gpus && fabric_neighbours(topology, a).any(|middle| fabric_links(topology, middle, b) > 0) {
        return NcclPath::Nvb;
    }
    if topology.node(a).host != topology.node(b).host {
        return NcclPath::Net;
    }
    if let Some(path) = coherent_path(topology, a, b).or_else(|| coherent_path(topology, b, a)) {
        return path;
    }
    reported_class(topology, a, b).map_or(NcclPath::Dis, NcclPath::from)
}

/// From a GPU over its coherent link to the CPU, or on from there to one of the CPU's NICs.
fn coherent_path(topology: &Topology, gpu: NodeId, other: NodeId) -> Option<NcclPath> {
    let mut coherent =
        topology.links_from(gpu).filter(|(_, link)| topology.family(link) == LinkFamily::Coherent);
    let cpu = coherent.next()?.1.to;
    let is_nic = topology.node(other).kind == NodeKind::Nic;
    if cpu == other {
        Some(NcclPath::C2c)
    } else if is_nic && way_up(topology, other).contains(&cpu) {
        Some(NcclPath::P2c)
    } else {
        None
    }
}

/// Whether a link of the graph ties GPUs (a switch, a direct link, a bridge that carries data).
pub(crate) fn is_fabric(topology: &Topology, link: &crate::Link) -> bool {
    topology.family(link) == LinkFamily::GpuFabric
}

/// GPU-fabric links from `a` to `b`, direct or through switches: the n of `NVn`.
fn fabric_links(topology: &Topology, a: NodeId, b: NodeId) -> u32 {
    if topology.node(a).kind != NodeKind::Gpu || topology.node(b).kind != NodeKind::Gpu || a == b {
        return 0;
    }
    let direct: u32 = topology
        .links_from(a)
        .filter(|(_, link)| link.to == b && is_fabric(topology, link))
        .map(|(_, link)| u32::from(link.count))
        .sum();
    if direct > 0 {
        return direct;
    }
    let to_switches = |gpu| -> u32 { switch_links(topology, gpu).map(|(_, count)| u32::from(count)).sum() };
    if same_fabric(topology, a, b) { to_switches(a).min(to_switches(b)) } else { 0 }
}

/// Switches of the GPU fabric at `gpu`, with the links to each.
fn switch_links(topology: &Topology, gpu: NodeId) -> impl Iterator<Item = (NodeId, u16)> {
    let is_switch = |node| topology.node(node).kind == NodeKind::GpuSwitch;
    topology
        .links_from(gpu)
        .filter(move |(_, link)| is_switch(link.to))
        .map(|(_, link)| (link.to, link.count))
}

/// Whether a switch of `a` is one of `b`, or joined to one by a trunk.
fn same_fabric(topology: &Topology, a: NodeId, b: NodeId) -> bool {
    let of_b: Vec<NodeId> = switch_links(topology, b).map(|(switch, _)| switch).collect();
    switch_links(topology, a).any(|(switch, _)| {
        of_b.contains(&switch) || topology.links_from(switch).any(|(_, link)| of_b.contains(&link.to))
    })
}

/// GPUs with a direct fabric link to `gpu`.
fn fabric_neighbours(topology: &Topology, gpu: NodeId) -> impl Iterator<Item = NodeId> {
    topology
        .links_from(gpu)
        .filter(|(_, link)| is_fabric(topology, link) && topology.node(link.to).kind == NodeKind::Gpu)
        .map(|(_, link)| link.to)
}

/// What `device` hangs off, from its PCIe switch to its CPU.
pub(crate) fn way_up(topology: &Topology, device: NodeId) -> Vec<NodeId> {
    let mut way: Vec<NodeId> = Vec::with_capacity(4);
    let mut current = device;
    while let Some((_, link)) = parent(topology, current).filter(|(_, link)| !way.contains(&link.to)) {
        way.push(link.to);
        current = link.to;
    }
    way
}

/// The link towards the CPU: a switch's or a device's link that leads to a node nearer the root.
pub(crate) fn parent(topology: &Topology, node: NodeId) -> Option<(LinkId, &Link)> {
    let rank = |kind| match kind {
        NodeKind::Gpu | NodeKind::Nic => 0,
        NodeKind::PcieSwitch => 1,
        NodeKind::HostBridge => 2,
        NodeKind::Cpu => 3,
        NodeKind::Memory | NodeKind::GpuSwitch | NodeKind::NetworkSwitch => 0,
    };
    let own = topology.node(node);
    topology
        .links_from(node)
        .filter(|(_, link)| {
            let next = topology.node(link.to);
            // A switch below another has the higher number: branches are named before use.
            let nested = next.kind == NodeKind::PcieSwitch && own.kind == NodeKind::PcieSwitch;
            if nested { next.number < own.number } else { rank(next.kind) > rank(own.kind) }
        })
        .max_by_key(|(_, link)| rank(topology.node(link.to).kind) == 1)
}
