//! The channels that NCCL chose, from a graph file.

use weft_base::{Rate, Span};

/// A graph file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NcclGraphs {
    /// `version` of the file.
    pub version: u32,
    /// The graphs, in the order of the text.
    pub graphs: Vec<NcclGraph>,
}

/// How one algorithm goes over the machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NcclGraph {
    /// NCCL's number of the algorithm: 0 ring, 1 tree, 2 CollNet chain, 3 NVLS, 4 CollNet direct.
    pub id: u32,
    /// NCCL's number of the pattern: 1 balanced tree, 2 split tree, 3 tree, 4 ring, 5 NVLS, 6 CollNet direct.
    pub pattern: u32,
    /// Whether a channel may enter a host by one NIC and leave by another: 0 no, 1 yes, 2 if it is not slower.
    pub cross_nic: Option<u32>,
    /// Channels that the file claims; [`NcclGraph::channels`] are those that it has.
    pub channel_count: Option<u32>,
    /// What NCCL counts on per channel within a host, in one direction.
    pub speed_intra: Option<Rate>,
    /// What NCCL counts on per channel between hosts, in one direction.
    pub speed_inter: Option<Rate>,
    /// What the network adds to the time of a message.
    pub latency_inter: Option<Span>,
    /// The worst path type within the host: `NVL`, `PIX`, `SYS`.
    pub type_intra: Option<String>,
    /// The worst path type to a NIC.
    pub type_inter: Option<String>,
    /// Whether all channels are the same.
    pub same_channels: Option<bool>,
    /// The channels, in the order of the text.
    pub channels: Vec<NcclChannel>,
    /// Line, from 1.
    pub line: u32,
}

/// One way over the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NcclChannel {
    /// Devices in the order in which data passes them.
    pub ends: Vec<ChannelEnd>,
    /// Line, from 1.
    pub line: u32,
}

/// A device of a channel, by NCCL's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelEnd {
    /// A GPU.
    Gpu(u32),
    /// A network device.
    Net(u32),
}
