//! What readers of InfiniBand subnets share: statements of both ends joined into cables, and findings as
//! diagnostics.

use std::collections::BTreeMap;

use weft_base::{Diagnostic, Place};
use weft_topology::{Rates, Subnet, SubnetEnd, SubnetFinding, SubnetLink};

use crate::codes;
use crate::format::Part;

/// Findings of one kind that are told one by one; the rest is counted.
const TOLD_MAX: usize = 16;

/// What one end says of its cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Statement {
    /// The end that says it, with its line.
    pub from: SubnetEnd,
    /// The end that it names; its line is 0.
    pub to: SubnetEnd,
}

/// Joins statements into the cables of `subnet`, and gives each node as many ports as its cables need.
pub(crate) fn join(subnet: &mut Subnet, mut statements: Vec<Statement>, rates: &Rates) {
    let ends = |statement: &Statement| {
        let key = |end: &SubnetEnd| (end.node, end.port);
        let (from, to) = (key(&statement.from), key(&statement.to));
        (from.min(to), from.max(to), from > to, statement.from.line)
    };
    statements.sort_unstable_by_key(ends);
    subnet.links.reserve_exact(statements.len() / 2);
    let mut statements = statements.into_iter().peekable();
    while let Some(first) = statements.next() {
        let (low, high, ..) = ends(&first);
        let Statement { mut from, mut to } = first;
        while let Some(next) = statements.next_if(|next| {
            let (other_low, other_high, ..) = ends(next);
            (other_low, other_high) == (low, high)
        }) {
            if (next.from.node, next.from.port) == (to.node, to.port) && to.line == 0 {
                from = merged(from, next.to);
                to = merged(next.from, to);
            }
        }
        subnet.links.push(SubnetLink::new(from, to, rates));
    }
    for end in subnet.links.iter().flat_map(|link| [link.a, link.b]) {
        let node = &mut subnet.nodes[end.node as usize];
        node.ports = node.ports.max(end.port);
    }
    subnet.sort();
}

/// What an end says of itself, and where it is silent what the other says of it.
fn merged(own: SubnetEnd, told: SubnetEnd) -> SubnetEnd {
    SubnetEnd { lid: own.lid.or(told.lid), guid: own.guid.or(told.guid), ..own }
}

/// What is wrong with `subnet`, at the lines of `part`, whose numbers ascend.
pub(crate) fn diagnose(subnet: &Subnet, part: &Part<'_>) -> Vec<Diagnostic> {
    let mut told: Vec<Diagnostic> = Vec::new();
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    let unlisted = subnet.nodes.iter().filter(|node| node.line == 0).count();
    if unlisted > 0 {
        let message = format!(
            "{unlisted} of {} nodes are named by cables only, without a record of their own",
            subnet.nodes.len()
        );
        let hint = "paste the whole output of `ibnetdiscover` to see their other cables";
        told.push(Diagnostic::note(codes::FABRIC_PARTIAL, message).hint(hint).at(part.start()));
    }
    for finding in subnet.check() {
        let (line, diagnostic) = said(subnet, &finding);
        let code = diagnostic.code.name;
        let count = counts.entry(code).or_insert(0);
        *count += 1;
        if *count <= TOLD_MAX {
            told.push(diagnostic.at(place(part, line)));
        } else if *count == TOLD_MAX + 1 {
            told.push(diagnostic);
        }
    }
    for (code, count) in counts.into_iter().filter(|(_, count)| *count > TOLD_MAX) {
        // The one beyond the last that is told stands for all others.
        if let Some(last) = told.iter_mut().rfind(|finding| finding.code.name == code) {
            last.message = format!("{} more like these", count - TOLD_MAX);
            last.hint = None;
        }
    }
    told
}

/// Where line `line` begins.
pub(crate) fn place(part: &Part<'_>, line: u32) -> Place {
    let found = part.lines.binary_search_by_key(&line, |line| line.number);
    found.map_or_else(|_| part.start(), |index| part.start_at(index))
}

/// The finding in words, with the line that it is about.
fn said(subnet: &Subnet, finding: &SubnetFinding) -> (u32, Diagnostic) {
    let port = |end: &SubnetEnd| format!("`{}` port {}", subnet.label(end.node), end.port);
    let line = |link: &SubnetLink| if link.a.line != 0 { link.a.line } else { link.b.line };
    match finding {
        SubnetFinding::OneSided { said, silent } => {
            let message =
                format!("{} says that it reaches {}, which does not say so", port(said), port(silent));
            let hint =
                "the output is cut or was edited, or the port went down while it was taken: take it again";
            (said.line, Diagnostic::warning(codes::FABRIC_ONE_SIDED, message).hint(hint))
        }
        SubnetFinding::PortTwice { end, first, second } => {
            let message = format!("{} has two cables: to {} and to {}", port(end), port(first), port(second));
            (end.line, Diagnostic::warning(codes::FABRIC_PORT_TWICE, message))
        }
        SubnetFinding::GuidTwice { guid, first, second } => {
            let message = format!("{} and {} have the same GUID {guid}", port(first), port(second));
            let hint = "GUIDs must differ; adapters that were flashed with one image can have the same";
            (second.line.max(first.line), Diagnostic::warning(codes::FABRIC_GUID_TWICE, message).hint(hint))
        }
        SubnetFinding::EndsDiffer { link } => {
            let link = &subnet.links[*link as usize];
            let runs = |end: &SubnetEnd| end.signalling.map_or_else(String::new, |runs| runs.to_string());
            let (a, b) = (runs(&link.a), runs(&link.b));
            let message =
                format!("{} reports {a}, but its far end {} reports {b}", port(&link.a), port(&link.b));
            (line(link), Diagnostic::warning(codes::FABRIC_ENDS_DIFFER, message))
        }
        SubnetFinding::Degraded { link, usual } => {
            let link = &subnet.links[*link as usize];
            let runs = link.signalling.map_or_else(String::new, |runs| runs.to_string());
            let message =
                format!("the cable from {} to {} runs {runs}, not {usual}", port(&link.a), port(&link.b));
            let hint = "reseat or replace the cable, then look at both ports' error counters";
            (line(link), Diagnostic::warning(codes::FABRIC_LINK_SLOW, message).hint(hint))
        }
        SubnetFinding::AdapterAlone { node } => {
            let node = &subnet.nodes[*node as usize];
            let message = format!("`{}` has no cable, or its ports are down", node.name);
            let hint = "look at `ibstat` on that host and at the cable";
            (node.line, Diagnostic::warning(codes::FABRIC_PORT_DOWN, message).hint(hint))
        }
    }
}
