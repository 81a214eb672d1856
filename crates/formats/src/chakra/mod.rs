//! Chakra's execution traces: protocol buffers behind each other, each after its length, or JSON.

mod codes;
mod document;
mod message;
mod order;
mod rows;
mod trace;

#[cfg(test)]
mod tests;

use std::ops::Range;

use prost::Message;
use weft_base::{Diagnostic, Place};
use weft_catalogue::Catalogue;

use crate::document::{json, syntax};
use crate::evidence::Evidence;
use crate::format::{Claim, Format, Located, Part, Read, Text};
use crate::ranges;

use message::{Attribute, GlobalMetadata, Node};
use trace::{Trace, TraceNode};

pub use codes::{TRACE_COLLECTIVE, TRACE_DAMAGED, TRACE_GRAPH};
pub use rows::{ExecutionNode, ExecutionTrace, execution_trace, rank_groups};

/// The reader.
#[derive(Debug)]
pub struct Chakra;

impl Format for Chakra {
    fn name(&self) -> &'static str {
        "chakra"
    }

    fn title(&self) -> &'static str {
        "an execution trace of Chakra (.et, or JSON)"
    }

    fn command(&self) -> Option<&'static str> {
        None
    }

    fn marks(&self) -> &'static [&'static str] {
        &["\"workload_graph\"", "_NODE\""]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let is_own = |run: &Range<usize>| {
            text.lines[run.clone()]
                .iter()
                .any(|line| line.text.contains("\"workload_graph\"") || line.text.contains("_NODE\""))
        };
        let runs: Vec<Range<usize>> = json(text.lines).into_iter().filter(is_own).collect();
        // One object per message: all of them are one trace.
        let (Some(first), Some(last)) = (runs.first(), runs.last()) else { return Vec::new() };
        let between = json(text.lines)
            .into_iter()
            .filter(|run| run.end >= first.start.saturating_sub(1) && run.end <= last.end);
        vec![Claim::lines(between.flatten())]
    }

    fn read(&self, part: &Part<'_>, _catalogue: &Catalogue) -> Read {
        let mut trace = Trace::default();
        let fault = document::read(&part.text(), &mut trace);
        let is_lost = trace.is_empty();
        let (workload, mut diagnostics) = trace.finish(self.name());
        diagnostics.extend(fault.map(|fault| syntax(part, &fault, "this trace", is_lost)));
        if is_lost {
            return Read { diagnostics, unused: ranges::unused(&part.lines, &[]), ..Read::default() };
        }
        let evidence = vec![Located { value: Evidence::Workload(Box::new(workload)), place: part.start() }];
        let diagnostics = diagnostics.into_iter().map(|finding| placed(finding, part.start())).collect();
        Read { evidence, diagnostics, ..Read::default() }
    }

    fn read_bytes(&self, file: &str, bytes: &[u8]) -> Option<Read> {
        let mut rest = bytes;
        let version = head(&mut rest)?;
        let mut trace = Trace::default();
        trace.workload.version = version;
        let damage = messages(bytes, rest, |node| trace.add(used(node)));
        let (workload, mut diagnostics) = trace.finish(self.name());
        diagnostics.extend(damage.map(|offset| {
            let message = format!("the trace breaks off at byte {offset} of {}", bytes.len());
            Diagnostic::warning(codes::TRACE_DAMAGED, message).hint("what stands before it was read")
        }));
        let place = Place::new(file, 1, 1, 0);
        let evidence = vec![Located { value: Evidence::Workload(Box::new(workload)), place: place.clone() }];
        let diagnostics = diagnostics.into_iter().map(|finding| placed(finding, place.clone())).collect();
        Some(Read { evidence, diagnostics, ..Read::default() })
    }
}

fn placed(finding: Diagnostic, place: Place) -> Diagnostic {
    if finding.place.is_some() { finding } else { finding.at(place) }
}

/// Takes the first message off and gives its version; `None` if this is no trace.
fn head(rest: &mut &[u8]) -> Option<String> {
    let head = GlobalMetadata::decode(next(rest)?).ok()?;
    // Nearly anything decodes; only a node of a known kind behind it says that this is a trace.
    let first = Node::decode(next(&mut { *rest })?).ok()?;
    if !(1..=7).contains(&first.kind) || (first.id == 0 && first.name.is_empty()) {
        return None;
    }
    let schema = head.attr.into_iter().find(|attribute| attribute.name == "schema");
    Some(if head.version.is_empty() {
        schema.and_then(|own| own.text).unwrap_or_default()
    } else {
        head.version
    })
}

/// Takes all nodes of `rest`, the end of `bytes`; gives the byte at which they break off.
fn messages(bytes: &[u8], mut rest: &[u8], mut take: impl FnMut(&Node)) -> Option<usize> {
    while !rest.is_empty() {
        let offset = bytes.len() - rest.len();
        // An empty message would be a node that takes a byte of the file and many more in memory.
        let message = next(&mut rest).filter(|message| !message.is_empty());
        let Some(node) = message.and_then(|message| Node::decode(message).ok()) else {
            return Some(offset);
        };
        take(&node);
    }
    None
}

/// The longest message that is taken, so that one of nothing but empty attributes takes no memory to speak of.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// The next message, without its length; `None` if it is longer than what is left, or than any node.
fn next<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = prost::decode_length_delimiter(&mut *rest).ok()?;
    let (message, behind) = rest.split_at_checked(length).filter(|_| length <= MESSAGE_BYTES_MAX)?;
    *rest = behind;
    Some(message)
}

/// What is used of a message.
fn used(node: &Node) -> TraceNode<'_> {
    let attribute = |name: &str| node.attr.iter().find(|own| own.name == name);
    let number = |name: &str| attribute(name).and_then(Attribute::number);
    TraceNode {
        id: node.id,
        line: 1,
        name: &node.name,
        kind: usize::try_from(node.kind).unwrap_or(0),
        depends: node.data_deps.clone(),
        controls: node.ctrl_deps.clone(),
        microseconds: node.duration_micros,
        is_host: attribute("is_cpu_op").and_then(|own| own.flag.or(own.number().map(|number| number != 0))),
        collective: number("comm_type"),
        bytes: number("comm_size"),
        group: attribute("pg_name")
            .and_then(|own| own.text.clone().or(own.number().map(|name| name.to_string()))),
        source: number("comm_src"),
        destination: number("comm_dst"),
        tag: number("comm_tag"),
        operations: number("num_ops"),
        tensor_bytes: number("tensor_size"),
        inputs: node.inputs.as_ref().map_or("", |inputs| &inputs.values),
    }
}
