//! The shortest ways over a network, from NIC to NIC.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use weft_base::Span;
use weft_topology::{LinkFamily, LinkId, NodeId, NodeKind, Topology};

use super::choice::{Choice, Crossing};

/// Distances over network links, for each destination that was asked for.
pub(super) struct Ways<'t> {
    topology: &'t Topology,
    /// By the switches to which the destination is attached: links from each node to it.
    to: BTreeMap<Vec<NodeId>, Vec<u16>>,
    /// Links that are not taken.
    dead: BTreeSet<LinkId>,
    /// The number of each NIC among those on the network.
    numbers: BTreeMap<NodeId, usize>,
}

/// A link of a way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step {
    pub link: LinkId,
    /// Which of the links that are bundled in it; `None` where the message is spread over all of them.
    pub port: Option<u16>,
    /// The part of the message that takes it.
    pub share: f64,
}

/// No way leads there.
const NONE: u16 = u16::MAX;

impl<'t> Ways<'t> {
    pub fn new(topology: &'t Topology) -> Self {
        // Switch by switch, so that the destinations below one switch are spread over all ways to it.
        let attached = |nic: &NodeId| {
            let mut links = topology.links_from(*nic);
            links.find(|(_, link)| topology.family(link) == LinkFamily::Network).map(|(_, link)| link.to)
        };
        let mut nics: Vec<_> = topology.of_kind(NodeKind::Nic).map(|nic| (attached(&nic), nic)).collect();
        nics.sort_unstable();
        let numbers = nics.into_iter().enumerate().map(|(number, (_, nic))| (nic, number)).collect();
        Self { topology, to: BTreeMap::new(), dead: BTreeSet::new(), numbers }
    }

    /// Takes none of these links from now on.
    pub fn avoid(&mut self, dead: BTreeSet<LinkId>) {
        self.dead = dead;
        self.to.clear();
    }

    /// The links of a message, and the switches that it passes one after the other (of those
    /// side by side the first); `None` where no way leads there.
    pub fn over(&mut self, choice: Choice, crossing: Crossing) -> Option<(Vec<Step>, Vec<NodeId>)> {
        let (mut links, mut switches) = (Vec::new(), Vec::new());
        let mut front: BTreeMap<NodeId, f64> = BTreeMap::from([(crossing.from, 1.0)]);
        let mut below = 1;
        while !front.contains_key(&crossing.to) {
            if front.is_empty() {
                return None;
            }
            let mut next: BTreeMap<NodeId, f64> = BTreeMap::new();
            let mut widest = 1;
            for (node, share) in front {
                let onwards = self.next(node, crossing.to);
                // Where all ways lead to the same switch, it is not the choice of a tier.
                if !self.all_alike(&onwards) {
                    widest = widest.max(self.ports(&onwards));
                }
                for mut step in self.choose(choice, crossing, node, &onwards, below) {
                    step.share *= share;
                    links.push(step);
                    *next.entry(self.topology.link(step.link).to).or_insert(0.0) += step.share;
                }
            }
            below *= widest;
            front = next;
            let switch = front.keys().next().filter(|node| **node != crossing.to);
            switches.extend(switch);
        }
        Some((links, switches))
    }

    /// What one way takes over its links.
    pub fn latency(&mut self, from: NodeId, to: NodeId) -> Span {
        let (mut node, mut latency) = (from, Span::ZERO);
        while node != to {
            let Some(link) = self.next(node, to).first().copied() else { break };
            latency = latency + self.topology.link(link).latency;
            node = self.topology.link(link).to;
        }
        latency
    }

    /// Which of the links that lead on are taken, and with which part.
    fn choose(
        &self,
        choice: Choice,
        crossing: Crossing,
        node: NodeId,
        onwards: &[LinkId],
        below: usize,
    ) -> Vec<Step> {
        let carries = |link: LinkId| self.topology.link(link).capacity.as_gigabytes();
        let parts = |weight: &dyn Fn(LinkId) -> f64| {
            let total: f64 = onwards.iter().map(|link| weight(*link)).sum();
            let step = |link: &LinkId| Step { link: *link, port: None, share: weight(*link) / total };
            onwards.iter().map(step).collect()
        };
        match choice {
            Choice::ByDestination => {
                let number = self.numbers.get(&crossing.to).copied().unwrap_or(0);
                self.port(onwards, if self.all_alike(onwards) { number } else { number / below })
            }
            Choice::Hash { seed } => {
                let hash = crossing.hash(seed, node) % (self.ports(onwards).max(1) as u64);
                self.port(onwards, usize::try_from(hash).unwrap_or(0))
            }
            Choice::Spray => parts(&|link| f64::from(self.topology.link(link).count)),
            Choice::Adaptive => parts(&carries),
        }
    }

    /// How many links all bundles together are.
    fn ports(&self, onwards: &[LinkId]) -> usize {
        onwards.iter().map(|link| usize::from(self.topology.link(*link).count)).sum()
    }

    /// Whether all of them lead to the same switch.
    fn all_alike(&self, onwards: &[LinkId]) -> bool {
        let mut ends = onwards.iter().map(|link| self.topology.link(*link).to);
        let first = ends.next();
        ends.all(|end| Some(end) == first)
    }

    /// The link of that number among all ports, counted around.
    fn port(&self, onwards: &[LinkId], number: usize) -> Vec<Step> {
        let mut left = number % self.ports(onwards).max(1);
        for link in onwards {
            let count = usize::from(self.topology.link(*link).count);
            if left < count {
                return vec![Step { link: *link, port: u16::try_from(left).ok(), share: 1.0 }];
            }
            left -= count;
        }
        Vec::new()
    }

    /// The links of a node that lead to `to` by a shortest way, in order.
    fn next(&mut self, node: NodeId, to: NodeId) -> Vec<LinkId> {
        let topology = self.topology;
        let direct = |link: LinkId| topology.link(link).to == to;
        let network = |(id, link): (LinkId, &weft_topology::Link)| {
            (topology.family(link) == LinkFamily::Network && !self.dead.contains(&id)).then_some(id)
        };
        let out: Vec<LinkId> = topology.links_from(node).filter_map(network).collect();
        let last: Vec<LinkId> = out.iter().copied().filter(|link| direct(*link)).collect();
        if !last.is_empty() {
            return last;
        }
        let distances = self.distances(to);
        let distance = |link: LinkId| distances[topology.link(link).to.index()];
        let Some(nearest) = out.iter().map(|link| distance(*link)).min().filter(|near| *near != NONE) else {
            return Vec::new();
        };
        out.into_iter().filter(|link| distance(*link) == nearest).collect()
    }

    fn distances(&mut self, to: NodeId) -> &[u16] {
        let topology = self.topology;
        let attached: Vec<NodeId> = topology
            .links_from(to)
            .filter(|(_, link)| {
                topology.family(link) == LinkFamily::Network && !self.dead.contains(&link.twin)
            })
            .map(|(_, link)| link.to)
            .collect();
        let dead = &self.dead;
        self.to.entry(attached.clone()).or_insert_with(|| search(topology, attached, dead))
    }
}

/// Links from each switch to the nearest of `ends`.
fn search(topology: &Topology, ends: Vec<NodeId>, dead: &BTreeSet<LinkId>) -> Vec<u16> {
    let mut distances = vec![NONE; topology.nodes().len()];
    for end in &ends {
        distances[end.index()] = 0;
    }
    let mut open = VecDeque::from(ends);
    while let Some(node) = open.pop_front() {
        let next = distances[node.index()] + 1;
        for (_, link) in topology.links_from(node) {
            // NICs do not forward, so that only switches are on the way. The search goes against the messages.
            let on_network = topology.family(link) == LinkFamily::Network
                && !dead.contains(&link.twin)
                && topology.node(link.to).kind == NodeKind::NetworkSwitch;
            if on_network && distances[link.to.index()] == NONE {
                distances[link.to.index()] = next;
                open.push_back(link.to);
            }
        }
    }
    distances
}
