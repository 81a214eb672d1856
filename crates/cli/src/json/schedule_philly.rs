//! `weft/schedule-philly/1`.

use serde::Serialize;
use weft_base::Diagnostic;
use weft_scheduler::philly::{CLASSES, DEMAND_PERCENT, VirtualCluster, Waits};
use weft_scheduler::world::Spread;

use super::{DiagnosticJson, all};
use crate::schedule::philly::{Outcome, Study};

/// The version of this document.
pub const SCHEMA: &str = "weft/schedule-philly/1";

/// The document.
#[derive(Debug, Serialize)]
pub struct PhillyDocument {
    schema: &'static str,
    demand_percentile: u64,
    clusters: Vec<ClusterJson>,
    rows: Vec<RowJson>,
    diagnostics: Vec<DiagnosticJson>,
}

#[derive(Debug, Serialize)]
struct ClusterJson {
    name: String,
    jobs: usize,
    demand_gpus: u32,
    largest_gpus: u32,
}

#[derive(Debug, Serialize)]
struct RowJson {
    policy: &'static str,
    size: f64,
    locality: &'static str,
    cluster: String,
    nodes: u32,
    waits: Vec<ClassJson>,
    large: SpreadJson,
    all: SpreadJson,
    large_over_one: Option<f64>,
    completion: SpreadJson,
    allocated_percent: f64,
    put_out: u32,
    unended: usize,
}

#[derive(Debug, Serialize)]
struct ClassJson {
    from_gpus: u32,
    to_gpus: Option<u32>,
    #[serde(flatten)]
    spread: SpreadJson,
}

/// A spread of times, in seconds.
#[derive(Debug, Serialize)]
pub struct SpreadJson {
    count: usize,
    mean_s: f64,
    median_s: f64,
    p99_s: f64,
    longest_s: f64,
}

impl From<Spread> for SpreadJson {
    fn from(spread: Spread) -> Self {
        Self {
            count: spread.count,
            mean_s: spread.mean.as_seconds(),
            median_s: spread.median.as_seconds(),
            p99_s: spread.p99.as_seconds(),
            longest_s: spread.longest.as_seconds(),
        }
    }
}

/// What was played.
pub fn document(study: &Study<'_>, outcomes: &[Outcome], diagnostics: &[Diagnostic]) -> PhillyDocument {
    let cluster = |cluster: &VirtualCluster| ClusterJson {
        name: cluster.name.clone(),
        jobs: cluster.rows.len(),
        demand_gpus: cluster.demand_count,
        largest_gpus: cluster.largest_count(),
    };
    let rows = |outcome: &Outcome| {
        let each = std::iter::once(&outcome.all).chain(&outcome.clusters);
        each.map(|waits| row(outcome, waits)).collect::<Vec<_>>()
    };
    PhillyDocument {
        schema: SCHEMA,
        demand_percentile: DEMAND_PERCENT,
        clusters: study.clusters.iter().map(cluster).collect(),
        rows: outcomes.iter().flat_map(rows).collect(),
        diagnostics: all(diagnostics),
    }
}

fn row(outcome: &Outcome, waits: &Waits) -> RowJson {
    let class = |((from, to), spread): ((u32, u32), &Spread)| ClassJson {
        from_gpus: from,
        to_gpus: (to != u32::MAX).then_some(to),
        spread: (*spread).into(),
    };
    RowJson {
        policy: outcome.way.strategy.name,
        size: f64::from(outcome.way.size_percent) / 100.0,
        locality: outcome.way.locality.word(),
        cluster: waits.name.clone(),
        nodes: waits.node_count,
        waits: CLASSES.into_iter().zip(&waits.by_class).map(class).collect(),
        large: waits.large.into(),
        all: waits.all.into(),
        large_over_one: waits.large_ratio(),
        completion: waits.completion.into(),
        allocated_percent: 100.0 * waits.allocated_share,
        put_out: waits.put_out_count,
        unended: waits.unended_count,
    }
}

/// Why nothing was played.
pub fn failed(diagnostics: &[Diagnostic]) -> PhillyDocument {
    PhillyDocument {
        schema: SCHEMA,
        demand_percentile: DEMAND_PERCENT,
        clusters: Vec::new(),
        rows: Vec::new(),
        diagnostics: all(diagnostics),
    }
}
