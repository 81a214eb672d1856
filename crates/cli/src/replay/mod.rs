//! What `weft replay` reads and prints.

mod files;
mod text;
pub mod timeline;

use weft_predictor::replay::Replayed;
use weft_predictor::train::Site;

pub use files::read;
pub use text::text;

/// What was asked, and what came of it.
#[derive(Clone, Copy)]
pub struct Shown<'a> {
    /// The machine in words.
    pub machine: &'a str,
    /// The same as ranks see it.
    pub site: &'a Site<'a>,
    /// The step.
    pub replayed: &'a Replayed,
    /// How many times as long computations take as they were recorded.
    pub compute_scale: f64,
}
