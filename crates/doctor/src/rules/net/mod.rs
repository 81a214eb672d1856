//! What is between machines: how data leaves a GPU for the network, the adapters and their ports, and the fabric.

mod bond;
mod gdr;
mod gdr_causes;
mod lookup;

pub(super) use bond::Bonds;
pub(super) use gdr::Gdr;
