//! How long inference takes: the prompt (prefill) and each token after it (decode), by the prices of a training step.
//!
//! Weights and the KV cache are read at the share of the memory's rate that the engine reaches, multiplications and
//! collectives are priced as in training, and small all-reduces by the engine's own kernel where it has one.

mod breakdown;
mod price;
mod reduce;
mod search;

pub use breakdown::ServeBreakdown;
pub use price::{ServeTime, Server};
pub use search::{ServeCandidate, ServeFound, best};
