//! What is trained, how it is split, in which precision, with which program.

use weft_catalogue::{Framework, Model};

use crate::Layout;

/// Of what matrices are multiplied; the core of attention and the output layer stay in 16 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Precision {
    /// 32 bits outside matrix units.
    Fp32,
    /// 19 bits of 32.
    Tf32,
    /// 16 bits: fp16 or bf16.
    Half,
    /// 8 bits, floating point.
    Fp8,
    /// 4 bits with a scale for each block.
    Fp4,
}

impl Precision {
    /// The word in text and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fp32 => "fp32",
            Self::Tf32 => "tf32",
            Self::Half => "bf16",
            Self::Fp8 => "fp8",
            Self::Fp4 => "nvfp4",
        }
    }

    /// Bytes of an activation between layers.
    pub fn activation_bytes(self) -> f64 {
        match self {
            Self::Fp32 | Self::Tf32 => 4.0,
            Self::Half | Self::Fp8 | Self::Fp4 => 2.0,
        }
    }
}

/// A run of training, of which one step is looked at.
#[derive(Debug, Clone)]
pub struct Training<'a> {
    /// The model.
    pub model: &'a Model,
    /// How it is split.
    pub layout: Layout,
    /// Of what matrices are multiplied.
    pub precision: Precision,
    /// The program.
    pub framework: &'a Framework,
}

/// What the work of a layer depends on, of training or of serving.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// The model.
    pub model: &'a Model,
    /// How it is split, and the tokens of a micro-batch.
    pub layout: &'a Layout,
    /// Of what matrices are multiplied.
    pub precision: Precision,
    /// Whether attention is several kernels, whose scores are stored.
    pub is_unfused: bool,
}

impl Training<'_> {
    /// What a layer of it depends on.
    pub fn part(&self) -> Part<'_> {
        let Self { model, layout, precision, framework } = self;
        Part { model, layout, precision: *precision, is_unfused: framework.is_unfused() }
    }
}
