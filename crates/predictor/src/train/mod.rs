//! How long a step of training takes: what `workload` lists, priced on a machine.
//!
//! Matrices and attention by what the GPU reaches of its peak, all else that computes by its memory, collectives by this
//! crate's own prediction for the group on the machine. What is hidden behind what is the framework's.

mod compute;
mod fabric;
mod network;
pub mod published;
mod replicas;
mod score;
mod search;
mod site;
mod step;
mod timeline;
mod torus;

pub use compute::{ComputePrices, Forward};
pub(crate) use network::GroupPrice;
pub use network::Network;
pub use score::{Answered, FileScore, Kept, KindScore, Pair, Ratio, Ratios, Tables, TrainReport, score};
pub use search::{Candidate, Found, Search};
pub use site::{Asked, Site, built_hosts};
pub use step::{Breakdown, PassTime, Pricer, StepTime};
pub use timeline::{Bar, Lane, Of, Timeline, What};

use crate::PredictError;

/// Why a step has no price.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// The layout does not fit the model.
    #[error(transparent)]
    Layout(#[from] weft_workload::Misfit),
    /// A collective has no price.
    #[error(transparent)]
    Collective(#[from] PredictError),
    /// The machine cannot be built.
    #[error(transparent)]
    Machine(#[from] weft_topology::BuildError),
    /// The GPU has no rate for the precision.
    #[error("the catalogue has no {precision} rate of {gpu}")]
    NoRate {
        /// The GPU's title.
        gpu: String,
        /// The precision's word.
        precision: &'static str,
    },
    /// The machine has none.
    #[error("the machine has no GPU whose model is known")]
    NoGpu,
    /// A group of GPUs would have to go from one rail to another.
    #[error(
        "{} parallelism crosses rails that no switch joins, and the hosts' GPUs have no links of their own to change the rail by",
        .axis.word()
    )]
    CrossesRails {
        /// Why the group talks.
        axis: weft_workload::Axis,
    },
    /// The layout asks for more GPUs than the machine has.
    #[error("the layout takes {wanted} GPUs, the machine has {has}")]
    TooFewGpus {
        /// GPUs of the layout.
        wanted: u32,
        /// GPUs of the machine.
        has: u32,
    },
    /// The step has too many turns for a timeline.
    #[error("a timeline of {turn_count} turns is not drawn, the most is {most_count}")]
    TooLong {
        /// Turns of all stages.
        turn_count: u64,
        /// The most.
        most_count: u64,
    },
}
