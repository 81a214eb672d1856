//! The channels that NCCL chose, in XML: what `NCCL_GRAPH_DUMP_FILE` writes and `NCCL_GRAPH_FILE` reads.

use roxmltree::Node;
use weft_base::Span;
use weft_catalogue::Catalogue;

use crate::document::{XmlTree, read_xml, xml};
use crate::evidence::{ChannelEnd, Evidence, NcclChannel, NcclGraph, NcclGraphs};
use crate::format::{Claim, Format, Located, Part, Read, Text};
use crate::nccl_lint;
use crate::nccl_topology::{integer, quoted_rate};
use crate::ranges;

const ROOTS: [&str; 1] = ["graphs"];

/// The reader.
#[derive(Debug)]
pub struct NcclGraphFile;

impl Format for NcclGraphFile {
    fn name(&self) -> &'static str {
        "nccl-graph"
    }

    fn title(&self) -> &'static str {
        "a graph file of NCCL: the channels it chose (XML)"
    }

    fn command(&self) -> Option<&'static str> {
        None
    }

    fn marks(&self) -> &'static [&'static str] {
        &["<graphs"]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        xml(text.lines, &ROOTS).into_iter().map(Claim::yes).collect()
    }

    fn read(&self, part: &Part<'_>, catalogue: &Catalogue) -> Read {
        let (found, mut diagnostics) =
            read_xml(part, &ROOTS, |tree| (graphs(tree), nccl_lint::graphs(tree, catalogue)));
        diagnostics.extend(nccl_lint::text(part));
        let (graphs, findings) = found.unzip();
        diagnostics.extend(findings.into_iter().flatten());
        ranges::sort(&mut diagnostics);
        let evidence =
            graphs.map(|graphs| Located { value: Evidence::Graphs(Box::new(graphs)), place: part.start() });
        Read { evidence: evidence.into_iter().collect(), diagnostics, unused: Vec::new() }
    }
}

fn graphs(tree: &XmlTree<'_>) -> NcclGraphs {
    let root = tree.root();
    NcclGraphs {
        version: number(root, "version").unwrap_or(1),
        graphs: elements(root, "graph").map(|node| graph(tree, node)).collect(),
    }
}

fn graph(tree: &XmlTree<'_>, node: Node<'_, '_>) -> NcclGraph {
    let text = |name: &str| node.attribute(name).map(str::to_owned);
    let channel = |node: Node<'_, '_>| NcclChannel {
        ends: node.children().filter_map(end).collect(),
        line: tree.line(node),
    };
    let latency = node.attribute("latencyinter").and_then(|text| text.trim().parse().ok());
    NcclGraph {
        id: number(node, "id").unwrap_or(0),
        pattern: number(node, "pattern").unwrap_or(0),
        cross_nic: number(node, "crossnic"),
        channel_count: number(node, "nchannels"),
        speed_intra: node.attribute("speedintra").and_then(quoted_rate),
        speed_inter: node.attribute("speedinter").and_then(quoted_rate),
        latency_inter: latency.map(Span::from_microseconds),
        type_intra: text("typeintra"),
        type_inter: text("typeinter"),
        same_channels: number(node, "samechannels").map(|value| value != 0),
        channels: elements(node, "channel").map(channel).collect(),
        line: tree.line(node),
    }
}

fn end(node: Node<'_, '_>) -> Option<ChannelEnd> {
    match node.tag_name().name() {
        "gpu" => number(node, "dev").map(ChannelEnd::Gpu),
        "net" => number(node, "dev").map(ChannelEnd::Net),
        _ => None,
    }
}

fn elements<'a, 'i>(node: Node<'a, 'i>, name: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(move |child| child.has_tag_name(name))
}

fn number(node: Node<'_, '_>, name: &str) -> Option<u32> {
    node.attribute(name).and_then(integer).and_then(|value| u32::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use weft_base::Rate;

    use super::*;
    use crate::format::Source;

    fn read(text: &str) -> NcclGraphs {
        let reading = crate::read(&Source::file("g.xml", text), Catalogue::embedded(), None);
        assert!(reading.diagnostics.is_empty(), "{:?}", reading.diagnostics);
        let found = reading.evidence.into_iter().find_map(|located| {
            let Evidence::Graphs(graphs) = located.value else { return None };
            Some(*graphs)
        });
        found.unwrap()
    }

    #[test]
    fn a_graph_file_is_read_whole() {
        let graphs = read(
            "<graphs version=\"1\">\n  <graph id=\"0\" pattern=\"4\" crossnic=\"1\" nchannels=\"1\" speedintra=\"20\" \
             speedinter=\"2.4\" latencyinter=\"0\" typeintra=\"NVL\" typeinter=\"PIX\" samechannels=\"0\">\n    \
             <channel>\n      <net dev=\"0\"/>\n      <gpu dev=\"0x1\"/>\n      <gpu dev=\"0\"/>\n      \
             <net dev=\"0xa\"/>\n    </channel>\n  </graph>\n</graphs>\n",
        );
        assert_eq!((graphs.version, graphs.graphs.len()), (1, 1));
        let graph = &graphs.graphs[0];
        assert_eq!(graph.speed_inter, Some(Rate::from_gigabytes(2.4)));
        assert_eq!((graph.pattern, graph.type_inter.as_deref(), graph.line), (4, Some("PIX"), 2));
        let ends = [ChannelEnd::Net(0), ChannelEnd::Gpu(1), ChannelEnd::Gpu(0), ChannelEnd::Net(10)];
        assert_eq!(graph.channels[0].ends, ends);
    }
}
