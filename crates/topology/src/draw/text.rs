//! The machine as an indented tree: what hangs where, over which link, at which rate per direction.

use std::fmt::Write;

use super::fabric::{Bank, Fabric, Tie, fabric};
use super::layout::{Hang, by_host, trees};
use super::network::{Across, Network, Pod, network, uplink};
use super::{Options, bundle, counted, local_name, thousands, torus};
use crate::graph::{KindId, NodeId, NodeKind, Topology};
use crate::separate;

/// Writes a topology as text. All rates are per direction. Of several hosts the first of each like run is
/// written, with their number.
pub fn text(topology: &Topology, options: &Options<'_>) -> String {
    let mut out = String::new();
    let after = if options.title.is_empty() { "" } else { ": " };
    push(&mut out, 0, &format!("{}{after}all rates are per direction", options.title));
    let hosts = by_host(topology);
    let mut index = 0;
    while index < hosts.len() {
        let alike = hosts[index..].iter().take_while(|host| same(topology, &hosts[index], host)).count();
        let indent = usize::from(hosts.len() > 1);
        if hosts.len() > 1 {
            let last = index + alike - 1;
            let heading = if alike == 1 {
                format!("host{index}")
            } else {
                format!("host{index} to host{last}: {} hosts like this one", thousands(alike))
            };
            push(&mut out, 0, &heading);
        }
        for hang in trees(topology, &hosts[index]) {
            tree(&mut out, topology, options, &hang, indent);
        }
        ties(&mut out, topology, options, &fabric(topology, &hosts[index]), indent);
        index += alike;
    }
    let outside: Vec<NodeId> =
        topology.of_kind(NodeKind::GpuSwitch).filter(|node| topology.node(*node).host.is_none()).collect();
    ties(&mut out, topology, options, &fabric(topology, &outside), 0);
    if let Some(network) = network(topology) {
        tiers(&mut out, topology, options, &network);
    }
    out
}

fn push(out: &mut String, indent: usize, line: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{:1$}{line}", "", 2 * indent);
}

/// A node without its place: kind, socket, model, and its links within the host by how far on they lead.
type Shape<'a> = (NodeKind, Option<u16>, Option<&'a str>, Vec<(usize, KindId, u16)>);

/// Whether two hosts have the same devices, hanging in the same way.
fn same(topology: &Topology, a: &[NodeId], b: &[NodeId]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| shape(topology, *a) == shape(topology, *b))
}

fn shape(topology: &Topology, id: NodeId) -> Shape<'_> {
    let node = topology.node(id);
    let inner = topology
        .links_from(id)
        .filter(|(_, link)| topology.node(link.to).host == node.host)
        .map(|(_, link)| (link.to.index().wrapping_sub(id.index()), link.kind, link.count))
        .collect();
    (node.kind, node.socket, topology.model(id), inner)
}

fn tree(out: &mut String, topology: &Topology, options: &Options<'_>, hang: &Hang, indent: usize) {
    let kind = topology.node(hang.node).kind;
    let link = hang.up.map(|link| topology.link(link));
    let way = link.map(|link| (bundle(topology.kind(link.kind), link.count.into()), link.capacity));
    let line = match (kind, way) {
        (NodeKind::Memory, Some((_, rate))) => format!("memory, {rate}"),
        (NodeKind::HostBridge, _) => format!("host bridge {}", local_name(topology, hang.node)),
        (_, Some((links, rate))) => format!("{} over {links}, {rate}", named(topology, options, hang.node)),
        (_, None) => named(topology, options, hang.node),
    };
    push(out, indent, &line);
    for below in &hang.below {
        tree(out, topology, options, below, indent + 1);
    }
    if kind == NodeKind::Cpu {
        let others = topology
            .links_from(hang.node)
            .filter(|(_, link)| topology.node(link.to).kind == NodeKind::Cpu && hang.node < link.to);
        for (_, link) in others {
            let links = bundle(topology.kind(link.kind), link.count.into());
            let other = local_name(topology, link.to);
            push(out, indent + 1, &format!("to {other} over {links}, {}", link.capacity));
        }
    }
}

/// `GPU0 (NVIDIA A100 SXM4 80GB)`.
fn named(topology: &Topology, options: &Options<'_>, node: NodeId) -> String {
    let name = local_name(topology, node);
    options.model(topology, node).map_or(name.clone(), |model| format!("{name} ({model})"))
}

fn ties(out: &mut String, topology: &Topology, options: &Options<'_>, fabric: &Fabric, indent: usize) {
    if fabric.banks.is_empty() && fabric.direct.is_empty() {
        return;
    }
    push(out, indent, "between GPUs");
    let described = |bank: &Bank| {
        let model = bank.switches.first().and_then(|switch| options.model(topology, *switch));
        format!(
            "{} × {} join {} GPUs: {} from each, {}",
            bank.switches.len(),
            model.unwrap_or_else(|| "GPU switch".to_owned()),
            bank.gpus.len(),
            bundle(topology.kind(bank.tie.kind), bank.tie.count),
            bank.tie.rate
        )
    };
    let lines: Vec<String> = fabric.banks.iter().map(described).collect();
    for alike in lines.chunk_by(|a, b| a == b) {
        let times =
            if alike.len() > 1 { format!("{} times ", thousands(alike.len())) } else { String::new() };
        push(out, indent + 1, &format!("{times}{}", alike[0]));
    }
    for (_, _, tie) in &fabric.trunks {
        let links = bundle(topology.kind(tie.kind), tie.count);
        push(out, indent + 1, &format!("between the boards: {links}, {}", tie.rate));
    }
    for (a, b, tie) in &fabric.direct {
        let links = bundle(topology.kind(tie.kind), tie.count);
        let (a, b) = (local_name(topology, *a), local_name(topology, *b));
        push(out, indent + 1, &format!("{a} – {b}: {links}, {}", tie.rate));
    }
}

fn tiers(out: &mut String, topology: &Topology, options: &Options<'_>, network: &Network) {
    let names = ["leaf", "spine", "core"];
    let counts: Vec<String> = network
        .tiers()
        .into_iter()
        .zip(names)
        .map(|(count, name)| format!("{} {name} switches", thousands(count)))
        .collect();
    let leaf = network.pods.first().and_then(|pod| pod.groups.first()?.leaves.first().copied());
    let model = leaf.and_then(|leaf| options.model(topology, leaf));
    let model = model.map_or_else(String::new, |model| format!(" ({model})"));
    let counts = match &network.across {
        Across::Torus(sizes, _) => format!("{} switches in {}", counts_of(network), torus(sizes)),
        Across::None | Across::Groups(_) => counts.join(", "),
    };
    push(out, 0, &format!("network: {counts}{model}"));
    if let Some(separate) = separate(topology) {
        push(out, 1, &format!("{}, not joined to each other", separate.words()));
    }
    if let Some(pod) = network.pods.first() {
        pod_lines(out, topology, network, pod);
    }
}

/// All switches of a network of one tier.
fn counts_of(network: &Network) -> String {
    thousands(network.tiers().into_iter().sum())
}

fn pod_lines(out: &mut String, topology: &Topology, network: &Network, pod: &Pod) {
    if network.pods.len() > 1 {
        let (leaves, spines): (usize, usize) =
            (pod.groups.iter().map(|group| group.leaves.len()).sum(), pod.spines.len());
        let pods = if matches!(network.across, Across::Groups(_)) { "groups" } else { "pods" };
        let count = thousands(network.pods.len());
        push(out, 1, &format!("{count} {pods} of {leaves} leaves and {spines} spines"));
    }
    if let Some(group) = pod.groups.first() {
        let (hosts, leaves) = (counted(group.hosts.len(), "host"), group.leaves.len());
        match network.across {
            Across::Torus(..) => push(out, 1, &format!("{hosts} at each switch")),
            Across::None | Across::Groups(_) => {
                push(out, 1, &format!("{hosts} share {}", counted(leaves, "leaf")));
            }
        }
    }
    match &network.across {
        Across::Torus(_, Some(tie)) => tie_line(out, topology, "each switch to its next one", *tie),
        Across::Groups(tie) => tie_line(out, topology, "each spine to those of other groups", *tie),
        Across::Torus(_, None) | Across::None => {}
    }
    let leaf = pod.groups.first().and_then(|group| group.leaves.first());
    let ways = [
        (leaf, &pod.spines, "each leaf to the spines"),
        (pod.spines.first(), &network.cores, "each spine to the cores"),
    ];
    for (from, to, what) in ways {
        if let Some(tie) = from.and_then(|from| uplink(topology, *from, to)) {
            tie_line(out, topology, what, tie);
        }
    }
}

fn tie_line(out: &mut String, topology: &Topology, what: &str, tie: Tie) {
    let links = bundle(topology.kind(tie.kind), tie.count);
    push(out, 1, &format!("{what}: {links}, {}", tie.rate));
}
