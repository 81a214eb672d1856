//! A topology as collective algorithms see it.

use std::collections::BTreeMap;

use weft_collective::{Edge, Level, Switch, Terrain, Vertex};
use weft_topology::{LinkFamily, NodeId, NodeKind, Topology};

use super::Facts;

/// The terrain of `gpus` as ranks, in that order: hosts as the first level, and the graph with capacities in MB/s.
pub fn terrain(topology: &Topology, facts: &dyn Facts, gpus: &[NodeId]) -> Terrain {
    let mut numbers: BTreeMap<Option<u32>, u32> = BTreeMap::new();
    let group_of = gpus
        .iter()
        .map(|gpu| {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            *numbers.entry(topology.node(*gpu).host).or_insert(next)
        })
        .collect();
    let ranks = u32::try_from(gpus.len()).unwrap_or(u32::MAX);
    let mut vertices: BTreeMap<NodeId, Vertex> =
        (0..).zip(gpus).map(|(rank, gpu)| (*gpu, Vertex(rank))).collect();
    let mut switches = Vec::new();
    for (id, node) in topology.nodes() {
        let forwards = match node.kind {
            NodeKind::Gpu | NodeKind::Memory => false,
            NodeKind::Nic
            | NodeKind::Cpu
            | NodeKind::HostBridge
            | NodeKind::PcieSwitch
            | NodeKind::GpuSwitch
            | NodeKind::NetworkSwitch => true,
        };
        if forwards {
            let number = ranks + u32::try_from(switches.len()).unwrap_or(u32::MAX);
            vertices.insert(id, Vertex(number));
            let able = topology.model(id).is_some_and(|model| facts.reduces(model));
            switches.push(Switch { reduces: able, multicasts: able });
        }
    }
    let edge = |link: &weft_topology::Link| {
        let (from, to) = (*vertices.get(&link.from)?, *vertices.get(&link.to)?);
        // Bridges for rendered frames carry no data of programs.
        (topology.family(link) != LinkFamily::DisplayBridge).then_some(Edge {
            from,
            to,
            capacity: link.capacity.get() / 1_000_000,
        })
    };
    let edges = topology.links().filter_map(|(_, link)| edge(link)).collect();
    let hosts = Level { name: "host", group_of };
    Terrain::flat(ranks).with_level(hosts).with_graph(switches, edges)
}
