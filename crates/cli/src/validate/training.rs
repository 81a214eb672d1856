//! Published steps of training against predictions: kinds, files, scaling, and the way over the network.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use weft_predictor::train::published::StepKind;
use weft_predictor::train::{Kept, Pair, Ratios, TrainReport};

use super::{optional, percent, ranges};
use crate::style::{Tone, heading};
use crate::table::{Cell, Table};

/// A table of any form: titles, and rows of cells.
struct Sheet {
    title: &'static str,
    columns: &'static [&'static str],
    /// How many columns are text; numbers follow.
    texts: usize,
    rows: Vec<Vec<String>>,
}

/// The comparison for a reader.
pub fn training_text(report: &TrainReport) -> String {
    let section = |sheet: Sheet| {
        let mut table = Table::default();
        let cell = |index: usize, text: String| {
            if index < sheet.texts { Cell::new(text) } else { Cell::number(text) }
        };
        table.row(
            sheet
                .columns
                .iter()
                .enumerate()
                .map(|(index, title)| cell(index, (*title).to_owned()).tone(Tone::Faint)),
        );
        for row in sheet.rows {
            table.row(row.into_iter().enumerate().map(|(index, text)| cell(index, text)));
        }
        format!("{}\n{}", heading(sheet.title), table.lines())
    };
    let sections: Vec<String> = sheets(report).into_iter().map(section).collect();
    format!("{}\n{}\n", sections.join("\n"), heading(sentence(report)))
}

/// The comparison as a part of the page that is kept with the models.
pub fn training_markdown(report: &TrainReport) -> String {
    let mut text = format!(
        "# Steps of training: published times against predictions\n\n\
         Written by `weft validate ../shared/measured --kind training --format markdown`; do not edit. Every file weighs \
         the same within its kind. Beside stands a constant rate of each GPU and precision, fitted on the same rows.\n\n\
         **{}.**\n",
        sentence(report)
    );
    for sheet in sheets(report) {
        let rule: String = (0..sheet.columns.len())
            .map(|index| if index < sheet.texts { "---|" } else { "---:|" })
            .collect();
        let _ = write!(text, "\n## {}\n\n| {} |\n|{rule}\n", sheet.title, sheet.columns.join(" | "));
        for row in sheet.rows {
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
    }
    text
}

fn sentence(report: &TrainReport) -> String {
    let kind = |kind: StepKind| report.kinds.iter().find(|score| score.kind == kind);
    let words = |kind_of: StepKind| {
        kind(kind_of).map_or_else(String::new, |score| {
            let (median, p90) = (optional(score.median_error), optional(score.p90_error));
            format!("{} step time median error {median}, 90th percentile {p90}", kind_of.name())
        })
    };
    format!("{}; {}", words(StepKind::Dense), words(StepKind::Experts))
}

fn sheets(report: &TrainReport) -> Vec<Sheet> {
    vec![
        kinds(report),
        files(report),
        ratios(report),
        pairs(report),
        memory(report),
        unpredicted(report),
        left_out(report),
    ]
}

fn kinds(report: &TrainReport) -> Sheet {
    let row = |score: &weft_predictor::train::KindScore| {
        vec![
            score.kind.name().to_owned(),
            score.rows.to_string(),
            score.scored.to_string(),
            optional(score.median_error),
            optional(score.p90_error),
            optional(score.constant_median_error),
            optional(score.constant_p90_error),
        ]
    };
    Sheet {
        title: "Published steps against predictions",
        columns: &[
            "kind",
            "rows",
            "predicted",
            "median error",
            "90th percentile",
            "constant rate: median",
            "90th percentile",
        ],
        texts: 1,
        rows: report.kinds.iter().map(row).collect(),
    }
}

fn files(report: &TrainReport) -> Sheet {
    let row = |score: &weft_predictor::train::FileScore| {
        vec![
            score.file.trim_end_matches(".csv").to_owned(),
            score.kind.name().to_owned(),
            score.trust.letter().to_owned(),
            score.rows.to_string(),
            score.scored.to_string(),
            optional(score.median_error),
            optional(score.p90_error),
            optional(score.median_factor.map(|factor| factor - 1.0)),
            optional(score.constant_median_error),
        ]
    };
    Sheet {
        title: "Files",
        columns: &[
            "file",
            "kind",
            "trust",
            "rows",
            "predicted",
            "median",
            "90th",
            "bias",
            "constant rate: median",
        ],
        texts: 3,
        rows: report.files.iter().map(row).collect(),
    }
}

fn ratios(report: &TrainReport) -> Sheet {
    let row = |name: &str, ratios: &Ratios| {
        vec![
            name.to_owned(),
            ratios.rows.to_string(),
            ratios.scored.to_string(),
            optional(ratios.median_error),
            optional(ratios.p90_error),
            optional(ratios.flat_median_error),
            optional(ratios.flat_p90_error),
        ]
    };
    Sheet {
        title: "Scaling: rate per GPU against that of the fewest GPUs of the same layout, and of copies whose time on the fewest is given",
        columns: &[
            "ratios",
            "rows",
            "predicted",
            "median error",
            "90th percentile",
            "saying 1: median",
            "90th percentile",
        ],
        texts: 1,
        rows: vec![
            row("all", &report.ratios),
            row("that depart from 1 by more than 5 %", &report.departing),
            row("copies of whole models", &report.copies),
            row("those that depart from 1 by more than 5 %", &report.departing_copies),
        ],
    }
}

fn pairs(report: &TrainReport) -> Sheet {
    let row = |pair: &Pair| {
        vec![
            format!("{}:{},{}", pair.file.trim_end_matches(".csv"), pair.lines.0, pair.lines.1),
            pair.what.to_owned(),
            format!("{:+.3} s", pair.measured_s),
            pair.predicted_s.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:+.3} s")),
            percent(pair.error()),
            if pair.is_sign_right() { "right" } else { "wrong" }.to_owned(),
        ]
    };
    Sheet {
        title: "Rows that differ only in the way over the network",
        columns: &["rows", "what", "measured", "predicted", "error", "sign"],
        texts: 2,
        rows: report.pairs.iter().filter(|pair| pair.is_clear).map(row).collect(),
    }
}

fn memory(report: &TrainReport) -> Sheet {
    let gib = |bytes: f64| format!("{:.2} GiB", bytes / f64::from(1 << 30));
    let row = |kept: &Kept| {
        vec![
            format!("{}:{}", kept.file.trim_end_matches(".csv"), kept.line),
            kept.what.to_owned(),
            gib(kept.published_bytes),
            gib(kept.counted_bytes),
            percent(kept.error()),
        ]
    };
    Sheet {
        title: "Memory of one GPU",
        columns: &["row", "what", "published", "counted", "error"],
        texts: 2,
        rows: report.memory.iter().map(row).collect(),
    }
}

fn unpredicted(report: &TrainReport) -> Sheet {
    Sheet {
        title: "Without a prediction",
        columns: &["rows", "why"],
        texts: 2,
        rows: by_reason(&report.unpredicted),
    }
}

fn left_out(report: &TrainReport) -> Sheet {
    Sheet { title: "Rows left out", columns: &["rows", "why"], texts: 2, rows: by_reason(&report.left_out) }
}

/// Rows of one file with one reason together.
fn by_reason(rows: &[(String, u64, String)]) -> Vec<Vec<String>> {
    let mut lines: BTreeMap<(&str, &str), Vec<u64>> = BTreeMap::new();
    for (file, line, why) in rows {
        lines.entry((file, why)).or_default().push(*line);
    }
    let row = |((file, why), lines): ((&str, &str), Vec<u64>)| {
        vec![format!("{}:{}", file.trim_end_matches(".csv"), ranges(lines)), why.to_owned()]
    };
    lines.into_iter().map(row).collect()
}
