//! `weft/bench/1`.

use serde::Serialize;
use weft_base::Diagnostic;
use weft_runtime::measure::{Compared, Timing, median};

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
    /// The median of the errors of predictions, where there are any.
    median_error: Option<f64>,
    diagnostics: Vec<DiagnosticJson>,
}

#[derive(Debug, Serialize)]
struct RowJson {
    collective: &'static str,
    bytes: u64,
    algorithm: String,
    in_place: bool,
    time_s: f64,
    least_s: f64,
    most_s: f64,
    algbw_bytes_per_s: f64,
    busbw_bytes_per_s: f64,
    wrong: u64,
    /// Where it was asked for.
    predicted_s: Option<f64>,
    ratio: Option<f64>,
    verdict: Option<&'static str>,
}

/// What was measured.
pub fn document(report: &Report) -> BenchJson {
    let series = &report.task.series;
    let mut rows = Vec::new();
    for row in &report.rows {
        let mut add = |timing: &Timing, in_place| {
            let (algbw, busbw) = rates(report, row, timing);
            rows.push(RowJson {
                collective: series.collective.name(),
                bytes: row.bytes.get(),
                algorithm: row.algorithm.clone(),
                in_place,
                time_s: timing.median_s,
                least_s: timing.range_s.0,
                most_s: timing.range_s.1,
                algbw_bytes_per_s: algbw * 1e9,
                busbw_bytes_per_s: busbw * 1e9,
                wrong: timing.wrong_count,
                predicted_s: None,
                ratio: None,
                verdict: None,
            });
        };
        add(&row.out_of_place, false);
        add(&row.in_place, true);
    }
    rows.extend(report.compared.iter().map(|row| compared(row, report.task.ranks)));
    let errors = report.compared.iter().map(Compared::error);
    BenchJson {
        schema: SCHEMA,
        collective: Some(series.collective.name()),
        ranks: Some(report.task.ranks),
        element: Some(series.element.name()),
        reduction: series.collective.reduces().then(|| series.reduction.name()),
        registered: Some(series.registered),
        latency_s: report.calibration.as_ref().map(|known| known.message().0),
        bytes_per_s: report.calibration.as_ref().map(|known| known.message().1),
        rows,
        median_error: (!report.compared.is_empty()).then(|| median(errors)),
        diagnostics: Vec::new(),
    }
}

fn compared(row: &Compared, ranks: u32) -> RowJson {
    let algbw = row.bytes.as_f64() / row.timing.median_s;
    RowJson {
        collective: row.collective.name(),
        bytes: row.bytes.get(),
        algorithm: row.algorithm.clone(),
        in_place: false,
        time_s: row.timing.median_s,
        least_s: row.timing.range_s.0,
        most_s: row.timing.range_s.1,
        algbw_bytes_per_s: algbw,
        busbw_bytes_per_s: algbw * row.collective.bus_factor(ranks as usize),
        wrong: row.timing.wrong_count,
        predicted_s: Some(row.predicted_s),
        ratio: Some(row.ratio()),
        verdict: Some(row.verdict().of_time()),
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
        median_error: None,
        diagnostics: super::all(diagnostics),
    }
}
