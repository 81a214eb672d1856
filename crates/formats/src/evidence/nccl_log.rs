//! What NCCL or RCCL said while it started. A job log repeats itself once per rank and channel: equal
//! statements are one entry with a count, and lists that no one would read to their end are cut, with a count
//! of what was left out.

use weft_base::{Bytes, Rate, Span};

/// One job's log.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NcclLog {
    /// Versions in order of appearance.
    pub versions: Vec<LibraryVersion>,
    /// Lines of level INFO.
    pub info_lines: u32,
    /// Lines of level WARN.
    pub warning_lines: u32,
    /// Hosts in order of appearance; empty where the prefix was cut off.
    pub hosts: Vec<String>,
    /// Communicators in order of appearance.
    pub communicators: Vec<Communicator>,
    /// `Using network …`: `IB`, `Socket`, `AWS Libfabric`.
    pub networks: Vec<Said>,
    /// Adapters that a network found, one entry for each different list.
    pub adapters: Vec<AdapterList>,
    /// Interfaces of the bootstrap connections: `eth0`.
    pub bootstrap: Vec<Said>,
    /// Interfaces of the bootstrap connections with their addresses, by host.
    pub interfaces: Vec<LogInterface>,
    /// What was said of plugins: found or not, loaded, which version.
    pub plugins: Vec<Said>,
    /// Channels as decided at the end of the start.
    pub channels: Vec<ChannelCount>,
    /// Kinds of connections, with how many lines name them.
    pub transports: Vec<Transport>,
    /// Who is connected to whom, ordered by communicator, sender and receiver.
    pub connections: Vec<Connection>,
    /// Connection lines beyond those that [`NcclLog::connections`] holds.
    pub connections_left: u32,
    /// Rings, as the first rank of a communicator lists them.
    pub rings: Vec<Ring>,
    /// Lines that list a ring.
    pub ring_lines: u32,
    /// Places in trees, one per rank and channel.
    pub trees: Vec<TreePlace>,
    /// Lines that list trees.
    pub tree_lines: u32,
    /// Where GPUDirect RDMA was found possible or not.
    pub gdr: Vec<GdrFact>,
    /// What channel searches ended with.
    pub searches: Vec<GraphSearch>,
    /// The system as the library sees it, one entry for each different one.
    pub systems: Vec<SystemGraph>,
    /// Settings that were taken from the environment or a file.
    pub settings: Vec<LoggedSetting>,
    /// Predicted latencies and bandwidths by algorithm and protocol.
    pub tuning: Vec<TuningTable>,
    /// Algorithm and protocol by size.
    pub choices: Vec<TuningChoice>,
    /// Warnings and errors.
    pub problems: Vec<Problem>,
    /// Warnings beyond those that [`NcclLog::problems`] holds.
    pub problems_left: u32,
    /// Statements that are known to matter: a fallback, a default for want of better, a hint.
    pub remarks: Vec<Said>,
    /// All other lines by how they begin.
    pub others: Vec<Said>,
    /// Other lines whose beginning is in no entry.
    pub others_left: u32,
}

/// Something that was said, and how often.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// The words.
    pub text: String,
    /// Lines that say so.
    pub count: u32,
    /// The first of them, from 1.
    pub line: u32,
}

/// A version line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LibraryVersion {
    /// `nccl` or `rccl`.
    pub library: &'static str,
    /// As printed: `2.18.3+cuda12.2`.
    pub version: String,
    /// Lines that say so.
    pub count: u32,
    /// The first of them, from 1.
    pub line: u32,
}

/// A communicator: ranks that know each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Communicator {
    /// `commId`, where the version prints it.
    pub id: Option<String>,
    /// `nranks`: ranks that it has, be they in the log or not.
    pub ranks: u32,
    /// `nNodes`, where the version prints it.
    pub nodes: Option<u32>,
    /// The ranks that spoke, by number.
    pub members: Vec<LogRank>,
    /// First line that names it, from 1.
    pub line: u32,
}

/// A rank of a communicator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogRank {
    /// The rank.
    pub rank: u32,
    /// Index into [`NcclLog::hosts`].
    pub host: Option<usize>,
    /// `cudaDev`.
    pub device: Option<u32>,
    /// `busId` as an address: `0000:1a:00.0`.
    pub address: Option<String>,
    /// Whether `Init COMPLETE` was said.
    pub complete: bool,
    /// Line, from 1.
    pub line: u32,
}

/// The adapters of one network, as one host found them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AdapterList {
    /// `IB`, `Socket`, `IB/SHARP`; as printed before `: Using`.
    pub network: String,
    /// In the library's order.
    pub adapters: Vec<LogAdapter>,
    /// Whether relaxed ordering is on (`[RO]`).
    pub relaxed_ordering: bool,
    /// Lines that say so.
    pub count: u32,
    /// The first of them, from 1.
    pub line: u32,
}

/// The interface over which ranks of a host find the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogInterface {
    /// Index into [`NcclLog::hosts`].
    pub host: Option<usize>,
    /// `eth0`.
    pub name: String,
    /// `10.0.0.1`, `fe80::1%eth0`, without its port.
    pub address: String,
    /// Lines that say so.
    pub count: u32,
    /// The first of them, from 1.
    pub line: u32,
}

/// An adapter or an interface in such a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogAdapter {
    /// The library's number for it.
    pub number: u32,
    /// `mlx5_0`, `eth0`.
    pub name: String,
    /// The port, from 1; none for interfaces.
    pub port: Option<u32>,
    /// `IB`, `RoCE`; as printed.
    pub link_layer: Option<String>,
    /// What it carries in one direction, where a line says so.
    pub rate: Option<Rate>,
}

/// `16 coll channels, 0 nvls channels, 16 p2p channels, 2 p2p channels per peer`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChannelCount {
    /// For collectives.
    pub collective: u32,
    /// For collectives in the network's switches.
    pub collnet: Option<u32>,
    /// For collectives in NVSwitch.
    pub nvls: Option<u32>,
    /// For sends and receives.
    pub peer_to_peer: Option<u32>,
    /// For sends and receives, to one peer.
    pub per_peer: Option<u32>,
    /// Lines that say so.
    pub count: u32,
    /// The first of them, from 1.
    pub line: u32,
}

/// What a connection runs over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TransportKind {
    /// Memory of one GPU mapped into another.
    PeerToPeer,
    /// Memory of the host.
    SharedMemory,
    /// The network.
    Network,
    /// Collectives in the network's switches.
    CollNet,
    /// Multicast in NVSwitch.
    Nvls,
    /// Something else.
    #[default]
    Other,
}

/// A kind of connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transport {
    /// As printed, without the rank that forwards: `P2P/IPC/read`, `NET/AWS Libfabric/0/GDRDMA`.
    pub name: String,
    /// What it runs over.
    pub kind: TransportKind,
    /// The library's number of the adapter, for networks.
    pub adapter: Option<u32>,
    /// Whether the adapter reads and writes the GPU's memory (`GDRDMA`).
    pub gdr: bool,
    /// Lines of the sending side (`[send]`).
    pub sends: u32,
    /// Lines of the receiving side (`[receive]`).
    pub receives: u32,
    /// Lines that name no side.
    pub plain: u32,
    /// Lines in which another rank of the host forwards (PXN).
    pub forwarded: u32,
    /// The first of them, from 1.
    pub line: u32,
}

impl Transport {
    /// Lines that name it.
    pub fn lines(&self) -> u32 {
        self.sends.saturating_add(self.receives).saturating_add(self.plain)
    }
}

/// Who sends to whom over what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Connection {
    /// Index into [`NcclLog::communicators`], where it is known.
    pub communicator: Option<usize>,
    /// The sending rank.
    pub from: u32,
    /// The receiving rank.
    pub to: u32,
    /// Index into [`NcclLog::transports`].
    pub transport: usize,
    /// Lines of the sending side.
    pub sends: u32,
    /// Lines of the receiving side.
    pub receives: u32,
    /// Lines that name no side.
    pub plain: u32,
    /// The first of them, from 1.
    pub line: u32,
}

/// One channel's ring.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ring {
    /// Index into [`NcclLog::communicators`], where it is known.
    pub communicator: Option<usize>,
    /// The channel, from 0.
    pub channel: u32,
    /// The ranks in order.
    pub ranks: Vec<u32>,
    /// Line, from 1.
    pub line: u32,
}

/// A rank's place in one channel's tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreePlace {
    /// Index into [`NcclLog::communicators`], where it is known.
    pub communicator: Option<usize>,
    /// The channel, from 0.
    pub channel: u32,
    /// The rank.
    pub rank: u32,
    /// The rank above it; none at the root.
    pub parent: Option<u32>,
    /// The ranks below it.
    pub children: Vec<u32>,
    /// Line, from 1.
    pub line: u32,
}

/// Whether an adapter may reach a GPU's memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GdrFact {
    /// Of what: `HCA 0 'mlx5_0'`, `GPU 7 / HCA 0`.
    pub subject: String,
    /// `Enabled` or `Disabled`.
    pub enabled: bool,
    /// What is in brackets behind it: `distance 4 <= 5`.
    pub detail: Option<String>,
    /// Lines that say so.
    pub count: u32,
    /// The first of them, from 1.
    pub line: u32,
}

/// What a channel search ended with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GraphSearch {
    /// The library's number: 1 balanced tree, 2 split tree, 3 tree, 4 ring, 5 NVLS, 6 CollNet direct.
    pub pattern: u32,
    /// Channels found.
    pub channels: u32,
    /// Whether a channel may leave and enter a host by different adapters.
    pub cross_nic: u32,
    /// Bandwidth of a channel inside a host.
    pub intra: Option<Rate>,
    /// Bandwidth of a channel between hosts.
    pub inter: Option<Rate>,
    /// Farthest kind of path inside a host: `NVL`, `PIX`.
    pub path_intra: String,
    /// Farthest kind of path to the network.
    pub path_inter: String,
    /// Lines that say so.
    pub count: u32,
    /// The first of them, from 1.
    pub line: u32,
}

/// `=== System : maxBw … totalBw … ===` and the tree below it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SystemGraph {
    /// Indices into [`NcclLog::hosts`] of those that print it.
    pub hosts: Vec<usize>,
    /// Most bandwidth between two ends.
    pub most: Option<Rate>,
    /// Bandwidth of a GPU in all.
    pub total: Option<Rate>,
    /// The tree's lines in order.
    pub nodes: Vec<SystemNode>,
    /// Line, from 1.
    pub line: u32,
}

/// A line of a system's tree.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SystemNode {
    /// Blanks before it: what hangs under another stands further right.
    pub indent: u32,
    /// Kind of link to the node above: `PCI`, `NVL`, `NET`; none for a CPU.
    pub link: Option<String>,
    /// What that link carries in one direction.
    pub rate: Option<Rate>,
    /// `GPU/7000`, `NIC/0`.
    pub name: String,
    /// What is in brackets behind it.
    pub detail: Option<String>,
}

/// A setting that the library says it took.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoggedSetting {
    /// `NCCL_IB_HCA`.
    pub name: String,
    /// As printed.
    pub value: String,
    /// Lines that say so.
    pub count: u32,
    /// The first of them, from 1.
    pub line: u32,
}

/// A table of predicted latencies and bandwidths.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TuningTable {
    /// Algorithm of each column: `Tree`.
    pub algorithms: Vec<String>,
    /// Protocol of each column: `LL128`.
    pub protocols: Vec<String>,
    /// One per collective.
    pub rows: Vec<TuningRow>,
    /// Line, from 1.
    pub line: u32,
}

/// A collective in such a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TuningRow {
    /// `AllReduce`.
    pub collective: String,
    /// Latency and bandwidth of each column; no bandwidth where the library rules it out.
    pub cells: Vec<TuningCell>,
}

/// Latency and bandwidth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TuningCell {
    /// Latency.
    pub latency: Span,
    /// Bandwidth; zero where the library rules it out.
    pub bandwidth: Rate,
}

/// What the library chose for one size.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TuningChoice {
    /// `AllReduce`, where the line says so.
    pub collective: Option<String>,
    /// Size of the operation.
    pub bytes: Bytes,
    /// `Tree`, `Ring`; a number that is not known stays a number.
    pub algorithm: String,
    /// `LL`, `LL128`, `Simple`.
    pub protocol: String,
    /// Predicted time, where the line says so.
    pub time: Option<Span>,
    /// Lines that say so.
    pub count: u32,
    /// The first of them, from 1.
    pub line: u32,
}

/// A warning or an error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problem {
    /// The words.
    pub text: String,
    /// Where in the library's source: `transport/net_ib.cc:839`.
    pub source: Option<String>,
    /// Index into [`NcclLog::hosts`] of the first that says so.
    pub host: Option<usize>,
    /// Status of a work completion: 12 is a transport retry that was exceeded.
    pub status: Option<u32>,
    /// `vendor err` of a work completion: 129 is a retry that was exceeded.
    pub vendor_error: Option<u32>,
    /// The other end, without its port.
    pub peer: Option<String>,
    /// Lines that say so.
    pub count: u32,
    /// The first of them, from 1.
    pub line: u32,
}

/// Whether the network reads and writes GPU memory without the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gdr {
    /// No connection goes over a network.
    Unknown,
    /// All do.
    Yes,
    /// None does.
    No,
    /// Some do.
    Some,
    /// A sender does and its receiver does not, or the other way round.
    OneSided,
}

impl Gdr {
    /// In a word: `yes`, `one-sided`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Yes => "yes",
            Self::No => "no",
            Self::Some => "some",
            Self::OneSided => "one-sided",
        }
    }
}

impl NcclLog {
    /// Whether GPUDirect RDMA is used, by the connections alone.
    pub fn gdr_in_use(&self) -> Gdr {
        let networks = || self.transports.iter().filter(|transport| transport.kind == TransportKind::Network);
        if networks().next().is_none() {
            return Gdr::Unknown;
        }
        if !self.one_sided().is_empty() {
            return Gdr::OneSided;
        }
        match (networks().any(|transport| transport.gdr), networks().all(|transport| transport.gdr)) {
            (true, true) => Gdr::Yes,
            (true, false) => Gdr::Some,
            (false, _) => Gdr::No,
        }
    }

    /// Connections whose ends disagree on GPUDirect RDMA: indices into [`NcclLog::connections`], the end that
    /// has it first.
    pub fn one_sided(&self) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let over = |connection: &Connection| {
            self.transports.get(connection.transport).is_some_and(|it| it.kind == TransportKind::Network)
        };
        let gdr = |connection: &Connection| {
            self.transports.get(connection.transport).is_some_and(|transport| transport.gdr)
        };
        let pair = |it: &Connection| (it.communicator, it.from, it.to);
        let mut start = 0;
        while let Some(first) = self.connections.get(start) {
            let rest = &self.connections[start..];
            let length = rest.iter().take_while(|it| pair(it) == pair(first)).count();
            let group = start..start + length;
            start = group.end;
            let all = || group.clone().filter(|index| over(&self.connections[*index]));
            let with = |has: bool, sends: bool| {
                all().find(|index| {
                    let it = &self.connections[*index];
                    gdr(it) == has && (if sends { it.sends } else { it.receives }) > 0
                })
            };
            for sends in [true, false] {
                // An end that has it in some channels and not in others is no disagreement of the ends.
                let clean = with(false, sends).is_none() && with(true, !sends).is_none();
                if let (Some(having), Some(lacking), true) = (with(true, sends), with(false, !sends), clean) {
                    found.push((having, lacking));
                }
            }
        }
        found
    }
}
