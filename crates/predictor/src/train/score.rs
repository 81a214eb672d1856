//! Predicted steps against published ones: errors by file and kind, every file weighing the same within its kind.
//!
//! A row that cannot be predicted is infinitely wrong. Beside stands what no model at all reaches: one constant rate of
//! each GPU and precision, fitted on the same rows.

mod constant;
mod pair;
mod ratio;
mod tables;

use std::collections::BTreeMap;

use weft_catalogue::Catalogue;

use super::published::{Left, Published, StepKind, Trust, trust};
use crate::validate::quantile;

pub use pair::Pair;
pub use ratio::{Ratio, Ratios};
pub(super) use tables::Sites;
pub use tables::{Answered, Kept, Tables};

/// The median error that no file of trust A may exceed.
const TRUSTED_MEDIAN: f64 = 0.15;

/// Rows of a file of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct FileScore {
    /// The file's name.
    pub file: String,
    /// With or without experts.
    pub kind: StepKind,
    /// How far it can be trusted.
    pub trust: Trust,
    /// Rows that count.
    pub rows: usize,
    /// Those of them with a prediction.
    pub scored: usize,
    /// Median error; `None` where it is infinite.
    pub median_error: Option<f64>,
    /// 90th percentile.
    pub p90_error: Option<f64>,
    /// Median of predicted over measured: which way it errs.
    pub median_factor: Option<f64>,
    /// Median error of a constant rate.
    pub constant_median_error: Option<f64>,
}

/// All files of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct KindScore {
    /// With or without experts.
    pub kind: StepKind,
    /// Rows that count.
    pub rows: usize,
    /// Those of them with a prediction.
    pub scored: usize,
    /// Median error, every file weighing the same; `None` where it is infinite.
    pub median_error: Option<f64>,
    /// 90th percentile.
    pub p90_error: Option<f64>,
    /// Median error of a constant rate of each GPU and precision.
    pub constant_median_error: Option<f64>,
    /// 90th percentile of it.
    pub constant_p90_error: Option<f64>,
}

/// The whole comparison.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrainReport {
    /// Files in order, dense rows first.
    pub files: Vec<FileScore>,
    /// Kinds in order.
    pub kinds: Vec<KindScore>,
    /// Files of trust A whose median is above 15 %.
    pub missed: Vec<String>,
    /// Throughput per GPU against that of the fewest GPUs of the same layout, one by one.
    pub scaled: Vec<Ratio>,
    /// All of them.
    pub ratios: Ratios,
    /// The same where it departs from 1 by more than 5 %.
    pub departing: Ratios,
    /// Scaling of whole models that were copied, of whose steps the fewest GPUs' is given, one by one.
    pub copied: Vec<Ratio>,
    /// All of them.
    pub copies: Ratios,
    /// The same where it departs from 1 by more than 5 %.
    pub departing_copies: Ratios,
    /// Rows that differ only in the way over the network.
    pub pairs: Vec<Pair>,
    /// What GPUs keep, as published and as counted.
    pub memory: Vec<Kept>,
    /// Rows without a prediction: file, line, reason.
    pub unpredicted: Vec<(String, u64, String)>,
    /// Rows that do not count: file, line, reason.
    pub left_out: Vec<(String, u64, String)>,
}

/// A row that counts.
struct Case<'a> {
    file: &'a str,
    kind: StepKind,
    /// The row and predicted seconds; `None` where there is no prediction.
    row: Option<(&'a Published, f64)>,
    /// Seconds at a constant rate.
    constant_s: Option<f64>,
    measured_s: f64,
}

impl Case<'_> {
    fn error(&self) -> f64 {
        self.row.map_or(f64::INFINITY, |(row, predicted_s)| (predicted_s / row.step_s - 1.0).abs())
    }

    fn constant_error(&self) -> f64 {
        self.constant_s.map_or(f64::INFINITY, |seconds| (seconds / self.measured_s - 1.0).abs())
    }
}

/// Scores `rows`, each with its predicted seconds or why there are none, and counts what was `left` of each file.
pub fn score(rows: &[Answered], left: &[(String, u64, Left)], catalogue: &Catalogue) -> TrainReport {
    let constants = constant::seconds(rows, catalogue);
    let mut cases: Vec<Case<'_>> = Vec::new();
    let mut report = TrainReport::default();
    for ((row, predicted), constant_s) in rows.iter().zip(constants) {
        if let Err(why) = predicted {
            report.unpredicted.push((row.file.clone(), row.line, why.clone()));
        }
        let known = predicted.as_ref().ok().map(|seconds| (row, *seconds));
        let (file, kind, measured_s) = (row.file.as_str(), row.kind, row.step_s);
        cases.push(Case { file, kind, row: known, constant_s: Some(constant_s), measured_s });
    }
    for (file, line, left) in left {
        match left {
            Left::Out { why } => report.left_out.push((file.clone(), *line, why.clone())),
            Left::Unread { why, kind } => {
                report.unpredicted.push((file.clone(), *line, why.clone()));
                cases.push(Case { file, kind: *kind, row: None, constant_s: None, measured_s: f64::NAN });
            }
        }
    }
    let mut files: BTreeMap<(StepKind, &str), Vec<&Case<'_>>> = BTreeMap::new();
    for case in &cases {
        files.entry((case.kind, case.file)).or_default().push(case);
    }
    report.files = files.iter().map(|((kind, file), cases)| file_score(file, *kind, cases)).collect();
    report.kinds = [StepKind::Dense, StepKind::Experts]
        .into_iter()
        .map(|kind| kind_score(kind, files.iter().filter(|((of, _), _)| *of == kind).map(|(_, cases)| cases)))
        .filter(|score| score.rows > 0)
        .collect();
    report.missed =
        report.files.iter().filter(|file| is_missed(file)).map(|file| file.file.clone()).collect();
    report.scaled = ratio::of_rows(rows);
    (report.ratios, report.departing) = ratio::summaries(&report.scaled);
    report.pairs = pair::pairs(rows);
    report
}

/// Without a median, half of the rows or more have no prediction.
fn is_missed(file: &FileScore) -> bool {
    file.trust == Trust::A && file.median_error.is_none_or(|median| median > TRUSTED_MEDIAN)
}

fn file_score(file: &str, kind: StepKind, cases: &[&Case<'_>]) -> FileScore {
    let errors: Vec<(f64, f64)> = cases.iter().map(|case| (case.error(), 1.0)).collect();
    let constants: Vec<(f64, f64)> = cases.iter().map(|case| (case.constant_error(), 1.0)).collect();
    let factors: Vec<(f64, f64)> = cases
        .iter()
        .filter_map(|case| case.row.map(|(row, predicted_s)| (predicted_s / row.step_s, 1.0)))
        .collect();
    FileScore {
        file: file.to_owned(),
        kind,
        trust: trust(file, kind),
        rows: cases.len(),
        scored: factors.len(),
        median_error: quantile(&errors, 0.5),
        p90_error: quantile(&errors, 0.9),
        median_factor: quantile(&factors, 0.5),
        constant_median_error: quantile(&constants, 0.5),
    }
}

#[expect(clippy::cast_precision_loss, reason = "row counts stay far below 2^53")]
fn kind_score<'c>(kind: StepKind, files: impl Iterator<Item = &'c Vec<&'c Case<'c>>>) -> KindScore {
    let (mut errors, mut constants) = (Vec::new(), Vec::new());
    let (mut rows, mut scored) = (0, 0);
    for cases in files {
        let weight = 1.0 / cases.len() as f64;
        rows += cases.len();
        scored += cases.iter().filter(|case| case.row.is_some()).count();
        errors.extend(cases.iter().map(|case| (case.error(), weight)));
        constants.extend(cases.iter().map(|case| (case.constant_error(), weight)));
    }
    KindScore {
        kind,
        rows,
        scored,
        median_error: quantile(&errors, 0.5),
        p90_error: quantile(&errors, 0.9),
        constant_median_error: quantile(&constants, 0.5),
        constant_p90_error: quantile(&constants, 0.9),
    }
}

#[cfg(test)]
mod tests;
