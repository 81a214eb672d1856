//! What `--format json` prints: one file per document, versioned by `schema`, described in `schemas/`.

pub mod advise;
mod advise_training;
pub mod bench;
pub mod bench_pairs;
pub mod changes;
mod diagnostic;
pub mod doctor;
mod evidence;
pub mod frames;
pub mod measured;
pub mod plan;
pub mod predict;
pub mod replay;
pub mod schedule;
pub mod schedule_philly;
pub mod schedule_run;
pub mod serve;
pub mod show;
pub mod simulate;
pub mod subsets;
mod ties;
pub mod train;
pub mod validate;
pub mod validate_training;

use serde::Serialize;

pub use diagnostic::{DiagnosticJson, all};

/// A document as text; its parts are plain data, so that nothing can fail but memory.
pub fn text(document: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    text
}
