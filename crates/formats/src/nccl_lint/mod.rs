//! What NCCL would make of a topology or graph file: its own reader's rules (`src/graph/xml.cc`, `topo.cc`,
//! `search.cc` of NCCL 2.30), and what contradicts itself or the hardware.

pub mod codes;
mod cpus;
mod graph;
mod lexical;
mod links;
mod nets;
mod pci;
#[cfg(test)]
mod tests;

use roxmltree::Node;
use weft_base::{Code, Diagnostic, Severity};
use weft_catalogue::Catalogue;

use crate::codes::XML_DAMAGED;
use crate::document::XmlTree;
use crate::format::Part;
use crate::msccl::codes::{MSCCL_REFUSES, MSCCL_WRONG};

pub(crate) use graph::graphs;

/// Nodes that NCCL holds of one file.
const NODES_MAX: usize = 256;
/// Findings of one file; more would bury the first.
const FINDINGS_MAX: usize = 200;

/// The same findings as the tool that the file is for would judge them: what it refuses is an error.
pub fn as_the_tool_would(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    for finding in &mut diagnostics {
        let refused = [codes::NCCL_REFUSES, XML_DAMAGED, MSCCL_REFUSES, MSCCL_WRONG];
        if refused.iter().any(|code| code.name == finding.code.name) {
            finding.severity = Severity::Error;
        }
    }
    diagnostics
}

/// What NCCL's reader stops at in the text of `part`. A document quoted in a log or a mail is no file of NCCL's.
pub(crate) fn text(part: &Part<'_>) -> Vec<Diagnostic> {
    let text = part.text();
    if !text.trim_start().starts_with('<') {
        return Vec::new();
    }
    let finding = |fault: lexical::Fault| {
        let message = format!("NCCL refuses the file: {}", fault.message);
        let finding = Diagnostic::warning(codes::NCCL_REFUSES, message);
        finding.hint(fault.hint).at(part.place_in_text(&fault.span))
    };
    lexical::faults(&text).into_iter().map(finding).collect()
}

/// What the elements of a topology file say wrongly.
pub(crate) fn system(tree: &XmlTree<'_>, catalogue: &Catalogue) -> Vec<Diagnostic> {
    let root = tree.root();
    let version = root.attribute("version");
    let mut lint = Lint { tree, catalogue, is_rccl: version == Some("2"), findings: Vec::new() };
    match version {
        Some("1") => {}
        Some("2") => lint.note(
            codes::NCCL_DOUBTFUL,
            (root, "version"),
            "this is a file of RCCL's, for AMD GPUs: NCCL refuses version 2",
            "NCCL reads version=\"1\"",
        ),
        Some(_) => lint.refused(
            (root, "version"),
            "NCCL refuses the version: it reads 1, RCCL 2",
            "write version=\"1\"",
        ),
        None => lint.refused(
            (root, "version"),
            "NCCL refuses the file: <system> has no version",
            "write version=\"1\"",
        ),
    }
    cpus::check(&mut lint);
    pci::check(&mut lint);
    links::check(&mut lint);
    nets::check(&mut lint);
    elements(&mut lint);
    lint.findings.truncate(FINDINGS_MAX);
    lint.findings
}

/// Elements by name and number.
fn elements(lint: &mut Lint<'_>) {
    let known = |parent: &str, name: &str| match parent {
        "system" => name == "cpu",
        "cpu" => matches!(name, "pci" | "nic"),
        "pci" => matches!(name, "pci" | "gpu" | "nic" | "pcilink"),
        "gpu" => matches!(name, "nvlink" | "xgmi" | "c2c"),
        "nic" => name == "net",
        _ => false,
    };
    let mut count = 0;
    for node in lint.all("") {
        count += 1;
        let Some(parent) = node.parent_element() else { continue };
        let (name, above) = (node.tag_name().name(), parent.tag_name().name());
        if !known(above, name) {
            let message = format!("NCCL reads over <{name}> in <{above}>");
            lint.warn(codes::NCCL_IGNORES, (node, ""), message, "see what a dump of NCCL's own holds");
        }
        if count == NODES_MAX + 1 {
            let message = "the file has more than 256 elements, the most that NCCL holds";
            lint.refused((node, ""), message, "leave out what no GPU or NIC hangs off");
        }
    }
}

/// A file under examination.
struct Lint<'t> {
    tree: &'t XmlTree<'t>,
    catalogue: &'t Catalogue,
    /// Whether it is of RCCL's form.
    is_rccl: bool,
    findings: Vec<Diagnostic>,
}

/// An element and an attribute of it that a finding is about; the attribute may be missing.
type At<'a> = (Node<'a, 'a>, &'a str);

impl<'t> Lint<'t> {
    /// Elements of that name, or all.
    fn all(&self, name: &'static str) -> Vec<Node<'t, 't>> {
        let document: &'t roxmltree::Document<'t> = self.tree.document;
        let wanted = |node: &Node<'_, '_>| node.is_element() && (name.is_empty() || node.has_tag_name(name));
        document.descendants().filter(wanted).collect()
    }

    fn say(&mut self, finding: Diagnostic, (node, attribute): At<'_>, hint: &str) {
        let place = self.tree.attribute(node, attribute);
        self.findings.push(finding.hint(hint).at(place));
    }

    fn refused(&mut self, at: At<'_>, message: impl Into<String>, hint: &str) {
        self.say(Diagnostic::warning(codes::NCCL_REFUSES, message), at, hint);
    }

    fn warn(&mut self, code: Code, at: At<'_>, message: impl Into<String>, hint: &str) {
        self.say(Diagnostic::warning(code, message), at, hint);
    }

    fn note(&mut self, code: Code, at: At<'_>, message: impl Into<String>, hint: &str) {
        self.say(Diagnostic::note(code, message), at, hint);
    }

    /// Reports each value of `attribute` that an earlier of `nodes` has.
    fn distinct(&mut self, nodes: &[Node<'t, 't>], attribute: &'t str, what: &str) {
        let mut seen: std::collections::BTreeMap<&str, Node<'t, 't>> = std::collections::BTreeMap::new();
        for node in nodes {
            let Some(value) = node.attribute(attribute) else { continue };
            if let Some(first) = seen.get(value) {
                let line = self.tree.line(*first);
                let message = format!("{what} {attribute}=\"{value}\" stands twice; first in line {line}");
                self.warn(
                    codes::NCCL_CONTRADICTION,
                    (*node, attribute),
                    message,
                    "NCCL takes the first: give each its own",
                );
            } else {
                seen.insert(value, *node);
            }
        }
    }
}
