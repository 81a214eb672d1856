//! Which NIC a GPU talks over.

use std::collections::BTreeMap;

use weft_collective::Rank;
use weft_topology::{Domains, LinkFamily, NodeId, NodeKind, Topology};

/// The NIC of each rank.
#[derive(Debug, Clone)]
pub struct Exits {
    of_rank: Vec<Option<NodeId>>,
    /// The nearest one, while it lives.
    own: Vec<Option<NodeId>>,
    /// All NICs on a network, by host.
    nics: BTreeMap<Option<u32>, Vec<NodeId>>,
    host: Vec<Option<u32>>,
}

/// The devices of a host, by number.
#[derive(Debug, Clone, Default)]
struct Host {
    gpus: Vec<NodeId>,
    nics: Vec<NodeId>,
}

impl Exits {
    /// Each GPU's nearest NIC that is on a network: the fewest links away, then the fastest way. GPUs that are as near
    /// to the same NICs take them in turn, as NCCL does.
    pub fn new(topology: &Topology, domains: &mut Domains<'_>, gpus: &[NodeId]) -> Self {
        let mut hosts: BTreeMap<Option<u32>, Host> = BTreeMap::new();
        for (id, node) in topology.nodes() {
            let host = hosts.entry(node.host).or_default();
            match node.kind {
                NodeKind::Gpu => host.gpus.push(id),
                NodeKind::Nic if on_network(topology, id) => host.nics.push(id),
                NodeKind::Nic
                | NodeKind::Cpu
                | NodeKind::Memory
                | NodeKind::HostBridge
                | NodeKind::PcieSwitch
                | NodeKind::GpuSwitch
                | NodeKind::NetworkSwitch => {}
            }
        }
        let mut of_gpu: BTreeMap<NodeId, NodeId> = BTreeMap::new();
        for host in hosts.values() {
            let pairs = host.gpus.iter().zip(host.choose(domains));
            of_gpu.extend(pairs.filter_map(|(gpu, nic)| Some((*gpu, nic?))));
        }
        let own: Vec<Option<NodeId>> = gpus.iter().map(|gpu| of_gpu.get(gpu).copied()).collect();
        Self {
            of_rank: own.clone(),
            own,
            nics: hosts.into_iter().map(|(number, host)| (number, host.nics)).collect(),
            host: gpus.iter().map(|gpu| topology.node(*gpu).host).collect(),
        }
    }

    /// The NIC of a rank; `None` where its host has none on a network.
    pub fn of(&self, rank: Rank) -> Option<NodeId> {
        self.of_rank.get(rank.index()).copied().flatten()
    }

    /// Ranks whose NIC is dead take the next one of their host that is not; those that find none keep theirs.
    pub fn avoid(&mut self, dead: impl Fn(NodeId) -> bool) {
        self.of_rank.clone_from(&self.own);
        for (exit, host) in self.of_rank.iter_mut().zip(&self.host) {
            let Some(nic) = exit else { continue };
            let nics = self.nics.get(host).map_or(&[][..], Vec::as_slice);
            if dead(*nic)
                && let Some(at) = nics.iter().position(|other| other == nic)
                && let Some(other) = nics[at..].iter().chain(&nics[..at]).find(|other| !dead(**other))
            {
                *nic = *other;
            }
        }
    }
}

impl Host {
    /// For each GPU its NIC.
    fn choose(&self, domains: &mut Domains<'_>) -> Vec<Option<NodeId>> {
        let mut turns: BTreeMap<Vec<NodeId>, usize> = BTreeMap::new();
        let mut chosen = Vec::new();
        for gpu in &self.gpus {
            let nearest = self.nearest(domains, *gpu);
            let count = nearest.len().max(1);
            let turn = turns.entry(nearest.clone()).or_default();
            chosen.push(nearest.get(*turn % count).copied());
            *turn += 1;
        }
        chosen
    }

    /// The NICs that are nearest to a GPU.
    fn nearest(&self, domains: &mut Domains<'_>, gpu: NodeId) -> Vec<NodeId> {
        let mut distance = |nic: NodeId| {
            let way = domains.route(gpu, nic)?.route;
            Some((way.hops.len(), std::cmp::Reverse(way.rate)))
        };
        let distances: Vec<_> = self.nics.iter().filter_map(|nic| Some((distance(*nic)?, *nic))).collect();
        let best = distances.iter().map(|(distance, _)| *distance).min();
        distances.iter().filter(|(distance, _)| Some(*distance) == best).map(|(_, nic)| *nic).collect()
    }
}

fn on_network(topology: &Topology, nic: NodeId) -> bool {
    topology.links_from(nic).any(|(_, link)| topology.family(link) == LinkFamily::Network)
}
