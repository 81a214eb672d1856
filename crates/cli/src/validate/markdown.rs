use std::fmt::Write as _;

use weft_predictor::validate::{KindScore, Report};

use super::measures::{Measures, WORST_MAX};
use super::rivals::rivals;
use super::text::signed;
use super::{Asked, missing, optional, times};

/// The comparison as the page that is kept with the models.
pub fn markdown(report: &Report, asked: &Asked<'_>) -> String {
    let measures = Measures::of(report);
    let mut text = String::from("# Accuracy: published measurements against predictions\n\n");
    let _ = writeln!(
        text,
        "Written by `{} --format markdown`; do not edit. Rows: {}. A row without a \
         size is a peak, compared with the best predicted busbw up to 16 GiB; one that could be read to some error \
         only is compared with the nearer end of it. Every group (system, collective, section of the source) weighs the \
         same within its kind, and a row without a prediction is infinitely wrong. *Held by 90 %* is the share of measured \
         values within the interval that is to hold nine tenths of them, *left out* the same with intervals as wide as \
         all other groups of the kind want them.\n\n**{}.**\n",
        asked.command(),
        asked.rows(),
        measures.sentence(report)
    );
    kinds(&mut text, report);
    text.push_str("\n## Groups\n");
    groups(&mut text, report);
    worst(&mut text, &measures);
    text.push_str(&rivals(asked.rivals));
    rest(&mut text, report, asked);
    text
}

/// The head of a table of kinds, behind what other columns there are.
pub(super) const KINDS: &str = "kind | rows | predicted | median error | 90th percentile | 90th of the factor | held by 90 % | left out | \
     high/low |\n";

pub(super) fn kinds(text: &mut String, report: &Report) {
    let _ = writeln!(text, "| {KINDS}|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for score in &report.kinds {
        let _ = writeln!(text, "{}", kind(score));
    }
}

/// A line of that table.
pub(super) fn kind(kind: &KindScore) -> String {
    let (name, rows, scored) = (kind.kind.name(), kind.rows, kind.scored);
    let (median, p90) = (optional(kind.median_error), optional(kind.p90_error));
    let (factor, held) = (times(kind.p90_factor), optional(kind.covered_share));
    let (left_out, width) = (optional(kind.left_out_share), times(kind.median_width_factor));
    format!("| {name} | {rows} | {scored} | {median} | {p90} | {factor} | {held} | {left_out} | {width} |")
}

pub(super) fn groups(text: &mut String, report: &Report) {
    text.push_str(
        "\n| file | group | kind | rows | median error | 90th percentile | held by 90 % | left out |\n",
    );
    text.push_str("|---|---|---|---:|---:|---:|---:|---:|\n");
    for group in &report.groups {
        let (median, p90) = (optional(group.median_error), optional(group.p90_error));
        let (file, name) = (stem(&group.file), cell(&group.group));
        let kind = group.kind.name();
        let (held, left_out) = (optional(group.covered_share), optional(group.left_out_share));
        let rows = group.rows;
        let _ =
            writeln!(text, "| {file} | {name} | {kind} | {rows} | {median} | {p90} | {held} | {left_out} |");
    }
}

fn worst(text: &mut String, measures: &Measures<'_>) {
    text.push_str("\n## Largest errors\n\n| row | measured | predicted | error | warned of |\n");
    text.push_str("|---|---:|---:|---:|---|\n");
    for row in measures.worst_first.iter().take(WORST_MAX) {
        let (measured, predicted) = (row.scored.measured, row.scored.predicted);
        let (file, line, error) = (stem(&row.group.file), row.scored.line, signed(row));
        let warned = row.scored.warned.join(", ");
        let _ = writeln!(text, "| {file}:{line} | {measured} | {predicted} | {error} | {warned} |");
    }
}

fn rest(text: &mut String, report: &Report, asked: &Asked<'_>) {
    let missing = missing(report);
    if !missing.is_empty() {
        text.push_str("\n## Rows without a prediction\n\n| file | lines | why |\n|---|---|---|\n");
    }
    for rows in missing {
        let _ = writeln!(text, "| {} | {} | {} |", stem(rows.file), rows.lines, cell(rows.why));
    }
    if !asked.left_out.is_empty() {
        text.push_str("\n## Rows left out\n\n| file | rows | why |\n|---|---:|---|\n");
    }
    for (file, left_out) in asked.left_out {
        let _ = writeln!(text, "| {} | {} | {} |", stem(file), left_out.rows, cell(&left_out.why));
    }
}

fn stem(file: &str) -> &str {
    file.strip_suffix(".csv").unwrap_or(file)
}

/// A bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
