//! `weft/replay/1`.

use serde::Serialize;
use weft_base::Diagnostic;
use weft_predictor::replay::{CriticalTime, GroupTime, RankTime, ReplayLane};

use super::DiagnosticJson;
use crate::replay::Shown;

/// The document.
#[derive(Debug, Serialize)]
pub struct ReplayJson {
    schema: &'static str,
    gpus: u32,
    compute_scale: f64,
    step_s: f64,
    slowest_rank: Option<u32>,
    ranks: Vec<RankJson>,
    critical_path: Vec<CriticalJson>,
    groups: Vec<GroupJson>,
    diagnostics: Vec<DiagnosticJson>,
}

#[derive(Debug, Serialize)]
struct RankJson {
    rank: u32,
    compute_s: f64,
    exposed_s: f64,
    waiting_s: f64,
    idle_s: f64,
    communication_s: f64,
    waited_for_s: f64,
}

#[derive(Debug, Serialize)]
struct CriticalJson {
    of: &'static str,
    operation: Option<&'static str>,
    group: Option<String>,
    nodes: usize,
    seconds: f64,
    longest: NodeJson,
}

#[derive(Debug, Serialize)]
struct NodeJson {
    rank: u32,
    node: u64,
    name: String,
    from_s: f64,
    to_s: f64,
}

#[derive(Debug, Serialize)]
struct GroupJson {
    /// Null for messages between two ranks.
    name: Option<String>,
    ranks: Vec<u32>,
    operations: usize,
    bytes: u64,
    seconds: f64,
    hidden_s: f64,
    exposed_s: f64,
    shared_s: f64,
}

/// The document of a step.
pub fn document(shown: &Shown<'_>, diagnostics: &[Diagnostic]) -> ReplayJson {
    let replayed = shown.replayed;
    ReplayJson {
        schema: "weft/replay/1",
        gpus: shown.site.gpus,
        compute_scale: shown.compute_scale,
        step_s: replayed.step_s,
        slowest_rank: replayed.slowest_rank,
        ranks: replayed.ranks.iter().map(rank).collect(),
        critical_path: replayed.critical.iter().map(critical).collect(),
        groups: replayed.groups.iter().map(group).collect(),
        diagnostics: super::all(diagnostics),
    }
}

fn rank(time: &RankTime) -> RankJson {
    RankJson {
        rank: time.rank,
        compute_s: time.compute_s,
        exposed_s: time.exposed_s,
        waiting_s: time.waiting_s,
        idle_s: time.idle_s,
        communication_s: time.communication_s,
        waited_for_s: time.waited_for_s,
    }
}

fn critical(part: &CriticalTime) -> CriticalJson {
    let longest = &part.longest;
    CriticalJson {
        of: match part.lane {
            ReplayLane::Compute => "computing",
            ReplayLane::Communication => "communication",
            ReplayLane::Memory => "memory",
            ReplayLane::Host => "host",
        },
        operation: part.operation,
        group: part.group.clone(),
        nodes: part.nodes_count,
        seconds: part.seconds,
        longest: NodeJson {
            rank: longest.rank,
            node: longest.node_number,
            name: longest.name.clone(),
            from_s: longest.from_s,
            to_s: longest.to_s,
        },
    }
}

fn group(time: &GroupTime) -> GroupJson {
    GroupJson {
        name: time.name.clone(),
        ranks: time.ranks.clone(),
        operations: time.operations_count,
        bytes: time.bytes,
        seconds: time.seconds,
        hidden_s: time.hidden_s,
        exposed_s: time.exposed_s,
        shared_s: time.shared_s,
    }
}
