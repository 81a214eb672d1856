//! How programs that train models behave: which kernels they use, what they hide behind computing, and what the host
//! costs. One file for each program and age.

use serde::Deserialize;
use weft_base::{Bytes, Ratio, Span};

use crate::Fact;

/// The kernel that computes attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttentionKernel {
    /// One kernel that never writes the scores and skips what the causal mask hides.
    Flash,
    /// The same written in Triton with linear biases (ALiBi).
    FlashTriton,
    /// Two batched multiplications with the softmax between them, over all scores.
    Unfused,
}

/// A program that trains models, at an age.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Framework {
    /// The file's name: `megatron-bridge`.
    pub name: String,
    /// As its makers write it.
    pub title: String,
    /// Other spellings.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The attention kernel.
    pub attention: Fact<AttentionKernel>,
    /// Bytes that element-wise kernels move, over those of fused ones.
    pub eager_bytes: Fact<Ratio>,
    /// Share of the tensor-parallel communication that is hidden behind multiplications.
    pub tensor_hidden: Fact<Ratio>,
    /// Share of the data-parallel communication that the last micro-batch's backward pass hides, where it is as long.
    pub data_hidden: Fact<Ratio>,
    /// The same of the gathers and scatters of fully sharded weights.
    pub shard_hidden: Fact<Ratio>,
    /// Share of the context-parallel communication that attention hides.
    pub context_hidden: Fact<Ratio>,
    /// Share of the way between stages that other micro-batches hide.
    pub pipeline_hidden: Fact<Ratio>,
    /// Size of a gradient when it is summed.
    pub gradient: Fact<Bytes>,
    /// Host time of one layer, forward and backward, of one micro-batch: a layer takes no less.
    pub layer_host: Fact<Span>,
    /// The same of a layer with experts.
    #[serde(default)]
    pub expert_layer_host: Option<Fact<Span>>,
    /// What a release takes for layers with experts, over what the kernels' own times say.
    #[serde(default)]
    pub expert_factor: Option<Fact<Ratio>>,
    /// Time that each rank's broadcast of the weights which it updated takes, where an optimizer that is shared sends them
    /// one rank after another.
    #[serde(default)]
    pub broadcast_per_rank: Option<Fact<Span>>,
    /// Time between kernels that nothing hides.
    pub kernel_gap: Fact<Span>,
    /// Large multiplications against those of the newest NVIDIA program on the same GPU.
    #[serde(default)]
    pub multiply_factor: Option<Fact<Ratio>>,
    /// Share of the forward pass that selective recomputation repeats, beyond what one kernel of attention does by
    /// itself.
    #[serde(default)]
    pub recomputed: Option<Fact<Ratio>>,
    /// What a reader should know.
    #[serde(default)]
    pub note: Option<String>,
}

impl Framework {
    /// Whether attention is several kernels, whose scores are stored.
    pub fn is_unfused(&self) -> bool {
        self.attention.value == AttentionKernel::Unfused
    }

    /// Whether selective recomputation changes anything: one kernel of attention does it by itself.
    pub fn recomputes_selectively(&self) -> bool {
        self.is_unfused() || self.recomputed.is_some()
    }
}
