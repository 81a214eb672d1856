//! Topograph's models of clusters, in YAML, and what the topology service of a DSX cluster answers, in JSON: switches
//! by name, and blocks of hosts that hang under them.

use weft_base::Diagnostic;
use weft_catalogue::Catalogue;

use crate::codes;
use crate::document::{Content, Node, documents, finished, json, yaml};
use crate::evidence::{Evidence, HierarchyKind};
use crate::format::{Claim, Format, Line, Located, Part, Read, Text};
use crate::hierarchy::{At, Builder, Declared, Named};

/// The reader.
#[derive(Debug)]
pub struct TopographModel;

/// What a block's hosts share, by any of its names.
const DOMAINS: [&str; 4] = [
    "accelerator.topology.test/domain",
    "accelerator.topograph.run/domain",
    "network.topology.nvidia.com/accelerator",
    "nvidia.com/gpu.clique",
];

impl Format for TopographModel {
    fn name(&self) -> &'static str {
        "topograph-model"
    }

    fn title(&self) -> &'static str {
        "a model of topograph's: switches, and blocks of hosts"
    }

    fn command(&self) -> Option<&'static str> {
        None
    }

    fn marks(&self) -> &'static [&'static str] {
        &["switches:", "blocks:", "\"switches\""]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let lines = text.lines;
        let starts = |line: &Line<'_>| {
            ["switches:", "blocks:", "capacity_blocks:"].iter().any(|key| line.text.trim_end() == *key)
        };
        let nodes = |line: &Line<'_>| line.text.contains("nodes:");
        let is_model = |run: &std::ops::Range<usize>| {
            lines[run.clone()].iter().any(starts) && lines[run.clone()].iter().any(nodes)
        };
        let mut claims: Vec<Claim> = yaml(lines).into_iter().filter(is_model).map(Claim::yes).collect();
        let is_answer = |run: &std::ops::Range<usize>| {
            let holds = |word: &str| lines[run.clone()].iter().any(|line| line.text.contains(word));
            holds("\"switches\"") && holds("\"node_id\"")
        };
        claims.extend(json(lines).into_iter().filter(is_answer).map(Claim::yes));
        claims
    }

    fn read(&self, part: &Part<'_>, _catalogue: &Catalogue) -> Read {
        let text = part.text();
        let (documents, fault) = documents(&text);
        let mut read = Read::default();
        let mut builder = Builder::new(part);
        builder.creates_children = true;
        for document in &documents {
            switches(document, &mut builder);
            for key in ["blocks", "capacity_blocks"] {
                blocks(document.get(key), &mut builder);
            }
        }
        if !builder.is_empty() {
            let hierarchy = builder.finish(self.name(), HierarchyKind::Tree);
            let value = Evidence::Hierarchy(Box::new(hierarchy));
            read.evidence.push(Located { value, place: part.start() });
        }
        read.diagnostics = builder.diagnostics;
        finished(read, part, fault.as_ref(), "this document")
    }
}

/// A map by name, or a list whose entries have a `name:`.
fn switches(document: &Node<'_>, builder: &mut Builder<'_, '_>) {
    let Some(all) = document.get("switches") else { return };
    for (name, body) in all.entries() {
        switch(name, body, builder);
    }
    for body in all.items() {
        if let Some(name) = body.get("name") {
            switch(name, body, builder);
        }
    }
}

fn switch(name: &Node<'_>, body: &Node<'_>, builder: &mut Builder<'_, '_>) {
    let Some(text) = name.text() else { return };
    let mut declared = Declared::new(Named { name: text.to_owned(), at: At::of(name) }, false);
    declared.children = listed(body.get("switches"), builder);
    declared.hosts = listed(body.get("nodes"), builder);
    builder.declare(declared);
}

/// Blocks give their hosts to a switch, and make a block of those that share a GPU fabric.
fn blocks(list: Option<&Node<'_>>, builder: &mut Builder<'_, '_>) {
    for block in list.map_or(&[][..], Node::items) {
        let hosts = listed(block.get("nodes"), builder);
        if hosts.is_empty() {
            let finding = Diagnostic::warning(codes::HIERARCHY_EMPTY, "a block names no hosts");
            builder.find(finding, At::of(block), 0);
        }
        if let Some(switch) = block.get("switch").and_then(named) {
            builder.attach(switch, false, hosts.clone());
        }
        let tables = ["annotations", "labels"].iter().filter_map(|key| block.get(key));
        let domain = tables.flat_map(|table| DOMAINS.iter().filter_map(|key| table.get(key))).next();
        if let Some(name) = domain.or(block.get("nvlink")).or(block.get("name")).and_then(named) {
            builder.attach(name, true, hosts);
        }
    }
}

fn named(node: &Node<'_>) -> Option<Named> {
    Some(Named { name: node.text()?.to_owned(), at: At::of(node) })
}

/// Host lists; in JSON, objects with a `node_id`.
fn listed(node: Option<&Node<'_>>, builder: &mut Builder<'_, '_>) -> Vec<Named> {
    let mut found = Vec::new();
    for item in node.map_or(&[][..], Node::items) {
        match &item.content {
            Content::Text(text) => found.extend(builder.names(text, At::of(item))),
            Content::Map(_) => found.extend(item.get("node_id").and_then(named)),
            Content::Null | Content::List(_) => {}
        }
    }
    found
}
