//! How often things fail and what it costs to go on, as published.

use serde::Deserialize;
use weft_base::{Bytes, FailureRate, Period, Ratio};

use crate::Fact;

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// A job dies, by whatever cause.
    Interruption,
    /// A part is broken until somebody replaces it.
    Hard,
    /// A link is down for seconds and comes back.
    Flap,
}

/// A published failure rate.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The file's name: `node-rsc-1`, `link-hard`.
    pub name: String,
    /// In words.
    pub title: String,
    /// Other spellings.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// What happens.
    pub event: Event,
    /// How often.
    pub rate: Fact<FailureRate>,
    /// The least that is published for such things.
    #[serde(default)]
    pub low: Option<Fact<FailureRate>>,
    /// The most that is published for such things.
    #[serde(default)]
    pub high: Option<Fact<FailureRate>>,
    /// Variance of the counts of a day over their mean; 1 is a Poisson process.
    #[serde(default)]
    pub dispersion: Option<Fact<Ratio>>,
    /// GPUs of the population.
    #[serde(default)]
    pub gpus: Option<Fact<u32>>,
    /// Whether it is shown as a pessimistic figure only, never used by default.
    #[serde(default)]
    pub pessimistic: bool,
    /// What a reader should know.
    #[serde(default)]
    pub note: Option<String>,
}

/// What checkpoints and restarts of a published run cost.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Restart {
    /// The file's name: `llama-3`, `hpn`.
    pub name: String,
    /// In words.
    pub title: String,
    /// Other spellings.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// From the failure to the first new step.
    #[serde(default)]
    pub restart: Option<Fact<Period>>,
    /// The longest restart of a range.
    #[serde(default)]
    pub longest_restart: Option<Fact<Period>>,
    /// How long a checkpoint stops the work.
    #[serde(default)]
    pub save: Option<Fact<Period>>,
    /// Between two checkpoints.
    #[serde(default)]
    pub interval: Option<Fact<Period>>,
    /// Checkpoint of one GPU.
    #[serde(default)]
    pub checkpoint: Option<Fact<Bytes>>,
    /// What a reader should know.
    #[serde(default)]
    pub note: Option<String>,
}
