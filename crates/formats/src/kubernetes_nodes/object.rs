//! Nodes as objects.

use super::Nodes;
use super::labels::{self, Label};
use crate::document::Node;
use crate::evidence::{Record, Value};
use crate::format::Part;
use crate::hierarchy::{At, Named};

/// Resources that are GPUs or fast NICs, and the names of their fields.
const RESOURCES: [(&str, &str); 8] = [
    ("nvidia.com/gpu", "gpus"),
    ("amd.com/gpu", "gpus"),
    ("gpu.intel.com/i915", "gpus"),
    ("gpu.intel.com/xe", "gpus"),
    ("habana.ai/gaudi", "gpus"),
    ("vpc.amazonaws.com/efa", "efa-interfaces"),
    ("rdma/hca_shared_devices_a", "rdma-devices"),
    ("nvidia.com/hostdev", "rdma-devices"),
];

/// A node, or a list of them.
pub(super) fn read(document: &Node<'_>, part: &Part<'_>, nodes: &mut Nodes) {
    let items = document.get("items").map_or(&[][..], Node::items);
    // A list may hold other objects; only in a list of nodes do they say nothing of their kind.
    let is_list = document.text_at(&["kind"]) == Some("NodeList");
    for item in items {
        if item.text_at(&["kind"]) == Some("Node") || (is_list && item.get("kind").is_none()) {
            node(item, part, nodes);
        }
    }
    if document.text_at(&["kind"]) == Some("Node") {
        node(document, part, nodes);
    }
}

fn node(item: &Node<'_>, part: &Part<'_>, nodes: &mut Nodes) {
    let Some((name, text)) = item.at(&["metadata", "name"]).and_then(|name| Some((name, name.text()?)))
    else {
        return;
    };
    let line = |node: &Node<'_>| part.lines.get(node.index).map_or(0, |line| line.number);
    let own: Vec<Label<'_>> = item
        .at(&["metadata", "labels"])
        .map_or(&[][..], Node::entries)
        .iter()
        .filter_map(|(key, value)| Some((key.text()?, value.text()?, At::of(value))))
        .collect();
    let mut record = Record::new("node", text, line(name));
    for condition in item.at(&["status", "conditions"]).map_or(&[][..], Node::items) {
        let (Some(kind), Some(status)) = (condition.text_at(&["type"]), condition.text_at(&["status"]))
        else {
            continue;
        };
        match (kind, status) {
            ("Ready", status) => record.push("ready", Value::Flag(status == "True"), line(condition)),
            // Pressure of memory, disks or processes, and what node-problem-detector adds.
            (kind, "True") => record.push("condition", Value::Text(kind.to_owned()), line(condition)),
            (_, _) => {}
        }
    }
    if let Some(cordoned) = item.at(&["spec", "unschedulable"]) {
        record.push("cordoned", Value::Flag(cordoned.is_true()), line(cordoned));
    }
    labels::describe(&mut record, &own, line(name));
    for (table, suffix) in [("capacity", "capacity"), ("allocatable", "allocatable")] {
        let table = item.at(&["status", table]);
        for (resource, field) in RESOURCES {
            let Some(value) = table.and_then(|table| table.get(resource)) else { continue };
            if let Some(count) = value.number() {
                record.push(format!("{field}-{suffix}"), Value::Count(count), line(value));
            }
        }
    }
    for taint in item.at(&["spec", "taints"]).map_or(&[][..], Node::items) {
        let Some(key) = taint.text_at(&["key"]) else { continue };
        let value = taint.text_at(&["value"]).map_or_else(String::new, |value| format!("={value}"));
        let effect = taint.text_at(&["effect"]).unwrap_or("");
        record.push("taint", Value::Text(format!("{key}{value}:{effect}")), line(taint));
    }
    for (key, field) in [("kubeletVersion", "kubelet"), ("kernelVersion", "kernel")] {
        if let Some(version) = item.at(&["status", "nodeInfo", key]) {
            record.push(field, Value::Text(version.text().unwrap_or("").to_owned()), line(version));
        }
    }
    nodes.add(labels::place(Named { name: text.to_owned(), at: At::of(name) }, &own), record);
}
