//! A whole step: the layers of the slowest stage, what stages and copies of the model exchange, and the optimizer.

use weft_collective::Collective;

use crate::communication::{Axis, Reach, Transfer};
use crate::layout::{Layout, Recompute, Schedule, Sharding};
use crate::parameters::Parameters;
use crate::training::Training;

/// Bytes of a weight in 16 bits.
const HALF_BYTES: f64 = 2.0;
/// Bytes that Adam moves for each weight it updates: reads gradient, weight and two moments of 32 bits, writes the
/// latter three and the weight of 16 bits.
const OPTIMIZER_BYTES: f64 = 30.0;

/// A stage of the pipeline: so many layers of each kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stage {
    /// Layers without experts.
    pub dense_count: f64,
    /// Layers with experts.
    pub sparse_count: f64,
    /// Output layers: 1 on the last stage, 0 on others.
    pub output_count: f64,
}

/// What is exchanged besides what layers do.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Exchange {
    /// From stage to stage, of one micro-batch and one direction.
    pub pipeline: Option<Transfer>,
    /// Gathers of weights before the forward pass of one micro-batch (fully sharded weights).
    pub forward: Vec<Transfer>,
    /// Gathers and scatters of the backward pass of one micro-batch.
    pub backward: Vec<Transfer>,
    /// Once a step: gradients, and weights of a sharded optimizer.
    pub step: Vec<Transfer>,
}

/// A step of training, of one GPU of the slowest stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Micro-batches.
    pub micro_batch_count: f64,
    /// Micro-batches' times that the pipeline is idle for.
    pub idle_count: f64,
    /// Times of a micro-batch's way to another stage, for each stage and micro-batch.
    pub hop_count: f64,
    /// What is exchanged besides.
    pub exchange: Exchange,
    /// Bytes that the optimizer moves.
    pub optimizer_bytes: f64,
}

impl Step {
    /// What `training` does in a step. The layout must have passed its check.
    pub fn of(training: &Training<'_>) -> Self {
        let layout = &training.layout;
        Self {
            idle_count: idle_count(training),
            hop_count: f64::from(layout.virtual_stages),
            exchange: Exchange::of(training),
            optimizer_bytes: optimizer_bytes(training),
            micro_batch_count: f64::from(layout.micro_batches()),
        }
    }
}

/// Weights of one GPU of the heaviest stage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// Of all layers but experts.
    pub shared_count: f64,
    /// Of experts.
    pub expert_count: f64,
    /// Of the embedding or the output layer.
    pub embedding_count: f64,
}

impl Weights {
    /// All of them.
    pub fn total(&self) -> f64 {
        self.shared_count + self.expert_count + self.embedding_count
    }
}

/// Weights of one GPU of the heaviest stage.
pub fn weights(training: &Training<'_>) -> Weights {
    let (layout, parameters) = (&training.layout, Parameters::of(training.model));
    let stage = heaviest(training);
    let tensor = f64::from(layout.tensor);
    let shared = (stage.dense_count * (parameters.attention_count + parameters.dense_count)
        + stage.sparse_count * (parameters.attention_count + parameters.shared_count))
        / tensor;
    let local = training.model.experts.map_or(0.0, |experts| {
        f64::from(experts.count) / f64::from(layout.expert) / f64::from(layout.expert_tensor)
    });
    let tables = if layout.pipeline == 1 && !training.model.tied_embeddings { 2.0 } else { 1.0 };
    Weights {
        shared_count: shared,
        expert_count: stage.sparse_count * local * parameters.expert_count,
        embedding_count: tables * parameters.embedding_count / tensor,
    }
}

fn heaviest(training: &Training<'_>) -> Stage {
    let all = stages(training);
    let weight = |stage: &Stage| stage.dense_count + stage.sparse_count;
    all.into_iter().max_by(|a, b| weight(a).total_cmp(&weight(b))).unwrap_or(Stage {
        dense_count: 0.0,
        sparse_count: 0.0,
        output_count: 0.0,
    })
}

/// A stage in the middle, and the last one. Where layers do not divide evenly, the first and the last stage have fewer.
pub fn stages(training: &Training<'_>) -> Vec<Stage> {
    let (model, layout) = (training.model, &training.layout);
    let (layers, sparse) = (f64::from(model.layers), f64::from(model.expert_layers()));
    if layout.pipeline == 1 {
        return vec![Stage { dense_count: layers - sparse, sparse_count: sparse, output_count: 1.0 }];
    }
    let chunks = f64::from(layout.pipeline * layout.virtual_stages);
    let most = (layers / chunks).ceil() * f64::from(layout.virtual_stages);
    let split = |count: f64| {
        let sparse = (sparse / layers * count).min(count);
        (count - sparse, sparse)
    };
    let (dense, with_experts) = split(most);
    let missing = layers_missing(most, f64::from(layout.pipeline), layers);
    let (last_dense, last_sparse) = split((most - missing).max(0.0));
    vec![
        Stage { dense_count: dense, sparse_count: with_experts, output_count: 0.0 },
        Stage { dense_count: last_dense, sparse_count: last_sparse, output_count: 1.0 },
    ]
}

/// Layers that the last stage has fewer than the others, where they do not divide evenly; the first stage shares them.
fn layers_missing(most: f64, stages: f64, layers: f64) -> f64 {
    let missing = most * stages - layers;
    if missing > 1.0 { (missing / 2.0).floor() } else { missing }
}

/// Times of a micro-batch that the stages of a pipeline are idle for.
pub fn idle_count(training: &Training<'_>) -> f64 {
    let layout = &training.layout;
    let stages = f64::from(layout.pipeline - 1) / f64::from(layout.virtual_stages);
    match layout.schedule {
        Schedule::Gpipe | Schedule::OneForwardOneBackward => stages,
        // The weights' gradients fill what is idle at the end, and at the begin for as many stages as there are further
        // micro-batches.
        Schedule::ZeroBubble => {
            let (own, further) = (weight_gradients_share(layout), f64::from(layout.micro_batches()) - 1.0);
            stages * (1.0 - 2.0 * own) + own * (stages - further).max(0.0)
        }
    }
}

/// Of a micro-batch's time, what the gradients of the weights take: as long as the forward pass and as the gradients of
/// the activations, and as the forward pass once more where everything is computed again.
pub fn weight_gradients_share(layout: &Layout) -> f64 {
    match layout.recompute {
        Recompute::None | Recompute::Selective => 1.0 / 3.0,
        Recompute::Full => 1.0 / 4.0,
    }
}

impl Exchange {
    fn of(training: &Training<'_>) -> Self {
        let layout = &training.layout;
        let mut exchange = Self { pipeline: pipeline(training), ..Self::default() };
        match layout.sharding {
            Sharding::Weights => exchange.sharded_weights(training),
            Sharding::None | Sharding::Optimizer | Sharding::Gradients => exchange.gradients(training),
        }
        for list in [&mut exchange.forward, &mut exchange.backward, &mut exchange.step] {
            list.retain(Transfer::is_needed);
        }
        exchange
    }

    /// Weights are gathered for each pass of each micro-batch, and gradients scattered.
    fn sharded_weights(&mut self, training: &Training<'_>) {
        let (layout, held) = (&training.layout, weights(training));
        let all = Reach { gpus: layout.data() * layout.context, stride: layout.tensor };
        self.gathers(training, held.shared_count + held.embedding_count, all);
        self.gathers(training, held.expert_count, alike(training));
    }

    /// Gathers and scatters of weights that the GPUs of `reach` share, or some of them.
    fn gathers(&mut self, training: &Training<'_>, count: f64, reach: Reach) {
        let layout = &training.layout;
        let layers = f64::from(training.model.layers) / f64::from(layout.pipeline);
        let shards = layout.shards().min(reach.gpus);
        let near = Reach { gpus: shards, ..reach };
        let of = |collective, bytes: f64| {
            Transfer::once(Axis::Data, collective, near, bytes / layers).repeated(layers)
        };
        let gather = of(Collective::AllGather, HALF_BYTES * count);
        let scatter = of(Collective::ReduceScatter, gradient_bytes(training) * count);
        self.forward.push(gather);
        self.backward.extend([gather, scatter]);
        let far = Reach { gpus: reach.gpus / shards.max(1), stride: reach.stride * shards };
        let own = gradient_bytes(training) * count / f64::from(shards);
        self.step.push(Transfer::once(Axis::Data, Collective::AllReduce, far, own));
    }

    /// Gradients are summed once a step; a sharded optimizer gathers the weights that it updated.
    fn gradients(&mut self, training: &Training<'_>) {
        let layout = &training.layout;
        let held = weights(training);
        let all = Reach { gpus: layout.data() * layout.context, stride: layout.tensor };
        self.sum(training, held.shared_count + held.embedding_count, all);
        self.sum(training, held.expert_count, alike(training));
    }

    fn sum(&mut self, training: &Training<'_>, weights: f64, reach: Reach) {
        let gradients = gradient_bytes(training) * weights;
        let layout = &training.layout;
        let once = |collective, reach, bytes| Transfer::once(Axis::Data, collective, reach, bytes);
        if layout.sharding == Sharding::None {
            self.step.push(once(Collective::AllReduce, reach, gradients));
            return;
        }
        let shards = layout.shards().min(reach.gpus);
        let near = Reach { gpus: shards, ..reach };
        self.step.push(once(Collective::ReduceScatter, near, gradients));
        self.step.push(once(Collective::AllGather, near, HALF_BYTES * weights));
        let far = Reach { gpus: reach.gpus / shards.max(1), stride: reach.stride * shards };
        self.step.push(once(Collective::AllReduce, far, gradients / f64::from(shards)));
    }
}

/// What the optimizer moves: of its share of the weights, which of experts fewer GPUs have.
fn optimizer_bytes(training: &Training<'_>) -> f64 {
    let (held, shards) = (weights(training), training.layout.shards());
    let experts = f64::from(shards.min(alike(training).gpus).max(1));
    OPTIMIZER_BYTES
        * ((held.shared_count + held.embedding_count) / f64::from(shards) + held.expert_count / experts)
}

/// The GPUs that hold the same experts.
fn alike(training: &Training<'_>) -> Reach {
    let layout = &training.layout;
    let experts = layout.expert * layout.expert_tensor;
    Reach { gpus: layout.gpus / layout.pipeline / experts.max(1), stride: experts }
}

/// Bytes of a gradient that is summed.
fn gradient_bytes(training: &Training<'_>) -> f64 {
    f64::from(u32::try_from(training.framework.gradient.value.get()).unwrap_or(4))
}

fn pipeline(training: &Training<'_>) -> Option<Transfer> {
    let layout = &training.layout;
    if layout.pipeline == 1 {
        return None;
    }
    // Each rank of a tensor-parallel group sends its part, which the receivers gather where they need it whole.
    let bytes = layout.tokens() * f64::from(training.model.hidden) * training.precision.activation_bytes()
        / f64::from(layout.tensor);
    let reach = Reach { gpus: 2, stride: layout.gpus / layout.pipeline };
    Some(Transfer::once(Axis::Pipeline, Collective::SendRecv, reach, bytes))
}
