//! One step as a picture would show it: what each stage of the pipeline does when, and what goes over its network.
//!
//! The turns of all stages are played by their schedule, so that what a stage waits for comes out of it. A step is priced
//! by a formula that takes all stages to be as slow as the slowest or the first; where the last one is not, the turns are
//! over earlier, and the difference is a bar of its own.

mod lanes;
mod play;
#[cfg(test)]
mod tests;

use weft_workload::{Layout, Schedule, Turn, Work, weight_gradients_share};

use super::step::{PassTime, StageTime, StepParts};
use super::{Pricer, TrainError};

/// Turns of a step that are still played.
const MOST_TURNS: u64 = 1 << 22;

/// What happens in a bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A turn; [`Timeline::pass`] says what it consists of.
    Turn(Turn),
    /// A micro-batch goes to the next stage, or to the one before.
    Hop(Turn),
    /// Sharded weights are gathered.
    Gather(Turn),
    /// Gradients of sharded weights are scattered.
    Scatter(Turn),
    /// Gradients are summed over the copies of the model.
    Gradients,
    /// The weights are updated.
    Optimizer,
    /// Updated weights are sent to those that share the optimizer.
    Weights,
    /// What a step takes longer than its turns.
    Rest,
    /// The slowest of many GPUs.
    Straggler,
}

impl What {
    /// Whether it belongs to a micro-batch, rather than to the step.
    pub fn is_of_turn(self) -> bool {
        match self {
            Self::Turn(_) | Self::Hop(_) | Self::Gather(_) | Self::Scatter(_) => true,
            Self::Gradients | Self::Optimizer | Self::Weights | Self::Rest | Self::Straggler => false,
        }
    }
}

/// From when to when something happens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bar {
    /// What.
    pub what: What,
    /// Its begin.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
}

/// Whose time a lane shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// Each GPU of the stage.
    Gpus,
    /// What their network carries meanwhile, hidden or not; collectives inside a turn are not shown again.
    Network,
}

/// Bars one after another.
#[derive(Debug, Clone, PartialEq)]
pub struct Lane {
    /// The stage of the pipeline, from 0.
    pub stage: u32,
    /// Whose.
    pub of: Of,
    /// In order, none over another; what is between them is idle.
    pub bars: Vec<Bar>,
}

/// A step, bar by bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// For each stage the lane of its GPUs, and that of their network where there is anything to show.
    pub lanes: Vec<Lane>,
    /// The end of the step.
    pub seconds: f64,
    /// What the step's formula has more than the turns (a bar of its own), or less.
    pub rest_s: f64,
    /// When the last turn is over.
    pub turns_end_s: f64,
    /// The slowest stage, whose time a step is counted by.
    pub slowest_stage: u32,
    passes: Passes,
}

impl Timeline {
    /// What a turn of a stage consists of.
    pub fn pass(&self, stage: u32, work: Work) -> &PassTime {
        self.passes.of(stage, work)
    }

    /// Seconds that the GPUs of a stage wait for those of others, from the begin to the end of all turns.
    pub fn idle_s(&self, stage: u32) -> f64 {
        let own = self.lanes.iter().filter(|lane| lane.stage == stage && lane.of == Of::Gpus);
        let bars = own.flat_map(|lane| &lane.bars).filter(|bar| bar.what.is_of_turn());
        self.turns_end_s - bars.map(|bar| bar.to_s - bar.from_s).sum::<f64>()
    }
}

/// Passes of one chunk, for each stage.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Passes {
    first: [PassTime; 3],
    last: [PassTime; 3],
    last_stage: u32,
    /// The way of a micro-batch to the next stage.
    hop_s: f64,
}

impl Passes {
    fn new(layout: &Layout, parts: &StepParts) -> Self {
        let share = 1.0 / f64::from(layout.virtual_stages);
        let split = |stage: &StageTime| {
            let (forward, backward) = (stage.forward.scaled(share), stage.backward.scaled(share));
            let own = match layout.schedule {
                Schedule::Gpipe | Schedule::OneForwardOneBackward => 0.0,
                Schedule::ZeroBubble => {
                    weight_gradients_share(layout) * (forward.inside_s() + backward.inside_s())
                }
            };
            let own = own.min(backward.kernels_s);
            let backward = PassTime { kernels_s: backward.kernels_s - own, ..backward };
            [forward, backward, PassTime { kernels_s: own, ..PassTime::default() }]
        };
        Self {
            first: split(&parts.first),
            last: split(&parts.last),
            last_stage: layout.pipeline - 1,
            hop_s: parts.hop_s,
        }
    }

    fn of(&self, stage: u32, work: Work) -> &PassTime {
        let passes = if stage == self.last_stage { &self.last } else { &self.first };
        match work {
            Work::Forward => &passes[0],
            Work::Backward => &passes[1],
            Work::WeightGradients => &passes[2],
        }
    }
}

impl Pricer<'_> {
    /// One step, bar by bar.
    pub fn timeline(&self, layout: &Layout) -> Result<Timeline, TrainError> {
        layout.check(self.model())?;
        let turns =
            3 * u64::from(layout.pipeline * layout.virtual_stages) * u64::from(layout.micro_batches());
        if turns > MOST_TURNS {
            return Err(TrainError::TooLong { turn_count: turns, most_count: MOST_TURNS });
        }
        let parts = self.parts(&self.training(layout))?;
        Ok(lanes::timeline(layout, &parts))
    }
}
