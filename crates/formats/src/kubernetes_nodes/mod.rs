//! Nodes of a Kubernetes cluster: `kubectl get nodes`, as YAML or JSON, or as a table with labels.

mod labels;
mod object;
mod table;

use std::ops::Range;

use weft_catalogue::Catalogue;

use crate::document::{Fault, documents, json, syntax, yaml};
use crate::evidence::{Evidence, HierarchyKind, Record, Report};
use crate::format::{Claim, Format, Line, Located, Part, Read, Text};
use crate::hierarchy::{Builder, Named, Placed, declare};
use crate::ranges;

/// The reader.
#[derive(Debug)]
pub struct KubernetesNodes;

/// What was read of all nodes.
#[derive(Default)]
struct Nodes {
    placed: Vec<Placed>,
    unplaced: Vec<Named>,
    records: Vec<Record>,
}

impl Nodes {
    fn add(&mut self, placed: Placed, record: Record) {
        if placed.path.is_empty() && placed.block.is_none() {
            self.unplaced.push(placed.host);
        } else {
            self.placed.push(placed);
        }
        self.records.push(record);
    }
}

impl Format for KubernetesNodes {
    fn name(&self) -> &'static str {
        "kubernetes-nodes"
    }

    fn title(&self) -> &'static str {
        "nodes of a Kubernetes cluster, with labels, GPUs and taints"
    }

    fn command(&self) -> Option<&'static str> {
        Some("kubectl get nodes -o yaml")
    }

    fn marks(&self) -> &'static [&'static str] {
        &["kind: Node", "\"kind\": \"Node\"", "\"kind\":\"Node\"", "ROLES"]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let lines = text.lines;
        let is_node = |line: &Line<'_>| {
            let text = line.text.trim_start().trim_start_matches("- ").trim_end();
            matches!(text, "kind: Node" | "kind: NodeList")
                || text.contains("\"kind\": \"Node\"")
                || text.contains("\"kind\":\"Node\"")
        };
        // The marks wake this reader for a table too; a long log is not looked through for documents then.
        let mut claims = Vec::new();
        if lines.iter().any(is_node) {
            let of_nodes = |run: &Range<usize>| lines[run.clone()].iter().any(is_node);
            let of_yaml = yaml(lines).into_iter().filter(of_nodes);
            let mut indices: Vec<usize> = of_yaml.flatten().collect();
            if indices.is_empty() {
                indices = json(lines).into_iter().filter(of_nodes).flatten().collect();
            }
            // One document per node, or all in one: the cluster is one.
            if !indices.is_empty() {
                claims.push(Claim::lines(indices));
            }
        }
        claims.extend(table::find(lines).into_iter().map(Claim::yes));
        claims
    }

    fn read(&self, part: &Part<'_>, _catalogue: &Catalogue) -> Read {
        let mut nodes = Nodes::default();
        let mut fault: Option<Fault> = None;
        let mut unused = Vec::new();
        if part.lines.iter().find(|line| !line.is_blank()).is_some_and(table::is_header) {
            unused = table::read(part, &mut nodes);
        } else {
            let text = part.text();
            let found = documents(&text);
            for document in &found.0 {
                object::read(document, part, &mut nodes);
            }
            fault = found.1;
        }
        let mut read = Read { unused, ..Read::default() };
        let mut builder = Builder::new(part);
        declare(nodes.placed, &mut builder);
        if !builder.is_empty() {
            builder.unplaced(nodes.unplaced);
            let hierarchy = builder.finish(self.name(), HierarchyKind::Tree);
            let value = Evidence::Hierarchy(Box::new(hierarchy));
            read.evidence.push(Located { value, place: part.start() });
        }
        let is_lost = nodes.records.is_empty();
        if !is_lost {
            let report = Report { format: self.name(), host: None, records: nodes.records };
            read.evidence.push(Located { value: Evidence::Report(Box::new(report)), place: part.start() });
        } else {
            read.unused = ranges::unused(&part.lines, &[]);
        }
        read.diagnostics = builder.diagnostics;
        read.diagnostics.extend(fault.map(|fault| syntax(part, &fault, "this list of nodes", is_lost)));
        ranges::sort(&mut read.diagnostics);
        read
    }
}
