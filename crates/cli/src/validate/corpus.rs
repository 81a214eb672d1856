//! Outputs of benchmarks beside predictions: sound runs, open ones, and those with a known fault.

use std::fmt::Write as _;

use weft_predictor::validate::{Corpus, Fault};

use super::measures::Measures;
use super::{Asked, markdown, missing, text};
use crate::style::{Tone, heading};
use crate::table::{Cell, Table};

/// Below that share of what a sound machine would reach, a run is low.
const LOW_RATIO: f64 = 0.8;

/// For a reader.
pub fn corpus_text(corpus: &Corpus, asked: &Asked<'_>) -> String {
    let measures = Measures::of(&corpus.sound);
    let title = heading("Outputs of benchmarks against predictions");
    let mut sections = vec![
        format!("{title}: {}\n", asked.rows()),
        text::kinds(&corpus.sound.kinds),
        text::groups(&corpus.sound),
        format!("{}\n{}", heading("Largest errors"), text::worst(&measures)),
    ];
    if measures.skipped > 0 {
        let rows = text::without_prediction(&corpus.sound);
        sections.push(format!("{}\n{rows}", heading("Without a prediction")));
    }
    if !corpus.open.groups.is_empty() {
        let title = heading("Runs of which nobody knows whether they are sound");
        sections.push(format!("{title}\n{}", text::groups(&corpus.open)));
    }
    if !corpus.faults.is_empty() {
        let mut table = Table::default();
        for fault in &corpus.faults {
            table.row([
                Cell::new(&fault.file),
                Cell::number(verdict(fault)),
                Cell::new(&fault.why).tone(Tone::Faint),
            ]);
        }
        sections.push(format!("{}\n{}", heading("Runs with a known fault"), table.lines()));
    }
    sections.push(format!("{}\n", heading(measures.sentence(&corpus.sound))));
    sections.join("\n")
}

/// For the page that is kept with the models, as a part of it.
pub fn corpus_markdown(corpus: &Corpus, asked: &Asked<'_>) -> String {
    let measures = Measures::of(&corpus.sound);
    let mut page = format!(
        "\n## Outputs of benchmarks against predictions\n\nWritten by `{} --format markdown`; do not edit. Rows: {}. Each \
         file is a group.\n\n**{}.**\n\n",
        asked.command(),
        asked.rows(),
        measures.sentence(&corpus.sound)
    );
    markdown::kinds(&mut page, &corpus.sound);
    markdown::groups(&mut page, &corpus.sound);
    page.push_str(
        "\n### Runs with a known fault\n\n| file | measured of predicted | fault |\n|---|---:|---|\n",
    );
    for fault in &corpus.faults {
        let _ = writeln!(page, "| {} | {} | {} |", fault.file, verdict(fault), fault.why);
    }
    let missing = missing(&corpus.sound);
    if !missing.is_empty() {
        page.push_str(
            "\n### Files with rows without a prediction\n\n| file | lines | why |\n|---|---|---|\n",
        );
    }
    for rows in missing {
        let _ = writeln!(page, "| {} | {} | {} |", rows.file, rows.lines, rows.why);
    }
    page.push_str("\n### Files out of scope\n\n| file | why |\n|---|---|\n");
    for (file, left_out) in asked.left_out {
        let _ = writeln!(page, "| {file} | {} |", left_out.why);
    }
    page
}

/// `5 %: low`.
fn verdict(fault: &Fault) -> String {
    match fault.median_ratio {
        Some(ratio) if ratio < LOW_RATIO => format!("{}: low", super::percent(ratio)),
        Some(ratio) => format!("{}: not low", super::percent(ratio)),
        None => "not predicted".to_owned(),
    }
}
