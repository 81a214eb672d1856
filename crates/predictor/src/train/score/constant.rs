//! What no model at all reaches: each GPU always computes at one rate.

use std::collections::BTreeMap;

use weft_catalogue::Catalogue;
use weft_topology::oneliner;
use weft_workload::Precision;

use super::Answered;
use crate::train::published::{Published, StepKind, flops_per_token};

/// What shares a rate: kind of model, GPU and precision.
type Class = (StepKind, String, Precision);

/// Seconds of each row at the rate of its class: of the rates that the class's rows were measured at, the one whose mean
/// error on them is least, every file weighing the same. Any share of the peak is such a rate, so that the peak itself
/// does not matter.
#[expect(clippy::cast_precision_loss, reason = "row counts stay far below 2^53")]
pub(super) fn seconds(rows: &[Answered], catalogue: &Catalogue) -> Vec<f64> {
    let works: Vec<(Class, f64)> = rows.iter().map(|(row, _)| (class(row, catalogue), work(row))).collect();
    let mut files: BTreeMap<(StepKind, &str), usize> = BTreeMap::new();
    for (row, _) in rows {
        *files.entry((row.kind, &row.file)).or_default() += 1;
    }
    let mut classes: BTreeMap<&Class, Vec<(f64, f64)>> = BTreeMap::new();
    for ((row, _), (class, work)) in rows.iter().zip(&works) {
        let weight = 1.0 / files[&(row.kind, row.file.as_str())] as f64;
        classes.entry(class).or_default().push((work / row.step_s, weight));
    }
    let rates: BTreeMap<&Class, f64> = classes.iter().map(|(class, rates)| (*class, best(rates))).collect();
    works.iter().map(|(class, work)| work / rates[class]).collect()
}

/// Of rates with their weights the one with the least mean error.
fn best(rates: &[(f64, f64)]) -> f64 {
    let error = |of: f64| rates.iter().map(|(rate, weight)| weight * (rate / of - 1.0).abs()).sum::<f64>();
    let found = rates.iter().map(|(rate, _)| *rate).min_by(|a, b| error(*a).total_cmp(&error(*b)));
    found.unwrap_or(f64::NAN)
}

fn class(row: &Published, catalogue: &Catalogue) -> Class {
    let machine = oneliner::parse(&row.machine, catalogue).ok();
    let gpu = machine.and_then(|machine| machine.gpus.first()?.model.clone());
    (row.kind, gpu.unwrap_or_else(|| row.machine.clone()), row.precision)
}

/// Multiplications and additions of one GPU in a step: six for each weight and token, and attention under its mask.
fn work(row: &Published) -> f64 {
    let tokens = row.layout.step_tokens() / f64::from(row.layout.gpus);
    tokens * flops_per_token(&row.model, row.layout.sequence_tokens)
}
