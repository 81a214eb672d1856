//! What predictions reach after a calibration.

use std::fmt::Write as _;

use weft_predictor::validate::{CalibratedReport, KindScore};

use super::{Asked, optional, text, times};
use crate::style::heading;

/// What was done.
const HOW: &str =
    "fitted to every third row by ascending size of each machine and collective, scored on the others";

/// For a reader.
pub fn calibrated_text(report: &CalibratedReport, asked: &Asked<'_>) -> String {
    let title = heading("Published measurements against predictions, calibrated");
    let mut sections = vec![format!("{title}: {}; {HOW}\n", asked.rows())];
    for (name, kinds) in named(report) {
        sections.push(format!("{}\n{}", heading(name), text::kinds(kinds)));
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
