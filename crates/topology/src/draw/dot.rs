//! Graphviz DOT: the whole graph, hosts as clusters, each two-way link once.

use std::fmt::Write;

use weft_catalogue::LinkFamily;

use super::{Options, bundle, layout, local_name};
use crate::graph::{NodeId, NodeKind, Topology};

/// Writes a topology for Graphviz: `dot -Tsvg`, or `sfdp` where it is large.
pub fn dot(topology: &Topology, options: &Options<'_>) -> String {
    let mut text = String::from("graph topology {\n");
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(text, "  label = {};", quoted(options.title));
    text.push_str("  labelloc = t;\n  node [shape = box, style = filled, fillcolor = white];\n");
    for (number, nodes) in layout::by_host(topology).iter().enumerate() {
        let _ = writeln!(text, "  subgraph cluster_host{number} {{\n    label = \"host{number}\";");
        for node in nodes {
            let _ = writeln!(text, "    {}", node_line(topology, options, *node));
        }
        text.push_str("  }\n");
    }
    for (id, node) in topology.nodes() {
        if node.host.is_none() {
            let _ = writeln!(text, "  {}", node_line(topology, options, id));
        }
    }
    for (id, link) in topology.links().filter(|(id, link)| *id < link.twin) {
        debug_assert!(topology.link(link.twin).twin == id, "twins belong together");
        let kind = topology.kind(link.kind);
        let label = format!("{}, {} per direction", bundle(kind, link.count.into()), link.capacity);
        let style = if kind.family == LinkFamily::DisplayBridge { ", style = dashed" } else { "" };
        let _ = writeln!(
            text,
            "  n{} -- n{} [label = {}, color = {}{style}];",
            link.from.index(),
            link.to.index(),
            quoted(&label),
            colour(kind.family)
        );
    }
    text.push_str("}\n");
    text
}

fn node_line(topology: &Topology, options: &Options<'_>, node: NodeId) -> String {
    let mut label = local_name(topology, node);
    if let Some(model) = options.model(topology, node) {
        label.push('\n');
        label.push_str(&model);
    }
    let shape = match topology.node(node).kind {
        NodeKind::Gpu | NodeKind::Cpu => "box",
        NodeKind::Nic => "component",
        NodeKind::Memory => "cylinder",
        NodeKind::HostBridge => "point",
        NodeKind::PcieSwitch | NodeKind::GpuSwitch | NodeKind::NetworkSwitch => "hexagon",
    };
    format!("n{} [label = {}, shape = {shape}];", node.index(), quoted(&label))
}

fn colour(family: LinkFamily) -> &'static str {
    match family {
        LinkFamily::GpuFabric => "forestgreen",
        LinkFamily::Coherent => "darkcyan",
        LinkFamily::Pcie => "steelblue",
        LinkFamily::Socket => "darkorange",
        LinkFamily::Network => "purple",
        LinkFamily::DisplayBridge => "deeppink",
        LinkFamily::Memory | LinkFamily::OnPackage => "gray",
    }
}

/// A DOT string: backslashes and quotes escaped, line breaks as `\n`.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
