//! What NCCL may choose: algorithms, protocols, and one of each with its price.

use weft_base::Bytes;
use weft_collective::Collective;
use weft_topology::NcclPath;

use super::constants::Column;

/// How data is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Algorithm {
    /// Each rank to the next.
    Ring,
    /// Up and down two trees; within one server a chain.
    Tree,
    /// Added by the network's switches, each GPU sending its part to the heads of its host.
    CollnetDirect,
    /// Added by the network's switches, the GPUs of a host in a chain.
    CollnetChain,
    /// Added and copied by the NVSwitches.
    Nvls,
    /// NVSwitches within a host, a tree between hosts.
    NvlsTree,
    /// Trees of all ranks at once, for all-gather and reduce-scatter with one GPU per host.
    Pat,
    /// Kernels for buffers that are registered as symmetric windows.
    Symmetric,
    /// No algorithm: each rank sends to each peer by itself, as in all-to-all.
    Direct,
}

impl Algorithm {
    /// Those that `NCCL_ALGO` can name, in NCCL's order.
    pub const ALL: [Self; 7] = [
        Self::Tree,
        Self::Ring,
        Self::CollnetDirect,
        Self::CollnetChain,
        Self::Nvls,
        Self::NvlsTree,
        Self::Pat,
    ];

    /// NCCL's name of it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ring => "Ring",
            Self::Tree => "Tree",
            Self::CollnetDirect => "CollnetDirect",
            Self::CollnetChain => "CollnetChain",
            Self::Nvls => "NVLS",
            Self::NvlsTree => "NVLSTree",
            Self::Pat => "PAT",
            Self::Symmetric => "Symmetric",
            Self::Direct => "P2P",
        }
    }

    /// The algorithm of that name, whatever its case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(name))
    }

    /// What the rows of the tables are called.
    pub(crate) fn row(self) -> &'static str {
        match self {
            Self::Ring | Self::Direct | Self::Symmetric => "ring",
            Self::Tree => "tree",
            Self::CollnetDirect => "collnet-direct",
            Self::CollnetChain => "collnet-chain",
            Self::Nvls => "nvls",
            Self::NvlsTree => "nvls-tree",
            Self::Pat => "pat",
        }
    }
}

/// How data is synchronised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// A flag with every 4 bytes.
    Ll,
    /// A flag with every 120 bytes; needs NVLink.
    Ll128,
    /// A flag with every chunk.
    Simple,
}

impl Protocol {
    /// All of them, in NCCL's order.
    pub const ALL: [Self; 3] = [Self::Ll, Self::Ll128, Self::Simple];

    /// NCCL's name of it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ll => "LL",
            Self::Ll128 => "LL128",
            Self::Simple => "Simple",
        }
    }

    /// The protocol of that name, whatever its case.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(name))
    }

    pub(crate) fn column(self) -> Column {
        match self {
            Self::Ll => Column::First,
            Self::Ll128 => Column::Second,
            Self::Simple => Column::Third,
        }
    }
}

/// One algorithm with one protocol, priced as NCCL does, and the structure that a model of time needs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Choice {
    pub collective: Collective,
    pub algorithm: Algorithm,
    pub protocol: Protocol,
    /// Channels of the search.
    pub channels: u16,
    /// GB/s of each channel between GPUs of a node.
    pub intra_gbps: f64,
    /// GB/s of each channel to and from the network; as within the node where there is one node.
    pub inter_gbps: f64,
    /// Microseconds to start and end the kernel.
    pub base_us: f64,
    /// Microseconds of one step within a node.
    pub intra_us: f64,
    /// Microseconds of one step between nodes.
    pub inter_us: f64,
    /// Microseconds before the first byte counts, as NCCL prices it.
    pub latency_us: f64,
    /// Steps within a node, one after the other.
    pub steps_intra: u32,
    /// Steps between nodes, one after the other.
    pub steps_inter: u32,
    /// Nodes that take part, in NCCL's sense: hosts, or NVLink domains.
    pub nodes: u32,
    /// GPUs that take part.
    pub ranks: u32,
    /// GPUs of a node; the average where they differ.
    pub ranks_per_node: f64,
    /// Message bytes per second in GB/s, as NCCL prices it.
    pub algbw: f64,
    /// Of sends to all peers: so many rounds for each that passes the narrowest thing; 1 for everything else.
    pub rounds_per_narrow: f64,
    /// The worst path type on the way within a node.
    pub kind: NcclPath,
    /// The worst path type to and from NICs; of the device itself where there is one node.
    pub kind_inter: NcclPath,
    /// Whether some hop is copied through host memory.
    pub staged: bool,
    /// What the price depends on besides latency and bandwidth.
    pub by_size: BySize,
}

/// The row of tables by generation of GPUs with that compute capability, times ten.
pub(crate) fn generation(capability: u16) -> &'static str {
    match capability {
        100.. => "blackwell",
        90..100 => "hopper",
        80..90 => "ampere",
        0..80 => "volta",
    }
}

/// How a price departs from latency + bytes / bandwidth, by size.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct BySize {
    /// Factors on the bandwidth, one for each doubling from 64 B on; 1 beyond the last.
    pub corrections: Vec<f64>,
    /// From so many bytes on the latency counts more.
    pub plateau_bytes: f64,
    /// By this factor; 0 where it never does.
    pub plateau: f64,
}

impl Choice {
    /// Factor on the bandwidth at a size.
    pub fn correction(&self, bytes: Bytes) -> f64 {
        let index = bytes.get().checked_div(64).and_then(u64::checked_ilog2).unwrap_or(0);
        let known = usize::try_from(index).ok().and_then(|index| self.by_size.corrections.get(index));
        known.copied().unwrap_or(1.0)
    }

    /// Latency and bytes over bandwidth, in microseconds.
    pub fn price_us(&self, bytes: Bytes) -> f64 {
        let late = self.by_size.plateau > 0.0 && bytes.as_f64() >= self.by_size.plateau_bytes;
        let factor = if late { self.by_size.plateau } else { 1.0 };
        self.latency_us * factor + bytes.as_f64() / (1000.0 * self.algbw * self.correction(bytes))
    }
}
