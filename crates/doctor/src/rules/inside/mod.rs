//! What is inside one machine: PCIe, NVLink, peers' access, memory, what a virtual machine hides.

mod acs;
mod nvlink;
mod peers;
mod switch_pattern;

pub(super) use acs::Acs;
pub(super) use nvlink::NvLink;
pub(super) use peers::Peers;
