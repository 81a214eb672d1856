//! What ties GPUs besides PCIe, summed up: banks of switches, trunks between them, direct links.

use std::collections::BTreeMap;

use weft_base::Rate;
use weft_catalogue::LinkFamily;

use crate::graph::{KindId, Link, NodeId, NodeKind, Topology};

/// Switches that join the same GPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bank {
    pub switches: Vec<NodeId>,
    pub gpus: Vec<NodeId>,
    /// One GPU's links to all of them together.
    pub tie: Tie,
    /// The fewest and the most links from one GPU to one switch.
    pub per_switch: (u16, u16),
}

/// Links of one kind between the same two ends, taken together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tie {
    pub kind: KindId,
    pub count: u32,
    pub rate: Rate,
}

/// The summary of some hosts' GPU fabric.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fabric {
    pub banks: Vec<Bank>,
    /// Links between two banks, by index.
    pub trunks: Vec<(usize, usize, Tie)>,
    /// Direct links and bridges between two GPUs, the lower id first.
    pub direct: Vec<(NodeId, NodeId, Tie)>,
}

impl Tie {
    fn of<'a>(links: impl Iterator<Item = &'a Link>) -> Option<Self> {
        links.fold(None, |sum: Option<Self>, link| {
            let (count, rate) = sum.map_or((0, Rate::ZERO), |sum| (sum.count, sum.rate));
            let kind = sum.map_or(link.kind, |sum| sum.kind);
            Some(Self { kind, count: count + u32::from(link.count), rate: rate + link.capacity })
        })
    }
}

/// Sums up what ties the GPUs among `nodes`; switches outside `nodes` count only if listed.
pub(super) fn fabric(topology: &Topology, nodes: &[NodeId]) -> Fabric {
    let mut by_gpus: BTreeMap<Vec<NodeId>, Vec<NodeId>> = BTreeMap::new();
    for switch in nodes.iter().filter(|node| topology.node(**node).kind == NodeKind::GpuSwitch) {
        let mut gpus: Vec<NodeId> = ends(topology, *switch, NodeKind::Gpu).map(|(node, _)| node).collect();
        gpus.sort();
        by_gpus.entry(gpus).or_default().push(*switch);
    }
    let mut banks: Vec<Bank> =
        by_gpus.into_iter().filter_map(|(gpus, switches)| bank(topology, gpus, switches)).collect();
    banks.sort_by_key(|bank| bank.switches.first().copied());
    let trunks = trunks(topology, &banks);
    Fabric { banks, trunks, direct: direct(topology, nodes) }
}

/// Links between switches of different banks, taken together by banks.
fn trunks(topology: &Topology, banks: &[Bank]) -> Vec<(usize, usize, Tie)> {
    let numbered = banks.iter().enumerate();
    let bank_of: BTreeMap<NodeId, usize> =
        numbered.flat_map(|(index, bank)| bank.switches.iter().map(move |switch| (*switch, index))).collect();
    let mut between: BTreeMap<(usize, usize), Vec<&Link>> = BTreeMap::new();
    for (switch, a) in &bank_of {
        for (end, link) in ends(topology, *switch, NodeKind::GpuSwitch) {
            if let Some(b) = bank_of.get(&end).filter(|b| a < b) {
                between.entry((*a, *b)).or_default().push(link);
            }
        }
    }
    let tied = between.into_iter().map(|((a, b), links)| Some((a, b, Tie::of(links.into_iter())?)));
    tied.flatten().collect()
}

fn bank(topology: &Topology, gpus: Vec<NodeId>, switches: Vec<NodeId>) -> Option<Bank> {
    let first = *gpus.first()?;
    let links: Vec<&Link> = ends(topology, first, NodeKind::GpuSwitch)
        .filter(|(end, _)| switches.contains(end))
        .map(|(_, link)| link)
        .collect();
    let tie = Tie::of(links.iter().copied())?;
    let counts = || links.iter().map(|link| link.count);
    let per_switch = (counts().min()?, counts().max()?);
    Some(Bank { switches, gpus, tie, per_switch })
}

fn direct(topology: &Topology, nodes: &[NodeId]) -> Vec<(NodeId, NodeId, Tie)> {
    let mut pairs: BTreeMap<(NodeId, NodeId, KindId), Vec<&Link>> = BTreeMap::new();
    for gpu in nodes.iter().filter(|node| topology.node(**node).kind == NodeKind::Gpu) {
        for (end, link) in ends(topology, *gpu, NodeKind::Gpu).filter(|(end, _)| gpu < end) {
            pairs.entry((*gpu, end, link.kind)).or_default().push(link);
        }
    }
    let tied = |((a, b, _), links): ((NodeId, NodeId, KindId), Vec<&Link>)| {
        Tie::of(links.into_iter()).map(|tie| (a, b, tie))
    };
    pairs.into_iter().filter_map(tied).collect()
}

/// Neighbours of a kind over links between GPUs, bridges that carry only frames among them.
fn ends(topology: &Topology, node: NodeId, kind: NodeKind) -> impl Iterator<Item = (NodeId, &Link)> {
    topology
        .links_from(node)
        .filter(|(_, link)| {
            matches!(topology.family(link), LinkFamily::GpuFabric | LinkFamily::DisplayBridge)
        })
        .map(|(_, link)| (link.to, link))
        .filter(move |(end, _)| topology.node(*end).kind == kind)
}
