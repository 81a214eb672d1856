//! What NCCL said.

use serde::Serialize;
use weft_base::{Place, Rate};
use weft_formats::{
    AdapterList, ChannelCount, Communicator, NcclLog, Problem, Said, SystemGraph, Transport, TransportKind,
    TuningTable,
};

/// Connections and places in trees that are printed; the counts say how many more there are.
const LIST_MAX: usize = 4096;

/// One job's log.
#[derive(Debug, Serialize)]
pub struct LogJson {
    file: String,
    line: u32,
    versions: Vec<VersionJson>,
    info_lines: u32,
    warning_lines: u32,
    hosts: Vec<String>,
    communicators: Vec<CommunicatorJson>,
    networks: Vec<SaidJson>,
    adapters: Vec<AdaptersJson>,
    bootstrap: Vec<SaidJson>,
    plugins: Vec<SaidJson>,
    channels: Vec<ChannelsJson>,
    gdr_in_use: &'static str,
    transports: Vec<TransportJson>,
    connections: Vec<ConnectionJson>,
    connections_left: u32,
    rings: Vec<RingJson>,
    ring_lines: u32,
    trees: Vec<TreeJson>,
    tree_lines: u32,
    gdr: Vec<GdrJson>,
    searches: Vec<SearchJson>,
    systems: Vec<SystemJson>,
    settings: Vec<SettingJson>,
    tuning: Vec<TuningJson>,
    choices: Vec<ChoiceJson>,
    problems: Vec<ProblemJson>,
    problems_left: u32,
    remarks: Vec<SaidJson>,
    others: Vec<SaidJson>,
    others_left: u32,
}

#[derive(Debug, Serialize)]
struct SaidJson {
    text: String,
    count: u32,
    line: u32,
}

#[derive(Debug, Serialize)]
struct VersionJson {
    library: &'static str,
    version: String,
    count: u32,
    line: u32,
}

#[derive(Debug, Serialize)]
struct CommunicatorJson {
    id: Option<String>,
    ranks: u32,
    nodes: Option<u32>,
    members: Vec<MemberJson>,
    line: u32,
}

#[derive(Debug, Serialize)]
struct MemberJson {
    rank: u32,
    host: Option<String>,
    device: Option<u32>,
    address: Option<String>,
    complete: bool,
    line: u32,
}

#[derive(Debug, Serialize)]
struct AdaptersJson {
    network: String,
    adapters: Vec<AdapterJson>,
    relaxed_ordering: bool,
    count: u32,
    line: u32,
}

#[derive(Debug, Serialize)]
struct AdapterJson {
    number: u32,
    name: String,
    port: Option<u32>,
    link_layer: Option<String>,
    rate_bytes_per_s: Option<u64>,
}

#[derive(Debug, Serialize)]
struct ChannelsJson {
    collective: u32,
    collnet: Option<u32>,
    nvls: Option<u32>,
    peer_to_peer: Option<u32>,
    per_peer: Option<u32>,
    count: u32,
    line: u32,
}

#[derive(Debug, Serialize)]
struct TransportJson {
    name: String,
    kind: &'static str,
    adapter: Option<u32>,
    gdr: bool,
    sends: u32,
    receives: u32,
    plain: u32,
    forwarded: u32,
    line: u32,
}

#[derive(Debug, Serialize)]
struct ConnectionJson {
    communicator: Option<usize>,
    from: u32,
    to: u32,
    transport: String,
    sends: u32,
    receives: u32,
    plain: u32,
    line: u32,
}

#[derive(Debug, Serialize)]
struct RingJson {
    communicator: Option<usize>,
    channel: u32,
    ranks: Vec<u32>,
    line: u32,
}

#[derive(Debug, Serialize)]
struct TreeJson {
    communicator: Option<usize>,
    channel: u32,
    rank: u32,
    parent: Option<u32>,
    children: Vec<u32>,
    line: u32,
}

#[derive(Debug, Serialize)]
struct GdrJson {
    subject: String,
    enabled: bool,
    detail: Option<String>,
    count: u32,
    line: u32,
}

#[derive(Debug, Serialize)]
struct SearchJson {
    pattern: u32,
    channels: u32,
    cross_nic: u32,
    intra_bytes_per_s: Option<u64>,
    inter_bytes_per_s: Option<u64>,
    path_intra: String,
    path_inter: String,
    count: u32,
    line: u32,
}

#[derive(Debug, Serialize)]
struct SystemJson {
    hosts: Vec<String>,
    most_bytes_per_s: Option<u64>,
    total_bytes_per_s: Option<u64>,
    nodes: Vec<NodeJson>,
    line: u32,
}

#[derive(Debug, Serialize)]
struct NodeJson {
    indent: u32,
    link: Option<String>,
    rate_bytes_per_s: Option<u64>,
    name: String,
    detail: Option<String>,
}

#[derive(Debug, Serialize)]
struct SettingJson {
    name: String,
    value: String,
    count: u32,
    line: u32,
}

#[derive(Debug, Serialize)]
struct TuningJson {
    algorithms: Vec<String>,
    protocols: Vec<String>,
    rows: Vec<RowJson>,
    line: u32,
}

#[derive(Debug, Serialize)]
struct RowJson {
    collective: String,
    latency_us: Vec<f64>,
    bytes_per_s: Vec<u64>,
}

#[derive(Debug, Serialize)]
struct ChoiceJson {
    collective: Option<String>,
    bytes: u64,
    algorithm: String,
    protocol: String,
    time_us: Option<f64>,
    count: u32,
    line: u32,
}

#[derive(Debug, Serialize)]
struct ProblemJson {
    text: String,
    source: Option<String>,
    host: Option<String>,
    status: Option<u32>,
    vendor_error: Option<u32>,
    peer: Option<String>,
    count: u32,
    line: u32,
}

impl LogJson {
    pub fn new(log: &NcclLog, place: &Place) -> Self {
        let cut = log.connections.len().saturating_sub(LIST_MAX);
        Self {
            file: place.file.clone(),
            line: place.line,
            versions: log.versions.iter().map(VersionJson::from).collect(),
            info_lines: log.info_lines,
            warning_lines: log.warning_lines,
            hosts: log.hosts.clone(),
            communicators: log.communicators.iter().map(|it| communicator(it, &log.hosts)).collect(),
            networks: all(&log.networks),
            adapters: log.adapters.iter().map(adapters).collect(),
            bootstrap: all(&log.bootstrap),
            plugins: all(&log.plugins),
            channels: log.channels.iter().map(channels).collect(),
            gdr_in_use: log.gdr_in_use().word(),
            transports: log.transports.iter().map(transport).collect(),
            connections: connections(log),
            connections_left: log.connections_left.saturating_add(u32::try_from(cut).unwrap_or(u32::MAX)),
            rings: rings(log),
            ring_lines: log.ring_lines,
            trees: trees(log),
            tree_lines: log.tree_lines,
            gdr: gdr(log),
            searches: searches(log),
            systems: log.systems.iter().map(|system| systems(system, &log.hosts)).collect(),
            settings: settings(log),
            tuning: log.tuning.iter().map(tuning).collect(),
            choices: choices(log),
            problems: log.problems.iter().map(|it| problem(it, &log.hosts)).collect(),
            problems_left: log.problems_left,
            remarks: all(&log.remarks),
            others: all(&log.others),
            others_left: log.others_left,
        }
    }
}

impl From<&weft_formats::LibraryVersion> for VersionJson {
    fn from(it: &weft_formats::LibraryVersion) -> Self {
        Self { library: it.library, version: it.version.clone(), count: it.count, line: it.line }
    }
}

fn all(said: &[Said]) -> Vec<SaidJson> {
    said.iter().map(|it| SaidJson { text: it.text.clone(), count: it.count, line: it.line }).collect()
}

fn name_of(host: Option<usize>, hosts: &[String]) -> Option<String> {
    hosts.get(host?).cloned()
}

fn rate(rate: Option<Rate>) -> Option<u64> {
    rate.map(Rate::get)
}

fn communicator(it: &Communicator, hosts: &[String]) -> CommunicatorJson {
    let member = |rank: &weft_formats::LogRank| MemberJson {
        rank: rank.rank,
        host: name_of(rank.host, hosts),
        device: rank.device,
        address: rank.address.clone(),
        complete: rank.complete,
        line: rank.line,
    };
    CommunicatorJson {
        id: it.id.clone(),
        ranks: it.ranks,
        nodes: it.nodes,
        members: it.members.iter().map(member).collect(),
        line: it.line,
    }
}

fn adapters(list: &AdapterList) -> AdaptersJson {
    let adapter = |it: &weft_formats::LogAdapter| AdapterJson {
        number: it.number,
        name: it.name.clone(),
        port: it.port,
        link_layer: it.link_layer.clone(),
        rate_bytes_per_s: rate(it.rate),
    };
    AdaptersJson {
        network: list.network.clone(),
        adapters: list.adapters.iter().map(adapter).collect(),
        relaxed_ordering: list.relaxed_ordering,
        count: list.count,
        line: list.line,
    }
}

fn channels(it: &ChannelCount) -> ChannelsJson {
    ChannelsJson {
        collective: it.collective,
        collnet: it.collnet,
        nvls: it.nvls,
        peer_to_peer: it.peer_to_peer,
        per_peer: it.per_peer,
        count: it.count,
        line: it.line,
    }
}

fn transport(it: &Transport) -> TransportJson {
    let kind = match it.kind {
        TransportKind::PeerToPeer => "p2p",
        TransportKind::SharedMemory => "shm",
        TransportKind::Network => "net",
        TransportKind::CollNet => "collnet",
        TransportKind::Nvls => "nvls",
        TransportKind::Other => "other",
    };
    TransportJson {
        name: it.name.clone(),
        kind,
        adapter: it.adapter,
        gdr: it.gdr,
        sends: it.sends,
        receives: it.receives,
        plain: it.plain,
        forwarded: it.forwarded,
        line: it.line,
    }
}

fn connections(log: &NcclLog) -> Vec<ConnectionJson> {
    let name = |index: usize| log.transports.get(index).map_or_else(String::new, |it| it.name.clone());
    let connection = |it: &weft_formats::Connection| ConnectionJson {
        communicator: it.communicator,
        from: it.from,
        to: it.to,
        transport: name(it.transport),
        sends: it.sends,
        receives: it.receives,
        plain: it.plain,
        line: it.line,
    };
    log.connections.iter().take(LIST_MAX).map(connection).collect()
}

fn rings(log: &NcclLog) -> Vec<RingJson> {
    let ring = |it: &weft_formats::Ring| RingJson {
        communicator: it.communicator,
        channel: it.channel,
        ranks: it.ranks.clone(),
        line: it.line,
    };
    log.rings.iter().map(ring).collect()
}

fn trees(log: &NcclLog) -> Vec<TreeJson> {
    let place = |it: &weft_formats::TreePlace| TreeJson {
        communicator: it.communicator,
        channel: it.channel,
        rank: it.rank,
        parent: it.parent,
        children: it.children.clone(),
        line: it.line,
    };
    log.trees.iter().take(LIST_MAX).map(place).collect()
}

fn gdr(log: &NcclLog) -> Vec<GdrJson> {
    let fact = |it: &weft_formats::GdrFact| GdrJson {
        subject: it.subject.clone(),
        enabled: it.enabled,
        detail: it.detail.clone(),
        count: it.count,
        line: it.line,
    };
    log.gdr.iter().map(fact).collect()
}

fn searches(log: &NcclLog) -> Vec<SearchJson> {
    let search = |it: &weft_formats::GraphSearch| SearchJson {
        pattern: it.pattern,
        channels: it.channels,
        cross_nic: it.cross_nic,
        intra_bytes_per_s: rate(it.intra),
        inter_bytes_per_s: rate(it.inter),
        path_intra: it.path_intra.clone(),
        path_inter: it.path_inter.clone(),
        count: it.count,
        line: it.line,
    };
    log.searches.iter().map(search).collect()
}

fn systems(system: &SystemGraph, hosts: &[String]) -> SystemJson {
    let node = |it: &weft_formats::SystemNode| NodeJson {
        indent: it.indent,
        link: it.link.clone(),
        rate_bytes_per_s: rate(it.rate),
        name: it.name.clone(),
        detail: it.detail.clone(),
    };
    SystemJson {
        hosts: system.hosts.iter().filter_map(|host| name_of(Some(*host), hosts)).collect(),
        most_bytes_per_s: rate(system.most),
        total_bytes_per_s: rate(system.total),
        nodes: system.nodes.iter().map(node).collect(),
        line: system.line,
    }
}

fn settings(log: &NcclLog) -> Vec<SettingJson> {
    let setting = |it: &weft_formats::LoggedSetting| SettingJson {
        name: it.name.clone(),
        value: it.value.clone(),
        count: it.count,
        line: it.line,
    };
    log.settings.iter().map(setting).collect()
}

fn tuning(table: &TuningTable) -> TuningJson {
    let row = |it: &weft_formats::TuningRow| RowJson {
        collective: it.collective.clone(),
        latency_us: it.cells.iter().map(|cell| cell.latency.as_microseconds()).collect(),
        bytes_per_s: it.cells.iter().map(|cell| cell.bandwidth.get()).collect(),
    };
    TuningJson {
        algorithms: table.algorithms.clone(),
        protocols: table.protocols.clone(),
        rows: table.rows.iter().map(row).collect(),
        line: table.line,
    }
}

fn choices(log: &NcclLog) -> Vec<ChoiceJson> {
    let choice = |it: &weft_formats::TuningChoice| ChoiceJson {
        collective: it.collective.clone(),
        bytes: it.bytes.get(),
        algorithm: it.algorithm.clone(),
        protocol: it.protocol.clone(),
        time_us: it.time.map(weft_base::Span::as_microseconds),
        count: it.count,
        line: it.line,
    };
    log.choices.iter().map(choice).collect()
}

fn problem(it: &Problem, hosts: &[String]) -> ProblemJson {
    ProblemJson {
        text: it.text.clone(),
        source: it.source.clone(),
        host: name_of(it.host, hosts),
        status: it.status,
        vendor_error: it.vendor_error,
        peer: it.peer.clone(),
        count: it.count,
        line: it.line,
    }
}
