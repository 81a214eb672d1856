//! How much a list of devices says of their places: outputs are cut by `grep`, and what is not said of a device
//! contradicts nothing.

use weft_catalogue::{Catalogue, Machine};

use super::pcie::{BRIDGE, ancestors, numa_of};
use super::pick::Picked;
use crate::evidence::{Device, Host, NumaNode};
use crate::pci::PciAddress;

const HOST_BRIDGE: u16 = 0x0600;

/// What is said of one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Said {
    /// Which NUMA node it is near.
    pub node: bool,
    /// All bridges above it.
    pub way: bool,
}

/// For the machine's GPUs and its NICs, by their numbers.
pub(crate) fn said(host: &Host, catalogue: &Catalogue) -> (Vec<Said>, Vec<Said>) {
    let picked = Picked::of(host, catalogue);
    let one = |index: &usize| Said { node: numa_of(host, *index).is_some(), way: is_whole(host, *index) };
    (picked.gpus.iter().map(one).collect(), picked.nics.iter().map(one).collect())
}

/// Whether what stands on top of the device is where buses begin. Without the lines of their buses, bridges have
/// nothing below them, and devices stand on buses that come from nowhere.
fn is_whole(host: &Host, index: usize) -> bool {
    if host.format != "lspci" {
        return true;
    }
    let top = &host.devices[ancestors(host, index).last().unwrap_or(index)];
    if top.class == Some(BRIDGE) && top.details.buses.is_some() {
        let is_within = |kind: &String| kind.starts_with("Upstream") || kind.starts_with("Downstream");
        return !top.details.port_kind.as_ref().is_some_and(is_within);
    }
    let Some(bus) = bus(top) else { return true };
    let begins_here = |device: &Device| device.class == Some(HOST_BRIDGE) && self::bus(device) == Some(bus);
    bus.1 == 0 || host.devices.iter().any(begins_here)
}

/// Domain and bus.
fn bus(device: &Device) -> Option<(u32, u8)> {
    let address: PciAddress = device.address.parse().ok()?;
    Some((address.domain, address.bus))
}

/// `host` with each device near the NUMA node that is the socket where `machine`, whose devices are numbered as in
/// the list, has it.
pub(crate) fn with_sockets(host: &Host, machine: &Machine, catalogue: &Catalogue) -> Host {
    let picked = Picked::of(host, catalogue);
    let mut placed = host.clone();
    let count = u32::from(machine.host.sockets);
    placed.numa = (0..count).map(|socket| NumaNode { number: Some(socket), ..NumaNode::default() }).collect();
    for branch in &machine.pcie {
        let of = |numbers: &[u16], list: &[usize]| -> Vec<usize> {
            numbers.iter().filter_map(|number| list.get(usize::from(*number)).copied()).collect()
        };
        for index in [of(&branch.gpus, &picked.gpus), of(&branch.nics, &picked.nics)].concat() {
            for place in std::iter::once(index).chain(ancestors(host, index)) {
                placed.devices[place].numa.get_or_insert(usize::from(branch.socket));
            }
        }
    }
    placed
}
