//! One file for each algorithm.

mod ring;
mod synthesised;

pub use ring::Ring;
pub use synthesised::{Forest, Synthesised, Tree};
