//! A network as it was discovered: switches, adapters and cables with their ports, and what the switches route.

use weft_base::{Guid, Rate};

/// Switches, adapters and cables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subnet {
    /// Switches and adapters.
    pub nodes: Vec<SubnetNode>,
    /// Cables, each once.
    pub links: Vec<SubnetLink>,
}

/// What a node of a network is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SubnetNodeKind {
    /// A channel adapter: a host's, or the aggregation node inside a switch.
    Adapter,
    /// A switch.
    Switch,
    /// A router between subnets.
    Router,
}

/// A switch or an adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubnetNode {
    /// What it is.
    pub kind: SubnetNodeKind,
    /// Node GUID.
    pub guid: Guid,
    /// Node description: `host-1 mlx5_0`, `MF0;leaf-1:MQM8700/U1`.
    pub name: String,
    /// Physical ports.
    pub ports: u16,
}

/// A cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubnetLink {
    /// One end: index into [`Subnet::nodes`] and port, from 1.
    pub a: (u32, u16),
    /// The other.
    pub b: (u32, u16),
    /// Lanes.
    pub lanes: u8,
    /// What it carries in one direction after the line encoding; `None` where the text does not say.
    pub rate: Option<Rate>,
}

/// Which port a switch sends each destination to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForwardingTable {
    /// GUID of the switch.
    pub switch: Guid,
    /// Output port by destination LID; 0 is the switch itself, 255 a drop.
    pub ports: Vec<(u16, u8)>,
}
