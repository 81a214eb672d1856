//! A step: the slowest stage's micro-batches one after another, the pipeline's idle time, and what nothing hides.

mod passes;

use std::cell::RefCell;
use std::collections::BTreeMap;

use weft_catalogue::{Catalogue, Framework, Model};
use weft_collective::Collective;
use weft_workload::{Axis, Layer, Layout, Pass, Precision, Recompute, Step, Training, Transfer};

use super::compute::ComputePrices;
use super::network::Network;
use super::{Site, TrainError};
use crate::nccl::constants::Constants;

pub use passes::{PassTime, StageTime, StepParts};

/// Where the time of a step goes, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Breakdown {
    /// Kernels of the slowest stage, recomputation among them.
    pub compute_s: f64,
    /// What the host lets kernels wait.
    pub host_s: f64,
    /// Tensor-parallel collectives that nothing hides.
    pub tensor_s: f64,
    /// The same of context parallelism.
    pub context_s: f64,
    /// The same of experts.
    pub expert_s: f64,
    /// The same between stages.
    pub pipeline_s: f64,
    /// The same of gradients and sharded weights.
    pub data_s: f64,
    /// Stages that wait for the first or last micro-batch.
    pub bubble_s: f64,
    /// The update of the weights.
    pub optimizer_s: f64,
    /// The slowest of many GPUs.
    pub straggler_s: f64,
}

impl Breakdown {
    /// Each part with its name.
    pub fn parts(&self) -> [(&'static str, f64); 10] {
        [
            ("computing", self.compute_s),
            ("waiting for the host", self.host_s),
            ("tensor parallelism", self.tensor_s),
            ("context parallelism", self.context_s),
            ("expert parallelism", self.expert_s),
            ("between stages", self.pipeline_s),
            ("data parallelism", self.data_s),
            ("idle stages", self.bubble_s),
            ("optimizer", self.optimizer_s),
            ("slowest of many", self.straggler_s),
        ]
    }

    /// All of it.
    pub fn total_s(&self) -> f64 {
        let Self { compute_s, host_s, tensor_s, context_s, expert_s, .. } = *self;
        let Self { pipeline_s, data_s, bubble_s, optimizer_s, straggler_s, .. } = *self;
        compute_s
            + host_s
            + tensor_s
            + context_s
            + expert_s
            + pipeline_s
            + data_s
            + bubble_s
            + optimizer_s
            + straggler_s
    }
}

/// A step's time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepTime {
    /// Expected seconds.
    pub seconds: f64,
    /// Begin of the interval in which 90 % of measurements are expected.
    pub low_s: f64,
    /// End of that interval.
    pub high_s: f64,
    /// Where they go.
    pub breakdown: Breakdown,
    /// Multiplications and additions of the model, over all GPUs, attention by what the mask leaves.
    pub model_flops: f64,
}

impl StepTime {
    /// What takes longest.
    pub fn bound_by(&self) -> &'static str {
        let parts = self.breakdown.parts().into_iter();
        parts.max_by(|a, b| a.1.total_cmp(&b.1)).map_or("computing", |(part, _)| part)
    }
}

/// How many times more or less a measured step takes, in nine of ten runs.
#[derive(Debug, Clone, Copy)]
struct Spread {
    dense: f64,
    experts: f64,
}

/// One micro-batch on one stage.
#[derive(Debug, Clone, Copy, Default)]
struct Micro {
    forward_s: f64,
    backward_s: f64,
    host_s: f64,
    tensor_s: f64,
    context_s: f64,
    expert_s: f64,
    /// Multiplications and additions forward, of one GPU.
    flops: f64,
}

impl Micro {
    fn total_s(&self) -> f64 {
        self.forward_s + self.backward_s + self.host_s + self.tensor_s + self.context_s + self.expert_s
    }

    /// Times as many times as long.
    fn scaled(self, factor: f64) -> Self {
        let mut scaled = Self { flops: self.flops, ..Self::default() };
        scaled.add(Self { flops: 0.0, ..self }, factor);
        scaled
    }

    fn add(&mut self, other: Self, times: f64) {
        self.forward_s += times * other.forward_s;
        self.backward_s += times * other.backward_s;
        self.host_s += times * other.host_s;
        self.tensor_s += times * other.tensor_s;
        self.context_s += times * other.context_s;
        self.expert_s += times * other.expert_s;
        self.flops += times * other.flops;
    }
}

/// What the times of a layer's micro-batch depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    tensor: u32,
    context: u32,
    expert: u32,
    expert_tensor: u32,
    micro_batch: u32,
    sequence_tokens: u32,
    sequence_parallel: bool,
    recompute: Recompute,
}

impl Key {
    fn of(layout: &Layout) -> Self {
        let Layout { tensor, context, expert, expert_tensor, .. } = *layout;
        let Layout { micro_batch, sequence_tokens, sequence_parallel, recompute, .. } = *layout;
        Self {
            tensor,
            context,
            expert,
            expert_tensor,
            micro_batch,
            sequence_tokens,
            sequence_parallel,
            recompute,
        }
    }
}

/// One micro-batch of each kind of layer.
#[derive(Debug, Clone, Copy)]
struct Layers {
    dense: Micro,
    sparse: Micro,
    output: Micro,
}

/// Prices of one model, precision and framework on one site, for any number of layouts.
pub struct Pricer<'a> {
    model: &'a Model,
    precision: Precision,
    framework: &'a Framework,
    site: &'a Site<'a>,
    compute: ComputePrices,
    network: Network<'a>,
    straggler: f64,
    spread: Spread,
    /// Layouts share their layers' times where these depend on nothing else.
    layers: RefCell<BTreeMap<Key, Layers>>,
}

impl<'a> Pricer<'a> {
    /// For layouts of `gpus` GPUs.
    pub fn new(
        site: &'a Site<'a>,
        gpus: u32,
        model: &'a Model,
        precision: Precision,
        framework: &'a Framework,
    ) -> Result<Self, TrainError> {
        Self::with_constants(site, gpus, model, (precision, framework), site.catalogue)
    }

    /// The same with what GPUs reach by another catalogue: for fits.
    pub fn with_constants(
        site: &'a Site<'a>,
        gpus: u32,
        model: &'a Model,
        (precision, framework): (Precision, &'a Framework),
        constants: &Catalogue,
    ) -> Result<Self, TrainError> {
        if gpus > site.gpus {
            return Err(TrainError::TooFewGpus { wanted: gpus, has: site.gpus });
        }
        let compute = ComputePrices::new(site.gpu, precision, framework, constants)?;
        let constants = Constants::of(constants, "step-time")?;
        let straggler = constants.only("scale", "straggler-per-doubling")?;
        let spread = Spread {
            dense: constants.only("spread", "dense")?,
            experts: constants.only("spread", "experts")?,
        };
        let network = Network::new(site, site.domain_of(gpus));
        Ok(Self {
            model,
            precision,
            framework,
            site,
            compute,
            network,
            straggler,
            spread,
            layers: RefCell::default(),
        })
    }

    /// The run with that layout.
    pub fn training(&self, layout: &Layout) -> Training<'a> {
        let Self { model, precision, framework, .. } = *self;
        Training { model, layout: layout.clone(), precision, framework }
    }

    /// The model.
    pub fn model(&self) -> &'a Model {
        self.model
    }

    /// The program.
    pub fn framework(&self) -> &'a Framework {
        self.framework
    }

    /// Where it runs.
    pub fn site(&self) -> &'a Site<'a> {
        self.site
    }

    /// The time of a step.
    pub fn step(&self, layout: &Layout) -> Result<StepTime, TrainError> {
        layout.check(self.model)?;
        let training = self.training(layout);
        let breakdown = self.breakdown(&training)?;
        let seconds = breakdown.total_s();
        let spread = if self.model.experts.is_some() { self.spread.experts } else { self.spread.dense };
        let (low_s, high_s) = (seconds / spread, seconds * spread);
        Ok(StepTime { seconds, low_s, high_s, breakdown, model_flops: self.model_flops(&training)? })
    }

    /// Seconds that a step takes at least: without what stages and copies of the model say to each other.
    pub fn at_least_s(&self, layout: &Layout) -> Result<f64, TrainError> {
        let training = self.training(layout);
        let (slowest, first) = self.stages(&training)?;
        let idle = weft_workload::idle_count(&training);
        Ok(f64::from(layout.micro_batches()) * slowest.total_s() + idle * first.total_s())
    }

    fn model_flops(&self, training: &Training<'_>) -> Result<f64, TrainError> {
        let (layers, model, layout) = (self.layers(training)?, self.model, &training.layout);
        let sparse = f64::from(model.expert_layers());
        let mut all = layers.output.flops + sparse * layers.sparse.flops;
        all += (f64::from(model.layers) - sparse) * layers.dense.flops;
        Ok(3.0 * all * f64::from(layout.micro_batches()) * f64::from(layout.gpus / layout.pipeline))
    }

    fn layers(&self, training: &Training<'_>) -> Result<Layers, TrainError> {
        let key = Key::of(&training.layout);
        if let Some(known) = self.layers.borrow().get(&key) {
            return Ok(*known);
        }
        let framework = self.framework;
        let expert_host = framework.expert_layer_host.as_ref().map_or(0.0, |host| host.value.as_seconds());
        let sparse = self.model.experts.map(|experts| Layer::sparse(&training.part(), experts));
        let factor = framework.expert_factor.as_ref().map_or(1.0, |factor| factor.value.as_f64());
        let found = Layers {
            dense: self.layer(
                training,
                &Layer::dense(&training.part()),
                framework.layer_host.value.as_seconds(),
            )?,
            sparse: sparse
                .map_or(Ok(Micro::default()), |layer| self.layer(training, &layer, expert_host))?
                .scaled(factor),
            output: self.layer(training, &Layer::output(&training.part()), 0.0)?,
        };
        self.layers.borrow_mut().insert(key, found);
        Ok(found)
    }

    /// A micro-batch on the slowest stage, and on the first.
    fn stages(&self, training: &Training<'_>) -> Result<(Micro, Micro), TrainError> {
        let layers = self.layers(training)?;
        let mut slowest = Micro::default();
        let mut first = None;
        for stage in weft_workload::stages(training) {
            let mut micro = Micro::default();
            micro.add(layers.dense, stage.dense_count);
            micro.add(layers.sparse, stage.sparse_count);
            micro.add(layers.output, stage.output_count);
            first = first.or(Some(micro));
            if micro.total_s() > slowest.total_s() {
                slowest = micro;
            }
        }
        Ok((slowest, first.unwrap_or_default()))
    }

    fn breakdown(&self, training: &Training<'_>) -> Result<Breakdown, TrainError> {
        let (slowest, first) = self.stages(training)?;
        let work = &Step::of(training);
        let many = work.micro_batch_count;
        let (gathers, scatters) = self.sharded(work, &slowest)?;
        let mut breakdown = Breakdown {
            compute_s: many * (slowest.forward_s + slowest.backward_s),
            host_s: many * slowest.host_s,
            tensor_s: many * slowest.tensor_s,
            context_s: many * slowest.context_s,
            expert_s: many * slowest.expert_s,
            pipeline_s: self.pipeline(training, work)?,
            data_s: many * (gathers + scatters) + self.once(work, &slowest)? + self.broadcasts(training),
            bubble_s: work.idle_count * first.total_s(),
            optimizer_s: self.compute.bytes(work.optimizer_bytes),
            straggler_s: 0.0,
        };
        let doublings = libm::log2(f64::from(training.layout.gpus));
        breakdown.straggler_s = breakdown.total_s() * self.straggler * doublings;
        Ok(breakdown)
    }

    /// A layer's micro-batch; one that the host cannot launch as fast waits for it.
    fn layer(&self, training: &Training<'_>, layer: &Layer, host_s: f64) -> Result<Micro, TrainError> {
        let (framework, recompute) = (self.framework, training.layout.recompute);
        if layer.operators.is_empty() {
            return Ok(Micro::default());
        }
        let forward_s = self.compute.layer(layer, Pass::Forward);
        let again = match recompute {
            Recompute::Full => forward_s,
            Recompute::Selective if framework.is_unfused() => self.compute.scores(layer),
            // One kernel computes its scores again by itself; some programs compute more again than that.
            Recompute::Selective => {
                framework.recomputed.as_ref().map_or(0.0, |share| share.value.as_f64()) * forward_s
            }
            Recompute::None => 0.0,
        };
        let twice = if recompute == Recompute::Full { 2.0 } else { 1.0 };
        let backward_s = self.compute.layer(layer, Pass::Backward) + again;
        let hidden = |axis| match axis {
            Axis::Tensor => framework.tensor_hidden.value.as_f64(),
            Axis::Context => framework.context_hidden.value.as_f64(),
            Axis::Expert | Axis::Pipeline | Axis::Data => 0.0,
        };
        let kernels = forward_s + backward_s;
        let on = |axis: Axis| -> Result<f64, TrainError> {
            let all =
                twice * self.transfers(&layer.forward, axis)? + self.transfers(&layer.backward, axis)?;
            // What takes longer than the kernels cannot be hidden behind them.
            Ok(((1.0 - hidden(axis)) * all).max(if hidden(axis) > 0.0 { all - kernels } else { all }))
        };
        let (tensor_s, context_s, expert_s) = (on(Axis::Tensor)?, on(Axis::Context)?, on(Axis::Expert)?);
        let flops = layer.flops();
        let mut micro = Micro { forward_s, backward_s, host_s: 0.0, tensor_s, context_s, expert_s, flops };
        micro.host_s = (host_s - micro.total_s()).max(0.0);
        Ok(micro)
    }

    fn transfers(&self, list: &[Transfer], axis: Axis) -> Result<f64, TrainError> {
        list.iter()
            .filter(|transfer| transfer.axis == axis)
            .map(|transfer| self.network.transfer(transfer))
            .sum()
    }

    /// Between stages: every micro-batch goes both ways once for each chunk; the first and last are hidden by nothing.
    fn pipeline(&self, training: &Training<'_>, work: &Step) -> Result<f64, TrainError> {
        let Some(transfer) = work.exchange.pipeline else { return Ok(0.0) };
        let one = 2.0 * self.network.transfer(&transfer)?;
        let open = 1.0 - self.framework.pipeline_hidden.value.as_f64();
        let idle = f64::from(training.layout.pipeline - 1);
        Ok(one * (open * work.hop_count * work.micro_batch_count + idle))
    }

    /// Gathers and scatters of sharded weights that nothing hides, of one micro-batch: forward and backward.
    fn sharded(&self, work: &Step, micro: &Micro) -> Result<(f64, f64), TrainError> {
        let hidden = self.framework.shard_hidden.value.as_f64();
        let open = |list: &[Transfer], compute_s: f64| -> Result<f64, TrainError> {
            let all = self.transfers(list, Axis::Data)?;
            Ok((all * (1.0 - hidden)).max(all - compute_s))
        };
        let forward = open(&work.exchange.forward, micro.forward_s)?;
        let backward = open(&work.exchange.backward, micro.backward_s)?;
        Ok((forward, backward))
    }

    /// Ranks that send what they updated one after another.
    fn broadcasts(&self, training: &Training<'_>) -> f64 {
        let each = self.framework.broadcast_per_rank.as_ref().map_or(0.0, |each| each.value.as_seconds());
        let shards = training.layout.shards();
        if shards > 1 { each * f64::from(shards) } else { 0.0 }
    }

    /// Gradients and weights once a step; the last micro-batch's backward pass hides a part. Weights that ranks send one
    /// after another follow the update, which nothing hides.
    fn once(&self, work: &Step, micro: &Micro) -> Result<f64, TrainError> {
        let all = self.transfers(&work.exchange.step, Axis::Data)?;
        let in_turn = self.framework.broadcast_per_rank.is_some();
        let gathers =
            work.exchange.step.iter().filter(|transfer| transfer.collective == Collective::AllGather);
        let open: f64 = if in_turn {
            gathers.map(|transfer| self.network.transfer(transfer)).sum::<Result<f64, TrainError>>()?
        } else {
            0.0
        };
        let hidden = self.framework.data_hidden.value.as_f64();
        Ok(all - (hidden * (all - open)).min(micro.backward_s))
    }
}
