//! `weft/schedule-run/1`.

use serde::Serialize;
use weft_base::{Diagnostic, Moment};
use weft_scheduler::world::{Fate, JobRecord, Sample};

use super::schedule_philly::SpreadJson;
use super::{DiagnosticJson, all};
use crate::schedule::compare::{Comparison, Run, busiest_count, rows, state};

/// The version of this document.
pub const SCHEMA: &str = "weft/schedule-run/1";

/// The document.
#[derive(Debug, Serialize)]
pub struct RunDocument {
    schema: &'static str,
    title: Option<String>,
    about: Option<String>,
    nodes: Option<usize>,
    gpus: Option<u64>,
    seed: Option<u64>,
    explain: Option<String>,
    runs: Vec<RunJson>,
    diagnostics: Vec<DiagnosticJson>,
}

#[derive(Debug, Serialize)]
struct RunJson {
    policy: &'static str,
    title: &'static str,
    totals: TotalsJson,
    rows: Vec<RowJson>,
    jobs: Vec<JobJson>,
    samples: Vec<SampleJson>,
    story: Vec<BeatJson>,
}

#[derive(Debug, Serialize)]
struct TotalsJson {
    jobs: usize,
    done: usize,
    failed: usize,
    cancelled: usize,
    running: usize,
    waiting: usize,
    completion: SpreadJson,
    queueing: SpreadJson,
    makespan_s: f64,
    allocated_percent: f64,
    utilisation_percent: f64,
    goodput_percent: f64,
    fragmented_percent: f64,
    slowdown: f64,
    put_out: u32,
    broken: u32,
    conflicts: u32,
    cross_leaf_jobs: usize,
    cross_leaf_gpu_hours: f64,
    busiest_node_jobs: usize,
    gpu_hours: SpentJson,
}

#[derive(Debug, Serialize)]
struct SpentJson {
    held: f64,
    kept: f64,
    lost: f64,
    starting: f64,
    slowed: f64,
    saving: f64,
    stalled: f64,
    leaving: f64,
}

#[derive(Debug, Serialize)]
struct RowJson {
    row: String,
    jobs: usize,
    ended: usize,
    wait_mean_s: f64,
    completion_mean_s: Option<f64>,
    put_out: u32,
    broken: u32,
    nodes: Vec<PlaceJson>,
}

#[derive(Debug, Serialize)]
struct PlaceJson {
    group: String,
    stays: usize,
}

#[derive(Debug, Serialize)]
struct JobJson {
    job: String,
    queue: String,
    priority: i32,
    members: u32,
    gpus: f64,
    submit_s: f64,
    start_s: Option<f64>,
    end_s: Option<f64>,
    wait_s: f64,
    lost_s: f64,
    put_out: u32,
    broken: u32,
    state: &'static str,
    why: Option<String>,
    nodes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct SampleJson {
    at_s: f64,
    queued_jobs: u32,
    queued_gpus: f64,
    running_jobs: u32,
    healthy_gpus: f64,
    allocated_gpus: f64,
    free_gpus: f64,
    free_whole_node_gpus: f64,
}

#[derive(Debug, Serialize)]
struct BeatJson {
    at_s: f64,
    what: String,
}

/// What was played.
pub fn document(comparison: &Comparison<'_>, diagnostics: &[Diagnostic]) -> RunDocument {
    let scenario = comparison.scenario;
    let gpus =
        scenario.cluster.ids().map(|node| u64::from(scenario.cluster.shape(node).kind.gpu_count)).sum();
    RunDocument {
        schema: SCHEMA,
        title: Some(scenario.title.clone()),
        about: Some(scenario.about.clone()),
        nodes: Some(scenario.cluster.nodes.len()),
        gpus: Some(gpus),
        seed: Some(scenario.seed),
        explain: comparison.explain.map(str::to_owned),
        runs: comparison.runs.iter().map(|run| of_run(comparison, run)).collect(),
        diagnostics: all(diagnostics),
    }
}

/// Why nothing was played.
pub fn failed(diagnostics: &[Diagnostic]) -> RunDocument {
    RunDocument {
        schema: SCHEMA,
        title: None,
        about: None,
        nodes: None,
        gpus: None,
        seed: None,
        explain: None,
        runs: Vec::new(),
        diagnostics: all(diagnostics),
    }
}

fn of_run(comparison: &Comparison<'_>, run: &Run) -> RunJson {
    let words = comparison.words(run);
    let row = |facts: &crate::schedule::compare::RowFacts<'_>| RowJson {
        row: facts.name.to_owned(),
        jobs: facts.job_count,
        ended: facts.ended_count,
        wait_mean_s: facts.wait.as_seconds(),
        completion_mean_s: (facts.completion.count > 0).then(|| facts.completion.mean.as_seconds()),
        put_out: facts.put_out_count,
        broken: facts.broken_count,
        nodes: facts
            .places
            .iter()
            .map(|(group, stays)| PlaceJson { group: (*group).to_owned(), stays: *stays })
            .collect(),
    };
    RunJson {
        policy: run.strategy.name,
        title: run.strategy.title,
        totals: totals(run),
        rows: rows(comparison.scenario, &run.record).iter().map(row).collect(),
        jobs: run.record.jobs.iter().map(|record| job(comparison, run, record)).collect(),
        samples: run.record.samples.iter().map(sample).collect(),
        story: comparison
            .story(run)
            .iter()
            .map(|beat| BeatJson { at_s: beat.at.as_seconds(), what: words.happening(&beat.what) })
            .collect(),
    }
}

fn totals(run: &Run) -> TotalsJson {
    let totals = &run.record.totals;
    let spent = &totals.spent;
    TotalsJson {
        jobs: totals.job_count,
        done: totals.done_count,
        failed: totals.failed_count,
        cancelled: totals.cancelled_count,
        running: totals.on_count,
        waiting: totals.waiting_count,
        completion: totals.completion.into(),
        queueing: totals.queueing.into(),
        makespan_s: totals.makespan.as_seconds(),
        allocated_percent: 100.0 * totals.allocated_share,
        utilisation_percent: 100.0 * totals.utilisation_share,
        goodput_percent: 100.0 * totals.goodput_share,
        fragmented_percent: 100.0 * totals.fragmented_share,
        slowdown: totals.slowdown_ratio,
        put_out: totals.put_out_count,
        broken: totals.broken_count,
        conflicts: totals.conflict_count,
        cross_leaf_jobs: totals.cross_leaf_count,
        cross_leaf_gpu_hours: totals.cross_leaf.as_hours(),
        busiest_node_jobs: busiest_count(&run.record),
        gpu_hours: SpentJson {
            held: spent.held().as_hours(),
            kept: spent.kept.as_hours(),
            lost: spent.lost.as_hours(),
            starting: spent.starting.as_hours(),
            slowed: spent.slowed.as_hours(),
            saving: spent.saving.as_hours(),
            stalled: spent.stalled.as_hours(),
            leaving: spent.leaving.as_hours(),
        },
    }
}

fn job(comparison: &Comparison<'_>, run: &Run, record: &JobRecord) -> JobJson {
    let scenario = comparison.scenario;
    let words = comparison.words(run);
    let seconds = |at: Option<Moment>| at.map(Moment::as_seconds);
    let why = match &record.fate {
        Fate::Waits(reasons) => Some(words.reasons(reasons)),
        Fate::Ended(_) | Fate::On => None,
    };
    let nodes = record.stays.last().map(|stay| stay.nodes.as_slice()).unwrap_or_default();
    JobJson {
        job: record.name.clone(),
        queue: scenario.queues.get(record.queue.at()).map_or_else(String::new, |queue| queue.name.clone()),
        priority: record.priority,
        members: record.member_count,
        gpus: count(record.gpu_milli),
        submit_s: record.submitted.as_seconds(),
        start_s: seconds(record.started),
        end_s: seconds(record.ended),
        wait_s: record.waiting.as_seconds(),
        lost_s: record.lost.as_seconds(),
        put_out: record.put_out_count,
        broken: record.broken_count,
        state: state(&record.fate),
        why,
        nodes: nodes.iter().map(|node| scenario.cluster.nodes[node.at()].name.clone()).collect(),
    }
}

fn sample(sample: &Sample) -> SampleJson {
    SampleJson {
        at_s: sample.at.as_seconds(),
        queued_jobs: sample.queued_count,
        queued_gpus: count(sample.queued_milli),
        running_jobs: sample.on_count,
        healthy_gpus: count(sample.healthy_milli),
        allocated_gpus: count(sample.allocated_milli),
        free_gpus: count(sample.free_milli),
        free_whole_node_gpus: count(sample.free_node_milli),
    }
}

#[expect(clippy::cast_precision_loss, reason = "no cluster has 2^53 GPUs")]
fn count(amount_milli: u64) -> f64 {
    amount_milli as f64 / 1000.0
}
