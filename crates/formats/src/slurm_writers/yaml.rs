use std::collections::BTreeSet;

use weft_base::Diagnostic;
use weft_catalogue::Catalogue;

use super::{Topology, lists, topologies};
use crate::evidence::{Hierarchy, HierarchyKind};
use crate::writers::{Writer, WriterInput, lacks};

/// Writes `topology.yaml`.
#[derive(Debug)]
pub struct SlurmTopologyYamlWriter;

impl Writer for SlurmTopologyYamlWriter {
    fn name(&self) -> &'static str {
        "slurm-topology-yaml"
    }

    fn title(&self) -> &'static str {
        "Slurm's topology.yaml: trees and blocks side by side"
    }

    fn write(&self, input: &WriterInput<'_>, catalogue: &Catalogue) -> Result<String, Diagnostic> {
        let mut text = "---\n".to_owned();
        let mut names = BTreeSet::new();
        for one in topologies(input, catalogue)? {
            if one.hierarchy.kind == HierarchyKind::Torus {
                continue;
            }
            let own = one.name();
            let name = (1..).map(|number| if number == 1 { own.clone() } else { format!("{own}-{number}") });
            let name = name.into_iter().find(|name| !names.contains(name)).unwrap_or(own);
            text += &topology(&one, &name);
            names.insert(name);
        }
        if names.is_empty() {
            return Err(lacks("a torus is not written: its dimensions are not kept"));
        }
        Ok(text)
    }
}

fn topology(one: &Topology, name: &str) -> String {
    let hierarchy = &one.hierarchy;
    let mut lines: Vec<String> = one.notes.iter().map(|note| format!("# {note}")).collect();
    lines.push(format!("- topology: {}", scalar(name)));
    lines.push(format!("  cluster_default: {}", hierarchy.is_default));
    match hierarchy.kind {
        HierarchyKind::Flat | HierarchyKind::Torus => lines.push("  flat: true".to_owned()),
        HierarchyKind::Tree => {
            lines.extend(["  tree:".to_owned(), "    switches:".to_owned()]);
            entries(hierarchy, "switch", &mut lines);
        }
        HierarchyKind::Rings => {
            lines.extend(["  ring:".to_owned(), "    rings:".to_owned()]);
            entries(hierarchy, "ring", &mut lines);
        }
        HierarchyKind::Blocks => {
            lines.push("  block:".to_owned());
            if !hierarchy.block_sizes.is_empty() {
                lines.push("    block_sizes:".to_owned());
                lines.extend(hierarchy.block_sizes.iter().map(|size| format!("      - {size}")));
            }
            lines.push("    blocks:".to_owned());
            entries(hierarchy, "block", &mut lines);
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

fn entries(hierarchy: &Hierarchy, key: &str, lines: &mut Vec<String>) {
    for (node, (hosts, children)) in hierarchy.nodes.iter().zip(lists(hierarchy)) {
        if hosts.is_empty() && children.is_empty() {
            continue;
        }
        lines.extend(node.alias.as_ref().map(|alias| format!("      # {}={alias}", node.name)));
        lines.push(format!("      - {key}: {}", scalar(&node.name)));
        for (key, list) in [("children", children), ("nodes", hosts)] {
            if !list.is_empty() {
                lines.push(format!("        {key}: {}", scalar(&list)));
            }
        }
    }
}

/// In quotes where YAML would take it for something else than a text.
fn scalar(text: &str) -> String {
    let begins = text.starts_with(|c: char| c.is_alphabetic());
    let is_word = ["true", "false", "yes", "no", "on", "off", "null"]
        .iter()
        .any(|word| text.eq_ignore_ascii_case(word));
    if begins && !is_word && !text.contains([':', '#', '"']) {
        text.to_owned()
    } else {
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    }
}
