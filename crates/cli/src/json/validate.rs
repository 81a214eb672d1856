//! `weft/validate/1`.

use serde::Serialize;
use weft_predictor::train::TrainReport;
use weft_predictor::validate::{CalibratedReport, GroupScore, KindScore, Report, Skipped};

use super::validate_training::{self, TrainingJson};

/// The version of this document.
pub const SCHEMA: &str = "weft/validate/1";

/// The document.
#[derive(Debug, Serialize)]
pub struct ValidateJson {
    schema: &'static str,
    groups: Vec<GroupJson>,
    kinds: Vec<KindJson>,
    /// Steps of training, where the folder holds any and all kinds or these were asked for.
    training: Option<TrainingJson>,
}

#[derive(Debug, Serialize)]
struct GroupJson {
    file: String,
    group: String,
    kind: &'static str,
    rows: usize,
    scored: usize,
    skipped: Vec<SkippedJson>,
    median_error: Option<f64>,
    p90_error: Option<f64>,
    /// Share of the predicted rows within their 90 % intervals.
    coverage: Option<f64>,
    /// The same where intervals are as wide as all other groups of the kind want them.
    coverage_left_out: Option<f64>,
    median_high_over_low: Option<f64>,
}

#[derive(Debug, Serialize)]
struct SkippedJson {
    /// Line of the file, from 1.
    row: u64,
    why: String,
}

#[derive(Debug, Serialize)]
struct KindJson {
    kind: &'static str,
    rows: usize,
    scored: usize,
    median_error: Option<f64>,
    p90_error: Option<f64>,
    /// Of predicted over measured or its inverse, whichever is larger.
    p90_factor: Option<f64>,
    coverage: Option<f64>,
    /// The same where the intervals of each group are as wide as all other groups want them.
    coverage_left_out: Option<f64>,
    median_high_over_low: Option<f64>,
}

/// The document of a comparison.
pub fn document(report: &Report, training: Option<&TrainReport>) -> ValidateJson {
    ValidateJson {
        schema: SCHEMA,
        groups: report.groups.iter().map(group).collect(),
        kinds: report.kinds.iter().map(kind).collect(),
        training: training.map(validate_training::part),
    }
}

/// The document of a comparison with calibrations: groups of all three thirds, kinds with the worst of them.
pub fn calibrated(report: &CalibratedReport) -> ValidateJson {
    ValidateJson {
        schema: SCHEMA,
        groups: report.thirds.iter().flat_map(|third| third.report.groups.iter().map(group)).collect(),
        kinds: report.worst.all.iter().map(kind).collect(),
        training: None,
    }
}

fn group(group: &GroupScore) -> GroupJson {
    let skipped = |skipped: &Skipped| SkippedJson { row: skipped.row, why: skipped.why.clone() };
    GroupJson {
        file: group.file.clone(),
        group: group.group.clone(),
        kind: group.kind.name(),
        rows: group.rows,
        scored: group.scored.len(),
        skipped: group.skipped.iter().map(skipped).collect(),
        median_error: group.median_error,
        p90_error: group.p90_error,
        coverage: group.covered_share,
        coverage_left_out: group.left_out_share,
        median_high_over_low: group.median_width_factor,
    }
}

fn kind(kind: &KindScore) -> KindJson {
    KindJson {
        kind: kind.kind.name(),
        rows: kind.rows,
        scored: kind.scored,
        median_error: kind.median_error,
        p90_error: kind.p90_error,
        p90_factor: kind.p90_factor,
        coverage: kind.covered_share,
        coverage_left_out: kind.left_out_share,
        median_high_over_low: kind.median_width_factor,
    }
}
