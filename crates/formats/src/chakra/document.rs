//! Chakra traces as JSON: one document with all nodes, or what `chakra_jsonizer` writes, one object per message.

use crate::document::{Fault, Node, documents};

use super::trace::TraceNode;

/// Takes what a document says of a trace.
pub(super) trait Sink {
    /// A node, in the order of the text.
    fn node(&mut self, node: TraceNode<'_>);
    /// The version of the trace or of its schema, perhaps several times.
    fn version(&mut self, version: &str);
}

/// Reads all objects of a text; the fault is that of the first that breaks off.
pub(super) fn read(text: &str, trace: &mut impl Sink) -> Option<Fault> {
    let mut fault = None;
    // The tool puts messages right behind each other, so that `}{` stands on a line of its own.
    for (piece, first) in pieces(text) {
        let (found, broken) = documents(&piece);
        for document in &found {
            one(document, first, trace);
        }
        fault = fault.or(broken.map(|broken| Fault { index: broken.index + first, ..broken }));
    }
    fault
}

/// The objects of a text, each with the index of its first line.
fn pieces(text: &str) -> Vec<(String, usize)> {
    let mut found = vec![(String::new(), 0)];
    for (index, line) in text.lines().enumerate() {
        let joint = line.trim() == "}{";
        if let Some((piece, _)) = found.last_mut() {
            piece.push_str(if joint { "}" } else { line });
            piece.push('\n');
        }
        if joint {
            found.push(("{\n".to_owned(), index));
        }
    }
    found
}

fn one(document: &Node<'_>, first: usize, trace: &mut impl Sink) {
    for key in ["workload_graph", "nodes"] {
        for item in document.get(key).map_or(&[][..], Node::items) {
            node(item, first, trace);
        }
    }
    for key in ["version", "schema"] {
        if let Some(version) = document.text_at(&[key]) {
            trace.version(version);
        }
    }
    node(document, first, trace);
}

fn node(item: &Node<'_>, first: usize, trace: &mut impl Sink) {
    let any = |keys: &[&str]| keys.iter().find_map(|key| item.get(key));
    let number = |keys: &[&str]| any(keys).and_then(Node::number::<u64>);
    let (Some(id), Some(kind)) = (number(&["id", "Id"]), any(&["type", "NodeType"]).and_then(kind)) else {
        return;
    };
    let attributes = item.get("attr").map_or(&[][..], Node::items);
    let attribute = |name: &str| {
        let own = attributes.iter().find(|own| own.text_at(&["name"]) == Some(name))?;
        let is_value = |key: &str| !["name", "docString", "doc_string"].contains(&key);
        own.entries().iter().find(|(key, _)| key.text().is_some_and(is_value)).map(|(_, value)| value)
    };
    let value = |name: &str| item.get(name).or_else(|| attribute(name));
    let ids = |keys: [&str; 2]| -> Vec<u64> {
        let lists = keys.iter().flat_map(|key| item.get(key).map_or(&[][..], Node::items));
        lists.filter_map(Node::number).collect()
    };
    trace.node(TraceNode {
        id,
        line: u32::try_from(first + item.index + 1).unwrap_or(u32::MAX),
        name: any(&["name", "Name"]).and_then(Node::text).unwrap_or(""),
        kind,
        depends: ids(["dataDeps", "data_deps"]),
        controls: ids(["ctrlDeps", "ctrl_deps"]),
        microseconds: number(&["durationMicros", "duration_micros", "runtime"]).unwrap_or(0),
        is_host: value("is_cpu_op").map(Node::is_true),
        collective: value("comm_type").and_then(Node::number),
        bytes: value("comm_size").and_then(Node::number),
        group: value("pg_name").and_then(Node::text).map(str::to_owned),
        source: value("comm_src").and_then(Node::number),
        destination: value("comm_dst").and_then(Node::number),
        tag: value("comm_tag").and_then(Node::number),
        operations: value("num_ops").and_then(Node::number),
        tensor_bytes: value("tensor_size").and_then(Node::number),
        inputs: item.text_at(&["inputs", "values"]).unwrap_or(""),
    });
}

/// By number, or by the name in Chakra's schema.
fn kind(node: &Node<'_>) -> Option<usize> {
    const NAMES: [&str; 8] = [
        "INVALID_NODE",
        "METADATA_NODE",
        "MEM_LOAD_NODE",
        "MEM_STORE_NODE",
        "COMP_NODE",
        "COMM_SEND_NODE",
        "COMM_RECV_NODE",
        "COMM_COLL_NODE",
    ];
    node.number().or_else(|| NAMES.iter().position(|name| node.text() == Some(name)))
}
