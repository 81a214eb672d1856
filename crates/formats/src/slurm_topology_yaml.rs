//! Slurm's `topology.yaml`: several named topologies in one file.

use weft_base::{Diagnostic, nearest};
use weft_catalogue::Catalogue;

use crate::codes;
use crate::document::{Content, Node, documents, syntax, yaml};
use crate::evidence::{Evidence, Hierarchy, HierarchyKind};
use crate::format::{Claim, Format, Located, Part, Read, Text};
use crate::hierarchy::{At, Builder, Declared, Named};
use crate::ranges;

/// The reader.
#[derive(Debug)]
pub struct SlurmTopologyYaml;

/// What a topology may hold besides its name.
const KINDS: [(&str, HierarchyKind); 5] = [
    ("tree", HierarchyKind::Tree),
    ("block", HierarchyKind::Blocks),
    ("flat", HierarchyKind::Flat),
    ("ring", HierarchyKind::Rings),
    ("torus3d", HierarchyKind::Torus),
];

impl Format for SlurmTopologyYaml {
    fn name(&self) -> &'static str {
        "slurm-topology-yaml"
    }

    fn title(&self) -> &'static str {
        "Slurm's topology.yaml: named topologies"
    }

    fn command(&self) -> Option<&'static str> {
        None
    }

    fn marks(&self) -> &'static [&'static str] {
        &["topology:"]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let own = |line: &str| {
            line.strip_prefix("- ")
                .is_some_and(|line| line.trim_start().trim_start_matches(['"', '\'']).starts_with("topology"))
        };
        let holds = |run: &std::ops::Range<usize>| text.lines[run.clone()].iter().any(|line| own(&line.text));
        yaml(text.lines).into_iter().filter(holds).map(Claim::yes).collect()
    }

    fn read(&self, part: &Part<'_>, _catalogue: &Catalogue) -> Read {
        let text = part.text();
        let (documents, fault) = documents(&text);
        let mut read = Read::default();
        let mut builder = Builder::new(part);
        for document in &documents {
            for topology in document.items() {
                let place = At::of(topology).place(part, 0);
                if let Some(hierarchy) = self.topology(topology, &mut builder) {
                    let value = Evidence::Hierarchy(Box::new(hierarchy));
                    read.evidence.push(Located { value, place });
                }
            }
        }
        read.diagnostics = builder.diagnostics;
        read.diagnostics
            .extend(fault.map(|fault| syntax(part, &fault, "this YAML document", read.evidence.is_empty())));
        ranges::sort(&mut read.diagnostics);
        if read.evidence.is_empty() {
            read.unused = ranges::unused(&part.lines, &[]);
        }
        read
    }
}

impl SlurmTopologyYaml {
    fn topology(&self, node: &Node<'_>, builder: &mut Builder<'_, '_>) -> Option<Hierarchy> {
        known(node, &["topology", "cluster_default", "tree", "block", "flat", "ring", "torus3d"], builder);
        let name = node.text_at(&["topology"]).map(str::to_owned);
        let Some((kind, body)) = KINDS.iter().find_map(|(key, kind)| Some((*kind, node.get(key)?))) else {
            let message = "a topology says nothing of its kind";
            let finding = Diagnostic::warning(codes::HIERARCHY_KEY, message)
                .hint("below its name stands one of `tree:`, `block:`, `flat:`, `ring:`, `torus3d:`");
            builder.find(finding, At::of(node), 0);
            return None;
        };
        match kind {
            HierarchyKind::Tree => {
                known(body, &["switches"], builder);
                declare(body.get("switches"), "switch", builder);
            }
            HierarchyKind::Blocks => {
                known(body, &["block_sizes", "blocks"], builder);
                declare(body.get("blocks"), "block", builder);
                sizes(body.get("block_sizes"), builder);
            }
            HierarchyKind::Rings => declare(body.get("rings"), "ring", builder),
            HierarchyKind::Torus => declare(body.get("toruses"), "name", builder),
            HierarchyKind::Flat => {}
        }
        let mut hierarchy = builder.finish(self.name(), kind);
        hierarchy.name = name;
        hierarchy.is_default = node.get("cluster_default").is_some_and(Node::is_true);
        Some(hierarchy)
    }
}

/// The switches, blocks or rings of a list; `name` is the key of their names.
fn declare(list: Option<&Node<'_>>, name: &str, builder: &mut Builder<'_, '_>) {
    for item in list.map_or(&[][..], Node::items) {
        known(item, &[name, "nodes", "children", "dims", "placements"], builder);
        let Some((text, at)) = item.get(name).and_then(|node| Some((node.text()?, At::of(node)))) else {
            let finding =
                Diagnostic::warning(codes::HIERARCHY_KEY, format!("an entry without `{name}:` was left out"));
            builder.find(finding, At::of(item), 0);
            continue;
        };
        let mut declared = Declared::new(Named { name: text.to_owned(), at }, name == "block");
        declared.hosts = listed(item.get("nodes"), builder);
        declared.children = listed(item.get("children"), builder);
        builder.declare(declared);
    }
}

/// A host list, or a list of them.
fn listed(node: Option<&Node<'_>>, builder: &mut Builder<'_, '_>) -> Vec<Named> {
    let Some(node) = node else { return Vec::new() };
    match &node.content {
        Content::Text(text) => builder.names(text, At::of(node)),
        Content::List(items) => items.iter().flat_map(|item| listed_once(item, builder)).collect(),
        Content::Null | Content::Map(_) => Vec::new(),
    }
}

fn listed_once(node: &Node<'_>, builder: &mut Builder<'_, '_>) -> Vec<Named> {
    node.text().map_or_else(Vec::new, |text| builder.names(text, At::of(node)))
}

fn sizes(node: Option<&Node<'_>>, builder: &mut Builder<'_, '_>) {
    let Some(node) = node else { return };
    let items = if node.items().is_empty() { std::slice::from_ref(node) } else { node.items() };
    for item in items {
        for size in item.text().unwrap_or("").split(',').map(str::trim).filter(|size| !size.is_empty()) {
            if let Ok(size) = size.parse() {
                builder.block_size(size, At::of(item));
            } else {
                let message = format!("`{}` is no block size", ranges::short(size));
                builder.find(Diagnostic::warning(codes::BLOCK_SIZES, message), At::of(item), size.len());
            }
        }
    }
}

/// Reports the keys of a map that are none of `keys`.
fn known(node: &Node<'_>, keys: &[&str], builder: &mut Builder<'_, '_>) {
    for (key, _) in node.entries() {
        let Some(text) = key.text() else { continue };
        if keys.contains(&text) {
            continue;
        }
        let near = nearest(text, keys.iter().copied(), 1);
        let finding =
            Diagnostic::warning(codes::HIERARCHY_KEY, format!("`{}` is no key here", ranges::short(text)));
        let finding = match near.first() {
            Some(near) => finding.hint(format!("did you mean `{near}`?")),
            None => finding.hint(format!("the keys here are {}", keys.join(", "))),
        };
        builder.find(finding, At::of(key), text.chars().count());
    }
}
