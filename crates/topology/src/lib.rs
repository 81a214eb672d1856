//! The graph of devices and links: how a machine becomes a graph, what class each pair of devices is,
//! over which links their traffic goes, which GPUs belong together, and how it is drawn.
//!
//! A link is directed and `twin` joins the two directions; capacities are per direction, always.

mod build;
mod channel;
mod class;
mod classify;
mod domain;
pub mod draw;
mod fabric;
mod graph;
mod grid;
mod island;
mod network;
pub mod oneliner;
mod overlay;
mod paths;
mod pcie;
mod route;
mod separate;
mod subnet;

pub use build::{Assumption, BuildError, Built, build};
pub use channel::{ChannelBudget, channel_budgets};
pub use class::{NcclPath, NotAClass, ReportedClass};
pub use classify::{nccl_path, reported_class};
pub use domain::{Domains, SharedRoute};
pub use graph::{GraphBuilder, Kind, KindId, Link, LinkId, Node, NodeId, NodeKind, Topology};
pub use grid::Grid;
pub use island::{Islands, fabric_islands, islands};
pub use network::{NarrowTier, NetworkCounts, narrow_tiers, network_counts};
pub use overlay::{Health, Overlay};
pub use paths::{Alternatives, Cable, NetworkPaths, Pick, Spread};
pub use route::{Hop, Route, route, widest};
pub use separate::{Separate, separate};
pub use subnet::{
    Cables, Delivery, ForwardingTable, Generation, NotASignalling, Rates, Routes, Signalling, Subnet,
    SubnetEnd, SubnetFinding, SubnetHost, SubnetLeaf, SubnetLink, SubnetNode, SubnetNodeKind,
};

pub use weft_catalogue::LinkFamily;

/// Diagnostic codes of this crate.
pub const CODES: &[weft_base::Code] = oneliner::CODES;
