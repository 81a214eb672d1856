//! Nodes counted as they come, and their dependencies checked at the end.

use std::collections::BTreeMap;

use weft_base::{Bytes, Diagnostic, Severity, Span};

use super::codes;
use super::document::Sink;
use crate::evidence::{Workload, WorkloadCollective, WorkloadCount, WorkloadNodeKind};

/// Picoseconds in a microsecond.
pub(super) const MICROSECOND: u64 = 1_000_000;

/// Collectives of different kind, size or group that are kept.
const COLLECTIVES_MAX: usize = 10_000;

/// Chakra's collectives by number, in our words.
pub(super) const COLLECTIVES: [&str; 10] = [
    "all-reduce",
    "reduce",
    "all-gather",
    "gather",
    "scatter",
    "broadcast",
    "all-to-all",
    "reduce-scatter",
    "reduce-scatter-block",
    "barrier",
];

/// What is used of a node.
#[derive(Debug, Default)]
pub(super) struct TraceNode<'n> {
    pub id: u64,
    /// Line of the file, from 1; 1 where it has no lines.
    pub line: u32,
    pub name: &'n str,
    pub kind: usize,
    /// Nodes whose results it needs.
    pub depends: Vec<u64>,
    /// Nodes that call or order it.
    pub controls: Vec<u64>,
    pub microseconds: u64,
    /// `None` where the trace does not say; then it counts as the accelerator's.
    pub is_host: Option<bool>,
    pub collective: Option<u64>,
    pub bytes: Option<u64>,
    pub group: Option<String>,
    pub source: Option<u64>,
    pub destination: Option<u64>,
    pub tag: Option<u64>,
    pub operations: Option<u64>,
    pub tensor_bytes: Option<u64>,
    /// The values that it takes, as text.
    pub inputs: &'n str,
}

/// Number in Chakra, size and group.
type CollectiveKey = (Option<u64>, Option<u64>, Option<String>);

/// A trace in the making.
#[derive(Debug, Default)]
pub(super) struct Trace {
    pub workload: Workload,
    counts: [(u64, u64); 8],
    collectives: BTreeMap<CollectiveKey, usize>,
    times: Vec<u64>,
    compute: [u64; 2],
    communication: u64,
    ids: Vec<u64>,
    depends: Vec<u64>,
    controls: Vec<u64>,
    /// Where the dependencies of each node end.
    ends: Vec<usize>,
}

impl Sink for Trace {
    fn node(&mut self, node: TraceNode<'_>) {
        self.add(node);
    }

    fn version(&mut self, version: &str) {
        if self.workload.version.is_empty() {
            version.clone_into(&mut self.workload.version);
        }
    }
}

impl Trace {
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub fn add(&mut self, node: TraceNode<'_>) {
        let index = if node.kind < WorkloadNodeKind::ALL.len() { node.kind } else { 0 };
        let kind = WorkloadNodeKind::ALL[index];
        let (count, time) = &mut self.counts[index];
        *count += 1;
        *time = time.saturating_add(node.microseconds);
        let on_host = node.is_host == Some(true);
        let communicates =
            matches!(kind, WorkloadNodeKind::Collective | WorkloadNodeKind::Send | WorkloadNodeKind::Receive);
        if kind == WorkloadNodeKind::Compute {
            let time = &mut self.compute[usize::from(on_host)];
            *time = time.saturating_add(node.microseconds);
        } else if communicates && !on_host {
            self.communication = self.communication.saturating_add(node.microseconds);
        }
        if let Some(group) = node.group.as_ref().filter(|group| communicates && !group.is_empty())
            && !self.workload.groups.contains(group)
            && self.workload.groups.len() < COLLECTIVES_MAX
        {
            self.workload.groups.push(group.clone());
        }
        // What the CPU calls is counted with what it starts on the accelerator.
        if kind == WorkloadNodeKind::Collective && !(on_host && node.bytes.is_none()) {
            self.collective(&node);
        }
        self.ids.push(node.id);
        self.depends.extend(node.depends);
        self.controls.extend(node.controls);
        self.ends.push(self.depends.len());
    }

    fn collective(&mut self, node: &TraceNode<'_>) {
        let key = (node.collective, node.bytes, node.group.clone());
        let index = match self.collectives.get(&key) {
            Some(index) => *index,
            None if self.collectives.len() >= COLLECTIVES_MAX => return,
            None => {
                let index = self.times.len();
                let word = node.collective.and_then(|kind| COLLECTIVES.get(usize::try_from(kind).ok()?));
                let named = COLLECTIVES
                    .iter()
                    .filter(|_| node.collective.is_none())
                    .find(|word| says(node.name, word));
                self.workload.collectives.push(WorkloadCollective {
                    kind: word.or(named).map(|word| (*word).to_owned()),
                    bytes: node.bytes.map(Bytes::new),
                    group: node.group.clone().filter(|group| !group.is_empty()),
                    count: 0,
                    time: Span::picoseconds(0),
                });
                self.collectives.insert(key, index);
                self.times.push(0);
                index
            }
        };
        self.workload.collectives[index].count += 1;
        self.times[index] = self.times[index].saturating_add(node.microseconds);
    }

    /// The workload, and what contradicts itself in it.
    pub fn finish(mut self, format: &'static str) -> (Workload, Vec<Diagnostic>) {
        let span = |microseconds: u64| Span::picoseconds(microseconds.saturating_mul(MICROSECOND));
        let diagnostics = self.check();
        let mut workload = self.workload;
        workload.format = format;
        workload.is_complete = diagnostics.iter().all(|finding| finding.severity == Severity::Note);
        let counts = WorkloadNodeKind::ALL.iter().zip(self.counts).filter(|(_, (count, _))| *count > 0);
        workload.counts = counts
            .map(|(kind, (count, time))| WorkloadCount { kind: *kind, count, time: span(time) })
            .collect();
        for (collective, time) in workload.collectives.iter_mut().zip(self.times) {
            collective.time = span(time);
        }
        [workload.compute_time, workload.host_time] = self.compute.map(span);
        workload.communication_time = span(self.communication);
        workload.dependencies = self.depends.len() + self.controls.len();
        (workload, diagnostics)
    }

    fn check(&mut self) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        let mut order: Vec<(u64, usize)> = self.ids.iter().copied().zip(0..).collect();
        order.sort_unstable();
        let doubled = order.windows(2).filter(|pair| pair[0].0 == pair[1].0).count();
        if let Some(pair) = order.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            found
                .push(format!("{doubled} nodes have the id of another one, the first of them {}", pair[0].0));
        }
        let position = |id: u64| order.binary_search_by_key(&id, |(id, _)| *id).ok().map(|at| order[at].1);
        let mut waits = vec![0usize; self.ids.len()];
        let mut missing = (0usize, None);
        let mut edges: Vec<(usize, usize)> = Vec::with_capacity(self.depends.len());
        let mut start = 0;
        for (node, end) in self.ends.iter().enumerate() {
            for id in &self.depends[start..*end] {
                match position(*id) {
                    Some(before) => {
                        waits[node] += 1;
                        edges.push((before, node));
                    }
                    None => missing = (missing.0 + 1, missing.1.or(Some((self.ids[node], *id)))),
                }
            }
            start = *end;
        }
        if let (count, Some((node, id))) = missing {
            found.push(format!(
                "{count} dependencies are on nodes that are not there, the first of node {node} on {id}"
            ));
        }
        let stuck = stuck(&mut waits, edges);
        if let Some(first) = stuck.first() {
            let count = stuck.len();
            found.push(format!(
                "{count} nodes wait for each other in a circle, or behind one: node {} is one",
                self.ids[*first]
            ));
        }
        let hint = "a replay of this trace would not end";
        let absent = self.controls.iter().filter(|id| position(**id).is_none()).count();
        let callers = (absent > 0).then(|| {
            let message = format!("{absent} control dependencies are on nodes that are not there, as on callers that were not recorded");
            Diagnostic::note(codes::TRACE_GRAPH, message)
        });
        let warnings =
            found.into_iter().map(|message| Diagnostic::warning(codes::TRACE_GRAPH, message).hint(hint));
        warnings.chain(callers).collect()
    }
}

/// The nodes that never get their turn.
fn stuck(waits: &mut [usize], mut edges: Vec<(usize, usize)>) -> Vec<usize> {
    edges.sort_unstable();
    let mut ready: Vec<usize> = (0..waits.len()).filter(|node| waits[*node] == 0).collect();
    while let Some(node) = ready.pop() {
        let first = edges.partition_point(|(before, _)| *before < node);
        for (_, next) in edges[first..].iter().take_while(|(before, _)| *before == node) {
            waits[*next] -= 1;
            if waits[*next] == 0 {
                ready.push(*next);
            }
        }
    }
    (0..waits.len()).filter(|node| waits[*node] > 0).collect()
}

/// Whether a kernel's or an operator's name holds a collective's: `ncclKernel_AllReduce_RING_LL`.
pub(super) fn says(name: &str, word: &str) -> bool {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    plain.contains(&word.replace('-', ""))
}
