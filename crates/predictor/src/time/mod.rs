//! What a choice of NCCL's takes, which is not what NCCL prices it at: its prices only rank choices.
//!
//! A time is a sum of parts, each with a cause and a spread of its own: see [`breakdown::Time`]. The measured
//! constants stand in the catalogue's library `nccl-achieved`.

mod achieved;
mod breakdown;
mod crowd;
mod interval;
mod launch;
mod network;
mod pricing;
mod validity;

pub use launch::Launch;
pub use validity::OUTSIDE;

pub(crate) use validity::notes;

use achieved::{expect, time};
use interval::Spreads;
use launch::{LaunchCost, Launches};

pub(crate) use achieved::Expected;
pub(crate) use breakdown::Time;
pub(crate) use pricing::Pricing;

/// The catalogue's measured corrections to NCCL's model.
const LIBRARY: &str = "nccl-achieved";
