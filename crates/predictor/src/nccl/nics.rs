//! A node's NICs as NCCL sees them: rate, path type and way to each GPU, through a peer GPU or the CPU where needed.

use std::collections::BTreeMap;

use weft_catalogue::{Gpu, LinkFamily};
use weft_topology::{NcclPath, NodeId, NodeKind, nccl_path};

use super::survey::Survey;
use super::system::{Path, Resource};
use crate::PredictError;

/// What a network speaks, as far as it changes what NCCL does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Net {
    InfiniBand,
    Roce,
    /// Sockets of the kernel: data passes the host's memory.
    Tcp,
    Efa,
    Slingshot,
    OmniPath,
}

impl Net {
    /// By the name of a link kind.
    fn of_link(name: &str) -> Self {
        match name.split('-').next().unwrap_or_default() {
            "infiniband" => Self::InfiniBand,
            "efa" => Self::Efa,
            "slingshot" => Self::Slingshot,
            "omni" => Self::OmniPath,
            "tcp" => Self::Tcp,
            // Ethernet of an adapter that GPUs have beside them is run as RoCE unless it is said otherwise.
            _ => Self::Roce,
        }
    }

    /// Whether NICs can read and write a GPU's memory.
    pub fn has_rdma(self) -> bool {
        match self {
            Self::InfiniBand | Self::Roce | Self::Efa | Self::Slingshot | Self::OmniPath => true,
            Self::Tcp => false,
        }
    }
}

/// A NIC of the node; with several ports it counts as one of their sum.
#[derive(Debug, Clone)]
pub(crate) struct NicEnd {
    /// `None` for one that the input does not name and that is assumed.
    pub node: Option<NodeId>,
    /// NICs that the network's plugin gives the library together with it, as one.
    pub others: Vec<NodeId>,
    /// What the system calls it.
    pub name: String,
    /// What its cable is called, or that it is assumed.
    pub title: String,
    /// The catalogue's name of its model; `None` for one that is assumed.
    pub model: Option<String>,
    /// What NCCL counts in one direction, GB/s.
    pub rate: f64,
    pub net: Net,
    /// The GPU that NCCL gives it to, by its place in the node.
    pub local: usize,
    /// From it to each GPU.
    pub into: Vec<Option<Path>>,
    /// From each GPU to it.
    pub out: Vec<Option<Path>>,
    /// Whether it accesses each GPU's memory directly.
    pub gdr: Vec<bool>,
}

/// Rate, network and node of the NICs that take part, in order.
struct Port {
    node: Option<NodeId>,
    others: Vec<NodeId>,
    name: String,
    title: String,
    rate: f64,
    net: Net,
}

/// The NICs of the node that `survey` looks at. `paths` are the ways between its GPUs.
pub(crate) fn of(
    survey: &mut Survey<'_>,
    paths: &[Option<Path>],
    names: &[Option<String>],
) -> Result<Vec<NicEnd>, PredictError> {
    let mut ports = together(survey, ports(survey, names));
    if ports.is_empty() {
        let rate = survey.constants.only("link-rate", "network-default")?;
        let (name, title) = ("none".to_owned(), "NIC that is assumed".to_owned());
        ports.push(Port { node: None, others: Vec::new(), name, title, rate, net: Net::Tcp });
    }
    let kinds: Vec<Vec<NcclPath>> = ports.iter().map(|port| raw_kinds(survey, port)).collect();
    let mut ends = Vec::with_capacity(ports.len());
    for (index, port) in ports.into_iter().enumerate() {
        let local = local_gpu(&kinds, index);
        ends.push(end(survey, paths, port, index, &kinds[index], local)?);
    }
    Ok(ends)
}

fn raw_kinds(survey: &Survey<'_>, port: &Port) -> Vec<NcclPath> {
    let kind = |gpu: &NodeId| match port.node {
        Some(nic) => nccl_path(survey.topology, *gpu, nic),
        None => NcclPath::Phb,
    };
    survey.gpus.iter().map(kind).collect()
}

/// Of the GPUs nearest to a NIC the one that NCCL gives it to: NICs with the same nearest GPUs take turns.
fn local_gpu(kinds: &[Vec<NcclPath>], nic: usize) -> usize {
    let nearest = |nic: usize| -> Vec<usize> {
        let best = kinds[nic].iter().min();
        (0..kinds[nic].len()).filter(|gpu| Some(&kinds[nic][*gpu]) == best).collect()
    };
    let own = nearest(nic);
    let turn = (0..nic).filter(|other| nearest(*other) == own).count();
    own.get(turn % own.len().max(1)).copied().unwrap_or(0)
}

/// The adapters of the node's hosts: those that are cabled where any is, else those like the first; without those
/// that `NCCL_IB_HCA` leaves out.
fn ports(survey: &Survey<'_>, names: &[Option<String>]) -> Vec<Port> {
    let topology = survey.topology;
    let mut hosts: Vec<Option<u32>> = survey.gpus.iter().map(|gpu| topology.node(*gpu).host).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let nics = || topology.of_kind(NodeKind::Nic).filter(|nic| hosts.contains(&topology.node(*nic).host));
    let cables = |nic: NodeId| {
        let links = topology.links_from(nic).map(|(_, link)| link);
        links.filter(|link| topology.family(link) == LinkFamily::Network)
    };
    let any_cabled = nics().any(|nic| cables(nic).next().is_some());
    let first_model = nics().next().and_then(|nic| topology.model(nic));
    let takes_part = |nic: &NodeId| {
        if any_cabled { cables(*nic).next().is_some() } else { topology.model(*nic) == first_model }
    };
    let mut ports = Vec::new();
    for nic in nics().filter(takes_part) {
        let model = topology.model(nic).and_then(|name| survey.catalogue.nic(name).ok());
        let number = topology.node(nic).number;
        let own_name = usize::try_from(number).ok().and_then(|number| names.get(number).cloned().flatten());
        // Adapters without a name in the input are called as Linux calls Mellanox' in order.
        let name = own_name.unwrap_or_else(|| format!("mlx5_{number}"));
        if survey.settings.hca.as_ref().is_some_and(|filter| !filter.takes(&name)) {
            continue;
        }
        let usual = model.and_then(|model| {
            let link = survey.catalogue.link(model.links.first()?).ok()?;
            Some(((&link.name, &link.title), link.rate(model.ports.value).as_gigabytes()))
        });
        let cabled =
            cables(nic).next().map(|link| topology.kind(link.kind)).map(|kind| (&kind.name, &kind.title));
        let carried: f64 = cables(nic).map(|link| link.capacity.as_gigabytes()).sum();
        let ((kind, title), rate) = match (cabled, usual) {
            (Some(kind), _) => (kind, carried),
            (None, Some(usual)) => usual,
            (None, None) => continue,
        };
        let net = if survey.settings.sockets_only { Net::Tcp } else { Net::of_link(kind) };
        // NCCL reads the nominal rate in whole Gb/s.
        let (title, rate) = (title.clone(), libm::round(rate * 8.0) / 8.0);
        ports.push(Port { node: Some(nic), others: Vec::new(), name, title, rate, net });
    }
    ports
}

/// Elastic Fabric Adapters as the library sees them: where there are more than GPUs, its plugin gives those beside the
/// same GPU as one NIC of their sum (aws-ofi-nccl: `nccl_ofi_topo.c`, groups of NICs).
fn together(survey: &Survey<'_>, ports: Vec<Port>) -> Vec<Port> {
    let are_many = ports.len() > survey.gpus.len() && ports.iter().all(|port| port.net == Net::Efa);
    if !are_many {
        return ports;
    }
    let mut groups: Vec<(Vec<NcclPath>, Port)> = Vec::new();
    for port in ports {
        let kinds = raw_kinds(survey, &port);
        match groups.iter_mut().find(|(known, _)| *known == kinds) {
            Some((_, first)) => {
                first.rate += port.rate;
                first.others.extend(port.node);
            }
            None => groups.push((kinds, port)),
        }
    }
    groups.into_iter().map(|(_, port)| port).collect()
}

fn end(
    survey: &mut Survey<'_>,
    paths: &[Option<Path>],
    port: Port,
    index: usize,
    kinds: &[NcclPath],
    local: usize,
) -> Result<NicEnd, PredictError> {
    let count = survey.gpus.len();
    let sent = survey.resource(Resource::Sent(index), port.rate);
    let received = survey.resource(Resource::Received(index), port.rate);
    let mut end = NicEnd {
        node: port.node,
        others: port.others,
        name: port.name,
        title: port.title,
        model: port.node.and_then(|nic| survey.topology.model(nic)).map(str::to_owned),
        rate: port.rate,
        net: port.net,
        local,
        into: Vec::with_capacity(count),
        out: Vec::with_capacity(count),
        gdr: Vec::with_capacity(count),
    };
    for gpu in 0..count {
        let gdr = has_gdr(survey, survey.gpus[gpu], port.net, kinds[gpu])?;
        let (mut out, mut into) = direct(survey, (end.node, &end.others), survey.gpus[gpu], kinds[gpu], gdr)?;
        if let Some(relayed) = relayed(survey, paths, &end, (gpu, local), kinds, out.as_ref())? {
            out = Some(relayed);
        }
        for (path, resource) in [(&mut out, sent), (&mut into, received)] {
            if let Some(path) = path {
                path.uses.push((resource, 1.0));
                path.rate = path.rate.min(port.rate);
            }
        }
        end.out.push(out);
        end.into.push(into);
        end.gdr.push(gdr);
    }
    Ok(end)
}

/// Whether a NIC of this network accesses the GPU's memory over such a path.
fn has_gdr(survey: &Survey<'_>, gpu: NodeId, net: Net, kind: NcclPath) -> Result<bool, PredictError> {
    // Drivers register the memory of data-center and workstation cards only.
    let registers = |gpu: &Gpu| !gpu.family.starts_with("GeForce");
    let level = survey.settings.gdr_level.unwrap_or(NcclPath::P2c);
    Ok(net.has_rdma() && kind <= level && survey.model(gpu)?.is_none_or(registers))
}

type BothWays = (Option<Path>, Option<Path>);

/// The ways out and in between a GPU and a NIC; through host memory where there is no direct access.
fn direct(
    survey: &mut Survey<'_>,
    (nic, others): (Option<NodeId>, &[NodeId]),
    gpu: NodeId,
    kind: NcclPath,
    gdr: bool,
) -> Result<BothWays, PredictError> {
    let Some(nic) = nic else { return from_cpu(survey, gpu, kind) };
    if !gdr {
        return Ok((survey.staged_path(gpu, nic, kind)?, survey.staged_path(nic, gpu, kind)?));
    }
    let nics: Vec<NodeId> = std::iter::once(nic).chain(others.iter().copied()).collect();
    let out: Vec<[NodeId; 2]> = nics.iter().map(|nic| [gpu, *nic]).collect();
    let back: Vec<[NodeId; 2]> = nics.iter().map(|nic| [*nic, gpu]).collect();
    Ok((beside(survey, &out, kind)?, beside(survey, &back, kind)?))
}

/// Ways of which each carries as much as the others.
fn beside(
    survey: &mut Survey<'_>,
    ways: &[[NodeId; 2]],
    kind: NcclPath,
) -> Result<Option<Path>, PredictError> {
    #[expect(clippy::cast_precision_loss, reason = "a GPU has few NICs")]
    let share = 1.0 / ways.len() as f64;
    let mut weights: BTreeMap<usize, f64> = BTreeMap::new();
    let (mut uses, mut rate) = (Vec::new(), f64::INFINITY);
    for way in ways {
        let overhead = survey.root_overhead(way[0], kind)?;
        let Some((own, alone)) = survey.walk(way, overhead)? else { return Ok(None) };
        rate = rate.min(alone / share);
        for (index, weight) in own {
            *weights.entry(index).or_default() += weight * share;
            uses.push((index, weight * share));
        }
    }
    let room = |(index, weight): (&usize, &f64)| survey.capacity[*index] / weight;
    rate = weights.iter().map(room).fold(rate, f64::min);
    Ok(Some(Path { kind, uses, rate, staged: false }))
}

/// The ways of a NIC that the input does not name: from and to the CPU's memory.
fn from_cpu(survey: &mut Survey<'_>, gpu: NodeId, kind: NcclPath) -> Result<BothWays, PredictError> {
    let Some((cpu, _)) = survey.cpu_of(gpu) else { return Ok((None, None)) };
    let path = |(uses, rate)| Path { kind, uses, rate, staged: true };
    let out = survey.walk(&[gpu, cpu], 1.0)?.map(path);
    Ok((out, survey.walk(&[cpu, gpu], 1.0)?.map(path)))
}

/// To a NIC through the GPU beside it (PXN), where that one is joined by NVLink and the way is wider or avoids CPUs.
fn relayed(
    survey: &mut Survey<'_>,
    paths: &[Option<Path>],
    end: &NicEnd,
    (gpu, local): (usize, usize),
    kinds: &[NcclPath],
    own: Option<&Path>,
) -> Result<Option<Path>, PredictError> {
    let count = survey.gpus.len();
    let hosts = [gpu, local].map(|gpu| survey.topology.node(survey.gpus[gpu]).host);
    let usable = !survey.settings.without_pxn && gpu != local && end.net.has_rdma() && hosts[0] == hosts[1];
    let Some(nic) = end.node.filter(|_| usable && kinds[local] <= NcclPath::P2c) else { return Ok(None) };
    let Some(first) = paths[gpu * count + local].clone().filter(|path| path.kind <= NcclPath::Nvl) else {
        return Ok(None);
    };
    let gdr = has_gdr(survey, survey.gpus[local], end.net, kinds[local])?;
    let (Some(second), _) = direct(survey, (Some(nic), &end.others), survey.gpus[local], kinds[local], gdr)?
    else {
        return Ok(None);
    };
    let wider = own.is_none_or(|own| second.rate > own.rate + 1e-9);
    if !wider && kinds[gpu] <= NcclPath::P2c {
        return Ok(None);
    }
    let rate = first.rate.min(second.rate);
    let uses = first.uses.into_iter().chain(second.uses).collect();
    Ok(Some(Path { kind: NcclPath::Pxn, uses, rate, staged: second.staged }))
}
