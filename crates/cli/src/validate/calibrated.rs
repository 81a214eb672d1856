//! What predictions reach after a calibration.

use std::fmt::Write as _;

use weft_predictor::validate::{CalibratedReport, KindScore};

use super::{Asked, optional, times};
use crate::style::{Tone, heading};
use crate::table::{Cell, Table};

/// What was done.
const HOW: &str =
    "fitted to every third row by ascending size of each machine and collective, scored on the others";

/// For a reader.
pub fn calibrated_text(report: &CalibratedReport, asked: &Asked<'_>) -> String {
    let title = heading("Published measurements against predictions, calibrated");
    let mut sections = vec![format!("{title}: {}; {HOW}\n", asked.rows())];
    for (name, kinds) in named(report) {
        let mut table = Table::default();
        table.row([
            Cell::new("kind").tone(Tone::Faint),
            Cell::number("rows").tone(Tone::Faint),
            Cell::number("predicted").tone(Tone::Faint),
            Cell::number("median error").tone(Tone::Faint),
            Cell::number("90th percentile").tone(Tone::Faint),
            Cell::number("90th of the factor").tone(Tone::Faint),
            Cell::number("held by 90 %").tone(Tone::Faint),
            Cell::number("high/low").tone(Tone::Faint),
        ]);
        for kind in kinds {
            table.row([
                Cell::new(kind.kind.name()),
                Cell::number(kind.rows.to_string()),
                Cell::number(kind.scored.to_string()),
                Cell::number(optional(kind.median_error)).tone(Tone::Heading),
                Cell::number(optional(kind.p90_error)),
                Cell::number(times(kind.p90_factor)),
                Cell::number(optional(kind.covered_share)),
                Cell::number(times(kind.median_width_factor)),
            ]);
        }
        sections.push(format!("{}\n{}", heading(name), table.lines()));
    }
    sections.join("\n")
}

/// For the page that is kept with the models, as a part of it.
pub fn calibrated_markdown(report: &CalibratedReport, asked: &Asked<'_>) -> String {
    let mut page = format!(
        "\n## After a calibration\n\nWritten by `{} --format markdown`; do not edit. Rows: {}, {HOW}.\n\n\
         | fitted to | kind | rows | predicted | median error | 90th percentile | 90th of the factor | held by 90 % | \
         high/low |\n|---|---|---:|---:|---:|---:|---:|---:|---:|\n",
        asked.command(),
        asked.rows(),
    );
    for (name, kinds) in named(report) {
        for kind in kinds {
            let (median, p90) = (optional(kind.median_error), optional(kind.p90_error));
            let (rows, scored, factor) = (kind.rows, kind.scored, times(kind.p90_factor));
            let (held, width) = (optional(kind.covered_share), times(kind.median_width_factor));
            let kind = kind.kind.name();
            let _ = write!(page, "| {name} | {kind} | {rows} | {scored} | {median} | {p90} | {factor} | ");
            let _ = writeln!(page, "{held} | {width} |");
        }
    }
    page
}

fn named(report: &CalibratedReport) -> Vec<(&'static str, &[KindScore])> {
    let names = ["first third", "second third", "last third"];
    let thirds = names.into_iter().zip(&report.thirds).map(|(name, third)| (name, third.kinds.as_slice()));
    thirds.chain([("worst of the three", report.worst.as_slice())]).collect()
}
