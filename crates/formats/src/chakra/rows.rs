//! A trace node by node, for whoever plays it: what each node is, waits for, takes and sends.

mod graph;

use std::collections::BTreeMap;

use weft_base::{Bytes, Code, Diagnostic, Place, Span};

use super::codes::{TRACE_COLLECTIVE, TRACE_DAMAGED};
use super::document::{self, Sink};
use super::trace::{COLLECTIVES, MICROSECOND, TraceNode, says};
use super::{head, messages, used};
use crate::codes::DOCUMENT_SYNTAX;
use crate::document::{Content, documents};
use crate::evidence::WorkloadNodeKind;
use crate::ranges::short;

/// What PyTorch's observer calls the threads that it records.
const PYTORCH_MARK: &str = "[pytorch|profiler|execution_trace|";
/// Nodes of a rank; a step of a large model has some hundred thousand.
const NODES_MAX: usize = 1 << 22;
/// Findings of one kind that are told one by one.
const TOLD_MAX: usize = 20;

/// The execution trace of one rank.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutionTrace {
    /// The file's name.
    pub file: String,
    /// `version` of the trace, or of its schema; empty where it says neither.
    pub version: String,
    /// Each after all that it waits for; of those that could be next, the one of the lowest id.
    pub nodes: Vec<ExecutionNode>,
    /// Ranks of process groups that the trace itself defines; no ranks stand for all.
    pub groups: BTreeMap<String, Vec<u32>>,
}

/// A node of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionNode {
    /// `id`, as in the trace.
    pub id_number: u64,
    /// Line of the file, from 1; 1 where it has no lines.
    pub line: u32,
    /// As in the trace.
    pub name: Box<str>,
    /// What it is.
    pub kind: WorkloadNodeKind,
    /// Whether the CPU does it; where the trace does not say, the accelerator does.
    pub is_host: bool,
    /// Places in the trace's nodes of those whose results it needs.
    pub data_deps: Box<[u32]>,
    /// Places in the trace's nodes of those that call or order it.
    pub control_deps: Box<[u32]>,
    /// How long it took where it was recorded; zero where the trace does not say.
    pub duration: Span,
    /// Of a collective its name: `all-reduce`.
    pub collective: Option<&'static str>,
    /// `comm_size`: what a rank puts in.
    pub bytes: Option<Bytes>,
    /// `pg_name`: the process group; empty names are none.
    pub group: Option<Box<str>>,
    /// `comm_src`: the rank that sends.
    pub source_rank: Option<u32>,
    /// `comm_dst`: the rank that receives.
    pub destination_rank: Option<u32>,
    /// `comm_tag`; 0 where the trace does not say.
    pub tag_number: u64,
    /// `num_ops`: floating-point operations of a computation.
    pub operations_count: Option<u64>,
    /// `tensor_size`: what a computation or a memory node reads and writes.
    pub tensor: Option<Bytes>,
}

impl ExecutionNode {
    /// What messages call it: the id and as much of the name as keeps them short, such as ``3 (`layer 1`)``.
    pub fn label(&self) -> String {
        label(self.id_number, &self.name)
    }
}

fn label(id: u64, name: &str) -> String {
    format!("{id} (`{}`)", short(name))
}

/// Reads a trace, binary or JSON. Findings of severity error say why it cannot be played; the nodes are then left out.
pub fn execution_trace(file: &str, bytes: &[u8]) -> (ExecutionTrace, Vec<Diagnostic>) {
    let mut rows = Rows { file: file.to_owned(), ..Rows::default() };
    let mut rest = bytes;
    if let Some(text) = text_of(bytes) {
        if let Some(fault) = document::read(text, &mut rows) {
            let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
            let place = Place::new(file, number(fault.index + 1), number(fault.column), 1);
            let message = format!("this trace breaks off here: {}", fault.message);
            rows.findings.push(Diagnostic::error(DOCUMENT_SYNTAX, message).at(place));
        }
        if rows.nodes.is_empty() && rows.findings.is_empty() && text.contains(PYTORCH_MARK) {
            rows.say(TRACE_DAMAGED, 1, "this is PyTorch's own execution trace, which has no times and no kernels".to_owned())
                .hint = Some("join it with the profiler's by `chakra_trace_link`, then make a trace of both by `chakra_converter`".to_owned());
        }
    } else if let Some(version) = head(&mut rest) {
        rows.trace.version = version;
        if let Some(offset) = messages(bytes, rest, |node| rows.node(used(node))) {
            let last = rows
                .nodes
                .last()
                .map_or_else(String::new, |node| format!(", behind node {}", node.id_number));
            rows.say(
                TRACE_DAMAGED,
                1,
                format!("the trace breaks off at byte {offset} of {}{last}", bytes.len()),
            )
            .hint = Some(
                "write or copy the file again; a step that misses its end would be too quick".to_owned(),
            );
        }
    }
    rows.finish()
}

/// Ranks of process groups as ASTRA-sim's file has them: `{"0": [0, 1], "1": [2, 3]}`; `None` if it is anything else.
pub fn rank_groups(text: &str) -> Option<BTreeMap<String, Vec<u32>>> {
    let (found, fault) = documents(text);
    let [only] = found.as_slice() else { return None };
    if fault.is_some() || only.entries().is_empty() {
        return None;
    }
    let ranks = |node: &crate::document::Node<'_>| match &node.content {
        Content::List(items) => items.iter().map(crate::document::Node::number).collect::<Option<Vec<u32>>>(),
        Content::Text(_) | Content::Null | Content::Map(_) => None,
    };
    only.entries().iter().map(|(name, value)| Some((name.text()?.to_owned(), ranks(value)?))).collect()
}

/// The bytes as JSON's text; messages may begin with a brace as well, but have bytes that no text has.
fn text_of(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    (text.trim_start().starts_with(['{', '[']) && !text.contains(is_control)).then_some(text)
}

/// A trace in the making.
#[derive(Default)]
struct Rows {
    file: String,
    trace: ExecutionTrace,
    nodes: Vec<ExecutionNode>,
    /// Ids that each node waits for: data, and control.
    deps: Vec<[Box<[u64]>; 2]>,
    findings: Vec<Diagnostic>,
    unknown_count: usize,
    is_full: bool,
}

impl Sink for Rows {
    fn node(&mut self, node: TraceNode<'_>) {
        if self.nodes.len() >= NODES_MAX {
            if !std::mem::replace(&mut self.is_full, true) {
                let message =
                    format!("the trace has more than {NODES_MAX} nodes, which are too many to play");
                self.say(TRACE_DAMAGED, node.line, message).hint =
                    Some("cut the trace to one step of the run".to_owned());
            }
            return;
        }
        let kind = *WorkloadNodeKind::ALL.get(node.kind).unwrap_or(&WorkloadNodeKind::Invalid);
        if kind == WorkloadNodeKind::Metadata {
            groups(node.inputs, &mut self.trace.groups);
        }
        let is_host = node.is_host == Some(true);
        let collective = (kind == WorkloadNodeKind::Collective).then(|| collective(&node)).flatten();
        // What the CPU calls has no size; what it starts on the accelerator does.
        if kind == WorkloadNodeKind::Collective && collective.is_none() && !is_host {
            self.unknown(&node);
        }
        let rank = |rank: Option<u64>| rank.and_then(|rank| u32::try_from(rank).ok());
        self.nodes.push(ExecutionNode {
            id_number: node.id,
            line: node.line,
            name: node.name.into(),
            kind,
            is_host,
            data_deps: Box::default(),
            control_deps: Box::default(),
            duration: Span::picoseconds(node.microseconds.saturating_mul(MICROSECOND)),
            collective,
            bytes: node.bytes.map(Bytes::new),
            group: node.group.filter(|group| !group.is_empty()).map(String::into_boxed_str),
            source_rank: rank(node.source),
            destination_rank: rank(node.destination),
            tag_number: node.tag.unwrap_or(0),
            operations_count: node.operations,
            tensor: node.tensor_bytes.map(Bytes::new),
        });
        self.deps.push([node.depends.into(), node.controls.into()]);
    }

    fn version(&mut self, version: &str) {
        if self.trace.version.is_empty() {
            version.clone_into(&mut self.trace.version);
        }
    }
}

impl Rows {
    /// An error of this file, to which a hint may be added.
    fn say(&mut self, code: Code, line: u32, message: String) -> &mut Diagnostic {
        let place = Place::new(self.file.clone(), line, 1, 0);
        self.findings.push(Diagnostic::error(code, message).at(place));
        let last = self.findings.len() - 1;
        &mut self.findings[last]
    }

    fn unknown(&mut self, node: &TraceNode<'_>) {
        self.unknown_count += 1;
        if self.unknown_count > TOLD_MAX {
            return;
        }
        let why = node.collective.map_or_else(
            || "it has no `comm_type`".to_owned(),
            |kind| format!("`comm_type` {kind} is none that Chakra lists"),
        );
        let message = format!("node {} is no known collective: {why}", label(node.id, node.name));
        self.say(TRACE_COLLECTIVE, node.line, message).hint = Some(
            "`comm_type` is 0 for all-reduce, 2 for all-gather, 6 for all-to-all, 7 for reduce-scatter"
                .to_owned(),
        );
    }
}

/// By number, else by what the node's name holds.
fn collective(node: &TraceNode<'_>) -> Option<&'static str> {
    match node.collective {
        Some(number) => COLLECTIVES.get(usize::try_from(number).ok()?).copied(),
        // The longest first: a reduce-scatter is no reduce.
        None => {
            COLLECTIVES.iter().filter(|word| says(node.name, word)).max_by_key(|word| word.len()).copied()
        }
    }
}

/// Process groups as PyTorch records them: a list of objects with `pg_name` and `ranks`, in a string.
fn groups(inputs: &str, into: &mut BTreeMap<String, Vec<u32>>) {
    let (Some(first), Some(last)) = (inputs.find("[{"), inputs.rfind("}]")) else { return };
    let Some(list) = inputs.get(first..last + 2) else { return };
    // The strings of a list of strings in Python, with its quotes before the quotes inside.
    let list = list.replace("\\\"", "\"");
    for document in &documents(&list).0 {
        for group in document.items() {
            let (Some(name), Some(ranks)) = (group.text_at(&["pg_name"]), group.get("ranks")) else {
                continue;
            };
            into.insert(
                name.to_owned(),
                ranks.items().iter().filter_map(crate::document::Node::number).collect(),
            );
        }
    }
}
