//! What one GPU keeps while it serves.

use crate::Parameters;

use super::Serving;

/// Bytes of one GPU of the heaviest stage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServeMemory {
    /// Weights.
    pub weights_bytes: f64,
    /// The KV cache of all sequences at their end.
    pub cache_bytes: f64,
    /// Of that, one sequence.
    pub sequence_bytes: f64,
    /// Activations of the largest piece of a prompt, and logits.
    pub buffer_bytes: f64,
}

impl ServeMemory {
    /// Of `serving`, where prompts are computed in pieces of `chunk_tokens`.
    pub fn of(serving: &Serving<'_>, chunk_tokens: u32) -> Self {
        let layout = &serving.layout;
        let share = f64::from(serving.model.layers).max(1.0);
        let stage = (share / f64::from(layout.pipeline)).ceil() / share;
        let length = f64::from(serving.prompt_tokens) + f64::from(serving.generated_tokens);
        let sequence_bytes = stage * serving.seen_tokens(length) * serving.token_bytes();
        Self {
            weights_bytes: weights(serving, stage),
            cache_bytes: f64::from(serving.own_batch()) * sequence_bytes,
            sequence_bytes,
            buffer_bytes: buffers(serving, f64::from(chunk_tokens)),
        }
    }

    /// All of it.
    pub fn total(&self) -> f64 {
        self.weights_bytes + self.cache_bytes + self.buffer_bytes
    }

    /// Sequences of one copy of attention that fit in `usable_bytes`.
    pub fn sequences_in(&self, usable_bytes: f64) -> f64 {
        ((usable_bytes - self.weights_bytes - self.buffer_bytes) / self.sequence_bytes).floor().max(0.0)
    }
}

fn weights(serving: &Serving<'_>, stage: f64) -> f64 {
    let (model, layout) = (serving.model, &serving.layout);
    let parameters = Parameters::of(model);
    let sparse = f64::from(model.expert_layers());
    let dense = f64::from(model.layers) - sparse;
    let tensor = f64::from(layout.tensor);
    let shared = f64::from(model.layers) * parameters.attention_count
        + dense * parameters.dense_count
        + sparse * parameters.shared_count;
    let experts = model.experts.map_or(0.0, |experts| f64::from(experts.count) * parameters.expert_count);
    let layers = shared / tensor + sparse * experts / f64::from(layout.expert.max(layout.tensor));
    let tables = if layout.pipeline == 1 && !model.tied_embeddings { 2.0 } else { 1.0 };
    let format = serving.weights;
    stage * layers * format.layer_bytes()
        + tables * parameters.embedding_count / tensor * format.table_bytes()
}

/// The stream, its copy and the wider of attention's and the feed-forward part's values, in 16 bits; logits in 32.
fn buffers(serving: &Serving<'_>, chunk_tokens: f64) -> f64 {
    let (model, layout) = (serving.model, &serving.layout);
    let tensor = f64::from(layout.tensor);
    let tokens = chunk_tokens.min(f64::from(serving.own_batch()) * f64::from(serving.prompt_tokens));
    let fed = model.experts.map_or(f64::from(model.feed_forward.width), |experts| {
        f64::from(experts.active * experts.width + experts.shared_width)
    });
    let wide = if model.feed_forward.gated { 3.0 } else { 2.0 } * fed / tensor;
    let logits = 4.0 * f64::from(serving.own_batch()) * f64::from(model.vocabulary) / tensor;
    2.0 * tokens * (4.0 * f64::from(model.hidden) + wide) + logits
}
