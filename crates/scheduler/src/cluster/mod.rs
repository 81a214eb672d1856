//! The machines: what nodes are alike, where each stands, what its GPUs are joined by.

mod shape;
mod sites;

pub use shape::{DeviceControl, Joined, Shape, Slice};
pub use sites::{LEVELS, Level, Misplaced, Site};

use crate::fleet::{Fleet, NodeKind};

/// A node, by its place in `Cluster::nodes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// As a place in a list.
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// Taints as a set: bit `n` is taint `n` of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Taints(pub u32);

impl Taints {
    /// Whether a pod that tolerates `others` may be on a node with these.
    pub fn within(self, others: Self) -> bool {
        self.0 & !others.0 == 0
    }
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// What it is called.
    pub name: String,
    /// Its shape, by number of `Cluster::shapes`.
    pub shape: usize,
    /// Where it stands.
    pub site: Site,
    /// What keeps pods away that do not tolerate it.
    pub taints: Taints,
}

/// All nodes, and what does not change while jobs run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cluster {
    /// Names of GPU models.
    pub models: Vec<String>,
    /// Nodes that are alike when empty.
    pub shapes: Vec<Shape>,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// Names of taints.
    pub taints: Vec<String>,
}

impl Cluster {
    /// `count` nodes of one shape, `per_leaf` under each leaf and that many leaves under each spine.
    pub fn uniform(
        model: &str,
        kind: NodeKind,
        node_count: u32,
        leaf_node_count: u32,
        spine_leaf_count: u32,
    ) -> Self {
        let site = |at: u32| {
            let leaf = at / leaf_node_count.max(1);
            Site { domain: at, rack: at, leaf, spine: leaf / spine_leaf_count.max(1) }
        };
        let node = |at: u32| Node {
            name: format!("node-{at}"),
            shape: 0,
            site: site(at),
            taints: Taints::default(),
        };
        Self {
            models: vec![model.to_owned()],
            shapes: vec![Shape::switched(kind)],
            nodes: (0..node_count).map(node).collect(),
            taints: Vec::new(),
        }
    }

    /// The shape of a node.
    pub fn shape(&self, node: NodeId) -> &Shape {
        &self.shapes[self.nodes[node.at()].shape]
    }

    /// The domain of that level in which a node is. Domains are numbered from 0 on each level.
    pub fn domain(&self, node: NodeId, level: Level) -> u32 {
        let site = self.nodes[node.at()].site;
        match level {
            Level::Node => node.0,
            Level::Domain => site.domain,
            Level::Rack => site.rack,
            Level::Leaf => site.leaf,
            Level::Spine => site.spine,
            Level::Cluster => 0,
        }
    }

    /// How many domains a level has: one more than the greatest number.
    pub fn domain_count(&self, level: Level) -> u32 {
        let nodes = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        (0..nodes).map(|node| self.domain(NodeId(node), level) + 1).max().unwrap_or(0)
    }

    /// All nodes.
    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)).map(NodeId)
    }

    /// As scorers see it.
    pub fn fleet(&self) -> Fleet {
        Fleet {
            models: self.models.clone(),
            kinds: self.shapes.iter().map(|shape| shape.kind.clone()).collect(),
            nodes: self.nodes.iter().map(|node| node.shape).collect(),
        }
    }

    /// Checks that a finer domain lies in one coarser.
    ///
    /// # Errors
    ///
    /// The first domain that lies in two.
    pub fn check(&self) -> Result<(), Misplaced> {
        sites::check(self)
    }
}
