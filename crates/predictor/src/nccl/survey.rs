//! Reads a host's graph as NCCL does: the type of each path, its rate, and what it shares with others.

use std::collections::BTreeMap;

use weft_catalogue::{Catalogue, Cpu, Gpu, LinkFamily};
use weft_topology::{Link, LinkId, NcclPath, NodeId, NodeKind, Topology, nccl_path, route};

use super::constants::Constants;
use super::system::{Path, PeerAccess, Resource};
use crate::PredictError;
use crate::settings::{Library, Settings};

/// Taken for a GPU that the input does not name: Ampere, the oldest generation that NCCL's newest tables tell
/// apart from the rest and the commonest among PCIe cards.
const UNKNOWN_CAPABILITY: u16 = 80;
/// Taken for AMD's GPUs, which have no compute capability: none of the rules for a generation of NVIDIA's holds.
const AMD_CAPABILITY: u16 = 80;

/// One host, or the hosts of one NVLink domain, while it is looked at.
pub(crate) struct Survey<'a> {
    pub topology: &'a Topology,
    pub catalogue: &'a Catalogue,
    pub constants: Constants<'a>,
    pub access: &'a PeerAccess,
    pub settings: &'a Settings,
    pub gpus: &'a [NodeId],
    pub index: BTreeMap<Resource, usize>,
    pub capacity: Vec<f64>,
}

/// What a way uses, each with its weight, and what it carries.
pub(crate) type Walked = (Vec<(usize, f64)>, f64);

/// Which library runs on these GPUs; AMD's with AMD's, else NVIDIA's.
pub(crate) fn library(
    topology: &Topology,
    catalogue: &Catalogue,
    gpus: &[NodeId],
) -> Result<Library, PredictError> {
    let mut amd = false;
    for gpu in gpus {
        let Some(name) = topology.model(*gpu) else { continue };
        let model = catalogue.gpu(name)?;
        match model.vendor.as_str() {
            "nvidia" => {}
            "amd" => amd = true,
            _ => return Err(PredictError::NoLibrary { gpu: model.title.clone() }),
        }
    }
    Ok(if amd { Library::Rccl } else { Library::Nccl })
}

impl<'a> Survey<'a> {
    /// The GPU's model; `None` where the input does not say it.
    pub fn model(&self, gpu: NodeId) -> Result<Option<&'a Gpu>, PredictError> {
        self.topology.model(gpu).map(|name| self.catalogue.gpu(name)).transpose().map_err(PredictError::from)
    }

    pub fn capability(&self, gpu: NodeId) -> Result<u16, PredictError> {
        Ok(match self.model(gpu)? {
            Some(model) if model.vendor == "amd" => AMD_CAPABILITY,
            Some(model) => model.compute_capability.unwrap_or(UNKNOWN_CAPABILITY),
            None => UNKNOWN_CAPABILITY,
        })
    }

    pub fn resource(&mut self, resource: Resource, capacity: f64) -> usize {
        let next = self.capacity.len();
        let index = *self.index.entry(resource).or_insert(next);
        if index == next {
            self.capacity.push(capacity);
        }
        index
    }

    /// The way between two GPUs.
    pub fn path(&mut self, from: NodeId, to: NodeId) -> Result<Option<Path>, PredictError> {
        let kind = nccl_path(self.topology, from, to);
        let level = self.settings.peer_level.unwrap_or(NcclPath::Dis);
        match kind {
            // Without peer access NVLink is of no use.
            NcclPath::Nvl | NcclPath::Nvb if kind > level => self.staged_path(from, to, NcclPath::Phb),
            NcclPath::Nvl => self.fabric_path(from, to).map(Some),
            NcclPath::Nvb => self.relayed_path(from, to),
            NcclPath::Pix | NcclPath::Pxb | NcclPath::Phb | NcclPath::Sys | NcclPath::C2c => {
                self.host_path(from, to, kind)
            }
            NcclPath::Loc | NcclPath::P2c | NcclPath::Pxn | NcclPath::Net | NcclPath::Dis => Ok(None),
        }
    }

    /// Direct NVLinks, or into the switches and out of them.
    pub fn fabric_path(&mut self, from: NodeId, to: NodeId) -> Result<Path, PredictError> {
        let is_direct = |link: &Link| link.to == to && self.topology.family(link) == LinkFamily::GpuFabric;
        let direct: Vec<(LinkId, Link)> = self
            .topology
            .links_from(from)
            .filter(|(_, link)| is_direct(link))
            .map(|(id, link)| (id, *link))
            .collect();
        let uses = if let Some((first, _)) = direct.first() {
            let links = || direct.iter().map(|(_, link)| link);
            let rate = self.fabric_rate(from, links())?.min(self.fabric_rate(to, links())?);
            vec![self.resource(Resource::Link(*first), rate)]
        } else {
            let (out, into) = (self.switched_rate(from)?, self.switched_rate(to)?);
            vec![self.resource(Resource::OutOf(from), out), self.resource(Resource::Into(to), into)]
        };
        let rate = uses.iter().map(|index| self.capacity[*index]).fold(f64::INFINITY, f64::min);
        let uses = uses.into_iter().map(|index| (index, 1.0)).collect();
        Ok(Path { kind: NcclPath::Nvl, uses, rate, staged: false })
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
        if self.is_staged(from, to, kind)? {
            return self.staged_path(from, to, kind);
        }
        let overhead = self.root_overhead(from, kind)?;
        let Some((uses, rate)) = self.walk(&[from, to], overhead)? else { return Ok(None) };
        Ok(Some(Path { kind, uses, rate, staged: false }))
    }

    /// Through the memory of the receiver's CPU, even between two devices below one switch.
    pub fn staged_path(
        &mut self,
        from: NodeId,
        to: NodeId,
        kind: NcclPath,
    ) -> Result<Option<Path>, PredictError> {
        let across = self.topology.node(from).socket != self.topology.node(to).socket;
        let kind = kind.max(if across { NcclPath::Sys } else { NcclPath::Phb });
        let cpu = self.cpu_of(to).map(|(node, _)| node);
        let stops: Vec<NodeId> = [Some(from), cpu, Some(to)].into_iter().flatten().collect();
        let overhead = self.root_overhead(from, kind)?;
        let Some((uses, rate)) = self.walk(&stops, overhead)? else { return Ok(None) };
        Ok(Some(Path { kind, uses, rate, staged: true }))
    }

    /// Links from stop to stop: what each use weighs, and what the whole carries.
    pub fn walk(&mut self, stops: &[NodeId], overhead_factor: f64) -> Result<Option<Walked>, PredictError> {
        let (mut uses, mut rate) = (Vec::new(), f64::INFINITY);
        for (from, to) in stops.iter().zip(stops.iter().skip(1)) {
            let Some(route) = route(self.topology, *from, *to) else { return Ok(None) };
            for id in route.hops.iter().filter_map(|hop| hop.links.first().copied()) {
                let link = *self.topology.link(id);
                let Some(capacity) = self.host_capacity(&link)? else { continue };
                let weight =
                    if self.topology.family(&link) == LinkFamily::Pcie { overhead_factor } else { 1.0 };
                uses.push((self.resource(Resource::Link(id), capacity), weight));
                rate = rate.min(capacity / weight);
            }
        }
        Ok(Some((uses, rate)))
    }

    /// What traffic of a GPU through an Intel root complex weighs on PCIe.
    pub fn root_overhead(&self, from: NodeId, kind: NcclPath) -> Result<f64, PredictError> {
        let is_gpu = self.topology.node(from).kind == NodeKind::Gpu;
        let is_intel = self.cpu(from).is_some_and(|cpu| cpu.vendor == "intel");
        if kind == NcclPath::Phb && is_gpu && is_intel {
            return self.constants.only("rules", "intel-p2p-overhead");
        }
        Ok(1.0)
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

    /// The CPU that a device hangs off, else the first of its host.
    pub fn cpu_of(&self, device: NodeId) -> Option<(NodeId, &'a str)> {
        let own = self.topology.node(device);
        let cpus = self.topology.of_kind(NodeKind::Cpu);
        let mut on_host = cpus.filter(|cpu| self.topology.node(*cpu).host == own.host).peekable();
        let first = on_host.peek().copied();
        let near = on_host.find(|cpu| self.topology.node(*cpu).socket == own.socket);
        near.or(first).map(|cpu| (cpu, self.topology.model(cpu).unwrap_or_default()))
    }

    /// The model of the CPU of a device's host.
    pub fn cpu(&self, device: NodeId) -> Option<&'a Cpu> {
        self.cpu_of(device).and_then(|(_, name)| self.catalogue.cpu(name).ok())
    }

    /// NCCL copies through host memory where the driver allows no peer access, or beyond one PCIe tree
    /// (except two GPUs on an x86 AMD host), or beyond the level that the user sets.
    fn is_staged(&self, from: NodeId, to: NodeId, kind: NcclPath) -> Result<bool, PredictError> {
        let set = self.settings.peer_level;
        if kind <= NcclPath::C2c {
            return Ok(set.is_some_and(|level| kind > level));
        }
        match self.access {
            PeerAccess::Everywhere => return Ok(set.is_some_and(|level| kind > level)),
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
        let usual = if is_amd_pair { NcclPath::Sys } else { NcclPath::Pxb };
        Ok(kind > set.unwrap_or(usual))
    }

    /// What the library counts for these links of a GPU's fabric.
    fn fabric_rate<'l>(
        &self,
        gpu: NodeId,
        links: impl Iterator<Item = &'l Link>,
    ) -> Result<f64, PredictError> {
        let mut rate = 0.0;
        for link in links {
            rate += self.fabric_link_rate(gpu, link)?;
        }
        Ok(rate)
    }

    fn fabric_link_rate(&self, gpu: NodeId, link: &Link) -> Result<f64, PredictError> {
        let kind = &self.topology.kind(link.kind).name;
        if kind.starts_with("xgmi") {
            // Kinds newer than the tables: what is left of the line after protocol and error correction.
            let after_protocol = || {
                let known = self.catalogue.link(kind).ok().and_then(|known| known.protocol.as_ref());
                link.capacity.as_gigabytes() * known.map_or(1.0, |share| share.value.as_f64())
            };
            let listed = self.constants.only("link-rate", kind).map(|rate| rate * f64::from(link.count));
            return Ok(listed.unwrap_or_else(|_| after_protocol()));
        }
        let row = match self.capability(gpu)? {
            100.. => "nvlink-sm100",
            90..100 => "nvlink-sm90",
            86..90 => "nvlink-sm86",
            80..86 => "nvlink-sm80",
            70..80 => "nvlink-sm70",
            60..70 => "nvlink-sm60",
            0..60 => "nvlink-sm80",
        };
        Ok(self.constants.only("link-rate", row)? * f64::from(link.count))
    }

    pub fn switched_rate(&self, gpu: NodeId) -> Result<f64, PredictError> {
        let is_switch = |node| self.topology.node(node).kind == NodeKind::GpuSwitch;
        let links = self.topology.links_from(gpu).map(|(_, link)| link);
        self.fabric_rate(gpu, links.filter(|link| is_switch(link.to)))
    }

    /// The least rate into switches that reduce, over all GPUs; `None` unless every GPU has only such.
    pub fn reducing(&self) -> Result<Option<f64>, PredictError> {
        let mut least = f64::INFINITY;
        for gpu in self.gpus {
            let links = self.topology.links_from(*gpu).map(|(_, link)| link.to);
            let mut switches =
                links.filter(|node| self.topology.node(*node).kind == NodeKind::GpuSwitch).peekable();
            if switches.peek().is_none()
                || !switches.all(|switch| switch_reduces(self.topology, self.catalogue, switch))
            {
                return Ok(None);
            }
            least = least.min(self.switched_rate(*gpu)?);
        }
        Ok(Some(least))
    }

    /// The least over the GPUs of the larger of their NVLinks together and their PCIe port, and the least
    /// PCIe port.
    pub fn ports(&self) -> Result<(f64, Option<f64>), PredictError> {
        let without_fabric = self.settings.peer_level.is_some_and(|level| level < NcclPath::Nvl);
        let (mut least, mut least_pcie) = (f64::INFINITY, f64::INFINITY);
        for gpu in self.gpus {
            let in_reach = |node: NodeId| {
                self.gpus.contains(&node) || self.topology.node(node).kind == NodeKind::GpuSwitch
            };
            let (mut fabric, mut pcie) = (0.0, 0.0);
            for (_, link) in self.topology.links_from(*gpu) {
                match self.topology.family(link) {
                    LinkFamily::GpuFabric if in_reach(link.to) && !without_fabric => {
                        fabric += self.fabric_link_rate(*gpu, link)?;
                    }
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
            least = least.min(fabric.max(pcie));
            least_pcie = least_pcie.min(pcie);
        }
        Ok((least, Some(least_pcie).filter(|rate| *rate > 0.0)))
    }
}

/// Whether a switch of the GPU fabric adds what passes it (NVLS).
pub(crate) fn switch_reduces(topology: &Topology, catalogue: &Catalogue, switch: NodeId) -> bool {
    let model = topology.model(switch).and_then(|name| catalogue.switch(name).ok());
    model.and_then(|switch| switch.reduces.as_ref()).is_some_and(|reduces| reduces.value)
}
