//! Chakra traces as JSON: one document with all nodes, or what `chakra_jsonizer` writes, one object per message.

use crate::document::{Fault, Node, documents};

use super::trace::{Trace, TraceNode};

/// Reads all objects of a text; the fault is that of the first that breaks off.
pub(super) fn read(text: &str, trace: &mut Trace) -> Option<Fault> {
    let mut fault = None;
    // The tool puts messages right behind each other, so that `}{` stands on a line of its own.
    for (piece, first) in pieces(text) {
        let (found, broken) = documents(&piece);
        for document in &found {
            one(document, trace);
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

fn one(document: &Node<'_>, trace: &mut Trace) {
    for key in ["workload_graph", "nodes"] {
        for item in document.get(key).map_or(&[][..], Node::items) {
            node(item, trace);
        }
    }
    for key in ["version", "schema"] {
        if let Some(version) = document.text_at(&[key]).filter(|_| trace.workload.version.is_empty()) {
            version.clone_into(&mut trace.workload.version);
        }
    }
    node(document, trace);
}

fn node(item: &Node<'_>, trace: &mut Trace) {
    let any = |keys: &[&str]| keys.iter().find_map(|key| item.get(key));
    let number = |keys: &[&str]| any(keys).and_then(Node::number::<u64>);
    let (Some(id), Some(kind)) = (number(&["id", "Id"]), any(&["type", "NodeType"]).and_then(kind)) else {
        return;
    };
    let attributes = item.get("attr").map_or(&[][..], Node::items);
    let attribute = |name: &str| {
        let own = attributes.iter().find(|own| own.text_at(&["name"]) == Some(name))?;
        own.entries().iter().find(|(key, _)| key.text() != Some("name")).map(|(_, value)| value)
    };
    let value = |name: &str| item.get(name).or_else(|| attribute(name));
    let ids = |keys: [&str; 2]| -> Vec<u64> {
        let lists = keys.iter().flat_map(|key| item.get(key).map_or(&[][..], Node::items));
        lists.filter_map(Node::number).collect()
    };
    trace.add(TraceNode {
        id,
        name: any(&["name", "Name"]).and_then(Node::text).unwrap_or(""),
        kind,
        depends: ids(["dataDeps", "data_deps"]),
        controls: ids(["ctrlDeps", "ctrl_deps"]),
        microseconds: number(&["durationMicros", "duration_micros", "runtime"]).unwrap_or(0),
        is_host: value("is_cpu_op").map(Node::is_true),
        collective: value("comm_type").and_then(Node::number),
        bytes: value("comm_size").and_then(Node::number),
        group: value("pg_name").and_then(Node::text).map(str::to_owned),
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
