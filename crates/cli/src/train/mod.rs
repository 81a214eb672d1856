//! What `weft train` prints.

pub mod report;
mod text;
pub mod timeline;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use weft_catalogue::{Framework, Model};
use weft_predictor::train::{Found, Site, StepTime};
use weft_workload::{Layout, Precision};

pub use report::{Shown, html};
pub use text::{breakdown, overflow, span, text};

/// What was asked, and what was found.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// The machine in words.
    pub machine: &'a str,
    /// Where it runs.
    pub site: &'a Site<'a>,
    /// The model.
    pub model: &'a Model,
    /// The program.
    pub framework: &'a Framework,
    /// Of what matrices are multiplied.
    pub precision: Precision,
    /// Sequences of a step.
    pub global_batch: u32,
    /// Tokens of a sequence.
    pub sequence_tokens: u32,
    /// Layouts, best first.
    pub found: &'a Found,
    /// Whether layouts were looked for, or one was given.
    pub searched: bool,
}

impl Run<'_> {
    /// Tokens of a step.
    pub fn step_tokens(&self) -> f64 {
        f64::from(self.global_batch) * f64::from(self.sequence_tokens)
    }

    /// Model FLOP/s of a GPU over its dense peak in the precision.
    pub fn mfu(&self, layout: &Layout, time: &StepTime) -> Option<f64> {
        let peak = self.site.peak_flops(self.precision)?;
        Some(time.model_flops / time.seconds / f64::from(layout.gpus) / peak)
    }
}

/// A line on standard error while layouts are priced, where that takes long enough to see.
pub fn progress() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {pos} layouts, {per_sec}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner());
    ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(4)).with_style(style)
}
