//! What a job does about dead links.

use weft_base::{Diagnostic, Span};

use super::{Context, Network};
use crate::codes::SCENARIO;
use crate::simulate::scenario::{JobSpec, OnFault};

/// What a job does about dead links.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reaction {
    pub on_fault: OnFault,
    /// How long a link must be dead until the job notices.
    pub notice: Span,
    /// From then until it begins again, where it does.
    pub restart: Span,
    /// After how many repetitions each it can begin again from there; from the beginning where there is none.
    pub checkpoint: Option<u32>,
}

impl Context<'_> {
    pub(super) fn reaction(&self, spec: &JobSpec, network: &Network) -> Result<Reaction, Diagnostic> {
        let on_fault = spec.on_fault;
        let notice =
            self.only(spec.notice.as_ref(), on_fault, &[OnFault::FailOver, OnFault::Rerun], "notice")?;
        let restart = self.only(spec.restart.as_ref(), on_fault, &[OnFault::Rerun], "restart")?;
        let checkpoint = self.only(spec.checkpoint.as_ref(), on_fault, &[OnFault::Rerun], "checkpoint")?;
        if let (Some(0), Some(at)) = (checkpoint, &spec.checkpoint) {
            let finding = Diagnostic::error(SCENARIO, "a checkpoint after no repetition is none");
            return Err(finding
                .hint("`checkpoint = 10` is one after every 10 repetitions")
                .at(self.place(at)));
        }
        let notice = notice.unwrap_or(network.notice);
        Ok(Reaction { on_fault, notice, restart: restart.unwrap_or(Span::ZERO), checkpoint })
    }

    /// A value that means something to jobs that react so, and an error to others.
    fn only<T: Copy>(
        &self,
        value: Option<&toml::Spanned<T>>,
        on_fault: OnFault,
        meant: &[OnFault],
        key: &str,
    ) -> Result<Option<T>, Diagnostic> {
        let Some(value) = value else { return Ok(None) };
        if meant.contains(&on_fault) {
            return Ok(Some(*value.get_ref()));
        }
        let names: Vec<&str> = meant.iter().map(|meant| meant.name()).collect();
        let finding =
            Diagnostic::error(SCENARIO, format!("`{key}` is of jobs with `on-fault` {}", names.join(" or ")));
        let hint = format!("`on-fault = \"{}\"`", names.first().copied().unwrap_or_default());
        Err(finding.hint(hint).at(self.place(value)))
    }
}
