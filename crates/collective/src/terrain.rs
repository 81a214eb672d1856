//! What an algorithm may know of the machine: who is near whom, and what the ways between them carry.

use std::fmt;

use crate::Groups;

/// One participant: a GPU. Numbered from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(u32);

impl Rank {
    /// The rank of that number.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }
    /// Its number.
    pub const fn get(self) -> u32 {
        self.0
    }
    /// Its number as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A place in the terrain's graph: ranks come first, in order, then switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vertex(pub u32);

/// What a switch can do besides forwarding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Switch {
    /// Adds numbers on their way (NVLink SHARP, SHARP).
    pub reduces: bool,
    /// Copies one flow to many.
    pub multicasts: bool,
}

/// A way in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// Where it begins.
    pub from: Vertex,
    /// Where it ends.
    pub to: Vertex,
    /// What it carries, as a whole number in a unit that all edges of the terrain share.
    pub capacity: u64,
}

/// One way of grouping ranks: hosts, racks, pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Level {
    /// The field's word: `host`, `rack`, `pod`.
    pub name: &'static str,
    /// The group of each rank, numbered from 0 without gaps.
    pub group_of: Vec<u32>,
}

/// The terrain of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Terrain {
    ranks: u32,
    levels: Vec<Level>,
    switches: Vec<Switch>,
    edges: Vec<Edge>,
}

impl Terrain {
    /// Ranks of which nothing more is known.
    pub fn flat(ranks: u32) -> Self {
        Self { ranks, ..Self::default() }
    }

    /// `hosts` hosts of `per_host` ranks each, in order.
    pub fn hosts(hosts: u32, per_host: u32) -> Self {
        let ranks = hosts * per_host;
        let group_of = (0..ranks).map(|rank| rank / per_host.max(1)).collect();
        Self { ranks, levels: vec![Level { name: "host", group_of }], ..Self::default() }
    }

    /// Hosts of which each has a switch that joins its ranks, and a network switch that joins all ranks: the first of
    /// either pair is what such a switch can do, the second what each of its ways carries.
    pub fn switched(hosts: u32, per_host: u32, inside: (Switch, u64), across: (Switch, u64)) -> Self {
        let ranks = hosts * per_host;
        let mut switches = vec![inside.0; hosts as usize];
        switches.push(across.0);
        let ways = (0..ranks).flat_map(|rank| {
            let host = ranks + rank / per_host.max(1);
            [(rank, host, inside.1), (rank, ranks + hosts, across.1)]
        });
        let edges = ways.flat_map(|(rank, switch, capacity)| {
            let (rank, switch) = (Vertex(rank), Vertex(switch));
            [Edge { from: rank, to: switch, capacity }, Edge { from: switch, to: rank, capacity }]
        });
        Self::hosts(hosts, per_host).with_graph(switches, edges.collect())
    }

    /// Adds a level outside those that are there: each of its groups holds whole groups of the one before.
    #[must_use]
    pub fn with_level(mut self, level: Level) -> Self {
        self.levels.push(level);
        self
    }

    /// Sets the graph. Edges that name a vertex beyond ranks and switches are left out.
    #[must_use]
    pub fn with_graph(mut self, switches: Vec<Switch>, edges: Vec<Edge>) -> Self {
        let vertices = self.ranks as usize + switches.len();
        self.edges = edges;
        self.edges.retain(|edge| (edge.from.0 as usize) < vertices && (edge.to.0 as usize) < vertices);
        self.switches = switches;
        self
    }

    /// How many ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// The groupings, innermost first; the first is by host.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The switches; switch i is vertex `ranks + i`.
    pub fn switches(&self) -> &[Switch] {
        &self.switches
    }

    /// The ways; empty where the graph is not known.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Whether switches that add join each group: its ranks hang on switches between which one need not pass others.
    pub fn reduces_within(&self, groups: &Groups) -> bool {
        Joints::of(self, |switch| switch.reduces).join(groups)
    }

    /// The same of switches that copy.
    pub fn multicasts_within(&self, groups: &Groups) -> bool {
        Joints::of(self, |switch| switch.multicasts).join(groups)
    }

    /// Whether one switch that adds, copies, or does both joins all ranks.
    pub fn joined_by_one(&self, adds: bool, copies: bool) -> bool {
        let able = |switch: &Switch| (switch.reduces || !adds) && (switch.multicasts || !copies);
        let mut ranks = vec![0_u32; self.switches.len()];
        for edge in self.edges.iter().filter(|edge| edge.from.0 < self.ranks) {
            if let Some(count) = self.switch_of(edge.to).and_then(|index| ranks.get_mut(index)) {
                *count += 1;
            }
        }
        self.ranks == 1
            || self.switches.iter().zip(ranks).any(|(switch, ranks)| able(switch) && ranks >= self.ranks)
    }

    /// The switch at a vertex.
    fn switch_of(&self, vertex: Vertex) -> Option<usize> {
        vertex.0.checked_sub(self.ranks).map(|index| index as usize)
    }

    /// The size of every group of a level and the distance between neighbours in it, where ranks are numbered
    /// evenly: `(8, 1)` for hosts of 8. `None` where groups differ in size or are not contiguous.
    pub fn even(&self, level: usize) -> Option<u32> {
        let groups = &self.levels.get(level)?.group_of;
        let size = groups.iter().take_while(|group| **group == 0).count();
        let even = size > 0
            && groups.len().is_multiple_of(size)
            && groups.iter().enumerate().all(|(rank, group)| *group as usize == rank / size);
        even.then(|| u32::try_from(size).ok()).flatten()
    }
}

/// The stretches of switches of some ability on which each rank hangs.
struct Joints {
    of_rank: Vec<Vec<usize>>,
}

impl Joints {
    fn of(terrain: &Terrain, able: fn(&Switch) -> bool) -> Self {
        let switch =
            |vertex| terrain.switch_of(vertex).filter(|index| terrain.switches.get(*index).is_some_and(able));
        let mut parents: Vec<usize> = (0..terrain.switches.len()).collect();
        for edge in &terrain.edges {
            if let (Some(from), Some(to)) = (switch(edge.from), switch(edge.to)) {
                let (from, to) = (root(&parents, from), root(&parents, to));
                // The smaller one stays, so that chains do not depend on the order of edges.
                if let Some(parent) = parents.get_mut(from.max(to)) {
                    *parent = from.min(to);
                }
            }
        }
        let mut of_rank = vec![Vec::new(); terrain.ranks as usize];
        for edge in &terrain.edges {
            if let (Some(joints), Some(to)) = (of_rank.get_mut(edge.from.0 as usize), switch(edge.to)) {
                joints.push(root(&parents, to));
            }
        }
        Self { of_rank }
    }

    /// Whether each group of several ranks hangs on one stretch.
    fn join(&self, groups: &Groups) -> bool {
        let of = |rank: Rank| self.of_rank.get(rank.index()).map_or(&[][..], Vec::as_slice);
        (0..groups.len()).all(|group| {
            let mut members = (0..).map_while(|position| groups.member(group, position));
            let Some(first) = members.next() else { return true };
            let mut common = of(first).to_vec();
            let mut alone = true;
            for member in members {
                alone = false;
                common.retain(|joint| of(member).contains(joint));
            }
            alone || !common.is_empty()
        })
    }
}

/// The switch that stands for all those that `index` is joined with.
fn root(parents: &[usize], mut index: usize) -> usize {
    while let Some(parent) = parents.get(index).filter(|parent| **parent != index) {
        index = *parent;
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: Switch = Switch { reduces: true, multicasts: true };
    const PLAIN: Switch = Switch { reduces: false, multicasts: false };

    #[test]
    fn switches_join_hosts_rails_or_all() {
        let terrain = Terrain::switched(2, 4, (BOTH, 9), (PLAIN, 1));
        assert_eq!((terrain.switches().len(), terrain.edges().len()), (3, 32));
        assert!(terrain.reduces_within(&Groups::even(8, 4, 1)));
        assert!(!terrain.reduces_within(&Groups::even(8, 2, 4)));
        assert!(!terrain.multicasts_within(&Groups::all(8)));
        assert!(!terrain.joined_by_one(true, true));
        let terrain = Terrain::switched(2, 4, (PLAIN, 9), (BOTH, 1));
        assert!(terrain.multicasts_within(&Groups::even(8, 2, 4)));
        assert!(terrain.joined_by_one(true, true));
    }

    #[test]
    fn a_tree_of_switches_joins_what_none_of_them_does() {
        // Ranks 0 and 1 on leaf 3, rank 2 on leaf 4, spine 5 above.
        let pairs = [(0, 3), (1, 3), (2, 4), (3, 5), (4, 5)];
        let edge = |(from, to)| Edge { from: Vertex(from), to: Vertex(to), capacity: 1 };
        let edges = pairs.into_iter().flat_map(|(low, high)| [edge((low, high)), edge((high, low))]);
        let terrain = Terrain::flat(3).with_graph(vec![BOTH; 3], edges.collect());
        assert!(terrain.reduces_within(&Groups::all(3)));
        assert!(!terrain.joined_by_one(true, false));
    }
}
