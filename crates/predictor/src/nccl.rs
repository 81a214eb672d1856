//! NCCL's own model: the machine as it sees it, the channels it finds, and the prices by which it chooses
//! an algorithm and a protocol. Facts from its published sources; the constants are in the catalogue.

pub(crate) mod constants;
pub(crate) mod search;
pub(crate) mod system;
pub(crate) mod tuning;
