//! What one GPU keeps: weights, gradients, the optimizer's state, and activations until their backward pass.

use weft_catalogue::AttentionKernel;

use crate::layout::{Recompute, Schedule, Sharding};
use crate::stage::weights;
use crate::training::{Precision, Training};

/// Adam in mixed precision: a copy of each weight and two moments, 32 bits each.
const STATE_BYTES: f64 = 12.0;

/// Bytes of one GPU of the heaviest stage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Memory {
    /// Weights as they are multiplied.
    pub weights_bytes: f64,
    /// Gradients.
    pub gradients_bytes: f64,
    /// The optimizer's state.
    pub optimizer_bytes: f64,
    /// Activations of all micro-batches that are under way.
    pub activations_bytes: f64,
    /// Logits, and layers whose shared weights are gathered.
    pub buffer_bytes: f64,
}

impl Memory {
    /// Of `training`. The first stage of a pipeline keeps the most micro-batches under way, and counts.
    pub fn of(training: &Training<'_>) -> Self {
        let layout = &training.layout;
        let held = weights(training);
        let shards = f64::from(layout.shards());
        let over = |sharding| if layout.sharding >= sharding { shards } else { 1.0 };
        // Experts are copied over fewer GPUs, so that fewer share their state.
        let copies = f64::from(layout.gpus / layout.pipeline / (layout.expert * layout.expert_tensor).max(1));
        let expert_over = |sharding| if layout.sharding >= sharding { shards.min(copies) } else { 1.0 };
        let count = |sharding, bytes: f64| {
            bytes
                * ((held.shared_count + held.embedding_count) / over(sharding)
                    + held.expert_count / expert_over(sharding))
        };
        let gradient = f64::from(u32::try_from(training.framework.gradient.value.get()).unwrap_or(4));
        let weight = training.precision.activation_bytes();
        Self {
            weights_bytes: count(Sharding::Weights, weight),
            gradients_bytes: count(Sharding::Gradients, gradient),
            optimizer_bytes: count(Sharding::Optimizer, STATE_BYTES),
            activations_bytes: activations(training),
            buffer_bytes: logits(training) + gathered(training),
        }
    }

    /// Each part with its name.
    pub fn parts(&self) -> [(&'static str, f64); 5] {
        [
            ("weights", self.weights_bytes),
            ("gradients", self.gradients_bytes),
            ("optimizer", self.optimizer_bytes),
            ("activations", self.activations_bytes),
            ("buffers", self.buffer_bytes),
        ]
    }

    /// All of it.
    pub fn total(&self) -> f64 {
        self.weights_bytes
            + self.gradients_bytes
            + self.optimizer_bytes
            + self.activations_bytes
            + self.buffer_bytes
    }
}

fn activations(training: &Training<'_>) -> f64 {
    let (model, layout) = (training.model, &training.layout);
    let (layers, stages) = (f64::from(model.layers), f64::from(layout.pipeline));
    let in_flight = match layout.schedule {
        Schedule::Gpipe => f64::from(layout.micro_batches()),
        Schedule::OneForwardOneBackward | Schedule::ZeroBubble => {
            // The first stage has one micro-batch under way for each stage behind it; interleaving adds some chunks.
            let extra = if layout.virtual_stages > 1 {
                (stages - 1.0) / (stages * f64::from(layout.virtual_stages))
            } else {
                0.0
            };
            stages.min(f64::from(layout.micro_batches())) * (1.0 + extra)
        }
    };
    layers / stages * in_flight * layer_bytes(training)
}

/// Activations of one layer and micro-batch, by the counts of Korthikanti et al. (2022), for any attention and
/// feed-forward part.
fn layer_bytes(training: &Training<'_>) -> f64 {
    let (model, layout) = (training.model, &training.layout);
    let tokens = layout.tokens();
    let (tensor, hidden) = (f64::from(layout.tensor), f64::from(model.hidden));
    let spread = if layout.sequence_parallel { tensor } else { 1.0 };
    let stream = tokens * hidden;
    let half = training.precision.activation_bytes();
    if layout.recompute == Recompute::Full {
        return half * stream / spread;
    }
    // Inputs of both norms and of both parts, and the masks of two dropouts.
    let whole = (4.0 * half + 2.0) * stream / spread;
    let linear = match training.precision {
        Precision::Fp8 | Precision::Fp4 => 1.0,
        Precision::Fp32 | Precision::Tf32 | Precision::Half => half,
    };
    let heads = f64::from(model.attention.heads) * f64::from(model.head_dim());
    let kv = f64::from(model.kv_heads()) * f64::from(model.head_dim());
    // Queries, keys and values, and what the output projection reads.
    let attention = tokens * (half * (heads + 2.0 * kv) + linear * heads) / tensor;
    let fed = tokens
        * feed_forward_width(training)
        * (if model.feed_forward.gated { 2.0 * half } else { half } + linear);
    let scores = match (training.framework.attention.value, layout.recompute) {
        // Softmax, and dropout with its mask.
        (AttentionKernel::Unfused, Recompute::None) => {
            (2.0 * half + 1.0) * tokens * f64::from(layout.sequence_tokens) * f64::from(model.attention.heads)
                / tensor
        }
        (_, _) => 0.0,
    };
    whole + attention + fed + scores
}

/// Width of the feed-forward part of one GPU for each token: of all experts that a token passes.
fn feed_forward_width(training: &Training<'_>) -> f64 {
    let (model, layout) = (training.model, &training.layout);
    let tensor = f64::from(layout.tensor);
    let dense = f64::from(model.feed_forward.width) / tensor;
    let Some(experts) = model.experts else { return dense };
    let sparse = f64::from(model.expert_layers()) / f64::from(model.layers);
    let passed = f64::from(experts.active * experts.width + experts.shared_width) / tensor;
    sparse * passed + (1.0 - sparse) * dense
}

/// The logits of one micro-batch in 32 bits, and their gradient.
fn logits(training: &Training<'_>) -> f64 {
    let layout = &training.layout;
    let width = f64::from(training.model.vocabulary) / f64::from(layout.tensor);
    if layout.pipeline > 1 {
        // The last stage has room for them: fewer micro-batches are under way there.
        return 0.0;
    }
    8.0 * layout.tokens() * width
}

/// The weights of a layer that is computed and of the one that is gathered next, where weights are shared.
fn gathered(training: &Training<'_>) -> f64 {
    let layout = &training.layout;
    if layout.sharding != Sharding::Weights || layout.shards() == 1 {
        return 0.0;
    }
    let held = weights(training);
    let layers = f64::from(training.model.layers) / f64::from(layout.pipeline);
    2.0 * training.precision.activation_bytes() * (held.shared_count + held.expert_count) / layers
}
