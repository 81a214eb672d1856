//! The part of `weft/validate/1` on steps of training.

use serde::Serialize;
use weft_predictor::train::{FileScore, Kept, KindScore, Pair, Ratios, TrainReport};

#[derive(Debug, Serialize)]
pub struct TrainingJson {
    kinds: Vec<KindJson>,
    files: Vec<FileJson>,
    ratios: RatiosJson,
    departing_ratios: RatiosJson,
    copied_ratios: RatiosJson,
    departing_copied_ratios: RatiosJson,
    pairs: Vec<PairJson>,
    memory: Vec<KeptJson>,
    unpredicted: Vec<RowJson>,
    left_out: Vec<RowJson>,
}

#[derive(Debug, Serialize)]
struct KindJson {
    kind: &'static str,
    rows: usize,
    scored: usize,
    median_error: Option<f64>,
    p90_error: Option<f64>,
    constant_rate_median_error: Option<f64>,
    constant_rate_p90_error: Option<f64>,
}

#[derive(Debug, Serialize)]
struct FileJson {
    file: String,
    kind: &'static str,
    trust: &'static str,
    rows: usize,
    scored: usize,
    median_error: Option<f64>,
    p90_error: Option<f64>,
    median_bias: Option<f64>,
}

#[derive(Debug, Serialize)]
struct RatiosJson {
    rows: usize,
    scored: usize,
    median_error: Option<f64>,
    p90_error: Option<f64>,
    flat_median_error: Option<f64>,
    flat_p90_error: Option<f64>,
}

#[derive(Debug, Serialize)]
struct PairJson {
    file: String,
    what: &'static str,
    lines: [u64; 2],
    measured_s: f64,
    predicted_s: Option<f64>,
    sign_right: bool,
    is_clear: bool,
}

#[derive(Debug, Serialize)]
struct KeptJson {
    file: String,
    row: u64,
    what: &'static str,
    published_bytes: f64,
    counted_bytes: f64,
}

#[derive(Debug, Serialize)]
struct RowJson {
    file: String,
    /// Line of the file, from 1.
    row: u64,
    why: String,
}

/// The part on training.
pub fn part(report: &TrainReport) -> TrainingJson {
    let row = |(file, row, why): &(String, u64, String)| RowJson {
        file: file.clone(),
        row: *row,
        why: why.clone(),
    };
    TrainingJson {
        kinds: report.kinds.iter().map(kind).collect(),
        files: report.files.iter().map(file).collect(),
        ratios: ratios(&report.ratios),
        departing_ratios: ratios(&report.departing),
        copied_ratios: ratios(&report.copies),
        departing_copied_ratios: ratios(&report.departing_copies),
        pairs: report.pairs.iter().map(pair).collect(),
        memory: report.memory.iter().map(kept).collect(),
        unpredicted: report.unpredicted.iter().map(row).collect(),
        left_out: report.left_out.iter().map(row).collect(),
    }
}

fn kind(score: &KindScore) -> KindJson {
    KindJson {
        kind: score.kind.name(),
        rows: score.rows,
        scored: score.scored,
        median_error: score.median_error,
        p90_error: score.p90_error,
        constant_rate_median_error: score.constant_median_error,
        constant_rate_p90_error: score.constant_p90_error,
    }
}

fn file(score: &FileScore) -> FileJson {
    FileJson {
        file: score.file.clone(),
        kind: score.kind.name(),
        trust: score.trust.letter(),
        rows: score.rows,
        scored: score.scored,
        median_error: score.median_error,
        p90_error: score.p90_error,
        median_bias: score.median_factor.map(|factor| factor - 1.0),
    }
}

fn ratios(ratios: &Ratios) -> RatiosJson {
    RatiosJson {
        rows: ratios.rows,
        scored: ratios.scored,
        median_error: ratios.median_error,
        p90_error: ratios.p90_error,
        flat_median_error: ratios.flat_median_error,
        flat_p90_error: ratios.flat_p90_error,
    }
}

fn kept(kept: &Kept) -> KeptJson {
    let Kept { file, line, what, published_bytes, counted_bytes } = kept;
    KeptJson {
        file: file.clone(),
        row: *line,
        what,
        published_bytes: *published_bytes,
        counted_bytes: *counted_bytes,
    }
}

fn pair(pair: &Pair) -> PairJson {
    PairJson {
        file: pair.file.clone(),
        what: pair.what,
        lines: [pair.lines.0, pair.lines.1],
        measured_s: pair.measured_s,
        predicted_s: pair.predicted_s,
        sign_right: pair.is_sign_right(),
        is_clear: pair.is_clear,
    }
}
