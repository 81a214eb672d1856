//! How fast a candidate does the work. The seam behind which a model of the whole step belongs.

use weft_base::Bytes;
use weft_catalogue::Catalogue;
use weft_predictor::train::Breakdown;
use weft_predictor::{PREDICTED, Predictor, Request};
use weft_workload::{Layout, Memory};

use crate::candidate::Candidate;

/// How long a step takes.
#[derive(Debug, Clone, PartialEq)]
pub struct StepTime {
    /// Expected.
    pub seconds: f64,
    /// Begin of the interval that is to hold nine tenths of measurements.
    pub low_seconds: f64,
    /// End of that interval.
    pub high_seconds: f64,
    /// What the wires alone would take; nothing where that is not known.
    pub bound_seconds: Option<f64>,
    /// What limits it, in words.
    pub bound_by: String,
    /// Tokens of a step; of several workloads those of their mean step.
    pub token_count: Option<f64>,
    /// A step of each workload, in the order asked; empty where an exchange alone is timed.
    pub workloads: Vec<WorkloadStep>,
}

/// A training step of one workload in its best layout.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadStep {
    /// The workload in words: `llama-3-70b, batch 1024, sequence 8192`.
    pub name: String,
    /// Share of all tokens.
    pub share: f64,
    /// GPUs that train.
    pub gpus: u32,
    /// Expected.
    pub seconds: f64,
    /// Begin of the interval that is to hold nine tenths of measurements.
    pub low_seconds: f64,
    /// End of that interval.
    pub high_seconds: f64,
    /// Tokens of a step.
    pub token_count: f64,
    /// Model FLOP/s over the dense peak in the precision; nothing where the GPU has none.
    pub mfu_share: Option<f64>,
    /// How the run is split.
    pub layout: Layout,
    /// What one GPU keeps.
    pub memory: Memory,
    /// What one GPU has.
    pub gpu_bytes: f64,
    /// Where the time goes.
    pub breakdown: Breakdown,
}

impl WorkloadStep {
    /// What takes longest.
    pub fn bound_by(&self) -> &'static str {
        let parts = self.breakdown.parts().into_iter();
        parts.max_by(|a, b| a.1.total_cmp(&b.1)).map_or("computing", |(part, _)| part)
    }

    /// Tokens per second of one GPU that trains.
    pub fn tokens_per_s_per_gpu(&self) -> f64 {
        self.token_count / self.seconds / f64::from(self.gpus.max(1))
    }
}

/// Why there is no time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoStep {
    /// Nobody knows it.
    Unknown(String),
    /// The candidate cannot do the work.
    Impossible(String),
}

impl NoStep {
    /// The same with the workload that it is of, where there are several.
    #[must_use]
    pub fn of(self, workload: &str, workload_count: usize) -> Self {
        let named =
            |reason: String| if workload_count > 1 { format!("{reason} ({workload})") } else { reason };
        match self {
            Self::Unknown(reason) => Self::Unknown(named(reason)),
            Self::Impossible(reason) => Self::Impossible(named(reason)),
        }
    }
}

/// Says how long a step takes on a candidate.
pub trait Performance {
    /// What is timed, in words: `256 MiB of all-reduce`.
    fn what(&self) -> String;
    /// The time, or why there is none.
    fn step(&self, candidate: &Candidate, catalogue: &Catalogue) -> Result<StepTime, NoStep>;
}

/// What all GPUs exchange in a step, alone: no arithmetic, nothing overlapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// Gradients and the like, of each GPU.
    pub all_reduce: Bytes,
    /// Tokens of experts and the like, of each GPU.
    pub all_to_all: Bytes,
}

impl Performance for Exchange {
    fn what(&self) -> String {
        let parts = [("all-reduce", self.all_reduce), ("all-to-all", self.all_to_all)];
        let named = parts.iter().filter(|(_, bytes)| *bytes > Bytes::ZERO);
        named.map(|(word, bytes)| format!("{bytes} of {word}")).collect::<Vec<_>>().join(" and ")
    }

    fn step(&self, candidate: &Candidate, catalogue: &Catalogue) -> Result<StepTime, NoStep> {
        self.seconds(candidate, catalogue).map_err(NoStep::Unknown)
    }
}

impl Exchange {
    fn seconds(&self, candidate: &Candidate, catalogue: &Catalogue) -> Result<StepTime, String> {
        // Two hosts say what a host is; the predictor counts the others.
        let spans_hosts = candidate.machine.fabric.as_ref().is_some_and(|fabric| fabric.spans_hosts);
        let laid = if spans_hosts { candidate.hosts } else { candidate.hosts.min(2) };
        let built =
            weft_topology::build(&candidate.cluster(laid), catalogue).map_err(|error| error.to_string())?;
        let mut sum = StepTime {
            seconds: 0.0,
            low_seconds: 0.0,
            high_seconds: 0.0,
            bound_seconds: Some(0.0),
            bound_by: String::new(),
            token_count: None,
            workloads: Vec::new(),
        };
        let parts = [("all-reduce", self.all_reduce), ("all-to-all", self.all_to_all)];
        for (name, bytes) in parts.into_iter().filter(|(_, bytes)| *bytes > Bytes::ZERO) {
            let failed = |error: weft_predictor::PredictError| error.to_string();
            let modelled = PREDICTED.into_iter().find(|collective| collective.name() == name);
            let collective = modelled.ok_or_else(|| format!("{name} has no model"))?;
            let mut predictor =
                Predictor::new(&built.topology, catalogue, &Request::new(collective)).map_err(failed)?;
            if candidate.hosts > laid {
                predictor = predictor.with_nodes(candidate.hosts).ok_or("its hosts cannot be multiplied")?;
            }
            let prediction = predictor.predict(collective, &[bytes]).map_err(failed)?;
            let Some(row) = prediction.rows.first() else { continue };
            let slower = if name == "all-to-all" { crossing(candidate) } else { 1.0 };
            sum.seconds += row.time.as_seconds() * slower;
            sum.low_seconds += row.low.as_seconds();
            sum.high_seconds += row.high.as_seconds() * oversubscription(candidate);
            // As long as the bound is higher than what is reached.
            let reached = row.busbw.as_gigabytes() / prediction.bound.busbw.as_gigabytes();
            sum.bound_seconds = sum.bound_seconds.map(|bound| bound + row.time.as_seconds() * reached);
            sum.bound_by.clone_from(&row.bound_by);
        }
        Ok(sum)
    }
}

/// Down-links for each up-link of a leaf, where hosts are below several.
fn oversubscription(candidate: &Candidate) -> f64 {
    let Some(network) = candidate.network.as_ref().filter(|network| candidate.hosts > group(network)) else {
        return 1.0;
    };
    f64::from(network.oversubscription.max(1))
}

/// How much longer an exchange of all with all takes, since most of it leaves the leaves. A ring does not: it crosses
/// once for each leaf.
fn crossing(candidate: &Candidate) -> f64 {
    let Some(network) = &candidate.network else { return 1.0 };
    let near = f64::from(group(network)) / f64::from(candidate.hosts.max(1));
    (oversubscription(candidate) * (1.0 - near)).max(1.0)
}

/// Hosts below the same leaves, of designs by rail.
fn group(network: &weft_catalogue::Network) -> u32 {
    let share = u32::from(network.oversubscription);
    u32::from(network.radix) * share / (share + 1)
}
