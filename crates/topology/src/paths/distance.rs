//! Steps between switches, kept for a bounded number of destinations.

use std::collections::{BTreeSet, VecDeque};

use weft_catalogue::LinkFamily;

use crate::graph::{LinkId, NodeId, NodeKind, Topology};
use crate::grid::Grid;

/// What the tables hold for what is no switch, no class, no way.
const NONE: u32 = u32::MAX;
const FAR: u16 = u16::MAX;
/// Rows that are always kept: more than a NIC has ports, so that none goes while it is needed.
const FEWEST_ROWS: usize = 64;
/// Cells of all rows together, for each link between switches.
const CELLS_PER_LINK: usize = 8;

/// A link between two switches, as its start sees it.
#[derive(Debug, Clone, Copy)]
struct Next {
    link: LinkId,
    switch: u32,
    /// The class of the switch where it ends.
    class: u32,
}

#[derive(Debug)]
pub(super) struct Distances {
    /// The number of each node among the switches, or [`NONE`].
    number: Vec<u32>,
    /// Links between switches in compressed rows, by number of the switch where they begin.
    first: Vec<u32>,
    next: Vec<Next>,
    /// Tier of each switch: 0 where NICs are.
    tier: Vec<u8>,
    /// Switches with the same neighbours are one class: they are two steps apart, and equally far from all others.
    class: Vec<u32>,
    /// Neighbouring classes of each class, in compressed rows.
    class_first: Vec<u32>,
    class_next: Vec<u32>,
    /// The grid of each switch, if all its links are as planned; else [`NONE`].
    grid_of: Vec<u32>,
    grids: Vec<Grid>,
    nodes: Vec<NodeId>,
    /// Steps from every class to the class that the row is of.
    rows: Vec<Option<Box<[u16]>>>,
    /// Classes that have a row, the oldest first.
    kept: VecDeque<u32>,
    most_rows: usize,
}

impl Distances {
    /// Without links that are `dead`, which must be so in both directions.
    pub fn new(topology: &Topology, dead: &BTreeSet<LinkId>) -> Self {
        let nodes: Vec<NodeId> = topology.of_kind(NodeKind::NetworkSwitch).collect();
        let mut number = vec![NONE; topology.nodes().len()];
        for (node, index) in nodes.iter().zip(0u32..) {
            number[node.index()] = index;
        }
        let (mut first, mut next) = (vec![0u32], Vec::new());
        for node in &nodes {
            let links = topology.links_from(*node).filter(|(id, link)| {
                number[link.to.index()] != NONE
                    && topology.family(link) == LinkFamily::Network
                    && !dead.contains(id)
            });
            next.extend(links.map(|(id, link)| Next {
                link: id,
                switch: number[link.to.index()],
                class: NONE,
            }));
            first.push(u32::try_from(next.len()).unwrap_or(NONE));
        }
        let mut distances = Self {
            number,
            first,
            next,
            tier: Vec::new(),
            class: Vec::new(),
            class_first: Vec::new(),
            class_next: Vec::new(),
            grid_of: Vec::new(),
            grids: topology.grids().to_vec(),
            nodes,
            rows: Vec::new(),
            kept: VecDeque::new(),
            most_rows: FEWEST_ROWS,
        };
        distances.find_tiers(topology);
        distances.find_grids();
        distances.find_classes();
        distances
    }

    pub fn is_switch(&self, node: NodeId) -> bool {
        self.number[node.index()] != NONE
    }

    /// Steps between a switch and the nearest one with NICs; `None` for what is no switch.
    pub fn tier(&self, node: NodeId) -> Option<u8> {
        self.tier.get(self.number[node.index()] as usize).copied()
    }

    /// Index of the unbroken grid that a switch belongs to.
    pub fn whole_grid(&self, node: NodeId) -> Option<usize> {
        self.grid_of
            .get(self.number[node.index()] as usize)
            .filter(|grid| **grid != NONE)
            .map(|grid| *grid as usize)
    }

    /// For links above switches of each tier: the ports of a NIC, times the ports up of a switch of each tier below.
    pub fn divisors(&self, topology: &Topology, plane_count: u64) -> Vec<u64> {
        let tiers = self.tier.iter().max().map_or(0, |top| usize::from(*top) + 1);
        let mut most_up = vec![1u64; tiers];
        for (switch, tier) in self.tier.iter().enumerate() {
            let up = self.links(switch).iter().filter(|next| self.tier[next.switch as usize] > *tier);
            let up = up.map(|next| u64::from(topology.link(next.link).count)).sum();
            let most = &mut most_up[usize::from(*tier)];
            *most = (*most).max(up);
        }
        let below = |divisor: &mut u64, up: u64| {
            let own = *divisor;
            *divisor = own.saturating_mul(up);
            Some(own)
        };
        most_up.into_iter().scan(plane_count, below).collect()
    }

    /// Steps to the nearest of the switches at the ends of `ports`; `None` where no way leads to any.
    pub fn nearest(&mut self, at: NodeId, ports: &[(LinkId, NodeId)]) -> Option<u16> {
        let at = self.number[at.index()];
        let leaves = self.load(ports);
        leaves.iter().map(|leaf| self.steps(at, *leaf)).min().filter(|steps| *steps != FAR)
    }

    /// Adds the links of `at` that lead nearer to the nearest of the switches at the ends of `ports`.
    pub fn onward(&mut self, at: NodeId, ports: &[(LinkId, NodeId)], hops: &mut Vec<LinkId>) {
        let at = self.number[at.index()];
        let mut leaves = self.load(ports);
        let best = leaves.iter().map(|leaf| self.steps(at, *leaf)).min().filter(|best| *best != FAR);
        let Some((best, nearer)) = best.and_then(|best| Some((best, best.checked_sub(1)?))) else { return };
        leaves.retain(|leaf| self.steps(at, *leaf) == best);
        let links = self.links(at as usize);
        if let [leaf] = *leaves
            && let Some(row) = &self.rows[self.class[leaf as usize] as usize]
        {
            // The usual case, without looking up again what is the same for all links.
            let class = self.class[leaf as usize];
            let steps = |next: &Next| match (next.switch == leaf, next.class == class) {
                (true, _) => 0,
                (false, true) => 2,
                (false, false) => row[next.class as usize],
            };
            hops.extend(links.iter().filter(|next| steps(next) == nearer).map(|next| next.link));
            return;
        }
        let leads = |next: &&Next| leaves.iter().any(|leaf| self.steps(next.switch, *leaf) == nearer);
        hops.extend(links.iter().filter(leads).map(|next| next.link));
    }

    fn links(&self, switch: usize) -> &[Next] {
        &self.next[self.first[switch] as usize..self.first[switch + 1] as usize]
    }

    /// Makes sure that the steps to all ends of `ports` are known, and gives their numbers.
    fn load(&mut self, ports: &[(LinkId, NodeId)]) -> Vec<u32> {
        let leaves: Vec<u32> = ports.iter().map(|(_, leaf)| self.number[leaf.index()]).collect();
        for leaf in &leaves {
            if self.grid_of[*leaf as usize] == NONE {
                self.load_row(self.class[*leaf as usize]);
            }
        }
        leaves
    }

    fn load_row(&mut self, class: u32) {
        if self.rows[class as usize].is_some() {
            return;
        }
        if self.kept.len() >= self.most_rows
            && let Some(oldest) = self.kept.pop_front()
        {
            self.rows[oldest as usize] = None;
        }
        let mut row = vec![FAR; self.rows.len()].into_boxed_slice();
        row[class as usize] = 0;
        let mut open = VecDeque::from([class]);
        while let Some(at) = open.pop_front() {
            let steps = row[at as usize].saturating_add(1);
            let (start, end) = (self.class_first[at as usize], self.class_first[at as usize + 1]);
            for next in &self.class_next[start as usize..end as usize] {
                if row[*next as usize] == FAR {
                    row[*next as usize] = steps;
                    open.push_back(*next);
                }
            }
        }
        self.rows[class as usize] = Some(row);
        self.kept.push_back(class);
    }

    /// Steps between two switches; the row of the second's class must be loaded unless it is in a grid.
    fn steps(&self, at: u32, leaf: u32) -> u16 {
        if at == leaf {
            return 0;
        }
        let grid = self.grid_of[leaf as usize];
        if grid != NONE {
            if self.grid_of[at as usize] != grid {
                return FAR;
            }
            let ends = (self.nodes[at as usize], self.nodes[leaf as usize]);
            let steps = self.grids[grid as usize].distance(ends.0, ends.1);
            return steps.and_then(|steps| u16::try_from(steps).ok()).unwrap_or(FAR);
        }
        let (class, to) = (self.class[at as usize], self.class[leaf as usize]);
        if class == to {
            // Twins meet at any neighbour.
            return if self.links(at as usize).is_empty() { FAR } else { 2 };
        }
        self.rows[to as usize].as_ref().map_or(FAR, |row| row[class as usize])
    }

    fn find_tiers(&mut self, topology: &Topology) {
        let has_nic = |node: &NodeId| {
            topology.links_from(*node).any(|(_, link)| topology.node(link.to).kind == NodeKind::Nic)
        };
        self.tier = vec![u8::MAX; self.nodes.len()];
        let mut open: VecDeque<usize> =
            self.nodes.iter().enumerate().filter(|(_, node)| has_nic(node)).map(|(index, _)| index).collect();
        for leaf in &open {
            self.tier[*leaf] = 0;
        }
        while let Some(switch) = open.pop_front() {
            let above = self.tier[switch].saturating_add(1);
            for index in self.first[switch]..self.first[switch + 1] {
                let next = self.next[index as usize].switch as usize;
                if self.tier[next] == u8::MAX {
                    self.tier[next] = above;
                    open.push_back(next);
                }
            }
        }
        // Switches that no NIC reaches are on no way.
        for tier in self.tier.iter_mut().filter(|tier| **tier == u8::MAX) {
            *tier = 0;
        }
    }

    /// A grid is whole if its switches have the neighbours that they were planned with, and no others.
    fn find_grids(&mut self) {
        self.grid_of = vec![NONE; self.nodes.len()];
        for (grid, index) in self.grids.iter().zip(0u32..) {
            let members: Vec<u32> = self
                .nodes
                .iter()
                .filter(|node| grid.contains(**node))
                .map(|node| self.number[node.index()])
                .collect();
            let as_planned = |switch: &u32| {
                let mut planned: Vec<u32> = grid
                    .neighbours(self.nodes[*switch as usize])
                    .map(|node| self.number[node.index()])
                    .collect();
                planned.sort_unstable();
                planned == self.neighbours(*switch as usize)
            };
            if members.len() == grid.vertices() && members.iter().all(as_planned) {
                for member in members {
                    self.grid_of[member as usize] = index;
                }
            }
        }
    }

    /// Numbers of the neighbours of a switch, ascending, each once.
    fn neighbours(&self, switch: usize) -> Vec<u32> {
        let mut found: Vec<u32> = self.links(switch).iter().map(|next| next.switch).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    fn find_classes(&mut self) {
        let around: Vec<Vec<u32>> = (0..self.nodes.len()).map(|switch| self.neighbours(switch)).collect();
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_by(|a, b| around[*a].cmp(&around[*b]).then(a.cmp(b)));
        self.class = vec![NONE; self.nodes.len()];
        let mut members = Vec::new();
        for switch in order {
            // Each class is known by its first member.
            if members.last().is_none_or(|known: &usize| around[*known] != around[switch]) {
                members.push(switch);
            }
            self.class[switch] = u32::try_from(members.len() - 1).unwrap_or(NONE);
        }
        for next in &mut self.next {
            next.class = self.class[next.switch as usize];
        }
        self.class_first = vec![0];
        for member in &members {
            let mut classes: Vec<u32> =
                around[*member].iter().map(|next| self.class[*next as usize]).collect();
            classes.sort_unstable();
            classes.dedup();
            self.class_next.extend(classes);
            self.class_first.push(u32::try_from(self.class_next.len()).unwrap_or(NONE));
        }
        self.rows = vec![None; members.len()];
        self.most_rows = (CELLS_PER_LINK * self.next.len() / members.len().max(1)).max(FEWEST_ROWS);
    }
}
