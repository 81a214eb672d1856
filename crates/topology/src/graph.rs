//! Nodes and directed half-links in compressed rows; immutable once built.

use weft_base::{Rate, Span};
use weft_catalogue::LinkFamily;

use crate::grid::Grid;

/// A device or a junction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

/// One direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(u32);

/// A kind of link used in one topology.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindId(u16);

macro_rules! dense_id {
    ($($id:ident($int:ty)),*) => {
        $(impl $id {
            /// Position in its table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
            /// The id at `index`; beyond the type's range it saturates, which no table reaches.
            pub(crate) fn at(index: usize) -> Self {
                Self(<$int>::try_from(index).unwrap_or(<$int>::MAX))
            }
        })*
    };
}

dense_id!(NodeId(u32), LinkId(u32), KindId(u16));

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeKind {
    /// A GPU or another accelerator.
    Gpu,
    /// A network adapter.
    Nic,
    /// A CPU socket, or the NUMA node that the driver shows for it.
    Cpu,
    /// The memory of a CPU.
    Memory,
    /// A PCIe host bridge of a CPU.
    HostBridge,
    /// A PCIe switch.
    PcieSwitch,
    /// A switch of the GPU fabric (NVSwitch).
    GpuSwitch,
    /// A network switch.
    NetworkSwitch,
}

impl NodeKind {
    /// The word used in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Gpu => "gpu",
            Self::Nic => "nic",
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::HostBridge => "host-bridge",
            Self::PcieSwitch => "pcie-switch",
            Self::GpuSwitch => "nv-switch",
            Self::NetworkSwitch => "network-switch",
        }
    }

    /// What names of such nodes begin with.
    fn prefix(self) -> &'static str {
        match self {
            Self::Gpu => "GPU",
            Self::Nic => "NIC",
            Self::Cpu => "CPU",
            Self::Memory => "MEM",
            Self::HostBridge => "RC",
            Self::PcieSwitch => "SW",
            Self::GpuSwitch => "NVS",
            Self::NetworkSwitch => "NET",
        }
    }
}

/// A device or a junction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// Its number among the nodes of its kind on its host (or in the rack, or in its tier).
    pub number: u32,
    /// The server that contains it; `None` for what belongs to the rack or the network.
    pub host: Option<u32>,
    /// The socket that it is near; `None` where that means nothing.
    pub socket: Option<u16>,
    /// Index into [`Topology::models`].
    model: Option<u16>,
}

/// One direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Where it begins.
    pub from: NodeId,
    /// Where it ends.
    pub to: NodeId,
    /// Its kind.
    pub kind: KindId,
    /// Lanes (PCIe) or links (all others) that are bundled in it.
    pub count: u16,
    /// What it carries in this direction after the line encoding.
    pub capacity: Rate,
    /// One way over the link, switches not included.
    pub latency: Span,
    /// The other direction.
    pub twin: LinkId,
}

/// A kind of link as used here: a catalogue kind, or one of the few that exist only inside a CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// Catalogue name: `pcie4`, `nvlink3`; `memory` and `root-complex` inside CPUs.
    pub name: String,
    /// In words.
    pub title: String,
    /// What it is for.
    pub family: LinkFamily,
}

/// A graph of devices and links.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Topology {
    nodes: Vec<Node>,
    labels: Vec<(NodeId, String)>,
    links: Vec<Link>,
    first: Vec<u32>,
    kinds: Vec<Kind>,
    models: Vec<String>,
    hosts: u32,
    grids: Vec<Grid>,
}

impl Topology {
    /// All nodes, in order of their ids.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate().map(|(index, node)| (NodeId::at(index), node))
    }

    /// Ids of the nodes of one kind, in order.
    pub fn of_kind(&self, kind: NodeKind) -> impl Iterator<Item = NodeId> {
        self.nodes().filter(move |(_, node)| node.kind == kind).map(|(id, _)| id)
    }

    /// One node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// All half-links, in order of their ids.
    pub fn links(&self) -> impl ExactSizeIterator<Item = (LinkId, &Link)> {
        self.links.iter().enumerate().map(|(index, link)| (LinkId::at(index), link))
    }

    /// One half-link.
    pub fn link(&self, id: LinkId) -> &Link {
        &self.links[id.index()]
    }

    /// Half-links that begin at `node`.
    pub fn links_from(&self, node: NodeId) -> impl ExactSizeIterator<Item = (LinkId, &Link)> {
        let (start, end) = (self.first[node.index()] as usize, self.first[node.index() + 1] as usize);
        self.links[start..end]
            .iter()
            .enumerate()
            .map(move |(offset, link)| (LinkId::at(start + offset), link))
    }

    /// The index of the first half-link that begins at `node`.
    pub(crate) fn first_link(&self, node: NodeId) -> usize {
        self.first[node.index()] as usize
    }

    /// A kind of link.
    pub fn kind(&self, id: KindId) -> &Kind {
        &self.kinds[id.index()]
    }

    /// The family of a half-link.
    pub fn family(&self, link: &Link) -> LinkFamily {
        self.kind(link.kind).family
    }

    /// Catalogue name of a node's model, if known.
    pub fn model(&self, id: NodeId) -> Option<&str> {
        self.node(id).model.map(|index| self.models[usize::from(index)].as_str())
    }

    /// Servers in the topology.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// The tori among its network switches as they were planned, one per plane; links may be missing since.
    pub fn grids(&self) -> &[Grid] {
        &self.grids
    }

    /// A node's name: its label in the input, else `GPU0`, or `host3/GPU0` where there are several hosts.
    pub fn name(&self, id: NodeId) -> String {
        if let Ok(index) = self.labels.binary_search_by_key(&id, |(node, _)| *node) {
            return self.labels[index].1.clone();
        }
        let node = self.node(id);
        match node.host {
            Some(host) if self.hosts > 1 => format!("host{host}/{}{}", node.kind.prefix(), node.number),
            Some(_) | None => format!("{}{}", node.kind.prefix(), node.number),
        }
    }

    /// The node of that name.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.nodes().map(|(id, _)| id).find(|id| self.name(*id) == name)
    }

    /// The same nodes with other links: `state` gives each half-link's count and capacity. A link of which one
    /// direction has nothing left goes in both: neither PCIe nor NVLink trains one way. Link ids change.
    pub(crate) fn with_links(&self, state: impl Fn(LinkId) -> (u16, Rate)) -> Self {
        let states: Vec<(u16, Rate)> = self.links().map(|(id, _)| state(id)).collect();
        let is_up = |id: LinkId| states[id.index()].0 > 0 && states[id.index()].1 > Rate::ZERO;
        let stays = |id: LinkId| is_up(id) && is_up(self.link(id).twin);
        let mut kept_before = Vec::with_capacity(self.links.len());
        let mut links = Vec::with_capacity(self.links.len());
        let mut first = vec![0u32; self.first.len()];
        for (id, link) in self.links() {
            kept_before.push(links.len());
            if stays(id) {
                let (count, capacity) = states[id.index()];
                links.push(Link { count, capacity, ..*link });
                first[link.from.index() + 1] += 1;
            }
        }
        for index in 1..first.len() {
            first[index] += first[index - 1];
        }
        for link in &mut links {
            link.twin = LinkId::at(kept_before[link.twin.index()]);
        }
        Self { links, first, ..self.clone() }
    }

    /// The same topology with nodes called as in the input.
    #[must_use]
    pub fn labelled(mut self, labels: impl IntoIterator<Item = (NodeId, String)>) -> Self {
        self.labels.extend(labels);
        self.labels.sort();
        self.labels.dedup_by_key(|(node, _)| *node);
        self
    }
}

/// A two-way link before it is split into its directions.
#[derive(Debug, Clone, Copy)]
struct Edge {
    a: NodeId,
    b: NodeId,
    kind: KindId,
    count: u16,
    capacity: Rate,
    latency: Span,
}

impl Link {
    /// What a slot holds until its link is laid.
    const UNSET: Self = Self {
        from: NodeId(0),
        to: NodeId(0),
        kind: KindId(0),
        count: 0,
        capacity: Rate::ZERO,
        latency: Span::ZERO,
        twin: LinkId(0),
    };
}

/// Collects nodes and links, then orders them.
#[derive(Debug, Default)]
pub struct GraphBuilder {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    kinds: Vec<Kind>,
    models: Vec<String>,
    hosts: u32,
    grids: Vec<Grid>,
}

impl GraphBuilder {
    /// An empty graph with room for `nodes` nodes and `links` two-way links.
    pub fn with_capacity(nodes: usize, links: usize) -> Self {
        Self { nodes: Vec::with_capacity(nodes), edges: Vec::with_capacity(links), ..Self::default() }
    }

    /// Adds a node of `kind`, `number`ed within its host.
    pub fn node(&mut self, kind: NodeKind, number: u32, host: Option<u32>, socket: Option<u16>) -> NodeId {
        let id = NodeId::at(self.nodes.len());
        self.hosts = self.hosts.max(host.map_or(0, |host| host + 1));
        self.nodes.push(Node { kind, number, host, socket, model: None });
        id
    }

    /// Says what model a node is.
    pub fn set_model(&mut self, node: NodeId, model: &str) {
        let known = self.models.iter().position(|known| known == model).unwrap_or_else(|| {
            self.models.push(model.to_owned());
            self.models.len() - 1
        });
        self.nodes[node.index()].model = u16::try_from(known).ok();
    }

    /// The id of a kind of link, registered on first use.
    pub fn kind(&mut self, name: &str, title: &str, family: LinkFamily) -> KindId {
        let known = self.kinds.iter().position(|kind| kind.name == name).unwrap_or_else(|| {
            self.kinds.push(Kind { name: name.to_owned(), title: title.to_owned(), family });
            self.kinds.len() - 1
        });
        KindId::at(known)
    }

    /// Joins two nodes in both directions with `count` lanes or links that carry `capacity` per direction.
    pub fn connect(&mut self, a: NodeId, b: NodeId, kind: KindId, count: u16, capacity: Rate, latency: Span) {
        self.edges.push(Edge { a, b, kind, count, capacity, latency });
    }

    /// Says that nodes added before are a torus.
    pub(crate) fn add_grid(&mut self, grid: Grid) {
        self.grids.push(grid);
    }

    /// Orders half-links by where they begin (ties: as added) and joins the twins.
    pub fn finish(self) -> Topology {
        let Self { nodes, edges, kinds, models, hosts, grids } = self;
        let mut first = vec![0u32; nodes.len() + 1];
        for edge in &edges {
            first[edge.a.index() + 1] += 1;
            first[edge.b.index() + 1] += 1;
        }
        for index in 1..first.len() {
            first[index] += first[index - 1];
        }
        // A counting sort straight into place: at 131,072 GPUs a second list of half-links would be the
        // largest thing in memory.
        let mut next = first.clone();
        let mut take = |node: NodeId| {
            let slot = &mut next[node.index()];
            *slot += 1;
            LinkId(*slot - 1)
        };
        let mut links = vec![Link::UNSET; 2 * edges.len()];
        for Edge { a, b, kind, count, capacity, latency } in edges {
            let (forth, back) = (take(a), take(b));
            links[forth.index()] = Link { from: a, to: b, kind, count, capacity, latency, twin: back };
            links[back.index()] = Link { from: b, to: a, kind, count, capacity, latency, twin: forth };
        }
        Topology { nodes, labels: Vec::new(), links, first, kinds, models, hosts, grids }
    }
}
