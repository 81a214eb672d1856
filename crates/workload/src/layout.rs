//! How a training run is split over GPUs.

use std::fmt;

use weft_catalogue::Model;

/// What data-parallel ranks share of what belongs to the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sharding {
    /// Nothing: each has all of it (DDP).
    None,
    /// The optimizer's state (ZeRO-1, Megatron's distributed optimizer).
    Optimizer,
    /// Gradients too (ZeRO-2).
    Gradients,
    /// Weights too (ZeRO-3, FSDP).
    Weights,
}

impl Sharding {
    /// The word in text and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "ZeRO-0",
            Self::Optimizer => "ZeRO-1",
            Self::Gradients => "ZeRO-2",
            Self::Weights => "ZeRO-3",
        }
    }
}

/// What of the forward pass is computed again in the backward pass, to save memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Recompute {
    /// Nothing; of attention in one kernel, that kernel does by itself.
    None,
    /// The core of attention, and what is cheap.
    Selective,
    /// Everything but the input of each layer.
    Full,
}

/// The order in which a pipeline's stage takes its micro-batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Schedule {
    /// All forward, then all backward.
    Gpipe,
    /// One forward, one backward; with virtual stages interleaved.
    OneForwardOneBackward,
    /// The weights' gradients fill what would be idle.
    ZeroBubble,
}

/// A parallel layout: sizes of groups, batches, and what is kept. Ranks are numbered tensor first, then context, data
/// (experts within it) and pipeline last, as Megatron does.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Layout {
    /// GPUs in all.
    pub gpus: u32,
    /// GPUs that share each matrix.
    pub tensor: u32,
    /// Stages of the pipeline.
    pub pipeline: u32,
    /// Chunks of layers that each stage has, interleaved; 1 without.
    pub virtual_stages: u32,
    /// GPUs that share each sequence.
    pub context: u32,
    /// GPUs that share the experts of a layer.
    pub expert: u32,
    /// GPUs that share each matrix of an expert.
    pub expert_tensor: u32,
    /// Sequences of a micro-batch.
    pub micro_batch: u32,
    /// Sequences of a step, over all GPUs.
    pub global_batch: u32,
    /// Tokens of a sequence.
    pub sequence_tokens: u32,
    /// Whether what tensor parallelism leaves whole is split by the sequence.
    pub sequence_parallel: bool,
    /// What data-parallel ranks share.
    pub sharding: Sharding,
    /// GPUs over which that is shared, where it is not all data-parallel ones (hybrid sharding).
    pub shard_gpus: Option<u32>,
    /// What is computed again.
    pub recompute: Recompute,
    /// The pipeline's order.
    pub schedule: Schedule,
}

impl fmt::Display for Layout {
    /// `TP 8, PP 4 x 3, CP 2, DP 16, micro-batch 1, ZeRO-1, sequence parallel, all recomputed`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TP {}", self.tensor)?;
        match (self.pipeline, self.virtual_stages) {
            (1, _) => {}
            (stages, 1) => write!(f, ", PP {stages}")?,
            (stages, chunks) => write!(f, ", PP {stages} x {chunks}")?,
        }
        for (name, size) in [("CP", self.context), ("EP", self.expert)] {
            if size > 1 {
                write!(f, ", {name} {size}")?;
            }
        }
        write!(f, ", DP {}, micro-batch {}, {}", self.data(), self.micro_batch, self.sharding.word())?;
        if self.sequence_parallel {
            f.write_str(", sequence parallel")?;
        }
        f.write_str(match self.recompute {
            Recompute::None => "",
            Recompute::Selective => ", attention recomputed",
            Recompute::Full => ", all recomputed",
        })?;
        f.write_str(match self.schedule {
            Schedule::OneForwardOneBackward => "",
            Schedule::Gpipe => ", GPipe",
            Schedule::ZeroBubble => ", zero bubble",
        })
    }
}

/// Why a layout cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// A size is zero.
    #[error("{what} is 0")]
    Zero {
        /// Which.
        what: &'static str,
    },
    /// One number does not divide another.
    #[error("{what} ({whole}) cannot be split by {by} ({parts})")]
    Uneven {
        /// What is split.
        what: &'static str,
        /// How much of it there is.
        whole: u32,
        /// By what.
        by: &'static str,
        /// Into how many parts.
        parts: u32,
    },
    /// A part asks for what another does not give.
    #[error("{0}")]
    Needs(&'static str),
}

impl Layout {
    /// One GPU, one sequence: everything else is set on it.
    pub fn new(gpus: u32, global_batch: u32, sequence_tokens: u32) -> Self {
        Self {
            gpus,
            tensor: 1,
            pipeline: 1,
            virtual_stages: 1,
            context: 1,
            expert: 1,
            expert_tensor: 1,
            micro_batch: 1,
            global_batch,
            sequence_tokens,
            sequence_parallel: false,
            sharding: Sharding::Optimizer,
            shard_gpus: None,
            recompute: Recompute::None,
            schedule: Schedule::OneForwardOneBackward,
        }
    }

    /// GPUs that hold the same part of the model.
    pub fn data(&self) -> u32 {
        self.gpus / self.model_gpus().max(1)
    }

    /// GPUs of one copy of the model.
    fn model_gpus(&self) -> u32 {
        self.tensor.saturating_mul(self.pipeline).saturating_mul(self.context)
    }

    /// Micro-batches that each pipeline takes in a step.
    pub fn micro_batches(&self) -> u32 {
        self.global_batch / (self.data() * self.micro_batch).max(1)
    }

    /// GPUs over which optimizer, gradients or weights are shared.
    pub fn shards(&self) -> u32 {
        let all = self.data() * self.context;
        match self.sharding {
            Sharding::None => 1,
            Sharding::Optimizer | Sharding::Gradients | Sharding::Weights => {
                self.shard_gpus.map_or(all, |some| some.min(all)).max(1)
            }
        }
    }

    /// Tokens of a micro-batch that one GPU sees in attention and matrices.
    pub fn tokens(&self) -> f64 {
        f64::from(self.micro_batch) * f64::from(self.sequence_tokens) / f64::from(self.context)
    }

    /// Tokens of a step, over all GPUs.
    pub fn step_tokens(&self) -> f64 {
        f64::from(self.global_batch) * f64::from(self.sequence_tokens)
    }

    /// Whether the layout can be for `model`; the first reason why not.
    pub fn check(&self, model: &Model) -> Result<(), Misfit> {
        self.not_zero()?;
        let split = |what, whole: u32, by, parts: u32| {
            if whole.is_multiple_of(parts) { Ok(()) } else { Err(Misfit::Uneven { what, whole, by, parts }) }
        };
        split("GPUs", self.gpus, "tensor x pipeline x context", self.model_gpus())?;
        split("attention heads", model.attention.heads, "tensor", self.tensor)?;
        split("the feed-forward width", model.feed_forward.width, "tensor", self.tensor)?;
        split("the sequence", self.sequence_tokens, "2 x context", self.context.max(1) * cut(self.context))?;
        split("the global batch", self.global_batch, "data x micro-batch", self.data() * self.micro_batch)?;
        // Programs may count the embedding and the output as a layer each: 128 stages of 126 layers.
        if self.pipeline * self.virtual_stages > model.layers + 2 {
            return Err(Misfit::Needs("there are more stages of the pipeline than layers"));
        }
        if self.virtual_stages > 1 && self.pipeline == 1 {
            return Err(Misfit::Needs("virtual stages need a pipeline"));
        }
        if self.virtual_stages > 1 {
            split("micro-batches", self.micro_batches(), "pipeline", self.pipeline)?;
        }
        self.check_experts(model, split)
    }

    fn check_experts(
        &self,
        model: &Model,
        split: impl Fn(&'static str, u32, &'static str, u32) -> Result<(), Misfit>,
    ) -> Result<(), Misfit> {
        let Some(experts) = model.experts else {
            return if self.expert == 1 {
                Ok(())
            } else {
                Err(Misfit::Needs("a dense model has no experts to share"))
            };
        };
        split("experts", experts.count, "expert", self.expert)?;
        let stage = self.gpus / self.pipeline;
        split("GPUs of a stage", stage, "expert x expert tensor", self.expert * self.expert_tensor)
    }

    fn not_zero(&self) -> Result<(), Misfit> {
        let sizes = [
            ("the number of GPUs", self.gpus),
            ("tensor", self.tensor),
            ("pipeline", self.pipeline),
            ("virtual stages", self.virtual_stages),
            ("context", self.context),
            ("expert", self.expert),
            ("expert tensor", self.expert_tensor),
            ("the micro-batch", self.micro_batch),
            ("the global batch", self.global_batch),
            ("the sequence", self.sequence_tokens),
        ];
        match sizes.into_iter().find(|(_, size)| *size == 0) {
            Some((what, _)) => Err(Misfit::Zero { what }),
            None => Ok(()),
        }
    }
}

/// Context parallelism cuts a sequence in two pieces a GPU, one of its begin and one of its end, so that the causal
/// mask leaves all as much to do.
fn cut(context: u32) -> u32 {
    if context > 1 { 2 } else { 1 }
}
