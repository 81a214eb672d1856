//! From a machine's description to its graph.

use thiserror::Error;
use weft_base::{Diagnostic, Rate, Span};
use weft_catalogue::{Attachment, Catalogue, Cpu, Gpu, LinkFamily, LinkKind, Machine, Nic, NotFound};

use crate::graph::{GraphBuilder, KindId, NodeId, NodeKind, Topology};
use crate::oneliner::{IMPOSSIBLE, UNKNOWN_NAME};
use crate::{fabric, network, pcie};

/// Taken for a CPU that the input does not name: the commonest two-socket server CPU with PCIe 4, and the
/// one with PCIe 5 where a device can use that, so that the guess never narrows a port.
const ASSUMED_CPUS: [&str; 2] = ["xeon-ice-lake", "xeon-sapphire-rapids"];
/// Taken for the PCIe port of a device that the input does not name.
const ASSUMED_PORT: (&str, u16) = ("pcie4", 16);

/// GPUs and NICs of the largest graph: several times 131,072 GPUs with as many NICs, at about 1 kB each.
const MOST_DEVICES: u64 = 2_000_000;

/// Something that the input does not say and that was taken as usual.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Assumption {
    /// What it is about: a device's name, or `GPU`, `NIC`, `CPU` for all of them.
    pub subject: String,
    /// What of it: `model`, `PCIe port`.
    pub what: String,
    /// What was taken.
    pub value: String,
    /// Why that, as a clause: "the input does not name the CPU".
    pub why: String,
}

impl Assumption {
    /// An assumption about `what` of `subject`.
    pub fn new(
        subject: impl Into<String>,
        what: impl Into<String>,
        value: impl Into<String>,
        why: impl Into<String>,
    ) -> Self {
        Self { subject: subject.into(), what: what.into(), value: value.into(), why: why.into() }
    }
}

/// A graph and what had to be assumed to build it.
#[derive(Debug, Clone)]
pub struct Built {
    /// The graph.
    pub topology: Topology,
    /// What the description left open.
    pub assumed: Vec<Assumption>,
}

/// Why a description is no machine. Reads as "failed to build {machine}: {error}".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BuildError {
    /// A name that the catalogue does not know.
    #[error(transparent)]
    NotFound(#[from] NotFound),
    /// A branch, mesh or bridge names a device that the machine does not have.
    #[error("{place} names {kind} {number}, but there are {count}")]
    NoSuchDevice {
        /// Where it is named: `pcie branch sw0`, `fabric mesh`.
        place: String,
        /// `GPU` or `NIC`.
        kind: &'static str,
        /// The number given.
        number: u16,
        /// How many there are.
        count: usize,
    },
    /// A device in two branches.
    #[error("{kind} {number} hangs off two PCIe branches")]
    TwoBranches {
        /// `GPU` or `NIC`.
        kind: &'static str,
        /// Its number.
        number: u16,
    },
    /// A branch under an unknown branch, or one named later or without a switch.
    #[error("pcie branch `{branch}` hangs under `{under}`, which is no switch named before it")]
    NoSuchBranch {
        /// The branch.
        branch: String,
        /// What it names in `under`.
        under: String,
    },
    /// A socket number beyond the host's sockets.
    #[error("pcie branch `{branch}` is on socket {socket}, but there are {sockets}")]
    NoSuchSocket {
        /// The branch.
        branch: String,
        /// The socket given.
        socket: u16,
        /// How many there are.
        sockets: u16,
    },
    /// Links that the GPU does not have.
    #[error("{gpu} has {has} {link} links, but {wanted} are used")]
    TooManyLinks {
        /// The GPU's title.
        gpu: String,
        /// Link kind.
        link: String,
        /// Links of one GPU.
        has: u16,
        /// Links that the description uses.
        wanted: u32,
    },
    /// A switch whose ports are of another kind than the GPU's links.
    #[error("{switch} has {ports} ports, but {gpu} has {links} links")]
    FabricKind {
        /// The switch's title.
        switch: String,
        /// Title of its ports' link kind.
        ports: String,
        /// The GPU's title.
        gpu: String,
        /// Title of its link kind.
        links: String,
    },
    /// More switches than links, or more GPUs than ports.
    #[error("{switches} {switch} of {ports} ports cannot join {gpus} GPUs of {links} links each")]
    SwitchPorts {
        /// The switch's title.
        switch: String,
        /// Ports of one switch.
        ports: u16,
        /// Switches on one board.
        switches: u16,
        /// GPUs on one board.
        gpus: usize,
        /// Links of one GPU.
        links: u16,
    },
    /// More devices than a graph is made for.
    #[error("{devices} devices are more than {MOST_DEVICES}, the most that one graph holds")]
    TooLarge {
        /// GPUs and NICs of all hosts.
        devices: u64,
    },
    /// A GPU without links to other GPUs in a fabric.
    #[error("{gpu} has no links to other GPUs")]
    NoFabric {
        /// The GPU's title.
        gpu: String,
    },
    /// A bridge that the cards do not take.
    #[error("{gpu} takes no {bridge}")]
    NoBridge {
        /// The GPU's title.
        gpu: String,
        /// The bridge asked for: `sli bridge`.
        bridge: String,
        /// What it takes instead; `None` if nothing.
        instead: Option<String>,
    },
    /// A bridge over too many or unlike cards.
    #[error("{rule}")]
    BridgeRule {
        /// The rule that is broken, as a sentence.
        rule: String,
        /// How many such bridges join the cards in groups; `None` where none do.
        enough: Option<String>,
    },
    /// A network that cannot be laid out.
    #[error("{reason}")]
    Network {
        /// Why not.
        reason: String,
        /// What to do, where that is known.
        hint: Option<String>,
    },
}

impl BuildError {
    /// The same as a finding, with the hint that belongs to it; the caller knows the place.
    pub fn finding(&self) -> Diagnostic {
        let code = if matches!(self, Self::NotFound(_)) { UNKNOWN_NAME } else { IMPOSSIBLE };
        let finding = Diagnostic::error(code, self.to_string());
        match self.hint() {
            Some(hint) => finding.hint(hint),
            None => finding,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NotFound(missing) => Some(missing.hint()),
            Self::TooManyLinks { has, .. } => {
                Some(format!("the links of one GPU to all others are {has} together"))
            }
            Self::FabricKind { .. } => {
                Some("`weft show --list switches` names those of each kind".to_owned())
            }
            Self::SwitchPorts { .. } => {
                Some("`weft show --list systems` names servers that have such switches".to_owned())
            }
            Self::NoFabric { .. } => Some("leave the links out: such cards talk over PCIe".to_owned()),
            Self::NoBridge { instead: Some(instead), .. } => Some(format!("it takes {instead}")),
            Self::NoBridge { instead: None, .. } => {
                Some("leave the bridge out: such cards talk over PCIe".to_owned())
            }
            Self::BridgeRule { enough, .. } => enough.clone(),
            Self::Network { hint, .. } => hint.clone(),
            Self::NoSuchDevice { .. } => Some("devices are numbered from 0".to_owned()),
            Self::TwoBranches { .. }
            | Self::NoSuchBranch { .. }
            | Self::NoSuchSocket { .. }
            | Self::TooLarge { .. } => None,
        }
    }
}

/// A link as it will be laid between two nodes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wire {
    pub kind: KindId,
    pub count: u16,
    pub capacity: Rate,
    pub latency: Span,
}

/// What the description refers to, looked up once for all hosts.
pub(crate) struct Parts<'a> {
    pub machine: &'a Machine,
    pub catalogue: &'a Catalogue,
    pub cpu: &'a Cpu,
    /// Model of each GPU of a host; `None` where unknown.
    pub gpus: Vec<Option<&'a Gpu>>,
    /// Model of each NIC of a host and the link kind that its ports run; `None` where unknown.
    pub nics: Vec<(Option<&'a Nic>, Option<&'a LinkKind>)>,
}

/// The devices of one host, by number.
#[derive(Default)]
pub(crate) struct HostNodes {
    pub gpus: Vec<NodeId>,
    pub nics: Vec<NodeId>,
}

/// Builds the graph of `machine`.
pub fn build(machine: &Machine, catalogue: &Catalogue) -> Result<Built, BuildError> {
    let mut assumed = Vec::new();
    let parts = Parts::look_up(machine, catalogue, &mut assumed)?;
    let hosts = machine.host.count.max(1);
    let devices = parts.gpus.len() + parts.nics.len();
    let all_devices = devices as u64 * u64::from(hosts);
    if all_devices > MOST_DEVICES {
        return Err(BuildError::TooLarge { devices: all_devices });
    }
    let per_host = 3 * usize::from(machine.host.sockets) + 2 * devices + 8;
    let mut graph = GraphBuilder::with_capacity(per_host * hosts as usize, 6 * devices * hosts as usize);
    let plan = pcie::Plan::new(&parts, &mut graph)?;
    let fabric_plan = fabric::Plan::new(&parts, &mut graph)?;
    let mut all_hosts = Vec::with_capacity(hosts as usize);
    for host in 0..hosts {
        let nodes = plan.lay(&parts, &mut graph, host);
        fabric_plan.lay_host(&mut graph, host, &nodes);
        all_hosts.push(nodes);
    }
    fabric_plan.lay_racks(&mut graph, &all_hosts);
    if let Some(design) = &machine.network {
        network::lay(design, &parts, &mut graph, &all_hosts)?;
    }
    Ok(Built { topology: graph.finish(), assumed })
}

impl<'a> Parts<'a> {
    pub(crate) fn look_up(
        machine: &'a Machine,
        catalogue: &'a Catalogue,
        assumed: &mut Vec<Assumption>,
    ) -> Result<Self, BuildError> {
        let cpu = match &machine.host.cpu {
            Some(name) => catalogue.cpu(name)?,
            None => assumed_cpu(machine, catalogue)?,
        };
        if machine.host.cpu.is_none() {
            assumed.push(Assumption::new("CPU", "model", &cpu.name, "the input does not name the CPU"));
        }
        let mut parts = Self { machine, catalogue, cpu, gpus: Vec::new(), nics: Vec::new() };
        for group in &machine.gpus {
            let model = group.model.as_deref().map(|name| catalogue.gpu(name)).transpose()?;
            parts.gpus.extend(std::iter::repeat_n(model, usize::from(group.count)));
            assume_port(assumed, "GPU", model.is_none());
        }
        for group in &machine.nics {
            let model = group.model.as_deref().map(|name| catalogue.nic(name)).transpose()?;
            let fastest = model.and_then(|nic| nic.links.first()).map(String::as_str);
            let link = group.link.as_deref().or(fastest).map(|name| catalogue.link(name)).transpose()?;
            parts.nics.extend(std::iter::repeat_n((model, link), usize::from(group.count)));
            assume_port(assumed, "NIC", model.is_none());
        }
        Ok(parts)
    }

    /// The PCIe port of GPU `number`: link kind and lanes; `None` for one without.
    pub fn gpu_port(&self, number: usize) -> Result<Option<(&'a LinkKind, u16)>, BuildError> {
        match self.gpus[number] {
            Some(gpu) => gpu.pcie.as_ref().map(|port| self.attachment(port)).transpose(),
            None => Ok(Some((self.catalogue.link(ASSUMED_PORT.0)?, ASSUMED_PORT.1))),
        }
    }

    /// The PCIe port of NIC `number`: link kind and lanes.
    pub fn nic_port(&self, number: usize) -> Result<(&'a LinkKind, u16), BuildError> {
        match self.nics[number].0 {
            Some(nic) => self.attachment(&nic.pcie),
            None => Ok((self.catalogue.link(ASSUMED_PORT.0)?, ASSUMED_PORT.1)),
        }
    }

    fn attachment(&self, port: &'a Attachment) -> Result<(&'a LinkKind, u16), BuildError> {
        Ok((self.catalogue.link(&port.link)?, port.count.value))
    }

    /// A wire of `count` lanes or links of a catalogue kind.
    pub fn wire(graph: &mut GraphBuilder, link: &LinkKind, count: u16) -> Wire {
        let latency = link.latency.as_ref().map_or(Span::ZERO, |fact| fact.value);
        let kind = graph.kind(&link.name, &link.title, link.family);
        Wire { kind, count, capacity: link.rate(count), latency }
    }

    /// A wire inside a CPU, at the CPU's own rate.
    pub fn inner_wire(
        graph: &mut GraphBuilder,
        name: &str,
        title: &str,
        family: LinkFamily,
        capacity: Rate,
    ) -> Wire {
        Wire { kind: graph.kind(name, title, family), count: 1, capacity, latency: Span::ZERO }
    }
}

/// The slowest of the usual CPUs whose ports are as fast as those of every device, else the fastest.
fn assumed_cpu<'a>(machine: &Machine, catalogue: &'a Catalogue) -> Result<&'a Cpu, BuildError> {
    let gpu = |model: &str| catalogue.gpu(model).ok()?.pcie.as_ref();
    let nic = |model: &str| catalogue.nic(model).ok().map(|nic| &nic.pcie);
    let gpus = machine.gpus.iter().filter_map(|group| gpu(group.model.as_deref()?));
    let nics = machine.nics.iter().filter_map(|group| nic(group.model.as_deref()?));
    let lane = |port: &Attachment| catalogue.link(&port.link).ok().map(|link| link.lane.value);
    let fastest = gpus.chain(nics).filter_map(lane).max();
    let [usual, newer] = ASSUMED_CPUS;
    let usual = catalogue.cpu(usual)?;
    if lane(&usual.pcie) < fastest { Ok(catalogue.cpu(newer)?) } else { Ok(usual) }
}

fn assume_port(assumed: &mut Vec<Assumption>, kind: &str, unknown: bool) {
    let assumption = Assumption::new(
        kind,
        "PCIe port",
        format!("{} x{}", ASSUMED_PORT.0, ASSUMED_PORT.1),
        format!("the input does not name the {kind} model"),
    );
    if unknown && !assumed.contains(&assumption) {
        assumed.push(assumption);
    }
}

impl GraphBuilder {
    /// Lays `wire` between two nodes.
    pub(crate) fn lay(&mut self, a: NodeId, b: NodeId, wire: Wire) {
        self.connect(a, b, wire.kind, wire.count, wire.capacity, wire.latency);
    }

    /// Adds a node with a model.
    pub(crate) fn device(
        &mut self,
        kind: NodeKind,
        number: u32,
        host: Option<u32>,
        socket: Option<u16>,
        model: Option<&str>,
    ) -> NodeId {
        let node = self.node(kind, number, host, socket);
        if let Some(model) = model {
            self.set_model(node, model);
        }
        node
    }
}
