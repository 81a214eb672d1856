//! What an algorithm may know of the machine: who is near whom, and what the ways between them carry.

use std::fmt;

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
