use roxmltree::Node;
use weft_base::Diagnostic;
use weft_catalogue::Catalogue;

use super::{Lint, codes};
use crate::document::XmlTree;
use crate::nccl_topology::integer;

/// Attributes without which NCCL refuses a graph.
const NEEDED: [&str; 7] =
    ["id", "pattern", "crossnic", "nchannels", "speedintra", "speedinter", "samechannels"];
/// NCCL's path types.
const TYPES: [&str; 12] =
    ["LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "NET", "DIS"];

/// What a graph file says wrongly.
pub(crate) fn graphs(tree: &XmlTree<'_>, catalogue: &Catalogue) -> Vec<Diagnostic> {
    let mut lint = Lint { tree, catalogue, is_rccl: false, findings: Vec::new() };
    let root = tree.document.root_element();
    if root.attribute("version").and_then(integer) != Some(1) {
        lint.refused((root, "version"), "NCCL refuses the version: it reads 1", "write version=\"1\"");
    }
    for graph in lint.all("graph") {
        one(&mut lint, graph);
    }
    lint.findings
}

fn one(lint: &mut Lint<'_>, graph: Node<'_, '_>) {
    for name in NEEDED.iter().filter(|name| graph.attribute(**name).is_none()) {
        let message = format!("NCCL refuses the file: a <graph> has no {name}");
        lint.refused((graph, ""), message, "compare with a dump of NCCL's own");
    }
    for name in ["typeintra", "typeinter"] {
        if let Some(text) = graph.attribute(name).filter(|text| !TYPES.contains(text)) {
            let message = format!("NCCL does not know {name}=\"{text}\"");
            lint.warn(codes::NCCL_ASSUMES, (graph, name), message, "NVL, PIX, PXB, PHB, SYS and so on");
        }
    }
    let channels: Vec<Node<'_, '_>> =
        graph.children().filter(|child| child.has_tag_name("channel")).collect();
    let claimed = graph.attribute("nchannels").and_then(integer);
    if claimed.is_some_and(|claimed| usize::try_from(claimed) != Ok(channels.len())) {
        let message =
            format!("nchannels is {}, but {} channels follow", claimed.unwrap_or(0), channels.len());
        lint.warn(codes::NCCL_CONTRADICTION, (graph, "nchannels"), message, "NCCL counts the channels");
    }
    let gpus = |channel: &Node<'_, '_>| channel.children().filter(|child| child.has_tag_name("gpu")).count();
    let most = channels.iter().map(gpus).max().unwrap_or(0);
    for channel in &channels {
        if gpus(channel) != most {
            let message = format!("this channel has {} GPUs, another {most}", gpus(channel));
            lint.warn(
                codes::NCCL_CONTRADICTION,
                (*channel, ""),
                message,
                "each channel passes all GPUs once",
            );
        }
        for end in channel.children().filter(Node::is_element) {
            device(lint, end);
        }
    }
}

fn device(lint: &mut Lint<'_>, end: Node<'_, '_>) {
    match end.attribute("dev") {
        None => lint.refused(
            (end, ""),
            "NCCL refuses the file: a device of a channel has no dev",
            "write dev=\"0x0\"",
        ),
        Some(dev) if !dev.starts_with("0x") && dev.len() > 1 => {
            let message = format!("NCCL reads dev=\"{dev}\" as a hexadecimal number");
            lint.warn(codes::NCCL_DOUBTFUL, (end, "dev"), message, "write 0x before it, as in 0xa for 10");
        }
        Some(_) => {}
    }
}
