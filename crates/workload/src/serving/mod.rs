//! Inference as what one GPU computes, reads, sends and keeps: the prompt (prefill), and token after token (decode).

mod format;
mod layout;
mod memory;

use weft_catalogue::Model;
use weft_collective::Collective;

pub use format::WeightFormat;
pub use layout::ServeLayout;
pub use memory::ServeMemory;

use crate::communication::{Axis, Reach, Transfer};
use crate::operator::{Multiply, Operator, Shape};
use crate::{Layer, Layout, Part};

/// A model that is served to so many at once.
#[derive(Debug, Clone, Copy)]
pub struct Serving<'a> {
    /// The model.
    pub model: &'a Model,
    /// How it is split.
    pub layout: ServeLayout,
    /// How weights are stored.
    pub weights: WeightFormat,
    /// Bytes of a number in the KV cache.
    pub cache_bytes: f64,
    /// Sequences at a time, over all copies.
    pub batch: u32,
    /// Tokens of a prompt.
    pub prompt_tokens: u32,
    /// Tokens that are generated for each.
    pub generated_tokens: u32,
}

/// One layer of each kind for some tokens, of one GPU.
#[derive(Debug, Clone, PartialEq)]
pub struct ServeLayers {
    /// Without experts.
    pub dense: Layer,
    /// With experts; empty where the model has none.
    pub sparse: Layer,
    /// The output.
    pub output: Layer,
}

/// What attention reads and computes for one new token of a sequence, of one GPU and all layers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheRead {
    /// Bytes of keys and values.
    pub bytes: f64,
    /// Multiplications and additions.
    pub flops: f64,
}

impl Serving<'_> {
    /// Sequences that one copy of attention has.
    pub fn own_batch(&self) -> u32 {
        self.batch.div_ceil((self.layout.copies * self.layout.replicas()).max(1)).max(1)
    }

    /// Tokens of a sequence when it is halfway.
    pub fn middle_tokens(&self) -> f64 {
        f64::from(self.prompt_tokens) + f64::from(self.generated_tokens) / 2.0
    }

    /// The layers for so many new tokens at once; the output is computed for so many sequences.
    pub fn layers(&self, tokens: u32, sequences: u32) -> ServeLayers {
        let split = self.split(tokens);
        let last = self.split(sequences);
        let part =
            |layout| Part { model: self.model, layout, precision: crate::Precision::Half, is_unfused: false };
        let sparse = self.model.experts.map_or_else(Layer::default, |experts| {
            let mut layer = Layer::sparse(&part(&split), experts);
            layer.operators.iter_mut().for_each(touched);
            layer
        });
        let mut layers =
            ServeLayers { dense: Layer::dense(&part(&split)), sparse, output: Layer::output(&part(&last)) };
        for layer in [&mut layers.dense, &mut layers.sparse] {
            layer.forward.retain(|transfer| self.is_sent(transfer));
            layer.backward.clear();
        }
        layers
    }

    /// From stage to stage, of so many tokens; `None` without a pipeline.
    pub fn hop(&self, tokens: u32) -> Option<Transfer> {
        let layout = &self.layout;
        let bytes = 2.0 * f64::from(tokens) * f64::from(self.model.hidden) / f64::from(layout.tensor);
        let reach = Reach { gpus: 2, stride: layout.stage_gpus() };
        (layout.pipeline > 1).then(|| Transfer::once(Axis::Pipeline, Collective::SendRecv, reach, bytes))
    }

    /// What one more token of a sequence with `context_count` tokens reads, over all layers.
    pub fn cache_read(&self, context_count: f64) -> CacheRead {
        let heads = f64::from(self.model.attention.heads) / f64::from(self.layout.tensor);
        let widths = match self.model.attention.latent {
            // Queries are brought into the latent space, so that keys and values are read as they are kept.
            Some(latent) => 2.0 * f64::from(latent.kv_rank) + f64::from(latent.rotary_dim),
            None => 2.0 * f64::from(self.model.head_dim()),
        };
        let seen = self.seen_tokens(context_count);
        CacheRead { bytes: seen * self.token_bytes(), flops: 2.0 * seen * heads * widths }
    }

    /// Bytes that one layer keeps of one token, of one GPU.
    pub(crate) fn token_bytes(&self) -> f64 {
        if let Some(latent) = self.model.attention.latent {
            // The latent is the same for all heads, so that each GPU keeps all of it.
            return f64::from(latent.kv_rank + latent.rotary_dim) * self.cache_bytes;
        }
        let heads = (f64::from(self.model.kv_heads()) / f64::from(self.layout.tensor)).max(1.0);
        2.0 * heads * f64::from(self.model.head_dim()) * self.cache_bytes
    }

    /// Tokens that are seen, summed over layers.
    pub(crate) fn seen_tokens(&self, context: f64) -> f64 {
        let layers = f64::from(self.model.layers);
        let Some(window) = self.model.attention.window_tokens else { return layers * context };
        let near = f64::from(window).min(context);
        match self.model.attention.windowed_of {
            Some(every) if every > 0 => {
                let whole = (layers / f64::from(every)).floor();
                whole * context + (layers - whole) * near
            }
            Some(_) | None => layers * near,
        }
    }

    /// The layout as that of a micro-batch of training: forward it is the same work.
    fn split(&self, tokens: u32) -> Layout {
        let ServeLayout { tensor, pipeline, expert, .. } = self.layout;
        Layout {
            tensor,
            pipeline,
            expert,
            expert_tensor: (tensor / expert).max(1),
            ..Layout::new(self.layout.copy_gpus(), 1, tokens.max(1))
        }
    }

    /// All GPUs of a tensor group have all tokens, and sum what their experts made of them: nothing is exchanged inside.
    fn is_sent(&self, transfer: &Transfer) -> bool {
        match (transfer.axis, transfer.collective) {
            (Axis::Tensor, collective) => collective == Collective::AllReduce,
            (Axis::Expert, _) => self.layout.replicas() > 1,
            (Axis::Context | Axis::Pipeline | Axis::Data, _) => true,
        }
    }
}

/// Of several experts only those are read that some token goes to; tokens choose evenly.
fn touched(operator: &mut Operator) {
    let Operator::Multiply(multiply) = operator else { return };
    let Multiply { row_count, count, shape, .. } = *multiply;
    if shape != Shape::Grouped || count <= 1.0 {
        return;
    }
    let chosen = row_count * count;
    let hit = count * (1.0 - libm::pow(1.0 - 1.0 / count, chosen));
    (multiply.count, multiply.row_count) = (hit, chosen / hit);
}

#[cfg(test)]
mod tests {
    use super::{ServeLayout, ServeMemory, Serving, WeightFormat};
    use weft_catalogue::Catalogue;

    fn serving(model: &str, layout: ServeLayout) -> Serving<'static> {
        Serving {
            model: Catalogue::embedded().model(model).unwrap(),
            layout,
            weights: WeightFormat::Half,
            cache_bytes: 2.0,
            batch: 1,
            prompt_tokens: 2048,
            generated_tokens: 0,
        }
    }

    #[test]
    fn a_token_of_llama_3_70b_keeps_320_kib() {
        // 80 layers x 8 heads x 128 x 2 (keys and values) x 2 bytes = 327680.
        let one = serving("llama-3.3-70b", ServeLayout::ONE);
        assert!((one.cache_read(1.0).bytes - 327_680.0).abs() < 1e-6);
        // Eight GPUs have a head each; sixteen copy them.
        let eight = ServeLayout { tensor: 8, ..ServeLayout::ONE };
        assert!((serving("llama-3.3-70b", eight).cache_read(1.0).bytes - 40_960.0).abs() < 1e-6);
        let many = ServeLayout { tensor: 16, ..ServeLayout::ONE };
        assert!((serving("llama-3.3-70b", many).cache_read(1.0).bytes - 40_960.0).abs() < 1e-6);
    }

    #[test]
    fn a_token_of_deepseek_v3_keeps_70_kb() {
        // 61 layers x (512 + 64) x 2 bytes = 70272: the 70 KB that its makers print.
        let one = serving("deepseek-v3", ServeLayout { tensor: 8, ..ServeLayout::ONE });
        assert!((one.cache_read(1.0).bytes - 70_272.0).abs() < 1e-6);
    }

    #[test]
    fn tensor_parallelism_reduces_twice_a_layer_and_a_pipeline_hops_once() {
        // defilantech/LLMKube#1423: 192 collectives a step at 96 layers against 1.
        let two = serving("gpt-3-175b", ServeLayout { tensor: 2, ..ServeLayout::ONE });
        let layers = two.layers(1, 1);
        let each: f64 = layers.dense.forward.iter().map(|transfer| transfer.repeat_count).sum();
        assert!((each * f64::from(two.model.layers) - 192.0).abs() < 1e-9);
        assert!(two.hop(1).is_none());
        let stages = serving("gpt-3-175b", ServeLayout { pipeline: 2, ..ServeLayout::ONE });
        assert!(stages.layers(1, 1).dense.forward.is_empty());
        // 12288 numbers of 16 bits: the 25 KB of the thread.
        assert!((stages.hop(1).unwrap().bytes - 24_576.0).abs() < 1e-9);
    }

    #[test]
    fn one_token_reads_the_experts_that_it_goes_to() {
        // 8 of 256 experts are chosen with replacement in this count: a little less than 8 differ.
        let one = serving("deepseek-v3", ServeLayout::ONE);
        let few = one.layers(1, 1).sparse;
        let all = one.layers(65536, 1).sparse;
        let read = |layer: &crate::Layer| {
            layer.operators.iter().fold(0.0, |most: f64, operator| match operator {
                crate::Operator::Multiply(multiply) => most.max(multiply.count),
                crate::Operator::Attention { .. } | crate::Operator::Stream(_) => most,
            })
        };
        assert!((7.8..=8.0).contains(&read(&few)), "{}", read(&few));
        assert!((read(&all) - 256.0).abs() < 1e-6);
    }

    #[test]
    fn a_70b_needs_two_gpus_of_80_gb() {
        let memory = ServeMemory::of(&serving("llama-3.3-70b", ServeLayout::ONE), 8192);
        // 70.55 billion weights of 2 bytes.
        assert!((memory.weights_bytes / 141.1e9 - 1.0).abs() < 0.01, "{}", memory.weights_bytes);
        let split =
            ServeMemory::of(&serving("llama-3.3-70b", ServeLayout { tensor: 2, ..ServeLayout::ONE }), 8192);
        assert!((split.weights_bytes / memory.weights_bytes - 0.5).abs() < 1e-9);
    }

    #[test]
    fn layouts_are_those_that_the_model_allows() {
        let dense = Catalogue::embedded().model("llama-3.3-70b").unwrap();
        // 1, 2, 4, 8 GPUs of a copy, split in powers of two: 1 + 2 + 3 + 4.
        assert_eq!(ServeLayout::all(dense, 8).len(), 10);
        let sparse = Catalogue::embedded().model("deepseek-v3").unwrap();
        assert!(ServeLayout::all(sparse, 8).iter().any(|layout| layout.replicas() == 8));
        assert!(ServeLayout { expert: 3, ..ServeLayout::ONE }.check(sparse).is_err());
        assert!(ServeLayout { expert: 2, ..ServeLayout::ONE }.check(dense).is_err());
    }
}
