//! Over which links two devices talk, and where it is narrow.

use std::collections::{BTreeMap, VecDeque};

use weft_base::{Rate, Span};
use weft_catalogue::LinkFamily;

use crate::graph::{LinkId, NodeId, NodeKind, Topology};

/// One step of a route: all links that are used side by side in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hop {
    /// The links; several where a GPU's links are spread over several switches.
    pub links: Vec<LinkId>,
    /// What they carry together in this direction.
    pub rate: Rate,
    /// The slowest of them.
    pub latency: Span,
}

/// The way from one device to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Its steps, in order.
    pub hops: Vec<Hop>,
    /// What the narrowest step carries in this direction.
    pub rate: Rate,
    /// One way over all links, switches not included.
    pub latency: Span,
    /// Index of the narrowest step; of equal ones the first.
    pub bottleneck: usize,
}

/// The route that GPU traffic takes: GPU-fabric links alone where they lead there, else PCIe, coherent and
/// socket links; through no other GPU, NIC or memory. `None` where there is none, or `from` is `to`.
pub fn route(topology: &Topology, from: NodeId, to: NodeId) -> Option<Route> {
    within_host(topology, from, to).or_else(|| shortest(topology, from, to, any, Passing::NicsAndSwitches))
}

/// The same without network switches: NICs that are cabled to each other alone join hosts.
pub(crate) fn route_inside(topology: &Topology, from: NodeId, to: NodeId) -> Option<Route> {
    within_host(topology, from, to).or_else(|| shortest(topology, from, to, any, Passing::Nics))
}

fn within_host(topology: &Topology, from: NodeId, to: NodeId) -> Option<Route> {
    let fabric = |family| family == LinkFamily::GpuFabric;
    shortest(topology, from, to, fabric, Passing::Neither)
        .or_else(|| shortest(topology, from, to, host, Passing::Neither))
}

fn host(family: LinkFamily) -> bool {
    matches!(family, LinkFamily::Pcie | LinkFamily::OnPackage | LinkFamily::Socket | LinkFamily::Coherent)
}

fn any(family: LinkFamily) -> bool {
    host(family) || family == LinkFamily::Network
}

/// What of a network a way may pass.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Passing {
    Neither,
    Nics,
    NicsAndSwitches,
}

/// All shortest ways within the families that `allowed` admits, taken together.
fn shortest(
    topology: &Topology,
    from: NodeId,
    to: NodeId,
    allowed: impl Fn(LinkFamily) -> bool,
    passing: Passing,
) -> Option<Route> {
    let passable = |node: NodeId| match topology.node(node).kind {
        NodeKind::Gpu | NodeKind::Memory => false,
        NodeKind::Nic => passing != Passing::Neither,
        NodeKind::NetworkSwitch => passing == Passing::NicsAndSwitches,
        NodeKind::Cpu | NodeKind::HostBridge | NodeKind::PcieSwitch | NodeKind::GpuSwitch => true,
    };
    let ending = ending(topology, to, &allowed, &passable);
    let mut near = None;
    let mut distance: BTreeMap<NodeId, usize> = BTreeMap::from([(from, 0)]);
    let mut open = VecDeque::from([from]);
    while let Some(node) = open.pop_front() {
        let next = distance[&node] + 1;
        // Every shortest way enters the ending as soon as the first one does; from there on only that counts.
        if near.is_some_and(|near| next > near) && !ending.contains_key(&node) {
            continue;
        }
        if distance.get(&to).is_some_and(|found| *found < next) || (node != from && !passable(node)) {
            continue;
        }
        for (_, link) in topology.links_from(node).filter(|(_, link)| allowed(topology.family(link))) {
            distance.entry(link.to).or_insert_with(|| {
                if ending.get(&link.to) == Some(&ENDING) && passable(link.to) {
                    near.get_or_insert(next);
                }
                open.push_back(link.to);
                next
            });
        }
    }
    let length = *distance.get(&to).filter(|length| **length > 0)?;
    Some(collect(topology, to, length, &distance, |node, link| {
        allowed(topology.family(link)) && (node == from || passable(node))
    }))
}

/// Steps before the end of a way that are looked at from there: a device, its host bridge, its CPU.
const ENDING: usize = 2;

/// All nodes so near to `to`, with their distance. Where each of many CPUs is joined to each, a search from one
/// side only would go through all of their links for every pair of devices.
fn ending(
    topology: &Topology,
    to: NodeId,
    allowed: &impl Fn(LinkFamily) -> bool,
    passable: &impl Fn(NodeId) -> bool,
) -> BTreeMap<NodeId, usize> {
    let mut known = BTreeMap::from([(to, 0)]);
    let mut last = vec![to];
    for steps in 1..=ENDING {
        let mut next = Vec::new();
        for node in last.into_iter().filter(|node| *node == to || passable(*node)) {
            for (_, link) in topology.links_from(node).filter(|(_, link)| allowed(topology.family(link))) {
                known.entry(link.to).or_insert_with(|| {
                    next.push(link.to);
                    steps
                });
            }
        }
        last = next;
    }
    known
}

/// Walks back from `to`: the links of each step are those that lead to the next step's nodes, from nodes
/// that traffic may pass and over links that it may use.
fn collect(
    topology: &Topology,
    to: NodeId,
    length: usize,
    distance: &BTreeMap<NodeId, usize>,
    open: impl Fn(NodeId, &crate::Link) -> bool,
) -> Route {
    let mut hops = Vec::with_capacity(length);
    let mut heads = vec![to];
    for step in (0..length).rev() {
        let mut links: Vec<LinkId> = Vec::new();
        let mut tails: Vec<NodeId> = Vec::new();
        for head in &heads {
            for (_, back) in topology.links_from(*head) {
                if distance.get(&back.to) == Some(&step) && open(back.to, back) {
                    links.push(back.twin);
                    tails.push(back.to);
                }
            }
        }
        tails.sort();
        tails.dedup();
        let rate = links.iter().map(|link| topology.link(*link).capacity).sum();
        let latency = links.iter().map(|link| topology.link(*link).latency).max().unwrap_or_default();
        hops.push(Hop { links, rate, latency });
        heads = tails;
    }
    hops.reverse();
    let rate = hops.iter().map(|hop| hop.rate).min().unwrap_or_default();
    let bottleneck = hops.iter().position(|hop| hop.rate == rate).unwrap_or(0);
    let latency = hops.iter().map(|hop| hop.latency).sum();
    Route { hops, rate, latency, bottleneck }
}

/// The best rate of any single way from `from` to `to` over any links that carry data, and that way's links.
///
/// Unlike [`route`], it may pass through other GPUs: the bound for a program that relays.
pub fn widest(topology: &Topology, from: NodeId, to: NodeId) -> Option<(Rate, Vec<LinkId>)> {
    let mut best: BTreeMap<NodeId, (Rate, Option<LinkId>)> =
        BTreeMap::from([(from, (Rate::bytes_per_second(u64::MAX), None))]);
    let mut open: std::collections::BinaryHeap<(Rate, std::cmp::Reverse<NodeId>)> =
        [(Rate::bytes_per_second(u64::MAX), std::cmp::Reverse(from))].into();
    while let Some((rate, std::cmp::Reverse(node))) = open.pop() {
        if rate < best[&node].0 {
            continue;
        }
        let carries = |link: &crate::Link| topology.family(link) != LinkFamily::DisplayBridge;
        for (id, link) in topology.links_from(node).filter(|(_, link)| carries(link)) {
            let through = rate.min(link.capacity);
            if best.get(&link.to).is_none_or(|(known, _)| through > *known) {
                best.insert(link.to, (through, Some(id)));
                open.push((through, std::cmp::Reverse(link.to)));
            }
        }
    }
    let rate = best.get(&to)?.0;
    let mut links = Vec::new();
    let mut node = to;
    while let Some(link) = best[&node].1 {
        links.push(link);
        node = topology.link(link).from;
    }
    links.reverse();
    (from != to).then_some((rate, links))
}
