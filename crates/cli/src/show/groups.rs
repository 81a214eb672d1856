//! What belongs together: NVLink islands, PCIe switches, sockets, and the nearest NICs.

use std::collections::BTreeMap;

use weft_catalogue::{BridgeUse, Catalogue};
use weft_topology::{NodeId, NodeKind, ReportedClass, Topology, islands, reported_class};

use crate::load::Loaded;
use crate::names;
use crate::style::Tone;
use crate::table::{Cell, Table};

/// The groups of one host; `None` where nothing is tied to anything.
pub fn section(loaded: &Loaded, catalogue: &Catalogue) -> Option<String> {
    let topology = &loaded.graph.host;
    let found = islands(topology);
    let list = |nodes: &[NodeId]| -> String {
        names::ranges(&nodes.iter().map(|node| topology.name(*node)).collect::<Vec<_>>())
    };
    let mut table = Table::default();
    let mut add = |what: &str, who: String, how: String| {
        table.row([Cell::new(what), Cell::new(who), Cell::new(how).tone(Tone::Faint)]);
    };
    for island in &found.fabric {
        add(fabric_word(topology, island), list(island), tie(topology, island));
    }
    for (what, who, how) in picture_bridges(loaded, catalogue) {
        add(&what, who, how);
    }
    for (switch, members) in &found.pcie {
        add(&format!("PCIe switch {}", topology.name(*switch)), list(members), String::new());
    }
    for cpu in topology.of_kind(NodeKind::Cpu).filter(|_| topology.of_kind(NodeKind::Cpu).count() > 1) {
        let near = |node: &NodeId| {
            let own = topology.node(*node);
            matches!(own.kind, NodeKind::Gpu | NodeKind::Nic) && own.socket == topology.node(cpu).socket
        };
        let members: Vec<NodeId> = topology.nodes().map(|(id, _)| id).filter(near).collect();
        if !members.is_empty() {
            let word = super::summary::cpu_word(loaded);
            add(&format!("{word} {}", topology.name(cpu)), list(&members), String::new());
        }
    }
    let mut nearest: BTreeMap<ReportedClass, Vec<String>> = BTreeMap::new();
    for (gpus, class, nics) in nearest_nics(&found.nics) {
        nearest.entry(class).or_default().push(format!("{}: {}", list(&gpus), list(nics)));
    }
    for (class, texts) in nearest {
        add(&format!("nearest NIC, {class}"), texts.join("; "), String::new());
    }
    (!table.is_empty()).then(|| super::titled("Together", &table.lines()))
}

/// Bridges for rendered frames, or PCIe in their place: what ties the cards, which, and for what.
fn picture_bridges(loaded: &Loaded, catalogue: &Catalogue) -> Vec<(String, String, String)> {
    let gpus: Vec<NodeId> = loaded.graph.host.of_kind(NodeKind::Gpu).collect();
    let row = |used: &BridgeUse| {
        let cards: Vec<NodeId> =
            used.gpus.iter().filter_map(|gpu| gpus.get(usize::from(*gpu)).copied()).collect();
        let gpu = catalogue.gpu(loaded.graph.host.model(*cards.first()?)?).ok()?;
        let bridge = gpu.bridges.iter().find(|bridge| bridge.link == used.kind && !bridge.carries_data)?;
        let link = catalogue.link(&bridge.link).ok()?;
        let names: Vec<String> = cards.iter().map(|card| loaded.graph.host.name(*card)).collect();
        let rate = link.rate(used.links.unwrap_or(bridge.links));
        let (what, how) = if bridge.bridgeless {
            ("rendered frames", format!("over PCIe: {}", bridge.rule.value))
        } else {
            let how = format!("{rate} per direction, rendered frames only: programs' data goes over PCIe");
            (link.title.as_str(), how)
        };
        Some((what.to_owned(), names::ranges(&names), how))
    };
    loaded.case.machine.iter().flat_map(|machine| &machine.bridges).filter_map(row).collect()
}

type Near = (NodeId, ReportedClass, Vec<NodeId>);

/// GPUs with the same nearest NICs, together.
fn nearest_nics(near: &[Near]) -> Vec<(Vec<NodeId>, ReportedClass, &[NodeId])> {
    let mut groups: Vec<(Vec<NodeId>, ReportedClass, &[NodeId])> = Vec::new();
    for (gpu, class, nics) in near {
        match groups.iter_mut().find(|(_, known, same)| known == class && same == nics) {
            Some((gpus, _, _)) => gpus.push(*gpu),
            None => groups.push((vec![*gpu], *class, nics)),
        }
    }
    groups
}

/// What people call the links of an island.
fn fabric_word(topology: &Topology, island: &[NodeId]) -> &'static str {
    let classes = island.first().zip(island.get(1)).and_then(|(a, b)| reported_class(topology, *a, *b));
    if classes == Some(ReportedClass::Xgmi) { "xGMI" } else { "NVLink" }
}

/// How the GPUs of an island are tied: through which switches, or directly.
fn tie(topology: &Topology, island: &[NodeId]) -> String {
    let mut switches: Vec<String> = island
        .iter()
        .flat_map(|gpu| topology.links_from(*gpu).map(|(_, link)| link.to))
        .filter(|to| topology.node(*to).kind == NodeKind::GpuSwitch)
        .map(|switch| topology.name(switch))
        .collect();
    switches.sort_by_key(|name| (name.len(), name.clone()));
    switches.dedup();
    if switches.is_empty() {
        "direct links".to_owned()
    } else {
        format!("through {}", names::ranges(&switches))
    }
}
