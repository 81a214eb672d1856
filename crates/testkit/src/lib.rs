//! For tests only: the shared corpus with what its files hold, a printer of topology matrices in all the shapes in
//! which people paste them, the catalogue, and networks of hosts that are none.

pub mod corpus;
#[cfg(target_os = "linux")]
pub mod network;
pub mod noted;
pub mod print;

/// The facts, for tests of crates that know none themselves.
pub use weft_catalogue::Catalogue;
