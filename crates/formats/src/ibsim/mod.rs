//! Net files of `ibsim`, the simulator of InfiniBand subnets.

mod write;

pub use write::{IbsimWriter, ibsim_net};
