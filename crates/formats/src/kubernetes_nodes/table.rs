//! Nodes as a table: `kubectl get nodes --show-labels`, also with `-o wide` and `-L`.

use std::ops::Range;

use super::Nodes;
use super::labels::{self, Label};
use crate::evidence::{Record, Value};
use crate::format::{Line, LineRange, Part};
use crate::hierarchy::{At, Named};
use crate::ranges;

/// Labels that `-L` may show, as it shortens them.
const COLUMNS: [(&str, &str); 17] = [
    ("TIER-0", "fabric.topograph.run/tier-0"),
    ("TIER-1", "fabric.topograph.run/tier-1"),
    ("TIER-2", "fabric.topograph.run/tier-2"),
    ("TIER-3", "fabric.topograph.run/tier-3"),
    ("ZONE", "topology.kubernetes.io/zone"),
    ("REGION", "topology.kubernetes.io/region"),
    ("LEAF", "network.topology.nvidia.com/leaf"),
    ("BLOCK", "network.topology.nvidia.com/block"),
    ("SPINE", "network.topology.nvidia.com/spine"),
    ("CORE", "network.topology.nvidia.com/core"),
    ("DATACENTER", "network.topology.nvidia.com/datacenter"),
    ("ACCELERATOR", "network.topology.nvidia.com/accelerator"),
    ("DOMAIN", "accelerator.topograph.run/domain"),
    ("GPU.CLIQUE", "nvidia.com/gpu.clique"),
    ("GPU.PRODUCT", "nvidia.com/gpu.product"),
    ("GPU.COUNT", "nvidia.com/gpu.count"),
    ("INSTANCE-TYPE", "node.kubernetes.io/instance-type"),
];

/// `NAME STATUS ROLES …`.
pub(super) fn is_header(line: &Line<'_>) -> bool {
    let mut words = line.text.split_whitespace();
    ["NAME", "STATUS", "ROLES"].iter().all(|word| words.next() == Some(word))
}

/// Each header with the rows below it.
pub(super) fn find(lines: &[Line<'_>]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut index = 0;
    while index < lines.len() {
        if !is_header(&lines[index]) {
            index += 1;
            continue;
        }
        let rows = lines[index + 1..].iter().take_while(|line| is_row(line)).count();
        found.push(index..index + 1 + rows);
        index += 1 + rows;
    }
    found
}

fn is_row(line: &Line<'_>) -> bool {
    let mut words = line.text.split_whitespace();
    let (name, status) = (words.next(), words.next());
    name.is_some()
        && status.is_some_and(|status| {
            ["Ready", "NotReady", "Unknown", "SchedulingDisabled"].iter().any(|word| status.starts_with(word))
        })
}

/// Reads a table; what is no row of it is returned as not used.
pub(super) fn read(part: &Part<'_>, nodes: &mut Nodes) -> Vec<LineRange> {
    let mut used = Vec::new();
    let mut header = "";
    for (index, line) in part.lines.iter().enumerate() {
        if is_header(line) {
            header = &line.text;
            used.push(index);
        } else if is_row(line) {
            row(header, line, index, nodes);
            used.push(index);
        }
    }
    ranges::unused(&part.lines, &used)
}

fn row(header: &str, line: &Line<'_>, index: usize, nodes: &mut Nodes) {
    let text = line.text.as_ref();
    let words: Vec<(usize, &str)> = words(text);
    let [(offset, name), (_, status), rest @ ..] = words.as_slice() else { return };
    let at =
        |offset: usize| At { index, column: text.get(..offset).map_or(0, |before| before.chars().count()) };
    let mut own: Vec<Label<'_>> = Vec::new();
    // Labels hold no blanks, and stand last.
    if header.trim_end().ends_with("LABELS")
        && let Some((offset, list)) = rest.last()
    {
        let mut start = *offset;
        for label in list.split(',') {
            if let Some((key, value)) = label.split_once('=') {
                own.push((key, value, at(start + key.len() + 1)));
            }
            start += label.len() + 1;
        }
    }
    for (start, title) in self::words(header) {
        let key = COLUMNS.iter().find(|(short, _)| *short == title).map(|(_, key)| *key);
        let value = words.iter().find(|(offset, _)| *offset == start);
        if let (Some(key), Some((offset, value))) = (key, value) {
            own.push((key, value, at(*offset)));
        }
    }
    let mut record = Record::new("node", *name, line.number);
    record.push("ready", Value::Flag(status.split(',').any(|word| word == "Ready")), line.number);
    if status.contains("SchedulingDisabled") {
        record.push("cordoned", Value::Flag(true), line.number);
    }
    labels::describe(&mut record, &own, line.number);
    nodes.add(labels::place(Named { name: (*name).to_owned(), at: at(*offset) }, &own), record);
}

fn words(text: &str) -> Vec<(usize, &str)> {
    let start = text.as_ptr() as usize;
    text.split_whitespace().map(|word| (word.as_ptr() as usize - start, word)).collect()
}
