//! From traces to what is played: nodes as tasks, collectives and messages as transfers that tasks of several ranks share.

mod groups;
mod messages;

use std::collections::BTreeMap;

use weft_base::{Bytes, Code, Diagnostic, Place, Severity, Span};
use weft_collective::Collective;
use weft_formats::{ExecutionNode, ExecutionTrace, WorkloadNodeKind};

use super::price::{Priced, Prices};
use super::{REPLAY_ASSUMED, REPLAY_NO_PRICE, REPLAY_NO_TIMES, Recording};

/// Findings of one kind that are told one by one.
const TOLD_MAX: usize = 20;

/// Place of a task.
pub(super) type TaskId = usize;

/// What a task does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Work {
    /// Nothing that takes time.
    Nothing,
    /// It has a stream of its rank for so long.
    Alone(Stream, f64),
    /// It takes part in a transfer.
    Transfer(usize),
}

/// What of a rank does one thing after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stream {
    Compute,
    Memory,
    Host,
}

/// A node of a trace.
#[derive(Debug, Clone)]
pub(super) struct Task {
    pub rank: u32,
    /// Its place in the trace.
    pub place: usize,
    pub work: Work,
    /// How many tasks it waits for.
    pub waits_count: usize,
    /// Who waits for it.
    pub next: Vec<TaskId>,
}

/// What is sent.
#[derive(Debug, Clone)]
pub(super) struct Transfer {
    /// Place of its group.
    pub group: usize,
    pub operation: &'static str,
    pub bytes: f64,
    /// Who must have come for it to begin.
    pub begins: Vec<TaskId>,
    /// Who goes on when it is over.
    pub ends: Vec<TaskId>,
    /// The one that must be over before.
    pub before: Option<usize>,
    pub alone_s: f64,
    /// Of what each of these carries, what it takes.
    pub loads: Vec<(Resource, f64)>,
}

/// What transfers share, each for one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Resource {
    /// A GPU's links within its server.
    InServer(u32, Direction),
    /// What a GPU sends to other servers.
    Network(u32, Direction),
    /// The ports of a server.
    Ports(u32, Direction),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Direction {
    Out,
    In,
}

/// Ranks that send to each other; no name for messages of two.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Group {
    pub name: Option<String>,
    pub ranks: Vec<u32>,
}

/// All that is played.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub tasks: Vec<Task>,
    pub transfers: Vec<Transfer>,
    pub groups: Vec<Group>,
}

/// What of communication has been found so far.
pub(super) struct Planner<'r> {
    pub recording: &'r Recording,
    pub prices: &'r dyn Prices,
    pub plan: Plan,
    pub found: Vec<Diagnostic>,
    /// The first task of each rank.
    pub first: BTreeMap<u32, TaskId>,
    /// Prices that were asked for, by operation, group and size.
    asked: BTreeMap<(Collective, Vec<u32>, u64), Result<Priced, String>>,
    estimated_count: usize,
    /// Nodes of kinds that are not played.
    unknown_count: usize,
}

/// The plan, and what is wrong with the traces or was assumed.
pub(super) fn plan(recording: &Recording, prices: &dyn Prices) -> (Plan, Vec<Diagnostic>) {
    let mut planner = Planner {
        recording,
        prices,
        plan: Plan::default(),
        found: Vec::new(),
        first: BTreeMap::new(),
        asked: BTreeMap::new(),
        estimated_count: 0,
        unknown_count: 0,
    };
    planner.fits();
    planner.times();
    if planner.found.is_empty() {
        planner.tasks();
        groups::collectives(&mut planner);
        messages::messages(&mut planner);
    }
    (planner.plan, planner.found)
}

/// A node and the trace that it is in.
pub(super) type Where<'r> = (&'r ExecutionTrace, &'r ExecutionNode);

/// A finding about a node.
pub(super) fn about(code: Code, (trace, node): Where<'_>, message: String, hint: &str) -> Diagnostic {
    Diagnostic::error(code, message).hint(hint).at(Place::new(trace.file.clone(), node.line, 1, 0))
}

/// Whether a node sends or receives over the network; what the CPU does is in its recorded time.
pub(super) fn is_sent(node: &ExecutionNode) -> bool {
    let communicates = matches!(
        node.kind,
        WorkloadNodeKind::Collective | WorkloadNodeKind::Send | WorkloadNodeKind::Receive
    );
    communicates && !node.is_host
}

impl Planner<'_> {
    /// Says what is wrong; of more than a reader would read, the first.
    pub fn refuse(&mut self, finding: Diagnostic) {
        if self.found.iter().filter(|one| one.severity == Severity::Error).count() < TOLD_MAX {
            self.found.push(finding);
        }
    }

    /// Whether there is a GPU for each rank.
    fn fits(&mut self) {
        let Some((last, trace)) = self.recording.traces.last_key_value() else { return };
        if *last >= self.prices.gpus() {
            let message = format!("rank {last} has no GPU: the machine has {}", self.prices.gpus());
            let finding =
                Diagnostic::error(REPLAY_NO_PRICE, message).at(Place::new(trace.file.clone(), 1, 1, 0));
            self.found.push(finding.hint("name a machine with a GPU for each rank"));
        }
    }

    /// Whether anything says how long the GPU computes.
    fn times(&mut self) {
        let all = || {
            self.recording.traces.values().flat_map(|trace| trace.nodes.iter().map(move |node| (trace, node)))
        };
        let computes = || all().filter(|(_, node)| node.kind == WorkloadNodeKind::Compute && !node.is_host);
        let Some((trace, node)) = computes().next() else { return };
        let says = |node: &ExecutionNode| {
            node.duration.get() > 0 || node.operations_count.unwrap_or(0) > 0 || node.tensor.is_some()
        };
        if !computes().any(|(_, node)| says(node)) {
            let count = computes().count();
            let message = format!(
                "none of {count} computations says how long it took or how much it was, the first of them node {}",
                node.label()
            );
            let hint = "record with a profiler, so that nodes have `duration_micros`, or generate them with `num_ops` and `tensor_size`";
            self.found.push(about(REPLAY_NO_TIMES, (trace, node), message, hint));
        }
    }

    /// A task for each node.
    fn tasks(&mut self) {
        for (rank, trace) in &self.recording.traces {
            let first = self.plan.tasks.len();
            self.first.insert(*rank, first);
            for (place, node) in trace.nodes.iter().enumerate() {
                let work = self.work(node);
                let mut before: Vec<u32> = [&node.data_deps[..], &node.control_deps].concat();
                before.sort_unstable();
                before.dedup();
                for one in &before {
                    self.plan.tasks[first + *one as usize].next.push(first + place);
                }
                self.plan.tasks.push(Task {
                    rank: *rank,
                    place,
                    work,
                    waits_count: before.len(),
                    next: Vec::new(),
                });
            }
        }
        if self.unknown_count > 0 {
            let message = format!(
                "{} nodes are of no kind that is played, such as storage and checkpoints; they take no time",
                self.unknown_count
            );
            self.found.push(Diagnostic::note(REPLAY_ASSUMED, message));
        }
        if self.estimated_count > 0 {
            let message = format!(
                "{} computations have no recorded time; they take what the GPU's peak in 16 bits or its memory allows, whichever is slower, which no real kernel reaches",
                self.estimated_count
            );
            self.found.push(
                Diagnostic::warning(REPLAY_ASSUMED, message)
                    .hint("`--compute-scale 2` takes half of that speed"),
            );
        }
    }

    /// What a node is by itself; transfers come later.
    fn work(&mut self, node: &ExecutionNode) -> Work {
        let recorded_s = Span::as_seconds(node.duration);
        let is_empty = matches!(node.kind, WorkloadNodeKind::Metadata | WorkloadNodeKind::Invalid);
        if node.is_host && !is_empty {
            return Work::Alone(Stream::Host, recorded_s);
        }
        match node.kind {
            WorkloadNodeKind::Metadata => Work::Nothing,
            WorkloadNodeKind::Invalid => {
                self.unknown_count += 1;
                Work::Nothing
            }
            WorkloadNodeKind::Collective | WorkloadNodeKind::Send | WorkloadNodeKind::Receive => {
                Work::Nothing
            }
            WorkloadNodeKind::Compute => {
                let seconds = if recorded_s > 0.0 { recorded_s } else { self.estimate_s(node) };
                Work::Alone(Stream::Compute, seconds * self.recording.compute_scale)
            }
            WorkloadNodeKind::MemoryLoad | WorkloadNodeKind::MemoryStore => {
                let seconds = if recorded_s > 0.0 { recorded_s } else { self.estimate_s(node) };
                Work::Alone(Stream::Memory, seconds)
            }
        }
    }

    fn estimate_s(&mut self, node: &ExecutionNode) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "operations are many")]
        let operations = node.operations_count.unwrap_or(0) as f64;
        let bytes = node.tensor.map_or(0.0, Bytes::as_f64);
        if operations + bytes <= 0.0 {
            return 0.0;
        }
        self.estimated_count += 1;
        self.prices.computation_s(operations, bytes).unwrap_or(0.0)
    }

    /// The price of what `node` of `trace` does with others.
    pub fn price(
        &mut self,
        (trace, node): Where<'_>,
        collective: Collective,
        ranks: &[u32],
        bytes: f64,
    ) -> Option<Priced> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "sizes are positive and fit"
        )]
        let key = (collective, ranks.to_vec(), bytes as u64);
        let prices = self.prices;
        let ask = || prices.communication(collective, ranks, bytes);
        let is_new = !self.asked.contains_key(&key);
        match self.asked.entry(key).or_insert_with(ask).clone() {
            Ok(priced) => Some(priced),
            Err(_) if !is_new => None,
            Err(why) => {
                let message = format!("node {} cannot be priced: {why}", node.label());
                let hint = "`weft show` says how the machine was understood";
                self.refuse(about(REPLAY_NO_PRICE, (trace, node), message, hint));
                None
            }
        }
    }

    /// Adds a transfer and lets its tasks take part in it.
    pub fn add(&mut self, transfer: Transfer) -> usize {
        let place = self.plan.transfers.len();
        for task in transfer.begins.iter().chain(&transfer.ends) {
            self.plan.tasks[*task].work = Work::Transfer(place);
        }
        self.plan.transfers.push(transfer);
        place
    }
}
