//! The machine as NCCL sees it: what each GPU reaches which other over, and what is shared on the way.

use std::collections::BTreeMap;

use weft_catalogue::{Catalogue, Cpu, Gpu, LinkFamily};
use weft_topology::{Link, LinkId, NcclPath, NodeId, NodeKind, Topology, nccl_path, route};

use super::constants::Constants;
use crate::PredictError;

/// Taken for a GPU that the input does not name: Ampere, the oldest generation that NCCL's newest tables tell
/// apart from the rest and the commonest among PCIe cards.
const UNKNOWN_CAPABILITY: u16 = 80;

/// Something that traffic shares, in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Resource {
    /// A half-link of the graph.
    Link(LinkId),
    /// All links of a GPU into its switches.
    OutOf(NodeId),
    /// All links of a GPU out of its switches.
    Into(NodeId),
}

/// The way from one GPU to another.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    /// NCCL's type of it.
    pub kind: NcclPath,
    /// Indices into [`System::capacity`], each with the share of the traffic that it carries.
    pub uses: Vec<(usize, f64)>,
    /// What one stream reaches, GB/s.
    pub rate: f64,
    /// Whether data is copied through host memory: no peer access on this way.
    pub staged: bool,
}

/// Who may access whose memory over PCIe.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PeerAccess {
    /// As the catalogue says of the GPU and its stock driver, within one PCIe tree.
    #[default]
    AsUsual,
    /// Everyone, over any distance: a patched driver, `NCCL_P2P_LEVEL=SYS`.
    Everywhere,
    /// Not these pairs (from, to), as `nvidia-smi topo -p2p` shows; the others as usual.
    Refused(Vec<(NodeId, NodeId)>),
}

/// GPUs, ways between them, and capacities, all in GB/s and one direction.
#[derive(Debug, Clone)]
pub(crate) struct System {
    pub gpus: Vec<NodeId>,
    /// Lowest compute capability among the GPUs, times ten.
    pub capability: u16,
    /// What is shared.
    pub resources: Vec<Resource>,
    /// What each shared thing carries.
    pub capacity: Vec<f64>,
    paths: Vec<Option<Path>>,
    /// Rate of each GPU into switches that reduce; `None` unless all GPUs have such.
    pub reducing: Option<f64>,
    /// The best that one GPU can send: the larger of its NVLinks together and its PCIe port.
    pub total: f64,
    /// The least PCIe port among the GPUs; `None` where some GPU has none.
    pub pcie_port: Option<f64>,
}

impl System {
    /// The way from the `from`-th to the `to`-th GPU.
    pub fn path(&self, from: usize, to: usize) -> Option<&Path> {
        self.paths[from * self.gpus.len() + to].as_ref()
    }

    /// The best rate of any single way between two GPUs.
    pub fn best_rate(&self) -> f64 {
        self.paths.iter().flatten().map(|path| path.rate).fold(0.0, f64::max)
    }

    /// The worst path type that some pair has at its best.
    pub fn worst_kind(&self) -> NcclPath {
        self.paths.iter().flatten().map(|path| path.kind).max().unwrap_or(NcclPath::Dis)
    }

    pub fn new(
        topology: &Topology,
        gpus: &[NodeId],
        catalogue: &Catalogue,
        constants: Constants<'_>,
        access: &PeerAccess,
    ) -> Result<Self, PredictError> {
        let mut survey = Survey {
            topology,
            catalogue,
            constants,
            access,
            gpus,
            index: BTreeMap::new(),
            capacity: Vec::new(),
        };
        let capabilities: Vec<u16> =
            gpus.iter().map(|gpu| survey.capability(*gpu)).collect::<Result<_, _>>()?;
        let capability = capabilities.into_iter().min().unwrap_or(UNKNOWN_CAPABILITY);
        let mut paths = Vec::with_capacity(gpus.len() * gpus.len());
        for from in gpus {
            for to in gpus {
                let path = if from == to { None } else { survey.path(*from, *to)? };
                paths.push(path);
            }
        }
        let reducing = survey.reducing(gpus)?;
        let (total, pcie_port) = survey.ports(gpus)?;
        let mut resources: Vec<(usize, Resource)> =
            survey.index.into_iter().map(|(resource, index)| (index, resource)).collect();
        resources.sort_unstable();
        let resources = resources.into_iter().map(|(_, resource)| resource).collect();
        Ok(Self {
            gpus: gpus.to_vec(),
            capability,
            resources,
            capacity: survey.capacity,
            paths,
            reducing,
            total,
            pcie_port,
        })
    }
}

/// Whether a switch of the GPU fabric adds what passes it (NVLS).
pub(crate) fn switch_reduces(topology: &Topology, catalogue: &Catalogue, switch: NodeId) -> bool {
    let model = topology.model(switch).and_then(|name| catalogue.switch(name).ok());
    model.and_then(|switch| switch.reduces.as_ref()).is_some_and(|reduces| reduces.value)
}

struct Survey<'a> {
    topology: &'a Topology,
    catalogue: &'a Catalogue,
    constants: Constants<'a>,
    access: &'a PeerAccess,
    gpus: &'a [NodeId],
    index: BTreeMap<Resource, usize>,
    capacity: Vec<f64>,
}

impl<'a> Survey<'a> {
    /// The GPU's model; `None` where the input does not say it.
    fn model(&self, gpu: NodeId) -> Result<Option<&'a Gpu>, PredictError> {
        let Some(name) = self.topology.model(gpu) else { return Ok(None) };
        let model = self.catalogue.gpu(name)?;
        let title = || model.title.clone();
        if model.vendor == "nvidia" { Ok(Some(model)) } else { Err(PredictError::NotNvidia { gpu: title() }) }
    }

    fn capability(&self, gpu: NodeId) -> Result<u16, PredictError> {
        Ok(self.model(gpu)?.and_then(|model| model.compute_capability).unwrap_or(UNKNOWN_CAPABILITY))
    }

    fn resource(&mut self, resource: Resource, capacity: f64) -> usize {
        let next = self.capacity.len();
        let index = *self.index.entry(resource).or_insert(next);
        if index == next {
            self.capacity.push(capacity);
        }
        index
    }

    fn path(&mut self, from: NodeId, to: NodeId) -> Result<Option<Path>, PredictError> {
        let kind = nccl_path(self.topology, from, to);
        match kind {
            NcclPath::Nvl => self.fabric_path(from, to).map(Some),
            NcclPath::Nvb => self.relayed_path(from, to),
            NcclPath::Pix | NcclPath::Pxb | NcclPath::Phb | NcclPath::Sys | NcclPath::C2c => {
                self.host_path(from, to, kind)
            }
            NcclPath::Loc | NcclPath::P2c | NcclPath::Pxn | NcclPath::Net | NcclPath::Dis => Ok(None),
        }
    }

    /// Direct NVLinks, or into the switches and out of them.
    fn fabric_path(&mut self, from: NodeId, to: NodeId) -> Result<Path, PredictError> {
        let is_direct = |link: &Link| link.to == to && self.topology.family(link) == LinkFamily::GpuFabric;
        let direct: Vec<(LinkId, Link)> = self
            .topology
            .links_from(from)
            .filter(|(_, link)| is_direct(link))
            .map(|(id, link)| (id, *link))
            .collect();
        let uses = if let Some((first, _)) = direct.first() {
            let links: u16 = direct.iter().map(|(_, link)| link.count).sum();
            let rate = self.nvlink_rate(from, links)?.min(self.nvlink_rate(to, links)?);
            vec![self.resource(Resource::Link(*first), rate)]
        } else {
            let (out, into) = (self.switched_rate(from)?, self.switched_rate(to)?);
            vec![self.resource(Resource::OutOf(from), out), self.resource(Resource::Into(to), into)]
        };
        let rate = uses.iter().map(|index| self.capacity[*index]).fold(f64::INFINITY, f64::min);
        Ok(Path {
            kind: NcclPath::Nvl,
            uses: uses.into_iter().map(|index| (index, 1.0)).collect(),
            rate,
            staged: false,
        })
    }

    /// NVLinks through the best other GPU.
    fn relayed_path(&mut self, from: NodeId, to: NodeId) -> Result<Option<Path>, PredictError> {
        let mut best: Option<Path> = None;
        for middle in self.gpus.iter().copied().filter(|middle| *middle != from && *middle != to) {
            let both = nccl_path(self.topology, from, middle) == NcclPath::Nvl
                && nccl_path(self.topology, middle, to) == NcclPath::Nvl;
            if !both {
                continue;
            }
            let (first, second) = (self.fabric_path(from, middle)?, self.fabric_path(middle, to)?);
            let rate = first.rate.min(second.rate);
            if best.as_ref().is_none_or(|best| rate > best.rate) {
                let uses = first.uses.into_iter().chain(second.uses).collect();
                best = Some(Path { kind: NcclPath::Nvb, uses, rate, staged: false });
            }
        }
        match best {
            Some(path) => Ok(Some(path)),
            // The relay is not among the chosen GPUs: NCCL does not see it.
            None => self.host_path(from, to, self.host_kind(from, to)),
        }
    }

    fn host_kind(&self, from: NodeId, to: NodeId) -> NcclPath {
        weft_topology::reported_class(self.topology, from, to).map_or(NcclPath::Sys, NcclPath::from)
    }

    /// Over PCIe and, where needed, CPUs.
    fn host_path(&mut self, from: NodeId, to: NodeId, kind: NcclPath) -> Result<Option<Path>, PredictError> {
        let Some(route) = route(self.topology, from, to) else { return Ok(None) };
        let overhead = if kind == NcclPath::Phb && self.is_intel(from) {
            self.constants.only("rules", "intel-p2p-overhead")?
        } else {
            1.0
        };
        let (mut uses, mut rate) = (Vec::new(), f64::INFINITY);
        for id in route.hops.iter().filter_map(|hop| hop.links.first().copied()) {
            let link = *self.topology.link(id);
            let Some(capacity) = self.host_capacity(&link)? else { continue };
            let weight = if self.topology.family(&link) == LinkFamily::Pcie { overhead } else { 1.0 };
            uses.push((self.resource(Resource::Link(id), capacity), weight));
            rate = rate.min(capacity / weight);
        }
        Ok(Some(Path { kind, uses, rate, staged: self.is_staged(from, to, kind)? }))
    }

    /// NCCL's figure for a link of the host; `None` for what it does not count.
    fn host_capacity(&self, link: &Link) -> Result<Option<f64>, PredictError> {
        let name = &self.topology.kind(link.kind).name;
        match self.topology.family(link) {
            LinkFamily::Pcie => {
                let generation = format!("gen{}", name.trim_start_matches("pcie"));
                let lane = self.constants.only("pcie-lane-rate", &generation)?;
                Ok(Some(lane * f64::from(link.count) / 80.0))
            }
            LinkFamily::Socket => Ok(Some(self.constants.only("link-rate", self.socket_row(link.from))?)),
            LinkFamily::Coherent => Ok(Some(link.capacity.as_gigabytes())),
            LinkFamily::OnPackage
            | LinkFamily::GpuFabric
            | LinkFamily::Memory
            | LinkFamily::Network
            | LinkFamily::DisplayBridge => Ok(None),
        }
    }

    /// The row of NCCL's table for the link between two CPUs of this kind.
    fn socket_row(&self, cpu: NodeId) -> &'static str {
        let model = self.topology.model(cpu).and_then(|name| self.catalogue.cpu(name).ok());
        let Some(cpu) = model else { return "cpu-intel-skylake" };
        match (cpu.vendor.as_str(), cpu.name.as_str()) {
            ("amd", _) => "cpu-amd",
            ("ibm", _) => "cpu-power9",
            ("intel", "xeon-haswell" | "xeon-broadwell") => "cpu-intel-broadwell",
            ("intel", "xeon-sapphire-rapids") => "cpu-intel-sapphire-rapids",
            ("intel", "xeon-emerald-rapids" | "xeon-granite-rapids") => "cpu-intel-emerald-rapids",
            ("intel", _) => "cpu-intel-skylake",
            _ if cpu.instruction_set == "aarch64" => "cpu-arm",
            _ => "cpu-intel-skylake",
        }
    }

    fn is_intel(&self, gpu: NodeId) -> bool {
        self.cpu(gpu).is_some_and(|cpu| cpu.vendor == "intel")
    }

    /// The CPU of a GPU's host.
    fn cpu(&self, gpu: NodeId) -> Option<&'a Cpu> {
        let host = self.topology.node(gpu).host;
        let cpu = self.topology.of_kind(NodeKind::Cpu).find(|cpu| self.topology.node(*cpu).host == host)?;
        self.topology.model(cpu).and_then(|name| self.catalogue.cpu(name).ok())
    }

    /// NCCL copies through host memory where the driver allows no peer access, or beyond one PCIe tree
    /// (except two GPUs on an x86 AMD host).
    fn is_staged(&self, from: NodeId, to: NodeId, kind: NcclPath) -> Result<bool, PredictError> {
        if kind <= NcclPath::C2c {
            return Ok(false);
        }
        match self.access {
            PeerAccess::Everywhere => return Ok(false),
            PeerAccess::Refused(pairs) if pairs.contains(&(from, to)) => return Ok(true),
            PeerAccess::AsUsual | PeerAccess::Refused(_) => {}
        }
        for gpu in [from, to] {
            let peer_to_peer = self.model(gpu)?.and_then(|model| model.peer_to_peer.as_ref());
            if peer_to_peer.is_some_and(|peer| !peer.pcie.value) {
                return Ok(true);
            }
        }
        let is_amd_pair = self.gpus.len() == 2 && self.cpu(from).is_some_and(|cpu| cpu.vendor == "amd");
        Ok(kind > NcclPath::Pxb && !is_amd_pair)
    }

    /// What NCCL counts for `links` NVLinks of a GPU.
    fn nvlink_rate(&self, gpu: NodeId, links: u16) -> Result<f64, PredictError> {
        let row = match self.capability(gpu)? {
            100.. => "nvlink-sm100",
            90..100 => "nvlink-sm90",
            86..90 => "nvlink-sm86",
            80..86 => "nvlink-sm80",
            70..80 => "nvlink-sm70",
            60..70 => "nvlink-sm60",
            0..60 => "nvlink-sm80",
        };
        Ok(self.constants.only("link-rate", row)? * f64::from(links))
    }

    fn switched_rate(&self, gpu: NodeId) -> Result<f64, PredictError> {
        let links = self.switches(gpu).map(|(_, count)| count).sum();
        self.nvlink_rate(gpu, links)
    }

    fn switches(&self, gpu: NodeId) -> impl Iterator<Item = (NodeId, u16)> {
        let is_switch = |node| self.topology.node(node).kind == NodeKind::GpuSwitch;
        self.topology
            .links_from(gpu)
            .filter(move |(_, link)| is_switch(link.to))
            .map(|(_, link)| (link.to, link.count))
    }

    /// The least rate into switches that reduce, over all GPUs; `None` unless every GPU has only such.
    fn reducing(&self, gpus: &[NodeId]) -> Result<Option<f64>, PredictError> {
        let mut least = f64::INFINITY;
        for gpu in gpus {
            let mut switches = self.switches(*gpu).peekable();
            if switches.peek().is_none()
                || !switches.all(|(switch, _)| switch_reduces(self.topology, self.catalogue, switch))
            {
                return Ok(None);
            }
            least = least.min(self.switched_rate(*gpu)?);
        }
        Ok(Some(least))
    }

    /// The least over the GPUs of the larger of their NVLinks together and their PCIe port, and the least
    /// PCIe port.
    fn ports(&self, gpus: &[NodeId]) -> Result<(f64, Option<f64>), PredictError> {
        let (mut least, mut least_pcie) = (f64::INFINITY, f64::INFINITY);
        for gpu in gpus {
            let in_reach =
                |node: NodeId| gpus.contains(&node) || self.topology.node(node).kind == NodeKind::GpuSwitch;
            let (mut links, mut pcie) = (0, 0.0);
            for (_, link) in self.topology.links_from(*gpu) {
                match self.topology.family(link) {
                    LinkFamily::GpuFabric if in_reach(link.to) => links += link.count,
                    LinkFamily::Pcie | LinkFamily::Coherent => {
                        pcie = self.host_capacity(link)?.unwrap_or(0.0);
                    }
                    LinkFamily::OnPackage
                    | LinkFamily::GpuFabric
                    | LinkFamily::Socket
                    | LinkFamily::Memory
                    | LinkFamily::Network
                    | LinkFamily::DisplayBridge => {}
                }
            }
            least = least.min(self.nvlink_rate(*gpu, links)?.max(pcie));
            least_pcie = least_pcie.min(pcie);
        }
        Ok((least, Some(least_pcie).filter(|rate| *rate > 0.0)))
    }
}
