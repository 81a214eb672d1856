//! Errors per group and kind; every group weighs the same within its kind.

use std::collections::BTreeMap;

use weft_base::{Bytes, Rate};
use weft_catalogue::Catalogue;

use super::coverage::{self, Place};
use super::question::{Answer, Ask, Machines};
use super::{Kind, Measurement, ReadingError, Scored};
use crate::calibrate::Calibration;

/// A row that could not be scored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Line of the CSV file.
    pub row: u64,
    /// The field that is missing or unknown.
    pub why: String,
}

/// Rows of one group and kind.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupScore {
    /// The file's name.
    pub file: String,
    /// System, collective and section of the source.
    pub group: String,
    /// Which kind of rows.
    pub kind: Kind,
    /// Rows that were selected.
    pub rows: usize,
    /// The scored ones.
    pub scored: Vec<Scored>,
    /// The others.
    pub skipped: Vec<Skipped>,
    /// Median of all rows' errors; `None` where as many cannot be predicted.
    pub median_error: Option<f64>,
    /// 90th percentile of them.
    pub p90_error: Option<f64>,
    /// Share of the predicted rows within their 90 % intervals.
    pub covered_share: Option<f64>,
    /// The same where intervals are as wide as all other groups of the kind want them.
    pub left_out_share: Option<f64>,
    /// Median of the intervals' ends over their begins.
    pub median_width_factor: Option<f64>,
}

/// All groups of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct KindScore {
    /// Which kind.
    pub kind: Kind,
    /// Rows that were selected.
    pub rows: usize,
    /// Rows that were scored.
    pub scored: usize,
    /// Median error, every group weighing the same.
    pub median_error: Option<f64>,
    /// 90th percentile, every group weighing the same.
    pub p90_error: Option<f64>,
    /// The same of the factor between predicted and measured, whichever is larger.
    pub p90_factor: Option<f64>,
    /// Share of the predicted rows within their 90 % intervals, every group weighing the same.
    pub covered_share: Option<f64>,
    /// The same where the intervals of each group are as wide as all other groups want them.
    pub left_out_share: Option<f64>,
    /// Median of the intervals' ends over their begins, every group weighing the same.
    pub median_width_factor: Option<f64>,
}

/// The whole comparison.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// Groups in order of file, kind and name.
    pub groups: Vec<GroupScore>,
    /// Kinds in order.
    pub kinds: Vec<KindScore>,
}

/// A measured value, and what is asked for it.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub file: String,
    pub group: String,
    pub system: String,
    pub collective: String,
    pub line: u64,
    pub size: Option<Bytes>,
    pub measured: Option<Rate>,
    pub reading: Option<ReadingError>,
    pub ask: Result<Ask, String>,
}

/// Scores the rows of several files, of machines as their kind is or all with that calibration.
pub fn score(
    files: &[(String, Vec<Measurement>)],
    calibration: Option<&Calibration>,
    catalogue: &Catalogue,
) -> Report {
    let cases = cases(files, catalogue);
    let asks: Vec<Result<Ask, String>> =
        cases.iter().map(|case| case.ask.clone().map(|ask| ask.with(calibration))).collect();
    let answers = Machines::default().answer(&asks, catalogue);
    report(cases.iter().zip(answers))
}

/// What is asked for each row, in the order of the files.
pub(super) fn cases(files: &[(String, Vec<Measurement>)], catalogue: &Catalogue) -> Vec<Case> {
    let rows = files.iter().flat_map(|(file, rows)| rows.iter().map(move |row| (file, row)));
    rows.map(|(file, row)| Case {
        file: file.clone(),
        group: row.group(),
        system: row.system.clone(),
        collective: row.collective_name.clone(),
        line: row.line,
        size: row.size,
        measured: row.busbw,
        reading: row.reading.clone(),
        ask: Ask::of(row, catalogue),
    })
    .collect()
}

/// Groups and kinds of what was answered.
pub(super) fn report<'c>(answered: impl Iterator<Item = (&'c Case, Result<Answer, String>)>) -> Report {
    let mut groups: BTreeMap<(Kind, &str, &str), GroupScore> = BTreeMap::new();
    for (case, answer) in answered {
        let kind = Kind::of(case.size);
        let group = groups.entry((kind, &case.file, &case.group)).or_insert_with(|| GroupScore {
            file: case.file.clone(),
            group: case.group.clone(),
            kind,
            rows: 0,
            scored: Vec::new(),
            skipped: Vec::new(),
            median_error: None,
            p90_error: None,
            covered_share: None,
            left_out_share: None,
            median_width_factor: None,
        });
        group.rows += 1;
        match answer.and_then(|answer| case.score(&answer)) {
            Ok(scored) => group.scored.push(scored),
            Err(why) => group.skipped.push(Skipped { row: case.line, why }),
        }
    }
    let mut groups: Vec<GroupScore> = groups.into_values().collect();
    for group in &mut groups {
        let errors: Vec<(f64, f64)> = group.weighted(|row| row.error).collect();
        group.median_error = quantile(&errors, 0.5);
        group.p90_error = quantile(&errors, 0.9);
        group.covered_share = coverage::held(group.scored.iter(), 1.0);
        let widths: Vec<(f64, f64)> = group.scored.iter().map(|row| (row.width_factor, 1.0)).collect();
        group.median_width_factor = quantile(&widths, 0.5);
    }
    for index in 0..groups.len() {
        let widened = coverage::widened_by_others(&groups, groups[index].kind, index);
        let held = widened.and_then(|widened| coverage::held(groups[index].scored.iter(), widened));
        groups[index].left_out_share = held;
    }
    let kinds = kind_scores(&groups.iter().collect::<Vec<_>>());
    Report { groups, kinds }
}

/// Of each kind of which there are rows.
pub(super) fn kind_scores(groups: &[&GroupScore]) -> Vec<KindScore> {
    let kinds = [Kind::Bandwidth, Kind::Between, Kind::Latency];
    kinds.into_iter().map(|kind| kind_score(kind, groups)).filter(|kind| kind.rows > 0).collect()
}

impl Case {
    /// What is calibrated as one: a system of a file.
    pub fn machine(&self) -> (&str, &str) {
        (&self.file, &self.system)
    }

    fn score(&self, answer: &Answer) -> Result<Scored, String> {
        let measured = self.measured.ok_or("num_gpus is empty, so that no bus bandwidth follows")?;
        let predicted = answer.row.busbw;
        let (low, high) =
            self.reading.as_ref().map_or((measured, measured), |reading| reading.interval(measured));
        // Within what may have been meant, the prediction is right; beyond, the nearer edge counts.
        let (predicted_gbps, target_gbps) =
            (predicted.as_gigabytes(), predicted.clamp(low, high).as_gigabytes());
        let ratio = predicted_gbps / target_gbps;
        let (slowest, quickest) = answer.interval();
        let place = Place::of(predicted, slowest, quickest, (low, high));
        Ok(Scored {
            line: self.line,
            machine: answer.machine.clone(),
            collective: answer.collective,
            size: self.size,
            measured,
            predicted,
            low: slowest,
            high: quickest,
            distance_factor: place.distance_factor,
            width_factor: place.width_factor,
            algorithm: answer.row.algorithm,
            protocol: answer.row.protocol,
            error: self.error(predicted_gbps, target_gbps),
            factor: if ratio < 1.0 { 1.0 / ratio } else { ratio },
            warned: answer.warned.clone(),
        })
    }

    /// Of a small message it is the time that counts, of others the bandwidth.
    fn error(&self, predicted_gbps: f64, target_gbps: f64) -> f64 {
        match Kind::of(self.size) {
            Kind::Latency => (target_gbps / predicted_gbps - 1.0).abs(),
            Kind::Between | Kind::Bandwidth => (predicted_gbps / target_gbps - 1.0).abs(),
        }
    }
}

impl GroupScore {
    /// A figure of every row, infinite of those that could not be predicted, with weights that add up to 1.
    #[expect(clippy::cast_precision_loss, reason = "row counts stay far below 2^53")]
    fn weighted(&self, of: fn(&Scored) -> f64) -> impl Iterator<Item = (f64, f64)> {
        let weight = 1.0 / self.rows as f64;
        let missing = self.skipped.iter().map(|_| f64::INFINITY);
        self.scored.iter().map(of).chain(missing).map(move |value| (value, weight))
    }
}

#[expect(clippy::cast_precision_loss, reason = "row counts stay far below 2^53")]
fn kind_score(kind: Kind, groups: &[&GroupScore]) -> KindScore {
    let of_kind = || groups.iter().filter(|group| group.kind == kind);
    let errors: Vec<(f64, f64)> = of_kind().flat_map(|group| group.weighted(|row| row.error)).collect();
    let factors: Vec<(f64, f64)> = of_kind().flat_map(|group| group.weighted(|row| row.factor)).collect();
    // Rows without a prediction have no interval.
    let predicted = |of: fn(&Scored) -> f64| -> Vec<(f64, f64)> {
        let rows = of_kind()
            .flat_map(|group| group.scored.iter().map(move |row| (of(row), 1.0 / group.scored.len() as f64)));
        rows.collect()
    };
    let inside = predicted(|row| if row.distance_factor <= 1.0 + 1e-9 { 1.0 } else { 0.0 });
    let left_out: Vec<f64> = of_kind().filter_map(|group| group.left_out_share).collect();
    let all: f64 = inside.iter().map(|(_, weight)| weight).sum();
    let held: f64 = inside.iter().map(|(value, weight)| value * weight).sum();
    KindScore {
        kind,
        rows: of_kind().map(|group| group.rows).sum(),
        scored: of_kind().map(|group| group.scored.len()).sum(),
        median_error: quantile(&errors, 0.5),
        p90_error: quantile(&errors, 0.9),
        p90_factor: quantile(&factors, 0.9),
        covered_share: (all > 0.0).then(|| held / all),
        left_out_share: (!left_out.is_empty()).then(|| left_out.iter().sum::<f64>() / left_out.len() as f64),
        median_width_factor: quantile(&predicted(|row| row.width_factor), 0.5),
    }
}

/// The least value at which the weights up to it reach `share` of all; `None` of nothing, and of infinity.
pub(crate) fn quantile(weighted: &[(f64, f64)], share: f64) -> Option<f64> {
    let mut sorted = weighted.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = sorted.iter().map(|(_, weight)| weight).sum();
    let mut reached = 0.0;
    for (value, weight) in &sorted {
        reached += weight;
        if reached >= share * total - 1e-12 {
            return Some(*value).filter(|value| value.is_finite());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn quantiles_weigh_groups_not_rows() {
        // One group of two rows with errors 1 and 2 (weight 1/2 each), one of a single row with error 3.
        // Half of the total weight 2 is reached at 2; nine tenths only at 3.
        let weighted = [(3.0, 1.0), (1.0, 0.5), (2.0, 0.5)];
        assert_eq!(quantile(&weighted, 0.5), Some(2.0));
        assert_eq!(quantile(&weighted, 0.9), Some(3.0));
        assert_eq!(quantile(&[], 0.5), None);
        // What cannot be predicted is as far off as can be: half of the weight, but not the median.
        let missing = [(f64::INFINITY, 1.0), (0.1, 1.0)];
        assert_eq!((quantile(&missing, 0.5), quantile(&missing, 0.9)), (Some(0.1), None));
    }
}
