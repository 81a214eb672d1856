//! What `weft validate` prints: kinds, groups, the worst rows, and what was not scored.

mod csv;
mod markdown;
mod measures;
mod text;

use weft_base::Bytes;
use weft_predictor::validate::{Kind, LeftOut};

pub use csv::csv;
pub use markdown::markdown;
pub use text::text;

/// What was asked for, for the heading.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The least size of a row.
    pub min_size: Option<Bytes>,
    /// The kind of rows.
    pub kind: Option<Kind>,
    /// Rows that are no measurements of NCCL or RCCL, with their file.
    pub left_out: &'a [(String, LeftOut)],
}

impl Asked<'_> {
    /// Which rows, in words.
    pub fn rows(&self) -> String {
        let sizes = match self.min_size {
            Some(least) => format!("{least} and above, and peaks"),
            None => "all sizes".to_owned(),
        };
        let kind = self.kind.map_or_else(String::new, |kind| format!(", only kind {}", kind.name()));
        format!("all of NCCL and RCCL, {sizes}{kind}")
    }
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
