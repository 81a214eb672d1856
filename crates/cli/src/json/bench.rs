//! `weft/bench/1`.

use serde::Serialize;
use weft_base::Diagnostic;
use weft_runtime::measure::Timing;

use super::DiagnosticJson;
use crate::bench::{Report, rates};

/// The version of this document.
pub const SCHEMA: &str = "weft/bench/1";

/// The document.
#[derive(Debug, Serialize)]
pub struct BenchJson {
    schema: &'static str,
    collective: Option<&'static str>,
    ranks: Option<u32>,
    element: Option<&'static str>,
    reduction: Option<&'static str>,
    /// Whether buffers were in memory that all ranks of a host can map.
    registered: Option<bool>,
    /// What a message between two ranks takes, where it was measured.
    latency_s: Option<f64>,
    bytes_per_s: Option<f64>,
    rows: Vec<RowJson>,
    diagnostics: Vec<DiagnosticJson>,
}

#[derive(Debug, Serialize)]
struct RowJson {
    bytes: u64,
    algorithm: String,
    in_place: bool,
    time_s: f64,
    least_s: f64,
    most_s: f64,
    algbw_bytes_per_s: f64,
    busbw_bytes_per_s: f64,
    wrong: u64,
}

/// What was measured.
pub fn document(report: &Report) -> BenchJson {
    let series = &report.task.series;
    let mut rows = Vec::new();
    for row in &report.rows {
        let mut add = |timing: &Timing, in_place| {
            let (algbw, busbw) = rates(report, row, timing);
            rows.push(RowJson {
                bytes: row.bytes.get(),
                algorithm: row.algorithm.clone(),
                in_place,
                time_s: timing.median_s,
                least_s: timing.range_s.0,
                most_s: timing.range_s.1,
                algbw_bytes_per_s: algbw * 1e9,
                busbw_bytes_per_s: busbw * 1e9,
                wrong: timing.wrong_count,
            });
        };
        add(&row.out_of_place, false);
        add(&row.in_place, true);
    }
    BenchJson {
        schema: SCHEMA,
        collective: Some(series.collective.name()),
        ranks: Some(report.task.ranks),
        element: Some(series.element.name()),
        reduction: series.collective.reduces().then(|| series.reduction.name()),
        registered: Some(series.registered),
        latency_s: report.speeds.map(|speeds| speeds.latency.as_seconds()),
        bytes_per_s: report.speeds.map(|speeds| speeds.bytes_per_s),
        rows,
        diagnostics: Vec::new(),
    }
}

/// Why nothing was measured.
pub fn failed(diagnostics: &[Diagnostic]) -> BenchJson {
    BenchJson {
        schema: SCHEMA,
        collective: None,
        ranks: None,
        element: None,
        reduction: None,
        registered: None,
        latency_s: None,
        bytes_per_s: None,
        rows: Vec::new(),
        diagnostics: super::all(diagnostics),
    }
}
