//! What `weft validate` prints: kinds, groups, the worst rows, and what was not scored.

mod markdown;
mod measures;
mod text;

use weft_base::Bytes;

pub use markdown::markdown;
pub use text::text;

/// What was asked for, for the heading.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The least size of a row.
    pub min_size: Option<Bytes>,
    /// Files that were not read, and why.
    pub left_out: &'a [(String, &'static str)],
}

impl Asked<'_> {
    /// Which rows, in words.
    pub fn rows(&self) -> String {
        let sizes = match self.min_size {
            Some(least) => format!("{least} and above, and peaks"),
            None => "all sizes".to_owned(),
        };
        format!("one server, a named GPU, {sizes}")
    }
}

/// Why a file is not scored; `None` for those that are.
pub fn left_out(file: &str) -> Option<&'static str> {
    let reasons = [
        ("coll_tartan_p100", "NCCL of 2018"),
        ("coll_mscclpp_baselines", "MSCCL++, not NCCL"),
        ("coll_deepep_moe_alltoall", "DeepEP, not NCCL"),
    ];
    reasons.into_iter().find(|(prefix, _)| file.starts_with(prefix)).map(|(_, reason)| reason)
}

/// `7.3 %`.
fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn optional(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), percent)
}
