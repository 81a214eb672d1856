//! A network as it was discovered or planned: switches, adapters and cables with their ports, and what the
//! switches route.

mod check;
mod forwarding;
mod generated;
mod graph;
mod hosts;
mod signalling;
mod summary;

use std::collections::BTreeMap;

use weft_base::{Guid, Rate};

pub use check::SubnetFinding;
pub use forwarding::{Delivery, ForwardingTable, Routes};
pub use hosts::SubnetHost;
pub use signalling::{Generation, NotASignalling, Rates, Signalling};
pub use summary::SubnetLeaf;

/// Switches, adapters and cables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subnet {
    /// Switches, adapters and routers, in the order of the text.
    pub nodes: Vec<SubnetNode>,
    /// Cables, each once, ordered by their first end; see [`Subnet::sort`].
    pub links: Vec<SubnetLink>,
    /// Ports that the text names without a far end: no cable, or no partner that answers.
    pub down: Vec<SubnetEnd>,
}

/// What a node of a network is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SubnetNodeKind {
    /// A channel adapter: a host's, or the aggregation node inside a switch.
    Adapter,
    /// A switch.
    Switch,
    /// A router between subnets.
    Router,
}

impl SubnetNodeKind {
    /// The word used in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Adapter => "adapter",
            Self::Switch => "switch",
            Self::Router => "router",
        }
    }
}

/// A switch, an adapter or a router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubnetNode {
    /// What it is.
    pub kind: SubnetNodeKind,
    /// Node GUID; zero where the text gives only a name.
    pub guid: Guid,
    /// GUID of the box that it is part of, where the text says so.
    pub system_guid: Option<Guid>,
    /// Node description: `host-1 mlx5_0`, `MF0;leaf-1:MQM8700/U1`.
    pub name: String,
    /// Physical ports, used or not.
    pub ports: u16,
    /// LID of the switch itself (its port 0); adapters have theirs at the ends of cables.
    pub lid: Option<u16>,
    /// LID mask control: two to this power LIDs lead to each port.
    pub lmc: u8,
    /// PCI vendor: `0x2c9`.
    pub vendor: Option<u32>,
    /// Device of that vendor: `0xd2f0` is a Quantum switch.
    pub device: Option<u32>,
    /// Line of its header, from 1; 0 where there is no text or only cables name it.
    pub line: u32,
}

impl SubnetNode {
    /// A node of which only this is known.
    pub fn new(kind: SubnetNodeKind, guid: Guid, name: impl Into<String>, ports: u16) -> Self {
        Self {
            kind,
            guid,
            system_guid: None,
            name: name.into(),
            ports,
            lid: None,
            lmc: 0,
            vendor: None,
            device: None,
            line: 0,
        }
    }

    /// Whether it is the part of a switch that reduces (SHARP), which shows itself as an adapter.
    pub fn is_aggregation(&self) -> bool {
        self.kind == SubnetNodeKind::Adapter && self.name.contains("Aggregation Node")
    }
}

/// One end of a cable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SubnetEnd {
    /// Index into [`Subnet::nodes`].
    pub node: u32,
    /// Port, from 1.
    pub port: u16,
    /// LID of the port, or of the switch that it is on.
    pub lid: Option<u16>,
    /// GUID of the port; switches have one for all ports and none here.
    pub guid: Option<Guid>,
    /// Lanes and generation as this end reports them.
    pub signalling: Option<Signalling>,
    /// Line on which this end says that it has the cable, from 1; 0 where it does not say so.
    pub line: u32,
}

impl SubnetEnd {
    /// Port `port` of node `node`.
    pub fn new(node: u32, port: u16) -> Self {
        Self { node, port, ..Self::default() }
    }
}

/// A cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubnetLink {
    /// The end at the lower node, or at the lower port of the same one.
    pub a: SubnetEnd,
    /// The other.
    pub b: SubnetEnd,
    /// Lanes and generation, the slower end's word; `None` where the text does not say.
    pub signalling: Option<Signalling>,
    /// What it carries in one direction after the line encoding; `None` where the text does not say.
    pub rate: Option<Rate>,
    /// What both ends could run, where the text says that it is more.
    pub capability: Option<Signalling>,
}

impl SubnetLink {
    /// A cable that runs what the slower end says.
    pub fn new(a: SubnetEnd, b: SubnetEnd, rates: &Rates) -> Self {
        let (a, b) = if (a.node, a.port) <= (b.node, b.port) { (a, b) } else { (b, a) };
        let signalling = match (a.signalling, b.signalling) {
            (Some(a), Some(b)) => Some(rates.slower(a, b)),
            (a, b) => a.or(b),
        };
        let rate = signalling.and_then(|signalling| rates.of(signalling));
        Self { a, b, signalling, rate, capability: None }
    }

    /// The end at `node`; `None` if it has none there.
    pub fn end_at(&self, node: u32) -> Option<&SubnetEnd> {
        [&self.a, &self.b].into_iter().find(|end| end.node == node)
    }

    /// Both ends, each with the other behind it.
    pub fn directions(&self) -> [(&SubnetEnd, &SubnetEnd); 2] {
        [(&self.a, &self.b), (&self.b, &self.a)]
    }
}

impl Subnet {
    /// Orders cables by their ends, as every reader leaves them.
    pub fn sort(&mut self) {
        let key = |link: &SubnetLink| (link.a.node, link.a.port, link.b.node, link.b.port);
        self.links.sort_by_key(key);
        self.down.sort_by_key(|end| (end.node, end.port));
    }

    /// The node of an end.
    pub fn node(&self, end: &SubnetEnd) -> &SubnetNode {
        &self.nodes[end.node as usize]
    }

    /// Index of each node by its GUID; the first where several have one.
    pub fn by_guid(&self) -> BTreeMap<Guid, u32> {
        let mut found = BTreeMap::new();
        for (node, index) in self.nodes.iter().zip(0u32..) {
            found.entry(node.guid).or_insert(index);
        }
        found
    }

    /// Nodes of one kind, with their indices.
    pub fn of_kind(&self, kind: SubnetNodeKind) -> impl Iterator<Item = (u32, &SubnetNode)> {
        (0u32..).zip(&self.nodes).filter(move |(_, node)| node.kind == kind)
    }

    /// For each node, the indices of its cables in [`Subnet::links`], in order.
    pub fn cables(&self) -> Cables {
        let mut first = vec![0u32; self.nodes.len() + 1];
        for end in self.links.iter().flat_map(|link| [link.a, link.b]) {
            first[end.node as usize + 1] += 1;
        }
        for index in 1..first.len() {
            first[index] += first[index - 1];
        }
        let mut next = first.clone();
        let mut links = vec![0u32; 2 * self.links.len()];
        for (link, index) in self.links.iter().zip(0u32..) {
            for end in [link.a, link.b] {
                let slot = &mut next[end.node as usize];
                links[*slot as usize] = index;
                *slot += 1;
            }
        }
        Cables { first, links }
    }

    /// How many switches lie between each switch and the nearest host: 0 for leaves; `None` for adapters and for
    /// switches that no host reaches.
    pub fn tiers(&self) -> Vec<Option<u8>> {
        let cables = self.cables();
        let is_switch = |node: u32| self.nodes[node as usize].kind == SubnetNodeKind::Switch;
        let far = |node: u32, link: &u32| {
            let link = &self.links[*link as usize];
            if link.a.node == node { link.b.node } else { link.a.node }
        };
        let is_host = |node: u32| {
            let node = &self.nodes[node as usize];
            node.kind == SubnetNodeKind::Adapter && !node.is_aggregation()
        };
        let mut tiers = vec![None; self.nodes.len()];
        let mut open: Vec<u32> = (0u32..)
            .take(self.nodes.len())
            .filter(|node| is_switch(*node))
            .filter(|node| cables.of(*node).iter().any(|link| is_host(far(*node, link))))
            .collect();
        let mut tier = 0u8;
        while !open.is_empty() {
            for node in &open {
                tiers[*node as usize] = Some(tier);
            }
            let mut above = Vec::new();
            for node in &open {
                let next = cables.of(*node).iter().map(|link| far(*node, link));
                above.extend(next.filter(|next| is_switch(*next) && tiers[*next as usize].is_none()));
            }
            above.sort_unstable();
            above.dedup();
            open = above;
            tier = tier.saturating_add(1);
        }
        tiers
    }
}

/// Which cables each node has.
#[derive(Debug, Clone, Default)]
pub struct Cables {
    first: Vec<u32>,
    links: Vec<u32>,
}

impl Cables {
    /// Indices into [`Subnet::links`] of the cables of `node`, in order; both ends of one that returns to it.
    pub fn of(&self, node: u32) -> &[u32] {
        let (start, end) = (self.first[node as usize] as usize, self.first[node as usize + 1] as usize);
        &self.links[start..end]
    }
}
