//! What is inside one machine: PCIe, NVLink, peers' access, memory, what a virtual machine hides.

mod acs;
mod fabric;
mod faults;
mod guest;
mod isolated;
mod memory;
mod mixed;
mod nic_slot;
mod nvlink;
mod partition;
mod pcie;
mod peers;
mod serving;
mod signal;
mod staging;
mod switch_pattern;
mod uplink;
mod wire_counters;

pub(super) use acs::Acs;
pub(super) use fabric::Fabric;
pub(super) use faults::Faults;
pub(super) use guest::{Guest, signs as is_guest};
pub(super) use isolated::Isolated;
pub(super) use memory::Memory;
pub(super) use mixed::Mixed;
pub(super) use nic_slot::{NIC_PCIE_LIMIT, NicSlot};
pub(super) use nvlink::NvLink;
pub(super) use partition::Partition;
pub(super) use pcie::Pcie;
pub(super) use peers::Peers;
pub(super) use serving::Serving;
pub(super) use signal::Signal;
pub(super) use staging::Staging;
pub(super) use uplink::Uplink;
