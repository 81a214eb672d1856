//! Sends and receives, matched by ranks and tag.

use std::collections::BTreeMap;

use weft_base::Bytes;
use weft_collective::Collective;
use weft_formats::{ExecutionNode, WorkloadNodeKind};

use super::{Direction, Group, Planner, Priced, Resource, TaskId, Transfer, about, is_sent};
use crate::replay::{REPLAY_MISMATCH, REPLAY_UNMATCHED};

/// Sender, receiver, tag.
type Key = (u32, u32, u64);

/// Of each key the sends and the receives, in their order.
type Ends = BTreeMap<Key, [Vec<TaskId>; 2]>;

pub(super) fn messages(planner: &mut Planner<'_>) {
    let ends = ends(planner);
    if ends.is_empty() {
        return;
    }
    let place = planner.plan.groups.len();
    let mut ranks: Vec<u32> = ends.keys().flat_map(|(from, to, _)| [*from, *to]).collect();
    ranks.sort_unstable();
    ranks.dedup();
    planner.plan.groups.push(Group { name: None, ranks });
    let mut pairs: BTreeMap<(u32, u32), Vec<(TaskId, TaskId)>> = BTreeMap::new();
    for ((from, to, tag), [sends, receives]) in &ends {
        pairs.entry((*from, *to)).or_default().extend(sends.iter().copied().zip(receives.iter().copied()));
        let (task, what, peer, other) = match (sends.get(receives.len()), receives.get(sends.len())) {
            (Some(send), _) => (*send, "send", *to, "receive"),
            (None, Some(receive)) => (*receive, "receive", *from, "send"),
            (None, None) => continue,
        };
        unmatched(planner, task, what, (peer, other), *tag);
    }
    for ((from, to), mut tasks) in pairs {
        tasks.sort_unstable();
        let mut before = None;
        for (send, receive) in tasks {
            let Some(transfer) = transfer(planner, place, (from, to), (send, receive)) else { continue };
            before = Some(planner.add(Transfer { before, ..transfer }));
        }
    }
}

fn ends(planner: &mut Planner<'_>) -> Ends {
    let recording = planner.recording;
    let mut ends = Ends::new();
    for (rank, trace) in &recording.traces {
        for (place, node) in trace.nodes.iter().enumerate().filter(|(_, node)| is_sent(node)) {
            let (index, key) = match node.kind {
                WorkloadNodeKind::Send => {
                    (0, key(node.source_rank.or(Some(*rank)), node.destination_rank, node))
                }
                WorkloadNodeKind::Receive => {
                    (1, key(node.source_rank, node.destination_rank.or(Some(*rank)), node))
                }
                WorkloadNodeKind::Invalid
                | WorkloadNodeKind::Metadata
                | WorkloadNodeKind::MemoryLoad
                | WorkloadNodeKind::MemoryStore
                | WorkloadNodeKind::Compute
                | WorkloadNodeKind::Collective => continue,
            };
            let own = key.map(|(from, to, _)| if index == 0 { from } else { to });
            if let Some(key) = key.filter(|_| own == Some(*rank)) {
                ends.entry(key).or_default()[index].push(planner.first[rank] + place);
                continue;
            }
            let what = if index == 0 { "comm_dst" } else { "comm_src" };
            let why = if key.is_none() {
                format!("it has no `{what}`")
            } else {
                "it is of another rank".to_owned()
            };
            let message = format!("node {} of rank {rank} has no peer: {why}", node.label());
            let hint = "a send says `comm_dst`, a receive `comm_src`, each in the trace of its own rank";
            planner.refuse(about(REPLAY_MISMATCH, (trace, node), message, hint));
        }
    }
    ends
}

fn key(from: Option<u32>, to: Option<u32>, node: &ExecutionNode) -> Option<Key> {
    Some((from?, to?, node.tag_number))
}

fn unmatched(planner: &mut Planner<'_>, task: TaskId, what: &str, (peer, other): (u32, &str), tag: u64) {
    let task = &planner.plan.tasks[task];
    let trace = &planner.recording.traces[&task.rank];
    let node = &trace.nodes[task.place];
    let direction = if what == "send" { "to" } else { "from" };
    let absent = !planner.recording.traces.contains_key(&peer);
    let why = if absent { "has no trace".to_owned() } else { format!("has no {other} for it") };
    let message = format!(
        "the {what} of node {} on rank {} {direction} rank {peer} with tag {tag} is alone: rank {peer} {why}",
        node.label(),
        task.rank
    );
    let hint = if absent {
        "give the trace of that rank as well"
    } else {
        "take traces of the same step, with the same tags on both sides"
    };
    planner.refuse(about(REPLAY_UNMATCHED, (trace, node), message, hint));
}

/// It begins when it is sent, and is received when it is there and the receiver asks for it.
fn transfer(
    planner: &mut Planner<'_>,
    group: usize,
    (from, to): (u32, u32),
    (send, receive): (TaskId, TaskId),
) -> Option<Transfer> {
    let trace = &planner.recording.traces[&from];
    let node = &trace.nodes[planner.plan.tasks[send].place];
    let received = &planner.recording.traces[&to].nodes[planner.plan.tasks[receive].place];
    let bytes = node.bytes.or(received.bytes).map_or(0.0, Bytes::as_f64);
    let priced = if from == to {
        Priced { alone_s: 0.0, ports_share: 0.0, servers: Vec::new() }
    } else {
        planner.price((trace, node), Collective::SendRecv, &[from, to], bytes)?
    };
    let (alone_s, loads) = (priced.alone_s, loads(&priced, (from, to)));
    let (begins, ends) = (vec![send], vec![send, receive]);
    Some(Transfer { group, operation: "send", bytes, begins, ends, before: None, alone_s, loads })
}

fn loads(priced: &Priced, (from, to): (u32, u32)) -> Vec<(Resource, f64)> {
    match priced.servers.as_slice() {
        [low, high] => {
            let (source, sink) = if from < to { (*low, *high) } else { (*high, *low) };
            vec![
                (Resource::Network(from, Direction::Out), 1.0),
                (Resource::Network(to, Direction::In), 1.0),
                (Resource::Ports(source, Direction::Out), priced.ports_share),
                (Resource::Ports(sink, Direction::In), priced.ports_share),
            ]
        }
        _ => vec![
            (Resource::InServer(from, Direction::Out), 1.0),
            (Resource::InServer(to, Direction::In), 1.0),
        ],
    }
}
