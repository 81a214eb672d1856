//! What `weft advise` reads and shows.

pub mod ask;
pub mod prices;
pub mod report;
pub mod text;
mod training;
