//! What breaks.

use weft_base::{Moment, Period};

use crate::cluster::{Cluster, Level, NodeId};

/// What breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trouble {
    /// A node: all that runs there is lost.
    Node(NodeId),
    /// A GPU; what the driver says of it (Xid), if that is known.
    Gpu(NodeId, u8, Option<u32>),
    /// A network adapter: jobs that span nodes lose their members on this one, others go on.
    Nic(NodeId),
    /// The link of a node, for a short time: jobs that span nodes wait for it, or die if it takes too long.
    Flap(NodeId),
    /// A leaf, by number: as if all its nodes lost their adapters.
    Leaf(u32),
    /// A rack, by number: all its nodes.
    Rack(u32),
    /// The members of whoever is on that GPU crash; the GPU is well.
    Crash(NodeId, u8),
}

impl Trouble {
    /// Whether the cluster has what breaks.
    pub fn is_in(self, cluster: &Cluster) -> bool {
        let has = |node: NodeId| node.at() < cluster.nodes.len();
        match self {
            Self::Node(node) | Self::Nic(node) | Self::Flap(node) => has(node),
            Self::Gpu(node, gpu, _) | Self::Crash(node, gpu) => {
                has(node) && gpu < cluster.shape(node).kind.gpu_count
            }
            Self::Leaf(leaf) => leaf < cluster.domain_count(Level::Leaf),
            Self::Rack(rack) => rack < cluster.domain_count(Level::Rack),
        }
    }
}

/// Something breaks for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fault {
    /// When.
    pub at: Moment,
    /// What.
    pub what: Trouble,
    /// Until it is well again.
    pub lasts: Period,
}
