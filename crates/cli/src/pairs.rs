//! Pairs of devices: their class, as the input gives it or as the graph has it, and their rate.

use std::collections::BTreeMap;

use weft_base::Rate;
use weft_formats::{EndKind, Matrix, PeerMatrix};
use weft_topology::{KindId, NcclPath, NodeId, NodeKind, ReportedClass, Route, Topology};
use weft_topology::{nccl_path, reported_class, route};

use crate::load::Loaded;

/// A row or column of the matrix.
#[derive(Debug, Clone)]
pub struct End {
    /// Its name in the input.
    pub label: String,
    /// GPU or NIC.
    pub kind: EndKind,
    /// The device in the graph.
    pub node: NodeId,
}

/// What a cell of the matrix says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// The device itself.
    Same,
    /// Not in the input: its row was not there.
    Absent,
    /// In the input, but not understood; or cut off.
    Unknown,
    /// A class.
    Class(ReportedClass),
}

/// The matrix of one host: from the input, else computed.
#[derive(Debug)]
pub struct Pairs<'l> {
    topology: &'l Topology,
    matrix: Option<&'l Matrix>,
    /// The devices, in the order of the input.
    pub ends: Vec<End>,
}

impl<'l> Pairs<'l> {
    /// The matrix of what was loaded.
    pub fn new(loaded: &'l Loaded) -> Self {
        let topology = &loaded.graph.host;
        let matrix = loaded.case.matrix.as_ref().map(|located| &located.value);
        // A machine that is described otherwise need not have the devices of the matrix beside it.
        let matrix = matrix.filter(|matrix| {
            matrix.of_kind(EndKind::Gpu).count() == topology.of_kind(NodeKind::Gpu).count()
                && matrix.of_kind(EndKind::Nic).count() == topology.of_kind(NodeKind::Nic).count()
        });
        let ends = match matrix {
            Some(matrix) => ends_of_matrix(matrix, topology),
            None => ends_of_graph(topology),
        };
        Self { topology, matrix, ends }
    }

    /// Whether the classes were read rather than computed.
    pub fn reported(&self) -> bool {
        self.matrix.is_some()
    }

    /// What stands in that row and column.
    pub fn cell(&self, row: usize, column: usize) -> Cell {
        if row == column {
            return Cell::Same;
        }
        let Some(matrix) = self.matrix else {
            let class = reported_class(self.topology, self.ends[row].node, self.ends[column].node);
            return class.map_or(Cell::Unknown, Cell::Class);
        };
        match matrix.cell(row, column) {
            Some(cell) => cell.class.map_or(Cell::Unknown, Cell::Class),
            None if matrix.ends()[row].has_row => Cell::Unknown,
            None => Cell::Absent,
        }
    }

    /// Rows and columns of one kind.
    pub fn of_kind(&self, kind: EndKind) -> impl Iterator<Item = usize> {
        self.ends.iter().enumerate().filter(move |(_, end)| end.kind == kind).map(|(index, _)| index)
    }

    /// All cells that hold a class: row, column, class.
    pub fn classes(&self) -> impl Iterator<Item = (usize, usize, ReportedClass)> {
        let cells =
            (0..self.ends.len()).flat_map(|row| (0..self.ends.len()).map(move |column| (row, column)));
        cells.filter_map(|(row, column)| match self.cell(row, column) {
            Cell::Class(class) => Some((row, column, class)),
            Cell::Same | Cell::Absent | Cell::Unknown => None,
        })
    }

    /// NCCL's path type of a pair in the graph.
    pub fn path(&self, row: usize, column: usize) -> NcclPath {
        nccl_path(self.topology, self.ends[row].node, self.ends[column].node)
    }

    /// Whether the graph has the pair in that class; where not, its routes are not those of the machine.
    pub fn agrees(&self, row: usize, column: usize, class: ReportedClass) -> bool {
        self.matrix.is_none()
            || reported_class(self.topology, self.ends[row].node, self.ends[column].node) == Some(class)
    }
}

fn ends_of_matrix(matrix: &Matrix, topology: &Topology) -> Vec<End> {
    let mut gpus = topology.of_kind(NodeKind::Gpu);
    let mut nics = topology.of_kind(NodeKind::Nic);
    let end = |end: &weft_formats::End| {
        let node = match end.kind {
            EndKind::Gpu => gpus.next(),
            EndKind::Nic => nics.next(),
        };
        Some(End { label: end.label.clone(), kind: end.kind, node: node? })
    };
    matrix.ends().iter().filter_map(end).collect()
}

fn ends_of_graph(topology: &Topology) -> Vec<End> {
    let end = |kind| move |node| End { label: topology.name(node), kind, node };
    let gpus = topology.of_kind(NodeKind::Gpu).map(end(EndKind::Gpu));
    gpus.chain(topology.of_kind(NodeKind::Nic).map(end(EndKind::Nic))).collect()
}

/// The accesses that were read, where they are all that is known of the pairs.
pub fn only_peers(loaded: &Loaded) -> Option<&PeerMatrix> {
    let peers = loaded.case.peers.first()?;
    let described = loaded.case.matrix.is_some()
        || loaded.case.machine.as_ref().is_some_and(|machine| !machine.pcie.is_empty());
    (!described && loaded.case.gpu_labels == peers.value.ends).then_some(&peers.value)
}

/// Routes, computed once for devices that are attached alike.
#[derive(Debug)]
pub struct Routes<'t> {
    topology: &'t Topology,
    alike: Vec<usize>,
    known: BTreeMap<(usize, usize), Option<Route>>,
}

/// What a device is attached to, and how.
type Attached = (NodeKind, Vec<(NodeId, KindId, u16)>);

impl<'t> Routes<'t> {
    /// Nothing computed yet.
    pub fn new(topology: &'t Topology) -> Self {
        let mut groups: BTreeMap<Attached, usize> = BTreeMap::new();
        let alike = topology
            .nodes()
            .map(|(id, node)| {
                let links = topology.links_from(id).map(|(_, link)| (link.to, link.kind, link.count));
                let next = groups.len();
                *groups.entry((node.kind, links.collect())).or_insert(next)
            })
            .collect();
        Self { topology, alike, known: BTreeMap::new() }
    }

    /// The way from `a` to `b`, or that between two devices attached as they are; `None` where there is none.
    pub fn between(&mut self, a: NodeId, b: NodeId) -> Option<&Route> {
        let key = (self.alike[a.index()], self.alike[b.index()]);
        self.known.entry(key).or_insert_with(|| route(self.topology, a, b)).as_ref()
    }

    /// What the narrowest step of the way carries in one direction.
    pub fn rate(&mut self, a: NodeId, b: NodeId) -> Option<Rate> {
        self.between(a, b).map(|route| route.rate)
    }
}
