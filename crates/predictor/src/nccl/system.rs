//! One node as NCCL sees it: what each GPU reaches which other and which NIC over, and what is shared on the way.
//!
//! A node is one host, or the hosts whose GPUs one NVLink domain joins.

use std::collections::BTreeMap;

use weft_catalogue::{Catalogue, Form, LinkFamily};
use weft_topology::{LinkId, NcclPath, NodeId, Topology};

use super::constants::Constants;
use super::nics::{self, NicEnd};
use super::survey::{self, Survey};
use crate::PredictError;
use crate::settings::{Library, Settings};

/// Something that traffic shares, in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Resource {
    /// A half-link of the graph.
    Link(LinkId),
    /// All links of a GPU into its switches.
    OutOf(NodeId),
    /// All links of a GPU out of its switches.
    Into(NodeId),
    /// What a NIC sends to the network; by its place in [`System::nics`].
    Sent(usize),
    /// What a NIC receives from it.
    Received(usize),
}

/// The way from one device to another.
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
    /// Everyone, over any distance: a patched driver.
    Everywhere,
    /// Not these pairs (from, to), as `nvidia-smi topo -p2p` shows; the others as usual.
    Refused(Vec<(NodeId, NodeId)>),
}

/// GPUs, NICs, ways between them, and capacities, all in GB/s and one direction.
#[derive(Debug, Clone)]
pub(crate) struct System {
    pub gpus: Vec<NodeId>,
    /// Lowest compute capability among the GPUs, times ten.
    pub capability: u16,
    /// What the rows of AMD's tables end in for these GPUs: `-cdna3`, or nothing.
    pub suffix: &'static str,
    /// Whether the CPUs are AMD's, so that NCCL takes other constants between nodes.
    pub amd_cpus: bool,
    /// Whether they are POWER's.
    pub power_cpus: bool,
    /// Whether they are x86.
    pub x86_cpus: bool,
    /// What is shared.
    pub resources: Vec<Resource>,
    /// What each shared thing carries.
    pub capacity: Vec<f64>,
    paths: Vec<Option<Path>>,
    /// The NICs of the node; empty where only this node takes part.
    pub nics: Vec<NicEnd>,
    /// Rate of each GPU into switches that reduce; `None` unless all GPUs have such.
    pub reducing: Option<f64>,
    /// Whether the GPUs are cards that NVLink bridges join.
    pub bridged: bool,
    /// Whether every pair has a direct link of the GPU fabric, as AMD's modules have.
    pub full_mesh: bool,
    /// The best that one GPU can send: the larger of its NVLinks together and its PCIe port.
    pub total: f64,
    /// The least PCIe port among the GPUs; `None` where some GPU has none.
    pub pcie_port: Option<f64>,
    /// Which of the shared things are half-links of PCIe.
    is_pcie: Vec<bool>,
}

/// What a system is read from.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub topology: &'a Topology,
    pub catalogue: &'a Catalogue,
    pub constants: Constants<'a>,
    pub access: &'a PeerAccess,
    pub settings: &'a Settings,
    /// What the operating system calls the NICs, by their number on a host.
    pub nic_names: &'a [Option<String>],
}

impl System {
    /// The way from the `from`-th to the `to`-th GPU.
    pub fn path(&self, from: usize, to: usize) -> Option<&Path> {
        self.paths[from * self.gpus.len() + to].as_ref()
    }

    /// All ways between two GPUs.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter().flatten()
    }

    /// The best rate of any single way: to a NIC where there are NICs, else to another GPU.
    pub fn best_rate(&self) -> f64 {
        let out = self.nics.iter().flat_map(|nic| nic.out.iter().flatten());
        if self.nics.is_empty() {
            return self.paths().map(|path| path.rate).fold(0.0, f64::max);
        }
        out.map(|path| path.rate).fold(0.0, f64::max)
    }

    /// What the PCIe links of a ring leave to each of the hops on them, and how many hops those of the fullest are.
    pub fn narrowest_pcie(&self, order: &[usize]) -> (f64, f64) {
        let mut weights = vec![0.0; self.capacity.len()];
        let hops = order.iter().zip(order.iter().cycle().skip(1));
        for (index, weight) in hops.filter_map(|(from, to)| self.path(*from, *to)).flat_map(|path| &path.uses)
        {
            weights[*index] += weight;
        }
        let room = |index: usize| (self.capacity[index] / weights[index], weights[index]);
        let used = (0..weights.len()).filter(|index| weights[*index] > 0.0 && self.is_pcie[*index]).map(room);
        used.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::INFINITY, 0.0))
    }

    /// The best and the worst path type between two GPUs; the device itself where there is one GPU.
    pub fn kinds(&self) -> (NcclPath, NcclPath) {
        let kinds = || self.paths().map(|path| path.kind);
        (kinds().min().unwrap_or(NcclPath::Loc), kinds().max().unwrap_or(NcclPath::Loc))
    }

    /// The GPUs of a node, with its NICs where other nodes take part.
    pub fn new(scene: Scene<'_>, gpus: &[NodeId], with_nics: bool) -> Result<Self, PredictError> {
        let Scene { topology, catalogue, constants, access, settings, .. } = scene;
        let (index, capacity) = (BTreeMap::new(), Vec::new());
        let mut survey = Survey { topology, catalogue, constants, access, settings, gpus, index, capacity };
        let capabilities: Vec<u16> =
            gpus.iter().map(|gpu| survey.capability(*gpu)).collect::<Result<_, _>>()?;
        let capability = capabilities.into_iter().min().unwrap_or(0);
        let mut paths = Vec::with_capacity(gpus.len() * gpus.len());
        for from in gpus {
            for to in gpus {
                let path = if from == to { None } else { survey.path(*from, *to)? };
                paths.push(path);
            }
        }
        let nics = if with_nics { nics::of(&mut survey, &paths, scene.nic_names)? } else { Vec::new() };
        let reducing = survey.reducing()?;
        let (total, pcie_port) = survey.ports()?;
        let cpu = gpus.first().and_then(|gpu| survey.cpu(*gpu));
        let is_cdna3 = |gpu: &NodeId| {
            let model = survey.model(*gpu).ok().flatten();
            model.is_some_and(|gpu| gpu.architecture == "cdna3" || gpu.architecture == "cdna4")
        };
        let suffix = if gpus.iter().all(is_cdna3) { "-cdna3" } else { "" };
        let is_card =
            |gpu: &NodeId| survey.model(*gpu).ok().flatten().is_some_and(|gpu| gpu.form == Form::Card);
        let bridged =
            gpus.iter().all(is_card) && paths.iter().flatten().all(|path| path.kind == NcclPath::Nvl);
        let is_direct = |path: &Path| path.kind == NcclPath::Nvl && path.uses.len() == 1;
        let full_mesh = paths.iter().flatten().count() + gpus.len() == paths.len()
            && paths.iter().flatten().all(is_direct);
        let (amd_cpus, power_cpus) =
            (cpu.is_some_and(|cpu| cpu.vendor == "amd"), cpu.is_some_and(|cpu| cpu.vendor == "ibm"));
        let x86_cpus = cpu.is_some_and(|cpu| cpu.instruction_set.starts_with("x86"));
        let mut resources: Vec<(usize, Resource)> =
            survey.index.into_iter().map(|(resource, index)| (index, resource)).collect();
        resources.sort_unstable();
        let resources: Vec<Resource> = resources.into_iter().map(|(_, resource)| resource).collect();
        let is_pcie = |resource: &Resource| match resource {
            Resource::Link(link) => topology.family(topology.link(*link)) == LinkFamily::Pcie,
            Resource::OutOf(_) | Resource::Into(_) | Resource::Sent(_) | Resource::Received(_) => false,
        };
        let is_pcie = resources.iter().map(is_pcie).collect();
        Ok(Self {
            gpus: gpus.to_vec(),
            capability,
            suffix,
            amd_cpus,
            power_cpus,
            x86_cpus,
            resources,
            capacity: survey.capacity,
            paths,
            nics,
            reducing,
            bridged,
            full_mesh,
            total,
            pcie_port,
            is_pcie,
        })
    }
}

/// The library that runs on these GPUs: the one that is set, else the one of their maker.
pub(crate) fn library(
    topology: &Topology,
    catalogue: &Catalogue,
    gpus: &[NodeId],
    settings: &Settings,
) -> Result<Library, PredictError> {
    let own = survey::library(topology, catalogue, gpus)?;
    Ok(settings.library.unwrap_or(own))
}
