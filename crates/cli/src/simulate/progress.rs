//! A line on standard error while a simulation takes long.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use weft_base::Time;

/// Ranks that are done, of all; nothing where standard error is no terminal.
pub struct Progress(ProgressBar);

impl Progress {
    /// Draws nothing before there is something to show.
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5));
        let style =
            ProgressStyle::with_template("{spinner} {msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
        Self(bar.with_style(style))
    }

    /// How far it has come.
    pub fn show(&self, now: Time, done: usize, ranks: usize) {
        self.0.set_message(format!("{now} simulated, {done} of {ranks} ranks done"));
        self.0.tick();
    }

    /// Takes the line away.
    pub fn end(&self) {
        self.0.finish_and_clear();
    }
}
