//! The PCIe side of a host: sockets, memory, host bridges, switches and the devices below them.

use weft_catalogue::{Branch, LinkFamily, LinkKind};

use crate::build::{BuildError, HostNodes, Parts, Wire};
use crate::graph::{GraphBuilder, NodeId, NodeKind};

/// What one host looks like, resolved once and laid for each host.
pub(crate) struct Plan {
    sockets: u16,
    socket_wire: Option<Wire>,
    memory: Wire,
    root: Wire,
    bridges: Vec<(u16, u16)>,
    branches: Vec<BranchPlan>,
    gpus: Vec<DevicePlan>,
    nics: Vec<DevicePlan>,
}

/// A switch and its way up.
struct BranchPlan {
    model: Option<String>,
    up: Up,
    uplink: Wire,
    socket: u16,
}

/// What a switch or a device hangs off.
#[derive(Clone, Copy)]
enum Up {
    /// Index into [`Plan::bridges`].
    Bridge(usize),
    /// Index into [`Plan::branches`].
    Switch(usize),
    /// The CPU itself, over a coherent link.
    Socket,
}

struct DevicePlan {
    model: Option<String>,
    up: Up,
    wire: Option<Wire>,
    socket: u16,
}

/// Where a device hangs and what its slot allows.
#[derive(Clone, Copy)]
struct Seat<'a> {
    up: Up,
    socket: u16,
    branch: Option<&'a Branch>,
    upstream: Option<&'a LinkKind>,
}

impl Plan {
    pub fn new(parts: &Parts<'_>, graph: &mut GraphBuilder) -> Result<Self, BuildError> {
        let cpu = parts.cpu;
        let root_link = parts.catalogue.link(&cpu.pcie.link)?;
        let root_rate = root_link.rate(cpu.pcie.count.value);
        let sockets = parts.machine.host.sockets.max(1);
        let socket_wire = match &cpu.socket {
            Some(socket) if sockets > 1 => {
                let links = (socket.count.value / (sockets - 1)).max(1);
                Some(Parts::wire(graph, parts.catalogue.link(&socket.link)?, links))
            }
            Some(_) | None => None,
        };
        let memory = Parts::inner_wire(
            graph,
            "memory",
            "memory channels of one socket",
            LinkFamily::Memory,
            cpu.memory_rate.value,
        );
        let root = Parts::inner_wire(graph, "root-complex", "root complex", LinkFamily::OnPackage, root_rate);
        let mut plan = Self {
            sockets,
            socket_wire,
            memory,
            root,
            bridges: Vec::new(),
            branches: Vec::new(),
            gpus: Vec::new(),
            nics: Vec::new(),
        };
        let (gpu_seats, nic_seats) = plan.seat_all(parts, graph)?;
        for (number, seat) in gpu_seats.iter().enumerate() {
            let device = plan.gpu(parts, graph, number, seat.as_ref(), gpu_seats.len())?;
            plan.gpus.push(device);
        }
        for (number, seat) in nic_seats.iter().enumerate() {
            let device = plan.nic(parts, graph, number, seat.as_ref(), nic_seats.len())?;
            plan.nics.push(device);
        }
        Ok(plan)
    }

    /// Goes through the branches and says for each device where it hangs; `None` for those not named.
    #[expect(clippy::type_complexity, reason = "two like lists, used once")]
    fn seat_all<'a>(
        &mut self,
        parts: &Parts<'a>,
        graph: &mut GraphBuilder,
    ) -> Result<(Vec<Option<Seat<'a>>>, Vec<Option<Seat<'a>>>), BuildError> {
        let mut gpus = vec![None; parts.gpus.len()];
        let mut nics = vec![None; parts.nics.len()];
        let mut names: Vec<(&str, usize)> = Vec::new();
        for (index, branch) in parts.machine.pcie.iter().enumerate() {
            let label = branch.name.clone().unwrap_or_else(|| index.to_string());
            let seat = self.seat(parts, graph, branch, &label, &mut names)?;
            take(&mut gpus, &branch.gpus, "GPU", &label, seat)?;
            take(&mut nics, &branch.nics, "NIC", &label, seat)?;
        }
        Ok((gpus, nics))
    }

    /// The seat that `branch` offers; adds its switch and host bridge to the plan.
    fn seat<'a>(
        &mut self,
        parts: &Parts<'a>,
        graph: &mut GraphBuilder,
        branch: &'a Branch,
        label: &str,
        names: &mut Vec<(&'a str, usize)>,
    ) -> Result<Seat<'a>, BuildError> {
        let (above, socket) = match &branch.under {
            Some(under) => {
                let found = names.iter().find(|(name, _)| name == under).map(|(_, index)| *index);
                let index = found.ok_or_else(|| BuildError::NoSuchBranch {
                    branch: label.to_owned(),
                    under: under.clone(),
                })?;
                (Up::Switch(index), self.branches[index].socket)
            }
            None if branch.socket >= self.sockets => {
                let error = BuildError::NoSuchSocket {
                    branch: label.to_owned(),
                    socket: branch.socket,
                    sockets: self.sockets,
                };
                return Err(error);
            }
            None => (self.bridge(branch.socket, branch.host_bridge), branch.socket),
        };
        let root_link = parts.catalogue.link(&parts.cpu.pcie.link)?;
        let Some(switch) = &branch.switch else {
            return Ok(Seat { up: above, socket, branch: Some(branch), upstream: Some(root_link) });
        };
        let known = (switch != "any").then(|| parts.catalogue.switch(switch)).transpose()?;
        let switch_link = known.map(|switch| parts.catalogue.link(&switch.link)).transpose()?;
        let uplink = match &branch.link {
            Some(link) => parts.catalogue.link(link)?,
            None => slower(root_link, switch_link.unwrap_or(root_link)),
        };
        let uplink = Parts::wire(graph, uplink, branch.lanes.unwrap_or(16));
        let model = known.map(|switch| switch.name.clone());
        self.branches.push(BranchPlan { model, up: above, uplink, socket });
        let index = self.branches.len() - 1;
        if let Some(name) = &branch.name {
            names.push((name, index));
        }
        Ok(Seat { up: Up::Switch(index), socket, branch: Some(branch), upstream: switch_link })
    }

    fn bridge(&mut self, socket: u16, number: u16) -> Up {
        let known = self.bridges.iter().position(|bridge| *bridge == (socket, number));
        Up::Bridge(known.unwrap_or_else(|| {
            self.bridges.push((socket, number));
            self.bridges.len() - 1
        }))
    }

    fn gpu(
        &mut self,
        parts: &Parts<'_>,
        graph: &mut GraphBuilder,
        number: usize,
        seat: Option<&Seat<'_>>,
        of: usize,
    ) -> Result<DevicePlan, BuildError> {
        let model = parts.gpus[number].map(|gpu| gpu.name.clone());
        let coherent = parts.gpus[number].and_then(|gpu| gpu.coherent.as_ref());
        if let (None, Some(port)) = (seat, coherent) {
            let wire = Parts::wire(graph, parts.catalogue.link(&port.link)?, port.count.value);
            let socket = spread(number, of, self.sockets);
            return Ok(DevicePlan { model, up: Up::Socket, wire: Some(wire), socket });
        }
        let port = parts.gpu_port(number)?;
        self.device(parts, graph, model, port, seat, (number, of))
    }

    fn nic(
        &mut self,
        parts: &Parts<'_>,
        graph: &mut GraphBuilder,
        number: usize,
        seat: Option<&Seat<'_>>,
        of: usize,
    ) -> Result<DevicePlan, BuildError> {
        let model = parts.nics[number].0.map(|nic| nic.name.clone());
        let port = parts.nic_port(number)?;
        self.device(parts, graph, model, Some(port), seat, (number, of))
    }

    fn device(
        &mut self,
        parts: &Parts<'_>,
        graph: &mut GraphBuilder,
        model: Option<String>,
        port: Option<(&LinkKind, u16)>,
        seat: Option<&Seat<'_>>,
        (number, of): (usize, usize),
    ) -> Result<DevicePlan, BuildError> {
        let root_link = parts.catalogue.link(&parts.cpu.pcie.link)?;
        let own_bridge = u16::try_from(1000 + self.bridges.len()).unwrap_or(u16::MAX);
        let seat = seat.copied().unwrap_or_else(|| {
            let socket = spread(number, of, self.sockets);
            Seat { up: self.bridge(socket, own_bridge), socket, branch: None, upstream: Some(root_link) }
        });
        let mut wire = None;
        if let Some((mut link, mut lanes)) = port {
            link = seat.upstream.map_or(link, |upstream| slower(link, upstream));
            if let Some(slot) = seat.branch.and_then(|branch| branch.device_link.as_deref()) {
                link = slower(link, parts.catalogue.link(slot)?);
            }
            lanes = seat.branch.and_then(|branch| branch.device_lanes).map_or(lanes, |slot| slot.min(lanes));
            wire = Some(Parts::wire(graph, link, lanes));
        }
        Ok(DevicePlan { model, up: seat.up, wire, socket: seat.socket })
    }

    /// Adds one host to the graph.
    pub fn lay(&self, parts: &Parts<'_>, graph: &mut GraphBuilder, host: u32) -> HostNodes {
        let cpus: Vec<NodeId> = (0..self.sockets)
            .map(|socket| {
                let cpu = graph.device(
                    NodeKind::Cpu,
                    socket.into(),
                    Some(host),
                    Some(socket),
                    Some(&parts.cpu.name),
                );
                let memory = graph.node(NodeKind::Memory, socket.into(), Some(host), Some(socket));
                graph.lay(cpu, memory, self.memory);
                cpu
            })
            .collect();
        for (index, a) in cpus.iter().enumerate() {
            for b in &cpus[index + 1..] {
                if let Some(wire) = self.socket_wire {
                    graph.lay(*a, *b, wire);
                }
            }
        }
        let bridges: Vec<NodeId> = (0u32..)
            .zip(&self.bridges)
            .map(|(number, (socket, _))| {
                let bridge = graph.node(NodeKind::HostBridge, number, Some(host), Some(*socket));
                graph.lay(bridge, cpus[usize::from(*socket)], self.root);
                bridge
            })
            .collect();
        let mut switches: Vec<NodeId> = Vec::with_capacity(self.branches.len());
        for (number, branch) in (0u32..).zip(&self.branches) {
            let switch = graph.device(
                NodeKind::PcieSwitch,
                number,
                Some(host),
                Some(branch.socket),
                branch.model.as_deref(),
            );
            let up = above(branch.up, branch.socket, &cpus, &bridges, &switches);
            graph.lay(switch, up, branch.uplink);
            switches.push(switch);
        }
        let mut devices = |kind: NodeKind, plans: &[DevicePlan]| -> Vec<NodeId> {
            (0u32..)
                .zip(plans)
                .map(|(number, plan)| {
                    let device =
                        graph.device(kind, number, Some(host), Some(plan.socket), plan.model.as_deref());
                    if let Some(wire) = plan.wire {
                        graph.lay(device, above(plan.up, plan.socket, &cpus, &bridges, &switches), wire);
                    }
                    device
                })
                .collect()
        };
        let gpus = devices(NodeKind::Gpu, &self.gpus);
        let nics = devices(NodeKind::Nic, &self.nics);
        HostNodes { gpus, nics }
    }
}

fn above(up: Up, socket: u16, cpus: &[NodeId], bridges: &[NodeId], switches: &[NodeId]) -> NodeId {
    match up {
        Up::Bridge(index) => bridges[index],
        Up::Switch(index) => switches[index],
        Up::Socket => cpus[usize::from(socket)],
    }
}

/// Gives each of the numbered devices the seat; refuses unknown ones and those that have one.
fn take<'a>(
    seats: &mut [Option<Seat<'a>>],
    numbers: &[u16],
    kind: &'static str,
    label: &str,
    seat: Seat<'a>,
) -> Result<(), BuildError> {
    let count = seats.len();
    for number in numbers {
        let slot = seats.get_mut(usize::from(*number)).ok_or_else(|| BuildError::NoSuchDevice {
            place: format!("pcie branch {label}"),
            kind,
            number: *number,
            count,
        })?;
        if slot.replace(seat).is_some() {
            return Err(BuildError::TwoBranches { kind, number: *number });
        }
    }
    Ok(())
}

/// The socket of device `number` of `of` when they are spread evenly in order.
fn spread(number: usize, of: usize, sockets: u16) -> u16 {
    u16::try_from(number * usize::from(sockets) / of.max(1)).unwrap_or(0).min(sockets - 1)
}

/// The slower of two kinds by signalling rate: what a port and its slot agree on.
fn slower<'a>(a: &'a LinkKind, b: &'a LinkKind) -> &'a LinkKind {
    if b.lane.value < a.lane.value { b } else { a }
}
