//! For tests only: the shared corpus with what its files hold, and a printer of topology matrices in all
//! the shapes in which people paste them.

pub mod corpus;
pub mod noted;
pub mod print;
