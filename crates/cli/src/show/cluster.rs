//! What joins several hosts: a rack's GPU fabric, and the tiers of the network. Counts, never a list of
//! devices: the output stays as long for 100,000 GPUs as for two hosts.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use weft_base::Rate;
use weft_catalogue::Catalogue;
use weft_topology::{NodeId, NodeKind, Topology, separate};

use super::devices::model_title;
use crate::load::Loaded;
use crate::names;
use crate::table::{Cell, Table};

/// Hosts and network; `None` for one host.
pub fn section(loaded: &Loaded, catalogue: &Catalogue) -> Option<String> {
    let topology = &loaded.graph.topology;
    if topology.hosts() < 2 {
        return None;
    }
    let mut table = Table::default();
    let mut add = |cells: [String; 3]| table.row(cells.map(Cell::new));
    let gpus = loaded.graph.host.of_kind(NodeKind::Gpu).count();
    let nics = loaded.graph.host.of_kind(NodeKind::Nic).count();
    let each = format!("{} and {} each", names::count(gpus, "GPU"), names::count(nics, "NIC"));
    add(["hosts".to_owned(), topology.hosts().to_string(), each]);
    add(fabric(topology, catalogue));
    for row in network(topology, catalogue) {
        add(row);
    }
    Some(super::titled("Cluster", &table.lines()))
}

/// Whether GPU-fabric switches join GPUs of several hosts.
fn fabric(topology: &Topology, catalogue: &Catalogue) -> [String; 3] {
    let shared: Vec<NodeId> = topology
        .of_kind(NodeKind::GpuSwitch)
        .filter(|switch| topology.node(*switch).host.is_none())
        .collect();
    let first = shared.first().copied();
    match first {
        None => ["GPU fabric".to_owned(), "within each host".to_owned(), String::new()],
        Some(first) => {
            let gpu = |link: &&weft_topology::Link| topology.node(link.to).kind == NodeKind::Gpu;
            let gpus = topology.links_from(first).filter(|(_, link)| gpu(link)).count();
            let title = model_title(topology, first, catalogue);
            let domains = topology.of_kind(NodeKind::Gpu).count() / gpus.max(1);
            [
                "GPU fabric".to_owned(),
                format!("{} of {gpus} GPUs", names::count(domains, "domain")),
                format!("through {} x {title}", shared.len() / domains.max(1)),
            ]
        }
    }
}

/// One row per tier, from the hosts up.
fn network(topology: &Topology, catalogue: &Catalogue) -> Vec<[String; 3]> {
    let tiers = tiers(topology);
    let top = tiers.values().max().copied().unwrap_or(0);
    let mut rows = Vec::new();
    for tier in 0..=top {
        let members: Vec<NodeId> =
            tiers.iter().filter(|(_, own)| **own == tier).map(|(node, _)| *node).collect();
        let Some(first) = members.first() else { continue };
        let name = match (tier, top) {
            (0, 0) if members.len() == 1 => "network switch",
            (0, 0) => "network switches",
            (0, _) => "leaf switches",
            (1, _) => "spine switches",
            (_, _) => "core switches",
        };
        let (mut down, mut across, mut up, mut port) = (0u32, 0u32, 0u32, String::new());
        for (_, link) in topology.links_from(*first) {
            match tiers.get(&link.to).map(|other| other.cmp(&tier)) {
                Some(Ordering::Greater) => up += u32::from(link.count),
                Some(Ordering::Equal) => across += u32::from(link.count),
                Some(Ordering::Less) | None => down += u32::from(link.count),
            }
            let rate = Rate::bytes_per_second(link.capacity.get() / u64::from(link.count.max(1)));
            port = format!("{} at {rate} per direction", topology.kind(link.kind).title);
        }
        let ports = match (up, across) {
            (0, 0) => format!("{down} ports down, {port}"),
            (up, 0) => format!("{down} ports down and {up} up, {port}"),
            (_, across) => format!("{down} ports down and {across} to like switches, {port}"),
        };
        let model = model_title(topology, *first, catalogue);
        let what = if model.is_empty() { ports } else { format!("{model}: {ports}") };
        rows.push([name.to_owned(), members.len().to_string(), what]);
    }
    if let Some(separate) = separate(topology) {
        let networks = format!("{}, not joined to each other", separate.words());
        rows.push(["networks".to_owned(), separate.networks.to_string(), networks]);
    }
    if let Some(grid) = topology.grids().first() {
        let sizes: Vec<String> = grid.sizes().iter().map(u16::to_string).collect();
        rows.push(["torus".to_owned(), sizes.join(" x "), "switches along each dimension".to_owned()]);
    }
    if rows.is_empty() {
        rows.push(["network".to_owned(), "none".to_owned(), "the description has no network".to_owned()]);
    }
    rows
}

/// How many switches lie between each network switch and the nearest NIC.
fn tiers(topology: &Topology) -> BTreeMap<NodeId, usize> {
    let is_switch = |node: NodeId| topology.node(node).kind == NodeKind::NetworkSwitch;
    let has_nic = |switch: &NodeId| {
        topology.links_from(*switch).any(|(_, link)| topology.node(link.to).kind == NodeKind::Nic)
    };
    let mut tiers = BTreeMap::new();
    let mut open: Vec<NodeId> = topology.of_kind(NodeKind::NetworkSwitch).filter(has_nic).collect();
    let mut tier = 0;
    while !open.is_empty() {
        for switch in &open {
            tiers.insert(*switch, tier);
        }
        let mut above: Vec<NodeId> = open
            .iter()
            .flat_map(|switch| topology.links_from(*switch).map(|(_, link)| link.to))
            .filter(|to| is_switch(*to) && !tiers.contains_key(to))
            .collect();
        above.sort();
        above.dedup();
        open = above;
        tier += 1;
    }
    tiers
}
