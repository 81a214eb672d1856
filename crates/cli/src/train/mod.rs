//! What `weft train` prints.

mod text;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use weft_catalogue::{Framework, Model};
use weft_predictor::train::{Found, Site, StepTime};
use weft_workload::{Layout, Precision, Recompute, Schedule, Sharding};

pub use text::{overflow, text};

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

/// `TP 8, PP 4 x 3, CP 2, DP 16, micro-batch 1, ZeRO-1, sequence parallel, full recomputation`.
pub fn words(layout: &Layout) -> String {
    let mut words = vec![format!("TP {}", layout.tensor)];
    match (layout.pipeline, layout.virtual_stages) {
        (1, _) => {}
        (stages, 1) => words.push(format!("PP {stages}")),
        (stages, chunks) => words.push(format!("PP {stages} x {chunks}")),
    }
    let more = [("CP", layout.context), ("EP", layout.expert)];
    words.extend(more.into_iter().filter(|(_, size)| *size > 1).map(|(name, size)| format!("{name} {size}")));
    words.push(format!("DP {}", layout.data()));
    words.push(format!("micro-batch {}", layout.micro_batch));
    words.push(sharding(layout).to_owned());
    if layout.sequence_parallel {
        words.push("sequence parallel".to_owned());
    }
    match layout.recompute {
        Recompute::None => {}
        Recompute::Selective => words.push("attention recomputed".to_owned()),
        Recompute::Full => words.push("all recomputed".to_owned()),
    }
    match layout.schedule {
        Schedule::OneForwardOneBackward => {}
        Schedule::Gpipe => words.push("GPipe".to_owned()),
        Schedule::ZeroBubble => words.push("zero bubble".to_owned()),
    }
    words.join(", ")
}

/// What data-parallel ranks share.
pub fn sharding(layout: &Layout) -> &'static str {
    match layout.sharding {
        Sharding::None => "ZeRO-0",
        Sharding::Optimizer => "ZeRO-1",
        Sharding::Gradients => "ZeRO-2",
        Sharding::Weights => "ZeRO-3",
    }
}
