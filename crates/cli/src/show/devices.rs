//! The devices of one host, like ones in one row.

use weft_catalogue::{Catalogue, LinkFamily};
use weft_formats::EndKind;
use weft_topology::{KindId, NodeId, NodeKind, Topology};

use crate::load::Loaded;
use crate::names;
use crate::style::Tone;
use crate::table::{Cell, Table};

const SHOWN: [NodeKind; 5] =
    [NodeKind::Gpu, NodeKind::Nic, NodeKind::Cpu, NodeKind::GpuSwitch, NodeKind::PcieSwitch];

/// The table.
pub fn section(loaded: &Loaded, catalogue: &Catalogue) -> String {
    let topology = &loaded.graph.host;
    let mut table = Table::default();
    for kind in SHOWN {
        let mut groups: Vec<(String, String, Vec<NodeId>)> = Vec::new();
        for node in topology.of_kind(kind) {
            let model = model_title(topology, node, catalogue);
            let mut ports = ports(topology, node);
            if let Some(port) = network_port(loaded, node, catalogue) {
                ports = format!("{ports}, {port}");
            }
            match groups.iter_mut().find(|(known, same, _)| *known == model && *same == ports) {
                Some((_, _, nodes)) => nodes.push(node),
                None => groups.push((model, ports, vec![node])),
            }
        }
        for (model, ports, nodes) in groups {
            let labels: Vec<String> = nodes.iter().map(|node| topology.name(*node)).collect();
            let details = [ports, devices_in_legend(loaded, kind, &nodes)];
            let details: Vec<String> = details.into_iter().filter(|text| !text.is_empty()).collect();
            let assumed =
                loaded.graph.assumed.iter().any(|one| one.subject == kind_word(kind) && one.what == "model");
            let model = if assumed { format!("{model} (assumed)") } else { model };
            table.row([
                Cell::new(names::first_ranges(&labels)),
                Cell::new(model),
                Cell::new(details.join("; ")).tone(Tone::Faint),
            ]);
        }
    }
    let title = if loaded.graph.topology.hosts() > 1 { "Devices of one host" } else { "Devices" };
    super::titled(title, &table.lines())
}

/// What assumptions call all devices of a kind; empty for kinds without any.
fn kind_word(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Gpu => "GPU",
        NodeKind::Nic => "NIC",
        NodeKind::Cpu => "CPU",
        NodeKind::Memory
        | NodeKind::HostBridge
        | NodeKind::PcieSwitch
        | NodeKind::GpuSwitch
        | NodeKind::NetworkSwitch => "",
    }
}

/// A model as its vendor writes it.
pub(super) fn model_title(topology: &Topology, node: NodeId, catalogue: &Catalogue) -> String {
    let kind = topology.node(node).kind;
    let Some(name) = topology.model(node) else {
        return match kind {
            NodeKind::Gpu | NodeKind::Nic => "model unknown".to_owned(),
            NodeKind::PcieSwitch => "PCIe switch".to_owned(),
            NodeKind::Cpu
            | NodeKind::Memory
            | NodeKind::HostBridge
            | NodeKind::GpuSwitch
            | NodeKind::NetworkSwitch => String::new(),
        };
    };
    let title = match kind {
        NodeKind::Gpu => catalogue.gpu(name).map(|gpu| gpu.title.as_str()),
        NodeKind::Nic => catalogue.nic(name).map(|nic| nic.title.as_str()),
        NodeKind::Cpu => catalogue.cpu(name).map(|cpu| cpu.title.as_str()),
        NodeKind::PcieSwitch | NodeKind::GpuSwitch | NodeKind::NetworkSwitch => {
            catalogue.switch(name).map(|switch| switch.title.as_str())
        }
        NodeKind::Memory | NodeKind::HostBridge => Ok(name),
    };
    title.unwrap_or(name).to_owned()
}

/// What a GPU or NIC is attached with: `PCIe 4.0 x16, 12 x NVLink 3`.
fn ports(topology: &Topology, node: NodeId) -> String {
    if !matches!(topology.node(node).kind, NodeKind::Gpu | NodeKind::Nic) {
        return String::new();
    }
    let mut kinds: Vec<(KindId, u32)> = Vec::new();
    for (_, link) in topology.links_from(node) {
        match kinds.iter_mut().find(|(kind, _)| *kind == link.kind) {
            Some((_, count)) => *count += u32::from(link.count),
            None => kinds.push((link.kind, u32::from(link.count))),
        }
    }
    let text = |(kind, count): &(KindId, u32)| {
        let kind = topology.kind(*kind);
        kind.family.bundle(&kind.title, *count)
    };
    // The host's side first, then what ties GPUs.
    kinds.sort_by_key(|(kind, _)| topology.kind(*kind).family != LinkFamily::Pcie);
    kinds.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// What a NIC's ports run: `2 x InfiniBand HDR 4x`.
fn network_port(loaded: &Loaded, node: NodeId, catalogue: &Catalogue) -> Option<String> {
    let topology = &loaded.graph.host;
    let own = topology.node(node);
    let nic = catalogue.nic(topology.model(node).filter(|_| own.kind == NodeKind::Nic)?).ok()?;
    let mut first = 0;
    let group = loaded.case.machine.iter().flat_map(|machine| &machine.nics).find(|group| {
        first += u32::from(group.count);
        own.number < first
    });
    let link = group.and_then(|group| group.link.as_ref()).or(nic.links.first())?;
    let title = catalogue.link(link).map_or(link.as_str(), |link| link.title.as_str());
    Some(LinkFamily::Network.bundle(title, u32::from(nic.ports.value)))
}

/// The device names that the legend gives NICs.
fn devices_in_legend(loaded: &Loaded, kind: NodeKind, nodes: &[NodeId]) -> String {
    let Some(matrix) = loaded.case.matrix.as_ref().filter(|_| kind == NodeKind::Nic) else {
        return String::new();
    };
    let all: Vec<NodeId> = loaded.graph.host.of_kind(NodeKind::Nic).collect();
    let ends: Vec<usize> = matrix.value.of_kind(EndKind::Nic).collect();
    let device = |node: &NodeId| {
        let place = all.iter().position(|other| other == node)?;
        let end = &matrix.value.ends()[*ends.get(place)?];
        end.device.clone().filter(|device| *device != end.label)
    };
    names::ranges(&nodes.iter().filter_map(device).collect::<Vec<_>>())
}
