//! Over which network links a packet can go from one NIC to another: all shortest ways, and the one that a static
//! choice picks.
//!
//! A switch's view is that of a forwarding table: the links that lead on towards a NIC by a shortest way. It is
//! computed when asked for, from distances that are kept for few destinations at a time, so that memory grows with
//! the network alone. Switches with the same neighbours (all leaves of a pod, the cores of a group) share theirs.

mod alternatives;
mod distance;

use std::cmp::min;
use std::collections::BTreeSet;

use crate::graph::{LinkId, NodeId, NodeKind, Topology};
use distance::Distances;

pub use alternatives::Alternatives;

/// One cable of a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cable {
    /// The bundle.
    pub link: LinkId,
    /// Which of its cables, from 0.
    pub number: u16,
}

/// How a switch chooses among the cables of all shortest ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pick {
    /// By the destination alone, as forwarding tables of fat trees do (d-mod-k): NICs of one leaf get uplinks of
    /// their own, so that shifts in a fat tree of full bandwidth meet on no cable.
    Destination,
    /// By a hash of the flow's number and the switch (ECMP): flows may meet on one cable while another is idle.
    Hash {
        /// What tells the flow from others; a caller with a seed of its own mixes that in.
        flow_seed: u64,
    },
    /// In a torus, dimension after dimension, the short way round (upwards where both are equally long).
    DimensionOrder,
}

/// How a message that takes all shortest ways at once is parted at a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Spread {
    /// Every cable gets as much (packet spraying).
    Evenly,
    /// Every link gets as much as it can carry (adaptive routing, settled).
    ByCapacity,
}

/// Shortest ways between the NICs of a topology. Network links and switches alone count: a way leads through no
/// other NIC.
#[derive(Debug)]
pub struct NetworkPaths<'t> {
    topology: &'t Topology,
    /// Links that no way takes, in both directions.
    dead: BTreeSet<LinkId>,
    distances: Distances,
    /// Of each NIC in the order of leaves and of the links on each; of other nodes 0.
    position: Vec<u32>,
    /// What d-mod-k divides a position by for a link above switches of each tier.
    divisors: Vec<u64>,
    /// The last answer.
    hops: Vec<LinkId>,
}

impl<'t> NetworkPaths<'t> {
    /// Looks over the network once; costs time and memory linear in its links.
    pub fn new(topology: &'t Topology) -> Self {
        Self::avoiding(topology, [])
    }

    /// The same where some links are dead. A link that is dead in one direction is so in both: links train, and
    /// are taken down, as a whole.
    pub fn avoiding(topology: &'t Topology, dead: impl IntoIterator<Item = LinkId>) -> Self {
        let dead: BTreeSet<LinkId> =
            dead.into_iter().flat_map(|link| [link, topology.link(link).twin]).collect();
        let distances = Distances::new(topology, &dead);
        let (position, planes) = positions(topology);
        let divisors = distances.divisors(topology, planes);
        Self { topology, dead, distances, position, divisors, hops: Vec::new() }
    }

    /// Links of a shortest way; `None` where there is none. 0 from a NIC to itself.
    pub fn distance(&mut self, from: NodeId, to: NodeId) -> Option<u32> {
        if from == to {
            return Some(0);
        }
        let ports = self.ports(to);
        if self.distances.is_switch(from) {
            return self.distances.nearest(from, &ports).map(|steps| u32::from(steps) + 1);
        }
        let near = self.ports(from).into_iter();
        near.filter_map(|(_, leaf)| self.distances.nearest(leaf, &ports))
            .min()
            .map(|steps| u32::from(steps) + 2)
    }

    /// What stands in the forwarding table of `at`, a switch or a NIC, for the NIC `to`: all links that lead on by a
    /// shortest way, in order. Empty where there is no way.
    pub fn next_hops(&mut self, at: NodeId, to: NodeId) -> &[LinkId] {
        self.find_hops(at, to);
        &self.hops
    }

    /// The way that `pick` chooses, cable by cable; `None` where there is none, for a NIC to itself, and for
    /// [`Pick::DimensionOrder`] where not both NICs are in one unbroken torus.
    pub fn path(&mut self, from: NodeId, to: NodeId, pick: Pick) -> Option<Vec<Cable>> {
        if pick == Pick::DimensionOrder {
            return self.dimension_order(from, to);
        }
        let (mut path, mut at) = (Vec::with_capacity(6), from);
        while at != to {
            self.find_hops(at, to);
            let cable = self.choose(at, to, pick)?;
            path.push(cable);
            at = self.topology.link(cable.link).to;
        }
        (from != to).then_some(path)
    }

    /// All shortest ways, link by link, in the order of their links. There may be a great many: in a torus take some.
    pub fn alternatives(&mut self, from: NodeId, to: NodeId) -> Alternatives<'_, 't> {
        Alternatives::new(self, from, to)
    }

    /// How many ways [`alternatives`](Self::alternatives) lists, at most `u64::MAX`.
    pub fn count(&mut self, from: NodeId, to: NodeId) -> u64 {
        alternatives::count(self, from, to)
    }

    /// What share of a message goes over each link where every switch deals it out over all shortest ways. The shares
    /// of each step add up to 1; there are none where there is no way.
    pub fn shares(&mut self, from: NodeId, to: NodeId, spread: Spread) -> Vec<(LinkId, f64)> {
        alternatives::shares(self, from, to, spread)
    }

    /// The network ports of a NIC: links to switches, with the switches.
    fn ports(&self, nic: NodeId) -> Vec<(LinkId, NodeId)> {
        let links = self.topology.links_from(nic).map(|(id, link)| (id, link.to));
        links.filter(|(id, end)| self.distances.is_switch(*end) && !self.dead.contains(id)).collect()
    }

    fn find_hops(&mut self, at: NodeId, to: NodeId) {
        self.hops.clear();
        if at == to {
            return;
        }
        let ports = self.ports(to);
        if self.distances.is_switch(at) {
            let here = ports.iter().filter(|(_, leaf)| *leaf == at);
            self.hops.extend(here.map(|(port, _)| self.topology.link(*port).twin));
            if self.hops.is_empty() {
                self.distances.onward(at, &ports, &mut self.hops);
            }
            return;
        }
        let mut best = None;
        for (link, leaf) in self.ports(at) {
            let Some(steps) = self.distances.nearest(leaf, &ports) else { continue };
            if best.is_none_or(|best| steps < best) {
                self.hops.clear();
                best = Some(steps);
            }
            if best == Some(steps) {
                self.hops.push(link);
            }
        }
    }

    /// One cable of the links found last.
    fn choose(&self, at: NodeId, to: NodeId, pick: Pick) -> Option<Cable> {
        let first = self.topology.link(*self.hops.first()?);
        let cables: u64 = self.hops.iter().map(|link| u64::from(self.topology.link(*link).count)).sum();
        let chosen = match pick {
            Pick::Destination | Pick::DimensionOrder => {
                let tier = |node| self.distances.tier(node);
                let divisor = match (tier(at), tier(first.to)) {
                    (Some(from), Some(to)) => {
                        self.divisors.get(usize::from(min(from, to))).copied().unwrap_or(1)
                    }
                    // A NIC's ports, or the one link to it.
                    (_, _) => 1,
                };
                u64::from(self.position[to.index()]) / divisor % cables.max(1)
            }
            Pick::Hash { flow_seed } => {
                let mixed = u128::from(mix(flow_seed ^ mix(at.index() as u64)));
                u64::try_from((mixed * u128::from(cables)) >> 64).unwrap_or(0)
            }
        };
        let mut left = chosen;
        for link in &self.hops {
            let count = u64::from(self.topology.link(*link).count);
            if left < count {
                return Some(Cable { link: *link, number: u16::try_from(left).unwrap_or(0) });
            }
            left -= count;
        }
        None
    }

    fn dimension_order(&self, from: NodeId, to: NodeId) -> Option<Vec<Cable>> {
        let ends = self.ports(to);
        let starts = self.ports(from);
        let same = |(_, leaf): &&(LinkId, NodeId)| {
            let grid = self.distances.whole_grid(*leaf);
            grid.is_some() && ends.iter().any(|(_, end)| self.distances.whole_grid(*end) == grid)
        };
        let planes: Vec<&(LinkId, NodeId)> = starts.iter().filter(same).collect();
        let position = self.position[to.index()] as usize;
        let (port, leaf) = **planes.get(position % planes.len().max(1))?;
        let index = self.distances.whole_grid(leaf)?;
        let grid = &self.topology.grids()[index];
        let (last, end) = *ends.iter().find(|(_, end)| self.distances.whole_grid(*end) == Some(index))?;
        let mut path = vec![Cable { link: port, number: 0 }];
        let mut at = leaf;
        for (dimension, size) in grid.sizes().iter().enumerate() {
            let wanted = grid.place(end, dimension)?;
            while let Some(place) = grid.place(at, dimension).filter(|place| *place != wanted) {
                let ahead = (wanted + size - place) % size;
                let next =
                    if 2 * ahead <= *size { grid.next(at, dimension) } else { grid.previous(at, dimension) }?;
                let (link, found) = self.topology.links_from(at).find(|(_, link)| link.to == next)?;
                let number = position / planes.len() % usize::from(found.count.max(1));
                path.push(Cable { link, number: u16::try_from(number).unwrap_or(0) });
                at = next;
            }
        }
        path.push(Cable { link: self.topology.link(last).twin, number: 0 });
        (from != to).then_some(path)
    }
}

/// The place of each NIC in the order of leaves, and the most ports of any.
fn positions(topology: &Topology) -> (Vec<u32>, u64) {
    let mut ports = vec![0u32; topology.nodes().len()];
    let mut position = vec![0u32; topology.nodes().len()];
    let mut next = 0;
    for switch in topology.of_kind(NodeKind::NetworkSwitch) {
        for (_, link) in topology.links_from(switch) {
            if topology.node(link.to).kind != NodeKind::Nic {
                continue;
            }
            let known = &mut ports[link.to.index()];
            if *known == 0 {
                position[link.to.index()] = next;
                next += 1;
            }
            *known += 1;
        }
    }
    let most = ports.into_iter().max().unwrap_or(1).max(1);
    (position, most.into())
}

/// The finaliser of SplitMix64: every bit of the answer depends on every bit of `value`.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
