//! Shapes of models: decoders of the transformer kind, dense or with experts.

use serde::Deserialize;

use crate::Grade;

/// A decoder of the transformer kind. All its numbers have one source.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The file's name: `llama-3.1-8b`.
    #[serde(default)]
    pub name: String,
    /// As its makers write it.
    pub title: String,
    /// Other spellings.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// How far the shape can be trusted.
    pub grade: Grade,
    /// A key of `catalogue/sources`.
    pub source: String,
    /// Page, section or file in the source.
    #[serde(default)]
    pub at: Option<String>,
    /// What disagrees with it, or how it was derived.
    #[serde(default)]
    pub note: Option<String>,
    /// Layers, each of attention and a feed-forward part.
    pub layers: u32,
    /// Width of the stream between layers.
    pub hidden: u32,
    /// Entries of the vocabulary.
    pub vocabulary: u32,
    /// Whether the output layer is the embedding.
    #[serde(default)]
    pub tied_embeddings: bool,
    /// The attention of each layer.
    pub attention: Attention,
    /// The feed-forward part of layers without experts.
    pub feed_forward: FeedForward,
    /// Experts; absent for dense models.
    #[serde(default)]
    pub experts: Option<Experts>,
}

/// Attention with heads that may share keys and values (MHA, GQA, MQA), or with a latent (MLA).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attention {
    /// Heads of the queries.
    pub heads: u32,
    /// Heads of keys and values; absent where each query head has its own.
    #[serde(default)]
    pub kv_heads: Option<u32>,
    /// Width of a head; absent where heads share the hidden width.
    #[serde(default)]
    pub head_dim: Option<u32>,
    /// Multi-head latent attention.
    #[serde(default)]
    pub latent: Option<Latent>,
    /// Tokens that layers with a sliding window look back.
    #[serde(default)]
    pub window_tokens: Option<u32>,
    /// One layer of so many sees all tokens where there is a window: 2 for every other one, 0 for none.
    #[serde(default)]
    pub windowed_of: Option<u32>,
}

/// The low-rank projections of multi-head latent attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latent {
    /// Rank of the queries' projection; absent where queries have a full one.
    #[serde(default)]
    pub query_rank: Option<u32>,
    /// Rank of keys and values.
    pub kv_rank: u32,
    /// Width of a head's keys without rotary positions.
    pub plain_dim: u32,
    /// Width with rotary positions, which the heads share.
    pub rotary_dim: u32,
    /// Width of a head's values.
    pub value_dim: u32,
    /// Whether all heads take the latent itself for their keys and values, so that nothing widens it.
    #[serde(default)]
    pub is_shared: bool,
    /// Groups of heads whose values are narrowed by themselves before the last projection.
    #[serde(default)]
    pub output_groups: Option<u32>,
    /// To how many values each such group is narrowed.
    #[serde(default)]
    pub output_rank: Option<u32>,
}

impl Latent {
    /// Values that the last projection takes where groups of heads are narrowed before.
    pub fn narrowed(&self) -> Option<u32> {
        Some(self.output_groups? * self.output_rank?)
    }
}

/// Two matrices, or three where one gates another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeedForward {
    /// Width between the matrices.
    pub width: u32,
    /// Whether there is a gate (`SwiGLU`, `GeGLU`): three matrices.
    pub gated: bool,
}

/// A mixture of experts in place of the feed-forward part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experts {
    /// Experts of a layer.
    pub count: u32,
    /// Experts that each token passes.
    pub active: u32,
    /// Width of one expert.
    pub width: u32,
    /// Width of what all tokens pass besides; 0 without.
    #[serde(default)]
    pub shared_width: u32,
    /// First layers that have no experts.
    #[serde(default)]
    pub dense_layers: u32,
    /// Experts in every so many layers.
    #[serde(default = "every_layer")]
    pub every: u32,
}

fn every_layer() -> u32 {
    1
}

impl Model {
    /// Width of a head.
    pub fn head_dim(&self) -> u32 {
        self.attention.head_dim.unwrap_or(self.hidden / self.attention.heads.max(1))
    }

    /// Heads of keys and values.
    pub fn kv_heads(&self) -> u32 {
        self.attention.kv_heads.unwrap_or(self.attention.heads)
    }

    /// Layers with experts.
    pub fn expert_layers(&self) -> u32 {
        let Some(experts) = self.experts else { return 0 };
        let behind = self.layers.saturating_sub(experts.dense_layers);
        behind / experts.every.max(1)
    }
}
