//! Kinds of links: what one lane signals, what survives the encoding, what programs reach.

use serde::Deserialize;
use weft_base::{Loss, Rate, Ratio, Span, TransferRate};

use crate::Fact;

/// What a link is for; a new family breaks the build where it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkFamily {
    /// Between dies of one package.
    OnPackage,
    /// Between GPUs or from a GPU to a GPU switch: NVLink, xGMI between GPUs, ICI, UALink.
    GpuFabric,
    /// Cache-coherent between a CPU and a GPU: NVLink-C2C.
    Coherent,
    /// PCI Express.
    Pcie,
    /// Between CPU sockets: QPI, UPI, Infinity Fabric.
    Socket,
    /// From a CPU to its memory.
    Memory,
    /// Between servers: InfiniBand, Ethernet, Omni-Path, Slingshot, EFA.
    Network,
    /// Carries rendered frames, not programs' data: SLI and CrossFire bridges.
    DisplayBridge,
}

impl LinkFamily {
    /// The word used in text and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::OnPackage => "on-package",
            Self::GpuFabric => "gpu-fabric",
            Self::Coherent => "coherent",
            Self::Pcie => "pcie",
            Self::Socket => "socket",
            Self::Memory => "memory",
            Self::Network => "network",
            Self::DisplayBridge => "display-bridge",
        }
    }

    /// `count` lanes or links of a kind called `title`, in words: `PCIe 4.0 x16`, `12 x NVLink 3`.
    pub fn bundle(self, title: &str, count: u32) -> String {
        match self {
            Self::Pcie => format!("{title} x{count}"),
            Self::OnPackage | Self::Memory => title.to_owned(),
            Self::DisplayBridge => format!("{title} (frames only)"),
            Self::GpuFabric | Self::Coherent | Self::Socket | Self::Network => format!("{count} x {title}"),
        }
    }
}

/// One kind of link, described per lane and per link; every rate is one direction.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkKind {
    /// The file's name: `nvlink3`, `pcie4`, `infiniband-ndr`.
    pub name: String,
    /// As the vendor writes it.
    pub title: String,
    /// What it is for.
    pub family: LinkFamily,
    /// Other spellings people use.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// First year on sale, or expected.
    #[serde(default)]
    pub year: Option<u16>,
    /// Signalling rate of one lane in one direction.
    pub lane: Fact<TransferRate>,
    /// Lanes in one link (NVLink3: 4). 1 where links are sold by the lane (PCIe).
    pub lanes: Fact<u16>,
    /// Lane counts that exist, for links sold by the lane (PCIe: 1 2 4 8 16).
    #[serde(default)]
    pub widths: Vec<u16>,
    /// What survives the line encoding (`8/10`, `128/130`); absent if `lane` is already net.
    #[serde(default)]
    pub encoding: Option<Fact<Ratio>>,
    /// What survives packet headers and flow control at the usual payload, of the encoded rate.
    #[serde(default)]
    pub protocol: Option<Fact<Ratio>>,
    /// What well-tuned programs reach with large messages, of the encoded rate.
    #[serde(default)]
    pub achieved: Option<Fact<Ratio>>,
    /// One way over the link itself, without switches.
    #[serde(default)]
    pub latency: Option<Fact<Span>>,
    /// Loss that the channel between two chips may have at the Nyquist frequency, without a retimer.
    #[serde(default)]
    pub channel_budget: Option<Fact<Loss>>,
    /// What a reader should know.
    #[serde(default)]
    pub note: Option<String>,
}

impl LinkKind {
    /// What `count` lanes (PCIe) or links (all others) carry in one direction after the encoding:
    /// the figure that datasheets mean by "per direction".
    pub fn rate(&self, count: u16) -> Rate {
        let encoding = self.encoding.as_ref().map_or(Ratio::ONE, |fact| fact.value);
        self.lane.value.rate(self.lanes.value.saturating_mul(count), encoding)
    }

    /// What programs can expect of [`rate`](Self::rate): achieved where known, else after the protocol.
    pub fn usable(&self, count: u16) -> Rate {
        let fact = self.achieved.as_ref().or(self.protocol.as_ref());
        fact.map_or(self.rate(count), |fact| self.rate(count).times(fact.value))
    }
}

/// A retimer: restores a signal at the price of latency.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retimer {
    /// The file's name.
    pub name: String,
    /// As the vendor writes it.
    pub title: String,
    /// Other spellings.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Link kinds that it serves.
    pub links: Vec<String>,
    /// Added to each crossing, one way.
    pub latency: Fact<Span>,
    /// What a reader should know.
    #[serde(default)]
    pub note: Option<String>,
}

/// A piece of the channel between two chips and what it takes from the loss budget.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelPart {
    /// The file's name: `trace-low-loss`, `cem-connector`, `mcio-cable`, `riser-flex`.
    pub name: String,
    /// In words.
    pub title: String,
    /// What one unit is.
    pub per: ChannelUnit,
    /// Loss at the Nyquist frequency of each link kind.
    pub loss: Vec<ChannelLoss>,
    /// What a reader should know.
    #[serde(default)]
    pub note: Option<String>,
}

/// What the loss of a channel part is counted per.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChannelUnit {
    /// Per inch of length.
    Inch,
    /// Per metre of length.
    Metre,
    /// Per piece.
    Piece,
}

/// The loss of one unit of a channel part at one link kind's Nyquist frequency.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelLoss {
    /// A link kind: `pcie5`.
    pub link: String,
    /// Loss of one unit.
    pub loss: Fact<Loss>,
}
