//! The parts of a step one by one, as its timeline shows them: what a pass of a stage consists of, what follows the last.

use weft_collective::Collective;
use weft_workload::{Axis, Layer, Recompute, Step, Training, Transfer};

use super::{Micro, Pricer};
use crate::train::TrainError;

/// One pass of one micro-batch through a stage, or through one of its chunks, in seconds: in this order, although what
/// is inside comes layer by layer.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PassTime {
    /// Weights that are gathered before, as far as nothing hides it.
    pub gather_s: f64,
    /// Kernels, recomputation among them.
    pub kernels_s: f64,
    /// What the host lets kernels wait.
    pub host_s: f64,
    /// Tensor-parallel collectives that nothing hides.
    pub tensor_s: f64,
    /// The same of context parallelism.
    pub context_s: f64,
    /// The same of experts.
    pub expert_s: f64,
    /// The same of what goes to the next stage.
    pub hop_s: f64,
    /// The same of gradients that are scattered after.
    pub scatter_s: f64,
}

impl PassTime {
    /// From its first kernel until its last layer is done.
    pub fn inside_s(&self) -> f64 {
        self.kernels_s + self.host_s + self.tensor_s + self.context_s + self.expert_s
    }

    /// All that the stage does nothing else in.
    pub fn total_s(&self) -> f64 {
        self.gather_s + self.inside_s() + self.hop_s + self.scatter_s
    }

    /// Part of it.
    #[must_use]
    pub fn scaled(&self, share: f64) -> Self {
        Self {
            gather_s: share * self.gather_s,
            kernels_s: share * self.kernels_s,
            host_s: share * self.host_s,
            tensor_s: share * self.tensor_s,
            context_s: share * self.context_s,
            expert_s: share * self.expert_s,
            hop_s: share * self.hop_s,
            scatter_s: share * self.scatter_s,
        }
    }
}

/// A stage's passes of one micro-batch.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StageTime {
    /// Forward.
    pub forward: PassTime,
    /// Backward, with the weights' gradients.
    pub backward: PassTime,
}

/// A step, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StepParts {
    /// Each stage but the last.
    pub first: StageTime,
    /// The last stage.
    pub last: StageTime,
    /// A micro-batch's way to the next stage, hidden or not.
    pub hop_s: f64,
    /// Weights that a pass of one micro-batch gathers, hidden or not.
    pub gather_s: f64,
    /// Gradients that its backward pass scatters, hidden or not.
    pub scatter_s: f64,
    /// Gradients that are summed once a step, hidden or not.
    pub sum_s: f64,
    /// As much of that as nothing hides.
    pub open_sum_s: f64,
    /// Updated weights that are sent once a step, as far as nothing hides it.
    pub update_s: f64,
    /// The optimizer.
    pub optimizer_s: f64,
    /// The slowest of many GPUs.
    pub straggler_s: f64,
    /// All of the step.
    pub seconds: f64,
}

/// What one kind of layer adds to a stage.
#[derive(Debug, Clone, Copy, Default)]
struct Kind {
    micro: Micro,
    /// Of all that a micro-batch sends on an axis, what it sends forward.
    tensor_forward: f64,
    context_forward: f64,
    expert_forward: f64,
}

impl Pricer<'_> {
    /// The parts of a step of `training`, whose layout must have passed its check.
    pub(in crate::train) fn parts(&self, training: &Training<'_>) -> Result<StepParts, TrainError> {
        let (breakdown, work) = (self.breakdown(training)?, Step::of(training));
        let (slowest, _) = self.stages(training)?;
        let (mut first, mut last) = self.stage_times(training)?;
        let (forward, backward) = self.sharded(&work, &slowest)?;
        let (gather_s, both) = (self.gathers(&work.exchange.backward)?, self.all(&work.exchange.backward)?);
        let gathered = share(gather_s, both);
        let hop_s = work.exchange.pipeline.map_or(Ok(0.0), |hop| self.network.transfer(&hop))?;
        let open = (1.0 - self.framework.pipeline_hidden.value.as_f64()) * work.hop_count * hop_s;
        for stage in [&mut first, &mut last] {
            stage.forward.gather_s = forward;
            stage.backward.gather_s = backward * gathered;
            stage.backward.scatter_s = backward * (1.0 - gathered);
            (stage.forward.hop_s, stage.backward.hop_s) = (open, open);
        }
        let (all, updates) = (self.all(&work.exchange.step)?, self.gathers(&work.exchange.step)?);
        let open = self.once(&work, &slowest)?;
        // Ranks that send in turn do so after the update, when nothing is left to hide it.
        let in_turn = self.framework.broadcast_per_rank.is_some();
        let open_updates = if in_turn { updates.min(open) } else { open * share(updates, all) };
        Ok(StepParts {
            first,
            last,
            hop_s,
            gather_s,
            scatter_s: both - gather_s,
            sum_s: all - updates,
            open_sum_s: open - open_updates,
            update_s: open_updates + self.broadcasts(training),
            optimizer_s: breakdown.optimizer_s,
            straggler_s: breakdown.straggler_s,
            seconds: breakdown.total_s(),
        })
    }

    fn all(&self, list: &[Transfer]) -> Result<f64, TrainError> {
        self.transfers(list, Axis::Data)
    }

    fn gathers(&self, list: &[Transfer]) -> Result<f64, TrainError> {
        let gathers = list.iter().filter(|transfer| transfer.collective == Collective::AllGather);
        gathers.map(|transfer| self.network.transfer(transfer)).sum()
    }

    /// A micro-batch on the first stage, and on the last.
    fn stage_times(&self, training: &Training<'_>) -> Result<(StageTime, StageTime), TrainError> {
        let layers = self.layers(training)?;
        let dense = self.kind(training, &Layer::dense(&training.part()), layers.dense)?;
        let sparse = match self.model.experts {
            Some(experts) => self.kind(training, &Layer::sparse(&training.part(), experts), layers.sparse)?,
            None => Kind::default(),
        };
        let output = self.kind(training, &Layer::output(&training.part()), layers.output)?;
        let times: Vec<StageTime> = weft_workload::stages(training)
            .iter()
            .map(|stage| {
                let mut time = StageTime::default();
                time.add(&dense, stage.dense_count);
                time.add(&sparse, stage.sparse_count);
                time.add(&output, stage.output_count);
                time
            })
            .collect();
        Ok((times.first().copied().unwrap_or_default(), times.last().copied().unwrap_or_default()))
    }

    fn kind(&self, training: &Training<'_>, layer: &Layer, micro: Micro) -> Result<Kind, TrainError> {
        let twice = if training.layout.recompute == Recompute::Full { 2.0 } else { 1.0 };
        let forward = |axis| -> Result<f64, TrainError> {
            let forward = self.transfers(&layer.forward, axis)?;
            Ok(share(forward, twice * forward + self.transfers(&layer.backward, axis)?))
        };
        Ok(Kind {
            micro,
            tensor_forward: forward(Axis::Tensor)?,
            context_forward: forward(Axis::Context)?,
            expert_forward: forward(Axis::Expert)?,
        })
    }
}

impl StageTime {
    fn add(&mut self, kind: &Kind, count: f64) {
        let micro = &kind.micro;
        let host = share(micro.forward_s, micro.forward_s + micro.backward_s);
        let pairs = [
            (
                micro.forward_s + micro.backward_s,
                host,
                [&mut self.forward.kernels_s, &mut self.backward.kernels_s],
            ),
            (micro.host_s, host, [&mut self.forward.host_s, &mut self.backward.host_s]),
            (micro.tensor_s, kind.tensor_forward, [&mut self.forward.tensor_s, &mut self.backward.tensor_s]),
            (
                micro.context_s,
                kind.context_forward,
                [&mut self.forward.context_s, &mut self.backward.context_s],
            ),
            (micro.expert_s, kind.expert_forward, [&mut self.forward.expert_s, &mut self.backward.expert_s]),
        ];
        for (seconds, forward_share, [forward, backward]) in pairs {
            *forward += count * seconds * forward_share;
            *backward += count * seconds * (1.0 - forward_share);
        }
    }
}

/// `part` of `all`; of nothing, nothing.
fn share(part: f64, all: f64) -> f64 {
    if all > 0.0 { part / all } else { 0.0 }
}
