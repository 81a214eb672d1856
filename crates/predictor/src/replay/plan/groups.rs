//! Collectives: who is in which group, and which of each rank's belong together.

use std::collections::BTreeMap;

use weft_base::{Bytes, Diagnostic, Span};
use weft_collective::Collective;
use weft_formats::{ExecutionNode, ExecutionTrace, WorkloadNodeKind};

use super::{Direction, Group, Planner, Priced, Resource, TaskId, Transfer, about, is_sent};
use crate::replay::{REPLAY_ASSUMED, REPLAY_MISMATCH, REPLAY_NO_PRICE, Recording};

/// A group's name where the traces give none: all ranks.
const ALL: &str = "all ranks";

/// Groups that nothing defines which are told one by one.
const GUESSED_MAX: usize = 8;

/// Of each group the collectives of each of its ranks, in their order.
type Issued = BTreeMap<Group, BTreeMap<u32, Vec<TaskId>>>;

pub(super) fn collectives(planner: &mut Planner<'_>) {
    let issued = issued(planner);
    let mut assumed = Assumed::default();
    for (group, of_ranks) in issued {
        if !all_come(planner, &group, &of_ranks) {
            continue;
        }
        let place = planner.plan.groups.len();
        let length = of_ranks.values().map(Vec::len).max().unwrap_or(0);
        let mut before = None;
        for number in 0..length {
            let tasks: Vec<TaskId> = of_ranks.values().map(|tasks| tasks[number]).collect();
            let Some(transfer) = transfer(planner, (place, &group), number, tasks, &mut assumed) else {
                continue;
            };
            before = Some(planner.add(Transfer { before, ..transfer }));
        }
        planner.plan.groups.push(group);
    }
    assumed.say(planner);
}

/// What collectives leave open.
#[derive(Default)]
struct Assumed {
    /// Those whose ranks say different sizes.
    unlike_count: usize,
    /// Those of a single rank.
    alone_count: usize,
    /// Those without a size, and the first of them.
    recorded: Option<(usize, String)>,
}

impl Assumed {
    fn say(self, planner: &mut Planner<'_>) {
        if self.unlike_count > 0 {
            let message = format!(
                "in {} collectives the ranks' sizes differ; the largest was taken",
                self.unlike_count
            );
            planner.found.push(Diagnostic::note(REPLAY_ASSUMED, message));
        }
        if let Some((count, first)) = self.recorded {
            let message = format!(
                "{count} collectives do not say their size, the first of them node {first}; they take what was recorded, whatever the machine"
            );
            let hint =
                "newer tracers record `comm_size`; the rank that came last has the time without waiting";
            planner.found.push(Diagnostic::warning(REPLAY_ASSUMED, message).hint(hint));
        }
        if self.alone_count > 0 && planner.recording.traces.len() == 1 {
            let message = format!(
                "there is the trace of one rank only: {} of its collectives have no other rank to talk to and take no time",
                self.alone_count
            );
            let hint = "give the traces of all ranks, or play this one on each of several with `--ranks`";
            planner.found.push(Diagnostic::warning(REPLAY_ASSUMED, message).hint(hint));
        }
    }
}

/// Sorts collectives by group.
fn issued(planner: &mut Planner<'_>) -> Issued {
    let recording = planner.recording;
    let mut issued = Issued::new();
    let mut users: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for (rank, trace) in &recording.traces {
        let named =
            trace.nodes.iter().filter(|node| is_collective(node)).filter_map(|node| node.group.as_deref());
        for name in named {
            let ranks = users.entry(name).or_default();
            if ranks.last() != Some(rank) {
                ranks.push(*rank);
            }
        }
    }
    let mut guessed = BTreeMap::new();
    for (rank, trace) in &recording.traces {
        for (place, node) in trace.nodes.iter().enumerate().filter(|(_, node)| is_collective(node)) {
            let ranks = match node.group.as_deref() {
                None => all(recording),
                Some(name) => defined(recording, trace, name).unwrap_or_else(|| {
                    let ranks = users.get(name).cloned().unwrap_or_default();
                    guessed.insert(name, ranks.clone());
                    ranks
                }),
            };
            if !ranks.contains(rank) {
                outside(planner, trace, *rank, node, &ranks);
                continue;
            }
            let group = Group { name: Some(node.group.as_deref().unwrap_or(ALL).to_owned()), ranks };
            let task = planner.first[rank] + place;
            issued.entry(group).or_default().entry(*rank).or_default().push(task);
        }
    }
    let more = guessed.len().saturating_sub(GUESSED_MAX);
    for (name, ranks) in guessed.into_iter().take(GUESSED_MAX) {
        let message = format!(
            "nothing defines the group `{name}`; it was taken to be the ranks that use it: {}",
            list(&ranks)
        );
        planner.found.push(Diagnostic::note(REPLAY_ASSUMED, message));
    }
    if more > 0 {
        let message =
            format!("nothing defines {more} more groups; they were taken to be the ranks that use them");
        planner.found.push(Diagnostic::note(REPLAY_ASSUMED, message));
    }
    issued
}

fn is_collective(node: &ExecutionNode) -> bool {
    node.kind == WorkloadNodeKind::Collective && is_sent(node)
}

/// All ranks up to the last one that has a trace.
fn all(recording: &Recording) -> Vec<u32> {
    recording.traces.last_key_value().map_or_else(Vec::new, |(last, _)| (0..=*last).collect())
}

/// Ranks of a group as its own trace defines it, else as the file of groups does.
fn defined(recording: &Recording, trace: &ExecutionTrace, name: &str) -> Option<Vec<u32>> {
    let ranks = trace.groups.get(name).or_else(|| recording.groups.get(name))?;
    if ranks.is_empty() {
        return Some(all(recording));
    }
    let mut ranks = ranks.clone();
    ranks.sort_unstable();
    ranks.dedup();
    Some(ranks)
}

fn outside(
    planner: &mut Planner<'_>,
    trace: &ExecutionTrace,
    rank: u32,
    node: &ExecutionNode,
    ranks: &[u32],
) {
    let name = node.group.as_deref().unwrap_or(ALL);
    let message = format!(
        "node {} of rank {rank} is of group `{name}`, in which the rank is not: {}",
        node.label(),
        list(ranks)
    );
    planner.refuse(about(REPLAY_MISMATCH, (trace, node), message, "define the group as the run had it"));
}

/// Whether all ranks of a group have as many collectives of it; else the first that some never come to is named.
fn all_come(planner: &mut Planner<'_>, group: &Group, of_ranks: &BTreeMap<u32, Vec<TaskId>>) -> bool {
    let count = |rank: &u32| of_ranks.get(rank).map_or(0, Vec::len);
    let least = group.ranks.iter().map(count).min().unwrap_or(0);
    let Some((rank, tasks)) = of_ranks.iter().find(|(_, tasks)| tasks.len() > least) else { return true };
    let missing: Vec<u32> = group.ranks.iter().copied().filter(|rank| count(rank) <= least).collect();
    let traces = &planner.recording.traces;
    let absent: Vec<u32> = missing.iter().copied().filter(|rank| !traces.contains_key(rank)).collect();
    let trace = &traces[rank];
    let node = &trace.nodes[planner.plan.tasks[tasks[least]].place];
    let name = group.name.as_deref().unwrap_or(ALL);
    let (ranks, they, hint) = if absent.is_empty() {
        let hint = "take traces of the same step for all ranks".to_owned();
        (list(&missing), format!("their traces end after {least} collectives of the group"), hint)
    } else {
        (
            list(&absent),
            "they have no trace".to_owned(),
            format!("give the traces of {} as well", list(&absent)),
        )
    };
    let operation = node.collective.unwrap_or("collective");
    let message = format!(
        "the {operation} of node {} on rank {rank} waits for ever in group `{name}` for {ranks}: {they}",
        node.label()
    );
    let finding = about(REPLAY_MISMATCH, (trace, node), message, &hint);
    planner.refuse(finding);
    false
}

/// `rank 3`, `ranks 0, 1, 5`.
pub(super) fn list(ranks: &[u32]) -> String {
    let shown: Vec<String> = ranks.iter().take(16).map(u32::to_string).collect();
    let more = if ranks.len() > 16 { format!(" and {} more", ranks.len() - 16) } else { String::new() };
    format!("rank{} {}{more}", if ranks.len() == 1 { "" } else { "s" }, shown.join(", "))
}

/// The collective that these tasks are together.
fn transfer(
    planner: &mut Planner<'_>,
    (place, group): (usize, &Group),
    number: usize,
    tasks: Vec<TaskId>,
    assumed: &mut Assumed,
) -> Option<Transfer> {
    let recording = planner.recording;
    let of = |task: &TaskId| {
        let task = &planner.plan.tasks[*task];
        let trace = &recording.traces[&task.rank];
        (task.rank, trace, &trace.nodes[task.place])
    };
    let (first_rank, trace, node) = of(tasks.first()?);
    let operation = node.collective?;
    if let Some((rank, _, other)) =
        tasks.iter().map(of).find(|(_, _, other)| other.collective != node.collective)
    {
        let message = format!(
            "collective {} of group `{}` is {operation} on rank {first_rank} (node {}) but {} on rank {rank} (node {})",
            number + 1,
            group.name.as_deref().unwrap_or(ALL),
            node.id_number,
            other.collective.unwrap_or("unknown"),
            other.id_number
        );
        let hint = "take traces of the same step for all ranks";
        planner.refuse(about(REPLAY_MISMATCH, (trace, node), message, hint));
        return None;
    }
    let sizes: Vec<Option<Bytes>> = tasks.iter().map(|task| of(task).2.bytes).collect();
    let recorded_s = tasks.iter().map(|task| Span::as_seconds(of(task).2.duration)).filter(|s| *s > 0.0);
    let recorded_s = recorded_s.min_by(f64::total_cmp);
    assumed.unlike_count += usize::from(sizes.iter().any(|size| *size != sizes[0]));
    let largest = sizes.into_iter().flatten().max();
    let ends = tasks.clone();
    let empty = Transfer {
        group: place,
        operation,
        bytes: 0.0,
        begins: tasks,
        ends,
        before: None,
        alone_s: 0.0,
        loads: Vec::new(),
    };
    if group.ranks.len() < 2 {
        assumed.alone_count += 1;
        return Some(empty);
    }
    match (counted(operation, largest, group.ranks.len()), recorded_s) {
        (Ok((collective, bytes)), _) => {
            let priced = planner.price((trace, node), collective, &group.ranks, bytes)?;
            Some(Transfer { bytes, alone_s: priced.alone_s, loads: loads(&priced, &group.ranks), ..empty })
        }
        (Err(Unpriced::NoSize), Some(recorded_s)) => {
            // Whoever came first waited for the others in its time.
            assumed.recorded.get_or_insert_with(|| (0, node.label())).0 += 1;
            Some(Transfer { alone_s: recorded_s, ..empty })
        }
        (Err(why), _) => {
            let message = format!("node {} of rank {first_rank} cannot be priced: {why}", node.label());
            let hint = "leave it out of the trace, or say its `comm_size`";
            planner.refuse(about(REPLAY_NO_PRICE, (trace, node), message, hint));
            None
        }
    }
}

/// Why a collective has no price.
#[derive(Debug, thiserror::Error)]
enum Unpriced {
    #[error("there is no model of {0}")]
    NoModel(String),
    #[error("it does not say its size")]
    NoSize,
}

/// Operation and size as nccl-tests counts it; the traces say what one rank puts in.
fn counted(operation: &str, bytes: Option<Bytes>, ranks: usize) -> Result<(Collective, f64), Unpriced> {
    #[expect(clippy::cast_precision_loss, reason = "ranks are few")]
    let ranks = ranks as f64;
    // Nothing is sent but the news that all have come.
    if operation == "barrier" {
        return Ok((Collective::AllReduce, 1.0));
    }
    let name = if operation == "reduce-scatter-block" { "reduce-scatter" } else { operation };
    let collective = Collective::from_name(name).ok_or_else(|| Unpriced::NoModel(operation.to_owned()))?;
    let bytes = bytes.ok_or(Unpriced::NoSize)?.as_f64();
    Ok((collective, if collective == Collective::AllGather { bytes * ranks } else { bytes }))
}

/// Both directions of all links that the ranks have where they talk.
fn loads(priced: &Priced, ranks: &[u32]) -> Vec<(Resource, f64)> {
    let both = [Direction::Out, Direction::In];
    let is_inside = priced.servers.len() < 2;
    let own = |rank: u32, way: Direction| {
        if is_inside { Resource::InServer(rank, way) } else { Resource::Network(rank, way) }
    };
    let mut loads: Vec<(Resource, f64)> =
        ranks.iter().flat_map(|rank| both.map(|way| (own(*rank, way), 1.0))).collect();
    if !is_inside {
        let ports = priced.servers.iter().flat_map(|server| both.map(|way| Resource::Ports(*server, way)));
        loads.extend(ports.map(|ports| (ports, priced.ports_share)));
    }
    loads
}
