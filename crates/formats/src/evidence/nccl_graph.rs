//! The channels that NCCL chose, from a graph file.

/// A graph file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NcclGraphs {
    /// `version` of the file.
    pub version: u32,
}
