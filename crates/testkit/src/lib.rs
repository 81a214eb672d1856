//! For tests only: the shared corpus with what its files hold, a printer of topology matrices in all the shapes in
//! which people paste them, and the catalogue.

pub mod corpus;
pub mod noted;
pub mod print;

/// The facts, for tests of crates that know none themselves.
pub use weft_catalogue::Catalogue;
