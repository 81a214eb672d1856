//! Policies compared on a scenario: as text, CSV, plots and a page.

mod csv;
mod facts;
mod html;
mod svg;
mod text;

use weft_scheduler::Strategy;
use weft_scheduler::scenario::Scenario;
use weft_scheduler::words::Words;
use weft_scheduler::world::{Beat, Record, Stories};

pub use csv::{csv, state};
pub use facts::{RowFacts, busiest_count, figures, rows};
pub use html::html;
pub use svg::svg;
pub use text::text;

use super::each;

/// A scenario under one policy.
pub struct Run {
    /// The policy.
    pub strategy: &'static Strategy,
    /// What came of it.
    pub record: Record,
}

/// What a report tells.
pub struct Comparison<'c> {
    /// The scenario.
    pub scenario: &'c Scenario,
    /// Each policy.
    pub runs: &'c [Run],
    /// The job whose story is told.
    pub explain: Option<&'c str>,
}

/// Plays a scenario under each policy.
pub fn play(scenario: &Scenario, strategies: &[&'static Strategy], stories: &Stories) -> Vec<Run> {
    each(strategies, |strategy| Run { strategy, record: scenario.play(strategy, stories.clone()) })
}

impl<'c> Comparison<'c> {
    /// What happened, in words.
    pub fn words(&self, run: &'c Run) -> Words<'c> {
        Words { cluster: &self.scenario.cluster, queues: &self.scenario.queues, record: &run.record }
    }

    /// The story that is asked for.
    pub fn story(&self, run: &'c Run) -> &'c [Beat] {
        let wanted = run
            .record
            .stories
            .iter()
            .find(|(job, _)| Some(run.record.jobs[job.at()].name.as_str()) == self.explain);
        wanted.map_or(&[], |(_, beats)| beats.as_slice())
    }

    /// Nodes, GPUs, jobs and faults in words.
    pub fn size(&self) -> String {
        let gpus: u32 = self
            .scenario
            .cluster
            .ids()
            .map(|node| u32::from(self.scenario.cluster.shape(node).kind.gpu_count))
            .sum();
        let parts = [
            (self.scenario.cluster.nodes.len(), "node"),
            (gpus as usize, "GPU"),
            (self.scenario.loads.len(), "job"),
            (self.scenario.faults.len(), "fault"),
        ];
        let shown = parts.into_iter().filter(|(count, _)| *count > 0);
        shown.map(|(count, noun)| crate::names::count(count, noun)).collect::<Vec<_>>().join(", ")
    }
}
