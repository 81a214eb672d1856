//! How programs that serve models behave: what of the memory's rate their kernels reach, what a layer costs besides, and
//! how they talk. One file for each program.

use std::collections::BTreeMap;

use serde::Deserialize;
use weft_base::{Ratio, Span};

use crate::{Fact, Gpu};

/// A program that serves models.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    /// The file's name: `vllm`.
    pub name: String,
    /// As its makers write it.
    pub title: String,
    /// Other spellings.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Share of the memory's rate at which weights of 16 bits and the KV cache are read.
    pub memory_share: Fact<Ratio>,
    /// The same of weights of fewer bits that the kernel unpacks, over that.
    pub quantised_share: Fact<Ratio>,
    /// Time of a layer besides bytes and multiplications: starting, filling and draining its kernels.
    pub layer_time: Fact<Span>,
    /// Time of a step that the GPU waits for the host: scheduling, sampling.
    pub step_host: Fact<Span>,
    /// Large multiplications against those of a training step on the same GPU.
    pub multiply_factor: Fact<Ratio>,
    /// Tokens of prompts that are computed at once.
    pub chunk_tokens: Fact<u32>,
    /// Share of a GPU's memory that it takes.
    pub memory_use: Fact<Ratio>,
    /// Whether GPUs can share matrices (tensor parallelism).
    pub splits_matrices: Fact<bool>,
    /// Whether it has an all-reduce of its own, in one kernel, for small buffers of GPUs that reach each other's memory.
    pub one_shot: Fact<bool>,
    /// Whether the stages of a pipeline decode for different sequences at the same time.
    pub interleaves: Fact<bool>,
    /// What differs on some GPUs, by GPU or architecture.
    #[serde(default)]
    pub on: BTreeMap<String, EngineOn>,
    /// What a reader should know.
    #[serde(default)]
    pub note: Option<String>,
}

/// What an engine reaches on one GPU or architecture.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineOn {
    /// In place of the engine's.
    pub memory_share: Fact<Ratio>,
    /// In place of the engine's.
    pub multiply_factor: Fact<Ratio>,
}

impl Engine {
    /// Share of the memory's rate on `gpu`.
    pub fn memory_share_on(&self, gpu: &Gpu) -> f64 {
        self.on(gpu).map_or(&self.memory_share, |on| &on.memory_share).value.as_f64()
    }

    /// Large multiplications on `gpu`, over those of a training step.
    pub fn multiply_factor_on(&self, gpu: &Gpu) -> f64 {
        self.on(gpu).map_or(&self.multiply_factor, |on| &on.multiply_factor).value.as_f64()
    }

    fn on(&self, gpu: &Gpu) -> Option<&EngineOn> {
        [&gpu.name, &gpu.architecture].into_iter().find_map(|name| self.on.get(name.as_str()))
    }
}
