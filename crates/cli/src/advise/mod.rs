//! What `weft advise` reads and shows.

pub mod prices;
pub mod text;
