//! Sockets, switches and the links above devices.

use weft_base::TransferRate;
use weft_catalogue::{Branch, Catalogue, Form, LinkFamily};

use super::pick::Picked;
use crate::evidence::{Device, Host};
use crate::infer::Inferred;

pub(super) const BRIDGE: u16 = 0x0604;

/// Where a device or a switch hangs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seat {
    /// Socket and host bridge.
    Root(u16, u16),
    /// Index into the host's devices of the switch.
    Switch(usize),
}

/// Link kind and lanes of a port.
type Port = (Option<String>, Option<u16>);

/// Adds the sockets and the PCIe side of the machine.
pub(super) fn place(
    host: &Host,
    picked: &Picked,
    gpus: &[Option<String>],
    catalogue: &Catalogue,
    out: &mut Inferred,
) {
    let tree = Tree::new(host, picked);
    out.machine.host.sockets = u16::try_from(tree.sockets.len()).unwrap_or(u16::MAX).max(1);
    let port = |device: &Device| (link_name(speed(host, device), catalogue), lanes(device));
    for (index, _) in tree.used_switch.iter().enumerate().filter(|(_, is_used)| **is_used) {
        let (link, lanes) = port(&host.devices[index]);
        let branch = Branch {
            name: Some(name(index)),
            switch: Some("any".to_owned()),
            link,
            lanes: lanes.filter(|lanes| [1, 2, 4, 8, 16].contains(lanes)),
            ..tree.branch(index)
        };
        out.machine.pcie.push(branch);
    }
    // Devices of one seat with like ports share a branch.
    let mut groups: Vec<(Seat, Port, Branch)> = Vec::new();
    let is_superchip = |number: usize| {
        let model = gpus.get(number).and_then(|model| model.as_deref());
        model.and_then(|name| catalogue.gpu(name).ok()).is_some_and(|gpu| gpu.form == Form::Superchip)
    };
    let numbered = |list: &[usize], is_gpu: bool| -> Vec<(u16, usize, bool)> {
        (0u16..).zip(list).map(|(number, index)| (number, *index, is_gpu)).collect()
    };
    let devices = [numbered(&picked.gpus, true), numbered(&picked.nics, false)].concat();
    for (number, index, is_gpu) in devices {
        if is_gpu && is_superchip(usize::from(number)) {
            continue;
        }
        let (seat, port) = (tree.seat(index), port(&host.devices[index]));
        let known = groups.iter().position(|(other, ports, _)| *other == seat && *ports == port);
        let at = known.unwrap_or_else(|| {
            let branch =
                Branch { device_link: port.0.clone(), device_lanes: port.1, ..tree.branch_at(seat, index) };
            groups.push((seat, port.clone(), branch));
            groups.len() - 1
        });
        let branch = &mut groups[at].2;
        if is_gpu { branch.gpus.push(number) } else { branch.nics.push(number) }
    }
    seat_groups(groups, catalogue, out);
}

/// Puts groups of like devices into the machine.
fn seat_groups(mut groups: Vec<(Seat, Port, Branch)>, catalogue: &Catalogue, out: &mut Inferred) {
    // A branch without a switch of its own is as fast as the CPU at most; so the fastest devices of a switch stand in
    // its own branch.
    groups.sort_by_key(|(_, (link, _), _)| {
        std::cmp::Reverse(link.as_deref().map_or(0, |name| lane_rate(name, catalogue)))
    });
    for (seat, _, group) in groups {
        let own = match seat {
            Seat::Switch(index) => {
                let wanted = name(index);
                let free = |branch: &&mut Branch| {
                    branch.name.as_ref() == Some(&wanted) && branch.gpus.is_empty() && branch.nics.is_empty()
                };
                out.machine.pcie.iter_mut().find(free)
            }
            Seat::Root(..) => None,
        };
        match own {
            Some(branch) => {
                branch.device_link = group.device_link;
                branch.device_lanes = group.device_lanes;
                branch.gpus = group.gpus;
                branch.nics = group.nics;
            }
            None => out.machine.pcie.push(group),
        }
    }
}

fn lane_rate(name: &str, catalogue: &Catalogue) -> u64 {
    catalogue.link(name).map_or(0, |link| link.lane.value.bits_per_second())
}

fn name(index: usize) -> String {
    format!("sw{index}")
}

/// What of the host's devices joins others.
struct Tree<'h> {
    host: &'h Host,
    /// NUMA nodes with devices, by socket number of the machine.
    sockets: Vec<Option<usize>>,
    /// Whether each device is a switch.
    is_switch: Vec<bool>,
    /// Whether each device is a switch above a GPU or a NIC.
    used_switch: Vec<bool>,
    /// Host bridges by name.
    bridges: Vec<(u16, String)>,
}

impl<'h> Tree<'h> {
    fn new(host: &'h Host, picked: &Picked) -> Self {
        let is_switch = switches(host);
        let mut used_switch = vec![false; host.devices.len()];
        let picked_devices = || picked.gpus.iter().chain(&picked.nics).copied();
        for index in picked_devices() {
            for above in ancestors(host, index) {
                used_switch[above] = used_switch[above] || is_switch[above];
            }
        }
        let mut sockets: Vec<Option<usize>> = Vec::new();
        for index in picked_devices() {
            let numa = numa_of(host, index);
            if !sockets.contains(&numa) {
                sockets.push(numa);
            }
        }
        // In the order of their numbers; what is near no node counts to the first.
        sockets.sort_by_key(|numa| numa.map(|numa| (host.numa.get(numa).and_then(|node| node.number), numa)));
        if sockets.len() > 1 {
            sockets.retain(Option::is_some);
        }
        let mut tree = Self { host, sockets, is_switch, used_switch, bridges: Vec::new() };
        for index in picked_devices() {
            let bridge = (tree.socket(index), tree.bridge_name(index));
            if !tree.bridges.contains(&bridge) {
                tree.bridges.push(bridge);
            }
        }
        tree
    }

    fn socket(&self, index: usize) -> u16 {
        let numa = numa_of(self.host, index);
        let found = self.sockets.iter().position(|socket| *socket == numa);
        found.and_then(|found| u16::try_from(found).ok()).unwrap_or(0)
    }

    /// The root bus where the tool shows root ports; NCCL's files begin below them, and servers give each slot a root
    /// complex of its own.
    fn bridge_name(&self, index: usize) -> String {
        let top = ancestors(self.host, index).last().unwrap_or(index);
        let address = &self.host.devices[top].address;
        match self.host.format {
            "nccl-topology" => address.clone(),
            _ => address.rsplit_once(':').map_or_else(|| address.clone(), |(bus, _)| bus.to_owned()),
        }
    }

    fn root(&self, index: usize) -> Seat {
        let socket = self.socket(index);
        let name = self.bridge_name(index);
        let of_socket = self.bridges.iter().filter(|(of, _)| *of == socket);
        let number = of_socket.map(|(_, name)| name).position(|known| *known == name);
        Seat::Root(socket, number.and_then(|number| u16::try_from(number).ok()).unwrap_or(0))
    }

    /// What `index` hangs off.
    fn seat(&self, index: usize) -> Seat {
        let above = ancestors(self.host, index).find(|above| self.is_switch[*above]);
        above.map_or_else(|| self.root(index), Seat::Switch)
    }

    /// A branch at the place of `index`.
    fn branch(&self, index: usize) -> Branch {
        self.branch_at(self.seat(index), index)
    }

    fn branch_at(&self, seat: Seat, index: usize) -> Branch {
        match seat {
            Seat::Switch(above) => {
                Branch { under: Some(name(above)), socket: self.socket(index), ..Branch::default() }
            }
            Seat::Root(socket, host_bridge) => Branch { socket, host_bridge, ..Branch::default() },
        }
    }
}

/// What is above `index`, nearest first. Parents stand before their children, so that this ends.
pub(super) fn ancestors(host: &Host, index: usize) -> impl Iterator<Item = usize> {
    let above = |index: &usize| host.devices[*index].parent.filter(|parent| parent < index);
    std::iter::successors(above(&index), move |index| above(index))
}

pub(super) fn numa_of(host: &Host, index: usize) -> Option<usize> {
    let near = host.devices[index].numa;
    near.or_else(|| ancestors(host, index).find_map(|above| host.devices[above].numa))
}

/// Which bridges are switches. NCCL lists one bridge per switch; other tools list the root port, the switch's port
/// above and each of its ports below.
fn switches(host: &Host) -> Vec<bool> {
    let is_bridge = |device: &Device| device.class == Some(BRIDGE);
    if host.format == "nccl-topology" {
        return host.devices.iter().map(is_bridge).collect();
    }
    let said = |device: &Device| device.details.port_kind.as_ref().map(|kind| kind.contains("Upstream"));
    let mut levels = vec![0usize; host.devices.len()];
    let mut found = Vec::with_capacity(host.devices.len());
    for (index, device) in host.devices.iter().enumerate() {
        let parent = device.parent.filter(|parent| *parent < index);
        levels[index] = parent.map_or(0, |parent| levels[parent] + 1);
        found.push(is_bridge(device) && said(device).unwrap_or(levels[index] % 2 == 1));
    }
    found
}

/// Idle devices slow their links down, so that only what a device can do counts; NCCL's files say just that.
fn speed(host: &Host, device: &Device) -> Option<TransferRate> {
    device.link_capability.speed.or(device.link.speed.filter(|_| host.format == "nccl-topology"))
}

fn lanes(device: &Device) -> Option<u16> {
    device.link_capability.lanes.or(device.link.lanes).filter(|lanes| *lanes > 0)
}

/// The catalogue's PCIe generation of that rate.
fn link_name(speed: Option<TransferRate>, catalogue: &Catalogue) -> Option<String> {
    let speed = speed?;
    let is_it =
        |link: &&weft_catalogue::LinkKind| link.family == LinkFamily::Pcie && link.lane.value == speed;
    catalogue.links.iter().find(is_it).map(|link| link.name.clone())
}
