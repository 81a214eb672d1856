//! What `weft serve` prints.

mod text;

use weft_catalogue::Engine;
use weft_predictor::serve::ServeFound;
use weft_predictor::train::Site;
use weft_workload::{ServeLayout, Serving};

pub use text::{overflow, text};

/// What was asked, and what was found.
#[derive(Clone, Copy)]
pub struct Served<'a> {
    /// The machine in words.
    pub machine: &'a str,
    /// Where it runs.
    pub site: &'a Site<'a>,
    /// The program.
    pub engine: &'a Engine,
    /// What was asked; its layout only where one was given.
    pub serving: &'a Serving<'a>,
    /// Layouts, best first.
    pub found: &'a ServeFound,
    /// Whether layouts were looked for, or one was given.
    pub searched: bool,
    /// What carries most of what the GPUs of the first layout say to each other.
    pub link: Option<&'a str>,
}

/// `TP 4, PP 2, 2 copies`; `1 GPU`.
pub fn words(layout: &ServeLayout) -> String {
    let sizes = [("TP", layout.tensor), ("PP", layout.pipeline), ("EP", layout.expert)];
    let mut words: Vec<String> = sizes
        .into_iter()
        .filter(|(_, size)| *size > 1)
        .map(|(name, size)| format!("{name} {size}"))
        .collect();
    if words.is_empty() {
        words.push("1 GPU".to_owned());
    }
    if layout.copies > 1 {
        words.push(format!("{} copies", layout.copies));
    }
    words.join(", ")
}
