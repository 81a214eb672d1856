//! `weft/schedule/1`.

use serde::Serialize;
use weft_base::Diagnostic;
use weft_scheduler::study::{PERCENTS, mean};

use super::{DiagnosticJson, all};
use crate::schedule::fgd::{Learn, Outcome, Plan, average};

/// The version of this document.
pub const SCHEMA: &str = "weft/schedule/1";

/// The document.
#[derive(Debug, Serialize)]
pub struct ScheduleDocument {
    schema: &'static str,
    nodes: Option<usize>,
    gpus: Option<u64>,
    first_seed: Option<u64>,
    seeds: Option<u64>,
    learnt_from: Option<&'static str>,
    rows: Vec<RowJson>,
    dropped: Vec<DroppedJson>,
    diagnostics: Vec<DiagnosticJson>,
}

#[derive(Debug, Serialize)]
struct RowJson {
    trace: String,
    policy: &'static str,
    arrived_percent: u32,
    unallocated_percent: f64,
    deviation: f64,
    by_seed: Vec<f64>,
}

#[derive(Debug, Serialize)]
struct DroppedJson {
    trace: String,
    policy: &'static str,
    /// Mean over seeds, until 130 % are asked for.
    pods: f64,
    /// Those of eight GPUs, until 100 % are asked for.
    eight_gpu_pods: f64,
}

/// What was played.
pub fn document(plan: &Plan<'_>, outcomes: &[Outcome<'_>]) -> ScheduleDocument {
    ScheduleDocument {
        schema: SCHEMA,
        nodes: Some(plan.fleet.nodes.len()),
        gpus: Some(plan.fleet.gpu_milli() / 1000),
        first_seed: Some(plan.first_seed),
        seeds: Some(plan.seed_count),
        learnt_from: Some(match plan.learn {
            Learn::All => "all",
            Learn::Half => "half",
        }),
        rows: outcomes.iter().flat_map(rows).collect(),
        dropped: outcomes.iter().map(dropped).collect(),
        diagnostics: Vec::new(),
    }
}

/// Why nothing was played.
pub fn failed(diagnostics: &[Diagnostic]) -> ScheduleDocument {
    ScheduleDocument {
        schema: SCHEMA,
        nodes: None,
        gpus: None,
        first_seed: None,
        seeds: None,
        learnt_from: None,
        rows: Vec::new(),
        dropped: Vec::new(),
        diagnostics: all(diagnostics),
    }
}

fn rows<'o>(outcome: &'o Outcome<'_>) -> impl Iterator<Item = RowJson> + use<'o> {
    PERCENTS.iter().enumerate().map(|(at, percent)| {
        let found = mean(&outcome.runs, at);
        RowJson {
            trace: outcome.trace.to_owned(),
            policy: outcome.policy.name,
            arrived_percent: *percent,
            unallocated_percent: found.mean_percent,
            deviation: found.deviation_percent,
            by_seed: outcome.runs.iter().map(|run| run.unallocated_percent[at]).collect(),
        }
    })
}

fn dropped(outcome: &Outcome<'_>) -> DroppedJson {
    DroppedJson {
        trace: outcome.trace.to_owned(),
        policy: outcome.policy.name,
        pods: average(outcome, |run| run.dropped_count),
        eight_gpu_pods: average(outcome, |run| run.dropped_large_count),
    }
}
