//! What predictions reach after a calibration.

use std::fmt::Write as _;

use weft_predictor::validate::{CalibratedReport, Kinds};

use super::{Asked, markdown, text};
use crate::style::heading;

/// What was done.
const HOW: &str =
    "fitted to every third row by ascending size of each machine and collective, scored on the others";

/// For a reader.
pub fn calibrated_text(report: &CalibratedReport, asked: &Asked<'_>) -> String {
    let title = heading("Published measurements against predictions, calibrated");
    let mut sections = vec![format!("{title}: {}; {HOW}\n", asked.rows())];
    for (name, kinds) in named(report) {
        for (which, kinds) in kinds.named().into_iter().filter(|(_, kinds)| !kinds.is_empty()) {
            sections.push(format!("{}\n{}", heading(format_args!("{name}, {which}")), text::kinds(kinds)));
        }
    }
    sections.join("\n")
}

/// For the page that is kept with the models, as a part of it.
pub fn calibrated_markdown(report: &CalibratedReport, asked: &Asked<'_>) -> String {
    let mut page = format!(
        "\n## After a calibration\n\nWritten by `{} --format markdown`; do not edit. Rows: {}, {HOW}. A group of a single row \
         tells a calibration nothing of itself: it is scored as it is predicted, or by what other groups of the same machine \
         told, and by itself below.\n",
        asked.command(),
        asked.rows(),
    );
    for (index, (which, _)) in Kinds::default().named().into_iter().enumerate() {
        let _ = write!(
            page,
            "\n### After a calibration: {which}\n\n| fitted to | {}|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
            markdown::KINDS
        );
        for (name, kinds) in named(report) {
            for kind in kinds.named()[index].1 {
                let _ = writeln!(page, "| {name} {}", markdown::kind(kind));
            }
        }
    }
    page
}

fn named(report: &CalibratedReport) -> Vec<(&'static str, &Kinds)> {
    let names = ["first third", "second third", "last third"];
    let thirds = names.into_iter().zip(&report.thirds).map(|(name, third)| (name, &third.kinds));
    thirds.chain([("worst of the three", &report.worst)]).collect()
}
