//! All nodes that take part: one kind of them, or several of which the slowest decides, and how many.
//!
//! Nodes are compared before they are looked at, so that a thousand alike cost as much as one.

use std::collections::BTreeMap;

use weft_catalogue::LinkFamily;
use weft_topology::{NodeId, NodeKind, Topology, fabric_islands};

use super::search::{Channels, Graphs};
use super::system::{Scene, System};
use crate::PredictError;
use crate::settings::Library;

/// Nodes, their channels, and how many there are.
#[derive(Debug, Clone)]
pub(crate) struct Cluster {
    pub library: Library,
    /// The node that decides: the one whose rings carry least.
    pub system: System,
    /// What runs on all of them.
    pub graphs: Graphs,
    /// How many kinds of nodes there are.
    pub kinds: usize,
    /// Hosts, or NVLink domains of several hosts.
    pub nodes: u32,
    pub ranks: u32,
}

impl Cluster {
    pub fn new(scene: Scene<'_>, gpus: &[NodeId], library: Library) -> Result<Self, PredictError> {
        let nodes = nodes(scene.topology, gpus);
        let kinds = kinds(scene.topology, &nodes);
        let with_nics = nodes.len() > 1;
        let mut found: Vec<(System, Graphs)> = Vec::with_capacity(kinds.len());
        for kind in &kinds {
            let system = System::new(scene, &nodes[*kind], with_nics)?;
            let graphs = Graphs::find(&system, library, scene.settings, scene.constants)?;
            let graphs = graphs.ok_or(PredictError::NoPath { gpus: gpus.len() })?;
            found.push((system, graphs));
        }
        let carries = |ring: &Channels| f64::from(ring.count) * ring.inter.min(ring.intra);
        found.sort_by(|a, b| carries(&a.1.ring).total_cmp(&carries(&b.1.ring)));
        let mut found = found.into_iter();
        let (system, mut graphs) = found.next().ok_or(PredictError::TooFewGpus { gpus: gpus.len() })?;
        for (_, other) in found {
            graphs.least(&other);
        }
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let (nodes, ranks) = (count(nodes.len()), count(gpus.len()));
        Ok(Self { library, system, graphs, kinds: kinds.len(), nodes, ranks })
    }
}

/// The GPUs of each node, in order: of one host, or of the hosts that one NVLink domain joins.
pub(crate) fn nodes(topology: &Topology, gpus: &[NodeId]) -> Vec<Vec<NodeId>> {
    let spans = topology
        .of_kind(NodeKind::GpuSwitch)
        .any(|switch| topology.node(switch).host.is_none() && topology.hosts() > 1);
    let mut domain: BTreeMap<NodeId, usize> = BTreeMap::new();
    if spans {
        for (index, island) in fabric_islands(topology).into_iter().enumerate() {
            domain.extend(island.into_iter().map(|gpu| (gpu, index)));
        }
    }
    let mut nodes: BTreeMap<(Option<usize>, Option<u32>), Vec<NodeId>> = BTreeMap::new();
    for gpu in gpus {
        let key = match domain.get(gpu) {
            Some(index) => (Some(*index), None),
            None => (None, topology.node(*gpu).host),
        };
        nodes.entry(key).or_default().push(*gpu);
    }
    nodes.into_values().collect()
}

/// For each kind of node the first that is so.
fn kinds(topology: &Topology, nodes: &[Vec<NodeId>]) -> Vec<usize> {
    if nodes.len() < 2 {
        return (0..nodes.len()).collect();
    }
    let mut by_host: BTreeMap<Option<u32>, Vec<NodeId>> = BTreeMap::new();
    for (id, node) in topology.nodes() {
        by_host.entry(node.host).or_default().push(id);
    }
    let mut known: Vec<(Vec<u64>, usize)> = Vec::new();
    for (index, gpus) in nodes.iter().enumerate() {
        let own = likeness(topology, gpus, &by_host);
        if known.iter().all(|(other, _)| *other != own) {
            known.push((own, index));
        }
    }
    known.into_iter().map(|(_, index)| index).collect()
}

/// Everything by which two nodes may differ, as numbers: which GPUs take part, and each device with its links.
fn likeness(topology: &Topology, gpus: &[NodeId], by_host: &BTreeMap<Option<u32>, Vec<NodeId>>) -> Vec<u64> {
    let number = |id: NodeId| u64::from(topology.node(id).number);
    let mut hosts: Vec<Option<u32>> = gpus.iter().map(|gpu| topology.node(*gpu).host).collect();
    hosts.dedup();
    let mut all: Vec<u64> = gpus.iter().map(|gpu| number(*gpu)).collect();
    let first = by_host.get(&hosts.first().copied().flatten()).and_then(|devices| devices.first());
    for id in hosts.iter().filter_map(|host| by_host.get(host)).flatten() {
        let node = topology.node(*id);
        let model = topology.model(*id).map_or(0, |name| {
            name.bytes().fold(7, |sum: u64, byte| sum.wrapping_mul(131).wrapping_add(u64::from(byte)))
        });
        all.extend([node.kind as u64, number(*id), model]);
        for (_, link) in topology.links_from(*id) {
            // Where in the network or in the rack a link ends does not matter here.
            let inside = topology.node(link.to).host.is_some();
            let end =
                if inside { link.to.index().abs_diff(first.map_or(0, |first| first.index())) } else { 0 };
            let down = u64::from(topology.family(link) == LinkFamily::Network);
            all.extend([end as u64, u64::from(link.count), link.capacity.get(), down]);
        }
    }
    all
}
