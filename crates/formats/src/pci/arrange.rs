//! Which bridge stands above which function, from the buses behind the bridges.

use std::collections::BTreeMap;

use super::PciAddress;
use crate::evidence::{Device, PciDetails, PcieState};

/// Buses grow on the way down, so that no function lies deeper.
const DEPTH_MAX: usize = 257;

/// Sets the parents of `devices` from the buses behind their bridges, and puts parents before their children;
/// the order is otherwise kept. Returns, for each old index, the new one.
pub fn arrange(devices: &mut Vec<Device>) -> Vec<usize> {
    let addresses: Vec<Option<PciAddress>> =
        devices.iter().map(|device| device.address.parse().ok()).collect();
    let parents: Vec<Option<usize>> = {
        let bridges = Bridges::new(devices, &addresses);
        (0..devices.len()).map(|index| bridges.above(index, addresses[index])).collect()
    };
    let order = parents_first(&parents);
    let mut places = vec![0; devices.len()];
    for (new, old) in order.iter().enumerate() {
        places[*old] = new;
    }
    let mut taken: Vec<Option<Device>> = std::mem::take(devices).into_iter().map(Some).collect();
    for old in order {
        devices.extend(taken[old].take().map(|device| Device {
            parent: parents[old].map(|parent| places[parent]).or(device.parent),
            ..device
        }));
    }
    places
}

/// Each index after its parent, otherwise in order.
fn parents_first(parents: &[Option<usize>]) -> Vec<usize> {
    let mut order = Vec::with_capacity(parents.len());
    let mut placed = vec![false; parents.len()];
    for index in 0..parents.len() {
        let above = std::iter::successors(Some(index), |index| parents[*index]).take(DEPTH_MAX);
        let mut missing: Vec<usize> = above.take_while(|index| !placed[*index]).collect();
        while let Some(next) = missing.pop().filter(|next| !std::mem::replace(&mut placed[*next], true)) {
            order.push(next);
        }
    }
    order
}

/// The bridges of a host by the bus behind them.
struct Bridges {
    by_secondary: BTreeMap<(u32, u8), usize>,
    ranges: Vec<(u32, u8, u8, usize)>,
}

impl Bridges {
    fn new(devices: &[Device], addresses: &[Option<PciAddress>]) -> Self {
        let (mut by_secondary, mut ranges) = (BTreeMap::new(), Vec::new());
        for (index, (device, address)) in devices.iter().zip(addresses).enumerate() {
            let (Some(buses), Some(address)) = (device.details.buses, address) else { continue };
            // A bridge that no one set up has bus 0 behind it; one that leads back up would make a circle.
            if buses.secondary > address.bus {
                by_secondary.entry((address.domain, buses.secondary)).or_insert(index);
                ranges.push((address.domain, buses.secondary, buses.subordinate, index));
            }
        }
        Self { by_secondary, ranges }
    }

    /// The bridge whose bus it is on; where that one is not in the list, the nearest above.
    fn above(&self, index: usize, address: Option<PciAddress>) -> Option<usize> {
        let address = address?;
        if let Some(bridge) = self.by_secondary.get(&(address.domain, address.bus)) {
            return Some(*bridge).filter(|bridge| *bridge != index);
        }
        let holds = |range: &&(u32, u8, u8, usize)| {
            range.0 == address.domain && range.1 <= address.bus && address.bus <= range.2 && range.3 != index
        };
        self.ranges.iter().filter(holds).max_by_key(|range| range.1).map(|range| range.3)
    }
}

fn depth(index: usize, parents: &[Option<usize>]) -> usize {
    std::iter::successors(parents[index], |parent| parents[*parent]).take(DEPTH_MAX).count()
}

/// Moves the link of root ports and downstream ports, which is the one below them, to
/// [`PciDetails::link_below`]. Where a tool does not say what kind of port a bridge is, its depth does: below a
/// root port comes a switch's upstream port, below that its downstream ports.
pub fn settle_links(devices: &mut [Device]) {
    let parents: Vec<Option<usize>> = devices.iter().map(|device| device.parent).collect();
    for (index, device) in devices.iter_mut().enumerate() {
        let is_bridge = device.class == Some(0x0604) || device.details.buses.is_some();
        let faces_down = match device.details.port_kind.as_deref() {
            Some(kind) => kind.starts_with("Root Port") || kind.starts_with("Downstream Port"),
            None => is_bridge && depth(index, &parents).is_multiple_of(2),
        };
        let PciDetails { link_below, link_below_capability, .. } = &mut device.details;
        if faces_down && *link_below == PcieState::default() {
            *link_below = std::mem::take(&mut device.link);
            *link_below_capability = std::mem::take(&mut device.link_capability);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::BusRange;

    fn device(address: &str, buses: Option<(u8, u8)>) -> Device {
        let buses = buses.map(|(secondary, subordinate)| BusRange { secondary, subordinate });
        let details = PciDetails { buses, ..PciDetails::default() };
        Device { address: address.to_owned(), details, ..Device::default() }
    }

    #[test]
    fn parents_come_from_buses_and_stand_first() {
        let mut devices = vec![
            device("0000:03:00.0", None),
            device("0000:00:01.0", Some((1, 5))),
            device("0000:01:00.0", Some((2, 5))),
            // The bridge to bus 3 is not in the list: the nearest above is that of bus 2.
            device("0001:03:00.0", None),
        ];
        let places = arrange(&mut devices);
        let addresses: Vec<_> = devices.iter().map(|device| device.address.as_str()).collect();
        assert_eq!(addresses, ["0000:00:01.0", "0000:01:00.0", "0000:03:00.0", "0001:03:00.0"]);
        assert_eq!(
            devices.iter().map(|device| device.parent).collect::<Vec<_>>(),
            [None, Some(0), Some(1), None]
        );
        assert_eq!(places, [2, 0, 1, 3]);
    }

    #[test]
    fn a_root_port_has_its_link_below() {
        let mut devices = vec![device("0000:00:01.0", Some((1, 1))), device("0000:01:00.0", None)];
        arrange(&mut devices);
        for device in &mut devices {
            device.link.lanes = Some(16);
        }
        settle_links(&mut devices);
        assert_eq!((devices[0].link.lanes, devices[0].details.link_below.lanes), (None, Some(16)));
        assert_eq!((devices[1].link.lanes, devices[1].details.link_below.lanes), (Some(16), None));
    }
}
