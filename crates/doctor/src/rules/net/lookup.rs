//! Questions about the network that several rules ask of a chart.

use weft_base::{Place, Rate};
use weft_formats::{NcclLog, Report, Value};
use weft_predictor::Request;
use weft_topology::{NodeKind, ReportedClass, reported_class};

use crate::chart::{Chart, Run, at};

/// A GPU and a NIC of the first host, and how near they are.
#[derive(Debug, Clone)]
pub struct Near {
    /// As the graph calls it.
    pub gpu: String,
    /// As the graph calls it.
    pub nic: String,
    /// What `nvidia-smi topo -m` prints between them.
    pub class: ReportedClass,
}

impl Near {
    /// Whether they meet in a PCIe switch, below the CPU.
    pub fn is_below_cpu(&self) -> bool {
        matches!(self.class, ReportedClass::Pix | ReportedClass::Pxb)
    }
}

/// The nearest NIC of each GPU of a host; empty where the input tells of no NIC.
pub fn nearest_nics(chart: &Chart<'_>) -> Vec<Near> {
    let host = chart.host;
    let nics: Vec<_> = host.of_kind(NodeKind::Nic).collect();
    let nearest = |gpu| {
        let classes = nics.iter().filter_map(|nic| Some((reported_class(host, gpu, *nic)?, *nic)));
        let (class, nic) = classes.min_by_key(|(class, _)| *class)?;
        Some(Near { gpu: host.name(gpu), nic: host.name(nic), class })
    };
    host.of_kind(NodeKind::Gpu).filter_map(nearest).collect()
}

/// A list of kernel modules.
#[derive(Debug, Clone)]
pub struct Modules {
    /// The host: by the report, else by the folder of the file, else empty.
    pub host: String,
    /// Where the list begins.
    pub place: Place,
    /// The line of `nvidia_peermem`, `nv_peer_mem` or their like, where it is loaded.
    pub peer_memory: Option<(String, Place)>,
    /// Whether the RDMA core counts that module among its users; `None` where it is not loaded or no user is listed.
    pub is_registered: Option<bool>,
    /// Whether a driver has registered its devices' memory, as `/sys/kernel/mm/memory_peers` shows.
    pub registered: Option<(bool, Place)>,
    /// Whether what it does not hold is not loaded.
    pub is_whole: bool,
}

impl Modules {
    fn of_place(place: &Place) -> Self {
        Self {
            host: String::new(),
            place: place.clone(),
            peer_memory: None,
            is_registered: None,
            registered: None,
            is_whole: false,
        }
    }

    /// Whether the module is known not to be loaded.
    pub fn lacks(&self) -> bool {
        self.is_whole && self.peer_memory.is_none()
    }

    /// Whether the module is loaded, and RDMA does not know of it.
    pub fn is_unknown(&self) -> bool {
        let says_so = self.is_registered == Some(false) || self.registered.as_ref().is_some_and(|it| !it.0);
        let is_known = self.is_registered == Some(true) || self.registered.as_ref().is_some_and(|it| it.0);
        self.peer_memory.is_some() && says_so && !is_known
    }
}

/// Lists of modules of hosts that have NVIDIA GPUs and RDMA adapters, and what RDMA knows of peers' memory there.
pub fn modules(chart: &Chart<'_>) -> Vec<Modules> {
    let mut found: Vec<Modules> =
        chart.reports().filter_map(|(report, place)| list_of(report, place)).collect();
    for (report, place) in chart.reports() {
        let Some(record) = report.records.iter().find(|record| record.kind == "peer-memory") else {
            continue;
        };
        let is_there = record.get("registered") == Some(&Value::Flag(true));
        let host = host_of(report, place);
        let own = found.iter_mut().find(|list| list.host == host || list.place.file == place.file);
        let told = (is_there, at(place, record.line));
        match own {
            Some(own) => own.registered = own.registered.take().or(Some(told)),
            None => found.push(Modules { host, registered: Some(told), ..Modules::of_place(place) }),
        }
    }
    found
}

/// By the report, else by the folder of the file.
pub fn host_of(report: &Report, place: &Place) -> String {
    let folder = place.file.rsplit_once('/').map(|(folder, _)| folder.rsplit('/').next().unwrap_or(folder));
    report.host.clone().or_else(|| folder.map(str::to_owned)).unwrap_or_default()
}

/// A list that is whole, or the part of one that a search for the module printed.
fn list_of(report: &Report, place: &Place) -> Option<Modules> {
    let module =
        |name: &str| report.records.iter().find(|record| record.kind == "module" && record.subject == name);
    let peer = ["nvidia_peermem", "nv_peer_mem"].iter().find_map(|name| module(name));
    let is_whole =
        report.records.iter().any(|record| record.kind == "setting" && record.subject == "all modules");
    let core = module("ib_core");
    // Of a part only what it holds is known, and of a machine without RDMA nothing is asked.
    if !(is_whole && module("nvidia").is_some() && core.is_some()) && peer.is_none() {
        return None;
    }
    let mut users = [core, module("ib_uverbs")]
        .into_iter()
        .flatten()
        .filter_map(|record| record.text("used-by"))
        .peekable();
    let is_registered = peer
        .filter(|_| users.peek().is_some())
        .map(|peer| users.any(|list| list.split(',').any(|user| user == peer.subject)));
    Some(Modules {
        host: host_of(report, place),
        is_whole,
        peer_memory: peer.map(|peer| (peer.subject.clone(), at(place, peer.line))),
        is_registered,
        ..Modules::of_place(place)
    })
}

/// The host of a rank of a log.
pub fn host_of_rank(log: &NcclLog, communicator: Option<usize>, rank: u32) -> Option<&str> {
    let group = log.communicators.get(communicator.unwrap_or(0))?;
    let member = group.members.iter().find(|member| member.rank == rank)?;
    log.hosts.get(member.host?).map(String::as_str)
}

/// The best rate of a run.
pub fn best_rate(run: &Run<'_>) -> Option<Rate> {
    run.benchmark.best().and_then(weft_formats::BenchmarkRow::rate)
}

/// What the largest size of the first comparison would reach with another request, beside what it is expected to reach;
/// `None` where nothing is compared.
pub fn otherwise(chart: &Chart<'_>, change: impl FnOnce(&mut Request)) -> Option<(Rate, Rate)> {
    let (run, comparison) = chart.compared().next()?;
    let point = comparison.points.last()?;
    let other = run.instead(change)?;
    let busbw = other.rows.iter().find(|row| row.bytes == point.bytes)?.busbw;
    Some((busbw, point.expected.busbw))
}

/// A share of counts, which are small.
pub fn quotient(part: usize, whole: usize) -> f64 {
    let of = |count: usize| u32::try_from(count).map_or(f64::from(u32::MAX), f64::from);
    of(part) / of(whole.max(1))
}
