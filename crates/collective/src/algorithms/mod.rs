//! One file for each algorithm.

mod ring;

pub use ring::Ring;
