//! `weft/predict/1`.

use serde::Serialize;
use weft_base::Diagnostic;
use weft_collective::Collective;
use weft_predictor::{GraphLimit, Prediction, Row, Step};

use super::DiagnosticJson;
use super::subsets::SubsetsJson;

/// The version of this document.
pub const SCHEMA: &str = "weft/predict/1";

/// The document.
#[derive(Debug, Serialize)]
pub struct PredictJson {
    schema: &'static str,
    collective: &'static str,
    ranks: usize,
    nodes: u32,
    library: Option<String>,
    rows: Vec<RowJson>,
    bound: Option<BoundJson>,
    limit: Option<LimitJson>,
    /// Where a number of GPUs was asked for.
    subsets: Option<SubsetsJson>,
    diagnostics: Vec<DiagnosticJson>,
}

#[derive(Debug, Serialize)]
struct RowJson {
    bytes: u64,
    time_s: f64,
    /// The interval in which 90 % of measurements are expected.
    low_s: f64,
    high_s: f64,
    algbw_bytes_per_s: u64,
    busbw_bytes_per_s: u64,
    algorithm: &'static str,
    protocol: &'static str,
    channels: u16,
    bound_by: String,
}

/// The limit of the graph of links.
#[derive(Debug, Serialize)]
pub struct LimitJson {
    busbw_bytes_per_s: u64,
    derivation: String,
}

impl LimitJson {
    /// As JSON.
    pub fn of(limit: &GraphLimit) -> Self {
        Self { busbw_bytes_per_s: limit.busbw.get(), derivation: limit.derivation.clone() }
    }
}

#[derive(Debug, Serialize)]
struct BoundJson {
    busbw_bytes_per_s: u64,
    derivation: Vec<StepJson>,
}

#[derive(Debug, Serialize)]
struct StepJson {
    text: String,
    source: Option<String>,
}

/// The document of a prediction.
pub fn document(
    prediction: &Prediction,
    subsets: Option<SubsetsJson>,
    diagnostics: &[Diagnostic],
) -> PredictJson {
    let bound = BoundJson {
        busbw_bytes_per_s: prediction.bound.busbw.get(),
        derivation: prediction.bound.derivation.iter().map(step).collect(),
    };
    PredictJson {
        schema: SCHEMA,
        collective: prediction.collective.name(),
        ranks: prediction.ranks,
        nodes: prediction.nodes,
        library: Some(prediction.library.clone()),
        rows: prediction.rows.iter().map(row).collect(),
        bound: Some(bound),
        limit: prediction.limit.as_ref().map(LimitJson::of),
        subsets,
        diagnostics: super::all(diagnostics),
    }
}

/// The document where nothing could be predicted.
pub fn failed(collective: Collective, diagnostics: &[Diagnostic]) -> PredictJson {
    PredictJson {
        schema: SCHEMA,
        collective: collective.name(),
        ranks: 0,
        nodes: 0,
        library: None,
        rows: Vec::new(),
        bound: None,
        limit: None,
        subsets: None,
        diagnostics: super::all(diagnostics),
    }
}

/// The document where one GPU is wanted: which, but no collective.
pub fn ranked(collective: Collective, subsets: SubsetsJson, diagnostics: &[Diagnostic]) -> PredictJson {
    PredictJson { ranks: 1, subsets: Some(subsets), ..failed(collective, diagnostics) }
}

fn row(row: &Row) -> RowJson {
    RowJson {
        bytes: row.bytes.get(),
        time_s: row.time.as_seconds(),
        low_s: row.low.as_seconds(),
        high_s: row.high.as_seconds(),
        algbw_bytes_per_s: row.algbw.get(),
        busbw_bytes_per_s: row.busbw.get(),
        algorithm: row.algorithm.name(),
        protocol: row.protocol.name(),
        channels: row.channels,
        bound_by: row.bound_by.clone(),
    }
}

fn step(step: &Step) -> StepJson {
    StepJson {
        text: step.text.clone(),
        source: Some(step.source.clone()).filter(|source| !source.is_empty()),
    }
}
