//! Scaling: throughput per GPU against that of the fewest GPUs of the same layout.

use std::collections::BTreeMap;

use weft_workload::Layout;

use super::Answered;
use crate::train::published::Published;
use crate::validate::quantile;

/// From where on a measured ratio departs from 1.
const DEPARTS: f64 = 0.05;

/// Errors of scaling ratios, every file weighing the same.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Ratios {
    /// Ratios that were measured.
    pub rows: usize,
    /// Those of them with a prediction.
    pub scored: usize,
    /// Median error; `None` where it is infinite.
    pub median_error: Option<f64>,
    /// 90th percentile.
    pub p90_error: Option<f64>,
    /// Median error of saying 1 to all.
    pub flat_median_error: Option<f64>,
    /// 90th percentile of it.
    pub flat_p90_error: Option<f64>,
}

/// A ratio as measured, and as predicted where both rows are.
#[derive(Debug, Clone, PartialEq)]
pub struct Ratio {
    /// The file's name.
    pub file: String,
    /// Lines of the fewest GPUs, and of more.
    pub lines: (u64, u64),
    /// As measured.
    pub measured_ratio: f64,
    /// As predicted; `None` where a row has no prediction.
    pub predicted_ratio: Option<f64>,
}

impl Ratio {
    /// Error of the ratio; infinite without a prediction.
    pub fn error(&self) -> f64 {
        self.predicted_ratio.map_or(f64::INFINITY, |predicted| (predicted / self.measured_ratio - 1.0).abs())
    }

    fn flat_error(&self) -> f64 {
        (1.0 / self.measured_ratio - 1.0).abs()
    }
}

/// What rows of different numbers of GPUs share.
type Key<'a> = (&'a str, &'a str, Layout, String);

/// All ratios of rows of the same layout.
pub(super) fn of_rows(rows: &[Answered]) -> Vec<Ratio> {
    let mut alike: BTreeMap<Key<'_>, Vec<&Answered>> = BTreeMap::new();
    for row in rows {
        alike.entry(key(&row.0)).or_default().push(row);
    }
    alike.values().flat_map(|rows| of_group(rows)).collect()
}

/// All ratios, and those that depart from 1.
pub(super) fn summaries(all: &[Ratio]) -> (Ratios, Ratios) {
    let departing: Vec<&Ratio> =
        all.iter().filter(|ratio| (ratio.measured_ratio - 1.0).abs() > DEPARTS).collect();
    (summary(&all.iter().collect::<Vec<_>>()), summary(&departing))
}

/// What rows of different numbers of GPUs share: all of the layout but these and the batch.
fn key(row: &Published) -> Key<'_> {
    let layout = Layout { gpus: 0, global_batch: 0, ..row.layout.clone() };
    let server = row.machine.split_once(" x ").map_or(row.machine.as_str(), |(_, server)| server);
    let server = server.split(" @ rail").next().and_then(|server| server.split(" @ fat").next());
    let rest = format!(
        "{} {} {:?} {} {:?} {} {}",
        row.model.name,
        row.model.layers,
        row.precision,
        row.framework,
        row.release,
        row.variant,
        server.unwrap_or_default()
    );
    (&row.file, &row.group, layout, rest)
}

/// Each row against the one of the fewest GPUs; of several, that with the same batch of each GPU.
fn of_group(rows: &[&Answered]) -> Vec<Ratio> {
    let fewest = rows.iter().map(|(row, _)| row.layout.gpus).min().unwrap_or(0);
    let batch = |row: &Published| f64::from(row.layout.global_batch) / f64::from(row.layout.gpus);
    let more = rows.iter().filter(|(row, _)| row.layout.gpus > fewest);
    let ratio = |row: &&Answered| {
        let of_fewest = rows.iter().filter(|(other, _)| other.layout.gpus == fewest);
        let apart = |other: &&&Answered| (batch(&other.0) - batch(&row.0)).abs();
        let base = of_fewest.min_by(|a, b| apart(a).total_cmp(&apart(b)))?;
        let scale = |of: &Published, seconds: f64| batch(of) / seconds;
        let measured = scale(&row.0, row.0.step_s) / scale(&base.0, base.0.step_s);
        let predicted = match (&row.1, &base.1) {
            (Ok(seconds), Ok(base_s)) => Some(scale(&row.0, *seconds) / scale(&base.0, *base_s)),
            _ => None,
        };
        Some(Ratio {
            file: row.0.file.clone(),
            lines: (base.0.line, row.0.line),
            measured_ratio: measured,
            predicted_ratio: predicted,
        })
    };
    more.filter_map(ratio).collect()
}

#[expect(clippy::cast_precision_loss, reason = "row counts stay far below 2^53")]
fn summary(ratios: &[&Ratio]) -> Ratios {
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    for ratio in ratios {
        *files.entry(&ratio.file).or_default() += 1;
    }
    let weight = |ratio: &Ratio| 1.0 / files[ratio.file.as_str()] as f64;
    let errors: Vec<(f64, f64)> = ratios.iter().map(|ratio| (ratio.error(), weight(ratio))).collect();
    let flat: Vec<(f64, f64)> = ratios.iter().map(|ratio| (ratio.flat_error(), weight(ratio))).collect();
    Ratios {
        rows: ratios.len(),
        scored: ratios.iter().filter(|ratio| ratio.predicted_ratio.is_some()).count(),
        median_error: quantile(&errors, 0.5),
        p90_error: quantile(&errors, 0.9),
        flat_median_error: quantile(&flat, 0.5),
        flat_p90_error: quantile(&flat, 0.9),
    }
}
