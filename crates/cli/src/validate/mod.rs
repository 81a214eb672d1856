//! What `weft validate` prints: kinds, groups, the worst rows, and what was not scored.

mod calibrated;
mod corpus;
mod csv;
mod markdown;
mod measures;
mod rivals;
mod text;
mod training;

use std::collections::BTreeMap;

use weft_base::Bytes;
use weft_predictor::validate::{Kind, LeftOut, Report, Rivals};

pub use calibrated::{calibrated_markdown, calibrated_text};
pub use corpus::{corpus_markdown, corpus_text};
pub use csv::{csv, csv_calibrated, csv_rows};
pub use markdown::markdown;
pub use text::text;
pub use training::{training_markdown, training_text};

/// What was asked for, for the heading.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The command that gives this, up to the format.
    pub command: &'a str,
    /// Which rows, in words, but for size and kind.
    pub what: &'a str,
    /// The least size of a row.
    pub min_size: Option<Bytes>,
    /// The kind of rows.
    pub kind: Option<Kind>,
    /// What other models say, beside ours.
    pub rivals: &'a [Rivals],
    /// Rows that are no measurements of NCCL or RCCL, with their file.
    pub left_out: &'a [(String, LeftOut)],
}

impl Asked<'_> {
    /// The command with its options.
    pub fn command(&self) -> String {
        let size = self
            .min_size
            .map_or_else(String::new, |least| format!(" --min-size {}", least.to_string().replace(' ', "")));
        let kind = self.kind.map_or_else(String::new, |kind| format!(" --kind {}", kind.name()));
        format!("{}{size}{kind}", self.command)
    }

    /// Which rows, in words.
    pub fn rows(&self) -> String {
        let sizes = match self.min_size {
            Some(least) => format!("{least} and above, and peaks"),
            None => "all sizes".to_owned(),
        };
        let kind = self.kind.map_or_else(String::new, |kind| format!(", only kind {}", kind.name()));
        format!("{}, {sizes}{kind}", self.what)
    }
}

/// Rows of one file that lack a prediction for one reason.
pub struct Missing<'r> {
    /// The file's name.
    pub file: &'r str,
    /// Its lines, `5-9, 12`.
    pub lines: String,
    /// What is missing.
    pub why: &'r str,
}

/// What could not be predicted, in order of the files, like reasons together.
pub fn missing(report: &Report) -> Vec<Missing<'_>> {
    let mut lines: BTreeMap<(&str, &str), Vec<u64>> = BTreeMap::new();
    for group in &report.groups {
        for row in &group.skipped {
            lines.entry((&group.file, &row.why)).or_default().push(row.row);
        }
    }
    lines.into_iter().map(|((file, why), lines)| Missing { file, lines: ranges(lines), why }).collect()
}

fn ranges(mut lines: Vec<u64>) -> String {
    lines.sort_unstable();
    let runs = lines.chunk_by(|a, b| a + 1 == *b);
    let word = |run: &[u64]| match run {
        [first, .., last] => format!("{first}-{last}"),
        [only] => only.to_string(),
        [] => String::new(),
    };
    runs.map(word).collect::<Vec<_>>().join(", ")
}

/// `7.3 %`.
fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn optional(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), percent)
}

fn times(factor: Option<f64>) -> String {
    factor.map_or_else(|| "-".to_owned(), |factor| format!("{factor:.2}"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn lines_in_a_row_are_one_range() {
        assert_eq!(super::ranges(vec![9, 5, 7, 6, 12]), "5-7, 9, 12");
        assert_eq!(super::ranges(Vec::new()), "");
    }
}
