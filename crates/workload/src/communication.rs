//! What GPUs say to each other in a step.

use weft_collective::Collective;

/// Why a group of GPUs talks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Axis {
    /// They share matrices.
    Tensor,
    /// They share sequences.
    Context,
    /// They share experts.
    Expert,
    /// They pass activations from stage to stage.
    Pipeline,
    /// They hold the same weights.
    Data,
}

impl Axis {
    /// The word in text and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tensor => "tensor",
            Self::Context => "context",
            Self::Expert => "expert",
            Self::Pipeline => "pipeline",
            Self::Data => "data",
        }
    }
}

/// A group of GPUs by their ranks: so many, each so far from the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reach {
    /// GPUs of the group.
    pub gpus: u32,
    /// Ranks from one to the next.
    pub stride: u32,
}

/// A collective that a GPU takes part in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transfer {
    /// Why.
    pub axis: Axis,
    /// Which.
    pub collective: Collective,
    /// With whom.
    pub reach: Reach,
    /// The whole buffer, as nccl-tests counts sizes.
    pub bytes: f64,
    /// How often.
    pub repeat_count: f64,
    /// To how many experts each token of an exchange of experts goes; tokens that have several experts in one place are
    /// sent there once. 1 for all others.
    pub copy_count: f64,
}

impl Transfer {
    /// One collective of `bytes`.
    pub fn once(axis: Axis, collective: Collective, reach: Reach, bytes: f64) -> Self {
        Self { axis, collective, reach, bytes, repeat_count: 1.0, copy_count: 1.0 }
    }

    /// So often.
    #[must_use]
    pub fn repeated(self, count: f64) -> Self {
        Self { repeat_count: self.repeat_count * count, ..self }
    }

    /// Whether anything is sent at all.
    pub fn is_needed(&self) -> bool {
        self.reach.gpus > 1 && self.bytes > 0.0 && self.repeat_count > 0.0
    }
}
