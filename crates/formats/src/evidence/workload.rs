//! A recorded training step.

use weft_base::{Bytes, Span};

/// An execution trace of one rank.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Workload {
    /// The name of the format: `chakra`.
    pub format: &'static str,
    /// `version` of the trace, or of its schema; empty where it says neither.
    pub version: String,
    /// Nodes by kind; kinds without a node are left out.
    pub counts: Vec<WorkloadCount>,
    /// Collectives, each kind, size and group once, in the order in which they first occur.
    pub collectives: Vec<WorkloadCollective>,
    /// Process groups that communication names, in the order in which they first occur.
    pub groups: Vec<String>,
    /// Time of compute nodes on accelerators, added up; they may overlap.
    pub compute_time: Span,
    /// Time of compute nodes on the CPU, added up.
    pub host_time: Span,
    /// Time of communication on accelerators, added up.
    pub communication_time: Span,
    /// Dependencies between nodes.
    pub dependencies: usize,
    /// Whether no node waits for itself through others and for none that is not there, so that it can be replayed.
    pub is_complete: bool,
}

/// What a node of a trace is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkloadNodeKind {
    /// Of no valid kind.
    Invalid,
    /// About the trace.
    Metadata,
    /// A load from memory.
    MemoryLoad,
    /// A store to memory.
    MemoryStore,
    /// A computation.
    Compute,
    /// A send to one rank.
    Send,
    /// A receive from one rank.
    Receive,
    /// A collective.
    Collective,
}

impl WorkloadNodeKind {
    /// All kinds; a kind's index is its number in Chakra.
    pub const ALL: [Self; 8] = [
        Self::Invalid,
        Self::Metadata,
        Self::MemoryLoad,
        Self::MemoryStore,
        Self::Compute,
        Self::Send,
        Self::Receive,
        Self::Collective,
    ];

    /// The word used in JSON and text.
    pub fn word(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Metadata => "metadata",
            Self::MemoryLoad => "memory-load",
            Self::MemoryStore => "memory-store",
            Self::Compute => "compute",
            Self::Send => "send",
            Self::Receive => "receive",
            Self::Collective => "collective",
        }
    }
}

/// Nodes of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkloadCount {
    /// The kind.
    pub kind: WorkloadNodeKind,
    /// How many.
    pub count: u64,
    /// Their time, added up.
    pub time: Span,
}

/// Collectives of one kind, size and group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadCollective {
    /// The collective: `all-reduce`; `None` where the trace does not say.
    pub kind: Option<String>,
    /// Size, as the trace counts it; `None` where it does not say.
    pub bytes: Option<Bytes>,
    /// The process group; `None` where the trace names none.
    pub group: Option<String>,
    /// How many.
    pub count: u64,
    /// Their time, added up.
    pub time: Span,
}
