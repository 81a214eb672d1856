//! NCCL's own model, and RCCL's: the machine as they see it, the channels that they find, and the prices by which
//! they choose an algorithm and a protocol. Facts from their published sources; the constants are in the catalogue.

pub(crate) mod choice;
pub(crate) mod cluster;
pub(crate) mod constants;
mod direct;
mod latency;
pub(crate) mod nics;
mod rccl;
pub(crate) mod search;
mod started;
mod survey;
mod symmetric;
pub(crate) mod system;
pub(crate) mod tuning;
mod walk;

pub(crate) use survey::switch_reduces;
