//! One line for each row, for those who look for what a model gets wrong.

use std::fmt::Write as _;

use weft_predictor::validate::{CalibratedReport, GroupScore, Report, Scored};

use crate::cells::quoted;

const HEADER: &str = "file,line,group,kind,machine,collective,bytes,measured_gbps,predicted_gbps,low_gbps,high_gbps,algorithm,protocol,\
    error,factor,warned,reason,fitted_to\n";

/// All rows in the order of the files; `reason` says why there is no prediction. Rates are GB/s of busbw.
pub fn csv(report: &Report) -> String {
    format!("{HEADER}{}", csv_rows(report))
}

/// The same without the line of the columns' names.
pub fn csv_rows(report: &Report) -> String {
    rows(report, "")
}

/// The rows that each third was not fitted to; the last column has its number.
pub fn csv_calibrated(report: &CalibratedReport) -> String {
    let thirds = report.thirds.iter().enumerate();
    let lines: String = thirds.map(|(number, third)| rows(&third.report, &number.to_string())).collect();
    format!("{HEADER}{lines}")
}

fn rows(report: &Report, fitted_to: &str) -> String {
    let mut lines: Vec<((&str, u64), String)> = Vec::new();
    for group in &report.groups {
        lines.extend(
            group.scored.iter().map(|row| ((group.file.as_str(), row.line), scored(group, row, fitted_to))),
        );
        for row in &group.skipped {
            let (file, name, kind) = (quoted(&group.file), quoted(&group.group), group.kind.name());
            let line =
                format!("{file},{},{name},{kind},,,,,,,,,,,,,{},{fitted_to}\n", row.row, quoted(&row.why));
            lines.push(((&group.file, row.row), line));
        }
    }
    lines.sort();
    lines.into_iter().map(|(_, line)| line).collect()
}

fn scored(group: &GroupScore, row: &Scored, fitted_to: &str) -> String {
    let mut text = format!("{},{},{},", quoted(&group.file), row.line, quoted(&group.group));
    let size = row.size.map_or_else(String::new, |size| size.get().to_string());
    let _ = write!(text, "{},{},{},{size},", group.kind.name(), quoted(&row.machine), row.collective.name());
    let (measured, predicted) = (row.measured.as_gigabytes(), row.predicted.as_gigabytes());
    let (low, high) = (row.low.as_gigabytes(), row.high.as_gigabytes());
    let (algorithm, protocol) = (row.algorithm.name(), row.protocol.name());
    let _ = write!(text, "{measured},{predicted},{low},{high},{algorithm},{protocol},");
    let _ = writeln!(text, "{:.4},{:.4},{},,{fitted_to}", row.error, row.factor, row.warned.join(" "));
    text
}
