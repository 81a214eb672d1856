use weft_predictor::validate::{KindScore, Report};

use super::measures::{Measures, Row, WORST_MAX};
use super::{Asked, missing, optional, percent, times};
use crate::style::{Tone, heading};
use crate::table::{Cell, Table};

/// Characters of a group's name that are shown.
const GROUP_MAX: usize = 72;

/// The comparison for a reader.
pub fn text(report: &Report, asked: &Asked<'_>) -> String {
    let measures = Measures::of(report);
    let title = heading("Published measurements against predictions");
    let mut sections = vec![format!("{title}: {}\n", asked.rows()), kinds(&report.kinds), groups(report)];
    sections.push(format!("{}\n{}", heading("Largest errors"), worst(&measures)));
    if measures.skipped > 0 {
        sections.push(format!("{}\n{}", heading("Without a prediction"), without_prediction(report)));
    }
    if !asked.left_out.is_empty() {
        let mut table = Table::default();
        for (file, left_out) in asked.left_out {
            let rows = Cell::number(left_out.rows.to_string());
            table.row([Cell::new(file), rows, Cell::new(&left_out.why).tone(Tone::Faint)]);
        }
        sections.push(format!("{}\n{}", heading("Rows left out"), table.lines()));
    }
    sections.push(format!("{}\n", heading(measures.sentence(report))));
    sections.join("\n")
}

/// One row for each kind.
pub(super) fn kinds(kinds: &[KindScore]) -> String {
    let mut table = Table::default();
    let titles = [
        "kind",
        "rows",
        "predicted",
        "median error",
        "90th percentile",
        "90th of the factor",
        "held by 90 %",
        "left out",
        "high/low",
    ];
    table.row(titles.into_iter().enumerate().map(|(index, title)| titled(index == 0, title)));
    for kind in kinds {
        table.row([
            Cell::new(kind.kind.name()),
            Cell::number(kind.rows.to_string()),
            Cell::number(kind.scored.to_string()),
            Cell::number(optional(kind.median_error)).tone(Tone::Heading),
            Cell::number(optional(kind.p90_error)),
            Cell::number(times(kind.p90_factor)),
            Cell::number(optional(kind.covered_share)),
            Cell::number(optional(kind.left_out_share)),
            Cell::number(times(kind.median_width_factor)),
        ]);
    }
    table.lines()
}

fn titled(left: bool, title: &str) -> Cell {
    if left { Cell::new(title) } else { Cell::number(title) }.tone(Tone::Faint)
}

pub(super) fn groups(report: &Report) -> String {
    let mut table = Table::default();
    let titles = ["kind", "rows", "median", "90th", "held", "left out", "group"];
    let left = |index: usize| index == 0 || index == 6;
    table.row(titles.into_iter().enumerate().map(|(index, title)| titled(left(index), title)));
    for group in &report.groups {
        table.row([
            Cell::new(group.kind.name()),
            Cell::number(group.rows.to_string()),
            Cell::number(optional(group.median_error)),
            Cell::number(optional(group.p90_error)),
            Cell::number(optional(group.covered_share)),
            Cell::number(optional(group.left_out_share)),
            Cell::new(short(&group.group)),
        ]);
    }
    table.lines()
}

fn short(name: &str) -> String {
    if name.chars().count() <= GROUP_MAX {
        return name.to_owned();
    }
    let kept: String = name.chars().take(GROUP_MAX - 1).collect();
    format!("{}…", kept.trim_end())
}

pub(super) fn worst(measures: &Measures<'_>) -> String {
    let mut table = Table::default();
    let titles = ["row", "measured", "predicted", "error", "warned of"];
    let left = |index: usize| index == 0 || index == 4;
    table.row(titles.into_iter().enumerate().map(|(index, title)| titled(left(index), title)));
    for row in measures.worst_first.iter().take(WORST_MAX) {
        table.row([
            Cell::new(format!("{}:{}", row.group.file, row.scored.line)),
            Cell::number(row.scored.measured.to_string()),
            Cell::number(row.scored.predicted.to_string()),
            Cell::number(signed(row)),
            Cell::new(row.scored.warned.join(", ")).tone(Tone::Faint),
        ]);
    }
    table.lines()
}

/// `+12.3 %` where the prediction is too high.
pub(super) fn signed(row: &Row<'_>) -> String {
    let error = row.ratio() - 1.0;
    if error > 0.0 { format!("+{}", percent(error)) } else { percent(error) }
}

pub(super) fn without_prediction(report: &Report) -> String {
    let mut table = Table::default();
    for rows in missing(report) {
        table
            .row([Cell::new(format!("{}:{}", rows.file, rows.lines)), Cell::new(rows.why).tone(Tone::Faint)]);
    }
    table.lines()
}
