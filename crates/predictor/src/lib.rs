//! How long a collective takes on a machine and what bounds it.
//!
//! NCCL's own model chooses the algorithm and the protocol, as NCCL would; the time is then priced with what
//! was measured of that choice, where the model is known to err. The bound is what the wires allow.

mod access;
mod bound;
pub mod calibrate;
pub mod compare;
mod contention;
mod explain;
pub mod export;
mod findings;
mod found;
pub mod frames;
mod known;
mod limit;
mod nccl;
pub mod pairs;
mod predict;
pub mod replay;
pub mod serve;
mod settings;
mod step;
pub mod subsets;
mod time;
pub mod train;
pub mod validate;

pub use bound::Bound;
pub use contention::{Fabric, Routing};
pub use findings::{CODES, NOT_COMPARED, NOT_MODELLED};
pub use known::KnownMachine;
pub use limit::{GraphLimit, SwitchFacts};
pub use nccl::choice::{Algorithm, Protocol};
pub use nccl::system::PeerAccess;
pub use predict::{PREDICTED, Prediction, Predictor, Price, Request, Row, default_sizes, predict};
pub use settings::{
    Allowed, CrossNic, HcaFilter, Library, NotAVersion, SettingError, Settings, Taken, Version,
};
pub use step::Step;
pub use time::Launch;

use weft_catalogue::NotFound;
use weft_collective::Collective;

/// Why there is no prediction. Reads as "failed to predict: {error}".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PredictError {
    /// A name that the catalogue does not know.
    #[error(transparent)]
    NotFound(#[from] NotFound),
    /// A constant of NCCL's model is missing in the catalogue.
    #[error("the catalogue lacks the constant `{name}`")]
    Constant {
        /// Library, table and row.
        name: String,
    },
    /// NCCL runs on NVIDIA's GPUs, RCCL on AMD's.
    #[error("{gpu} is neither NVIDIA's nor AMD's; only NCCL and RCCL are modelled")]
    NoLibrary {
        /// The GPU's title.
        gpu: String,
    },
    /// A collective without a model.
    #[error("{} has no model yet; there are models of {}", collective.name(), PREDICTED.map(Collective::name).join(", "))]
    Collective {
        /// Which.
        collective: Collective,
    },
    /// Too few GPUs.
    #[error("a collective needs at least 2 GPUs, not {gpus}")]
    TooFewGpus {
        /// How many take part.
        gpus: usize,
    },
    /// Too many ways to choose.
    #[error("too many subsets of {count} of {gpus} GPUs differ to compare them all")]
    TooManySubsets {
        /// How many there are.
        gpus: usize,
        /// How many are wanted.
        count: usize,
    },
    /// No ring passes all GPUs.
    #[error("no path joins all {gpus} GPUs")]
    NoPath {
        /// How many there are.
        gpus: usize,
    },
}
