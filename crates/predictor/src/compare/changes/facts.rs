//! What one side says, one fact at a time, so that two sides can be held against each other.

use weft_base::{Place, Severity};
use weft_formats::{Case, DeviceRole, Evidence, Host, NcclLog, Record, Report, Value};
use weft_topology::ReportedClass;

use super::{Said, Side};
use crate::{Settings, Taken};

/// What a difference is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// Which devices there are and how they are joined.
    Topology,
    /// What tools say of devices, ports and events.
    Health,
    /// What NCCL or RCCL says of its channels and connections.
    Library,
    /// Variables and other settings.
    Setting,
    /// Versions of software and firmware.
    Version,
}

impl ChangeKind {
    /// The name used in text and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Topology => "topology",
            Self::Health => "health",
            Self::Library => "library",
            Self::Setting => "setting",
            Self::Version => "version",
        }
    }
}

/// One statement.
#[derive(Debug, Clone)]
pub(super) struct Fact {
    pub kind: ChangeKind,
    /// What it is about, the same on both sides.
    pub what: String,
    /// Of which device; empty where it is of none.
    pub subject: String,
    pub text: String,
    pub place: Option<Place>,
    /// What tool said so: a side without that tool's output says nothing of it.
    pub origin: &'static str,
    /// Worse is larger, where an order is known.
    pub badness: Option<u64>,
}

impl Fact {
    pub fn said(self) -> Said {
        Said { text: self.text, place: self.place }
    }
}

/// All facts of a side.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub list: Vec<Fact>,
    /// Those that change by themselves.
    pub left_out: usize,
    /// What was looked at, whether or not it says anything.
    pub origins: Vec<&'static str>,
}

/// Parts of names of fields that change from one moment to the next.
const RESTLESS: &[&str] = &[
    "timestamp",
    "temperature",
    "temp",
    "power-draw",
    "power-readings",
    "average-power",
    "instantaneous-power",
    "utilization",
    "memory-usage",
    "memory-used",
    "memory-free",
    "clocks-graphics",
    "clocks-sm",
    "clocks-memory",
    "clocks-video",
    "fan",
    "process",
    "pid",
    "uptime",
    "performance-state",
    "xmit-data",
    "rcv-data",
    "xmit-pkts",
    "rcv-pkts",
    "xmit-packets",
    "rcv-packets",
    "tx-throughput",
    "rx-throughput",
    "pcie-generation-current",
    "tx-bytes",
    "rx-bytes",
    "tx-packets",
    "rx-packets",
    "line",
    "bar1",
];
/// Parts of names of fields that say how wide or how well a link runs.
const LINKS: &[&str] = &["width", "inactive", "state", "rate", "speed", "links", "active"];
/// Parts of names of counters of errors.
const ERRORS: &[&str] =
    &["error", "replay", "discard", "dropped", "downed", "retrans", "recovery", "ecc", "remap"];
/// Parts of names of versions.
const VERSIONS: &[&str] = &["version", "vbios", "firmware", "fw-ver", "release", "driver"];

pub(super) fn facts(side: Side<'_>) -> Facts {
    let mut found = Facts::default();
    matrix(side.case, &mut found);
    devices(side, &mut found);
    for located in &side.case.evidence {
        match &located.value {
            Evidence::Report(report) => report_facts(report, &located.place, &mut found),
            Evidence::Log(log) => log_facts(log, &located.place, &mut found),
            Evidence::Host(host) => host_facts(host, &located.place, &mut found),
            Evidence::Benchmark(benchmark) => {
                if let Some(version) = &benchmark.version {
                    let place = at(&located.place, benchmark.line);
                    let what = format!("version of {}", benchmark.tool);
                    found.push(ChangeKind::Version, what, String::new(), version.clone(), place, "benchmark");
                }
            }
            Evidence::Topology(_)
            | Evidence::Peers(_)
            | Evidence::Weights(_)
            | Evidence::Machine(_)
            | Evidence::Graphs(_)
            | Evidence::Subnet(_)
            | Evidence::Forwarding(_)
            | Evidence::Hierarchy(_)
            | Evidence::Pairs(_)
            | Evidence::Infrastructure(_)
            | Evidence::Workload(_) => {}
        }
    }
    findings(side, &mut found);
    found
}

fn at(place: &Place, line: u32) -> Place {
    Place::new(&place.file, line.max(1), 1, 0)
}

impl Facts {
    fn push(
        &mut self,
        kind: ChangeKind,
        what: impl Into<String>,
        subject: impl Into<String>,
        text: impl Into<String>,
        place: impl Into<Option<Place>>,
        origin: &'static str,
    ) {
        let (what, subject, text, place) = (what.into(), subject.into(), text.into(), place.into());
        self.list.push(Fact { kind, what, subject, text, place, origin, badness: None });
    }
}

fn matrix(case: &Case, found: &mut Facts) {
    if let Some(matrix) = &case.matrix {
        let ends = matrix.value.ends();
        for cell in matrix.value.cells().iter().filter(|cell| cell.row < cell.column) {
            let Some(class) = cell.class else { continue };
            found.list.push(Fact {
                kind: ChangeKind::Topology,
                what: "path between".to_owned(),
                subject: format!("{} and {}", ends[cell.row].label, ends[cell.column].label),
                text: class.to_string(),
                place: Some(cell.place.clone()),
                origin: "matrix",
                badness: Some(badness(class)),
            });
        }
    }
    for peers in &case.peers {
        for cell in &peers.value.cells {
            let (Some(access), Some(from), Some(to)) =
                (cell.access, peers.value.ends.get(cell.row), peers.value.ends.get(cell.column))
            else {
                continue;
            };
            let is_refused = !matches!(access, weft_formats::Access::Ok);
            found.list.push(Fact {
                kind: ChangeKind::Topology,
                what: "peer access".to_owned(),
                subject: format!("{from} to {to}"),
                text: format!("{access:?}"),
                place: Some(peers.place.clone()),
                origin: "peers",
                badness: Some(u64::from(is_refused)),
            });
        }
    }
}

/// Slower classes are larger; more `NVLinks` are better.
fn badness(class: ReportedClass) -> u64 {
    match class {
        ReportedClass::Nv(links) => 100_u64.saturating_sub(u64::from(links)),
        ReportedClass::Xgmi => 99,
        ReportedClass::Pix => 200,
        ReportedClass::Pxb => 300,
        ReportedClass::Phb => 400,
        ReportedClass::Node => 500,
        ReportedClass::Sys => 600,
    }
}

/// How many devices of which model the machine has.
fn devices(side: Side<'_>, found: &mut Facts) {
    let Some(machine) = &side.case.machine else { return };
    let place = side.case.matrix.as_ref().map(|matrix| matrix.place.clone());
    let mut add = |what: &str, device: &str, groups: Vec<(Option<&String>, u16)>| {
        let count: u64 = groups.iter().map(|(_, count)| u64::from(*count)).sum();
        found.list.push(Fact {
            kind: ChangeKind::Topology,
            what: what.to_owned(),
            subject: String::new(),
            text: count.to_string(),
            place: place.clone(),
            origin: "machine",
            badness: Some(u64::from(u16::MAX).saturating_sub(count)),
        });
        // What was assumed is no statement of the input.
        let is_assumed =
            |assumed: &weft_topology::Assumption| assumed.subject == device && assumed.what == "model";
        let mut models: Vec<&str> =
            groups.iter().filter_map(|(model, _)| model.map(String::as_str)).collect();
        models.dedup();
        if !side.case.assumed.iter().any(is_assumed) && !models.is_empty() {
            let text = models.join(", ");
            found.push(ChangeKind::Topology, format!("model of {what}"), "", text, place.clone(), "models");
        }
    };
    add("GPUs", "GPU", machine.gpus.iter().map(|group| (group.model.as_ref(), group.count)).collect());
    add("NICs", "NIC", machine.nics.iter().map(|group| (group.model.as_ref(), group.count)).collect());
}

fn report_facts(report: &Report, place: &Place, found: &mut Facts) {
    for record in &report.records {
        if record.kind == "setting" {
            let value = record.text("value").unwrap_or_default();
            found.push(ChangeKind::Setting, &record.subject, "", value, at(place, record.line), "settings");
            continue;
        }
        if record.kind == "event" {
            // An event is what it says: a new one has no counterpart.
            let words = event(record);
            found.push(
                ChangeKind::Health,
                "event",
                format!("{} {words}", record.subject),
                words.clone(),
                at(place, record.line),
                report.format,
            );
            continue;
        }
        let subject = match &report.host {
            Some(host) => format!("{host} {}", record.subject),
            None => record.subject.clone(),
        };
        for field in &record.fields {
            if RESTLESS.iter().any(|part| field.name.contains(part)) {
                found.left_out += 1;
                continue;
            }
            let is_version = VERSIONS.iter().any(|part| field.name.contains(part));
            let kind = if is_version { ChangeKind::Version } else { ChangeKind::Health };
            found.list.push(Fact {
                kind,
                what: format!("{} ({})", field.name.replace('-', " "), report.format),
                subject: subject.clone(),
                text: value(&field.value),
                place: Some(at(place, field.line)),
                origin: report.format,
                badness: order(&field.name, &field.value),
            });
        }
    }
}

fn event(record: &Record) -> String {
    let words: Vec<String> =
        record.fields.iter().map(|field| format!("{} {}", field.name, value(&field.value))).collect();
    words.join(", ")
}

fn value(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Count(count) => count.to_string(),
        Value::Rate(rate) => rate.to_string(),
        Value::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
    }
}

/// How bad a value of that field is.
fn order(name: &str, value: &Value) -> Option<u64> {
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    match value {
        Value::Count(count) if has(ERRORS) || name.contains("inactive") => Some(*count),
        Value::Count(count) if has(LINKS) => Some(u64::MAX - *count),
        Value::Rate(rate) => Some(u64::MAX - rate.get()),
        Value::Text(text) if name.contains("state") => Some(u64::from(
            !["active", "linkup", "up", "enabled", "ok"].contains(&text.to_lowercase().as_str()),
        )),
        Value::Count(_) | Value::Text(_) | Value::Flag(_) => None,
    }
}

fn log_facts(log: &NcclLog, place: &Place, found: &mut Facts) {
    const ORIGIN: &str = "nccl-log";
    // A log names all variables that are set: none named is none set.
    if log.info_lines > 0 {
        found.origins.push("settings");
    }
    for setting in &log.settings {
        found.push(
            ChangeKind::Setting,
            &setting.name,
            "",
            &setting.value,
            at(place, setting.line),
            "settings",
        );
    }
    if let Some(version) = log.versions.first() {
        let what = format!("version of {}", version.library.to_uppercase());
        found.push(ChangeKind::Version, what, "", &version.version, at(place, version.line), ORIGIN);
    }
    let networks: Vec<&str> = log.networks.iter().map(|said| said.text.as_str()).collect();
    if let Some(first) = log.networks.first() {
        found.list.push(Fact {
            kind: ChangeKind::Library,
            what: "network that NCCL uses".to_owned(),
            subject: String::new(),
            text: networks.join(", "),
            place: Some(at(place, first.line)),
            origin: ORIGIN,
            badness: Some(u64::from(networks.iter().any(|name| name.eq_ignore_ascii_case("socket")))),
        });
    }
    let gdr = log.gdr_in_use().word();
    found.push(ChangeKind::Library, "GPUDirect RDMA", "", gdr, None, ORIGIN);
    let mut kinds: Vec<String> =
        log.transports.iter().map(|transport| without_numbers(&transport.name)).collect();
    kinds.sort();
    kinds.dedup();
    if let Some(first) = log.transports.first() {
        found.push(ChangeKind::Library, "connections", "", kinds.join(", "), at(place, first.line), ORIGIN);
    }
    if let Some(channels) = log.channels.first() {
        found.list.push(Fact {
            kind: ChangeKind::Library,
            what: "channels for collectives".to_owned(),
            subject: String::new(),
            text: channels.collective.to_string(),
            place: Some(at(place, channels.line)),
            origin: ORIGIN,
            badness: Some(u64::MAX - u64::from(channels.collective)),
        });
        let nvls = channels.nvls.unwrap_or(0).to_string();
        found.push(ChangeKind::Library, "channels for NVLS", "", nvls, at(place, channels.line), ORIGIN);
    }
    for problem in &log.problems {
        found.push(
            ChangeKind::Library,
            "warning of NCCL",
            &problem.text,
            &problem.text,
            at(place, problem.line),
            ORIGIN,
        );
    }
}

/// `NET/IB/0/GDRDMA` and `NET/IB/3/GDRDMA` are one kind.
fn without_numbers(name: &str) -> String {
    let parts = name.split('/').filter(|part| part.parse::<u32>().is_err());
    parts.collect::<Vec<_>>().join("/")
}

fn host_facts(host: &Host, place: &Place, found: &mut Facts) {
    for device in host.devices.iter().filter(|device| !device.address.is_empty()) {
        let is_end =
            device.roles.iter().any(|role| matches!(role, DeviceRole::Gpu(_) | DeviceRole::Adapter(_)));
        let line = (device.line > 0).then(|| at(place, device.line));
        if let (Some(lanes), true) = (device.link.lanes, is_end || !device.roles.is_empty()) {
            let speed = device.link.speed.map_or_else(String::new, |speed| format!("{speed} "));
            found.list.push(Fact {
                kind: ChangeKind::Topology,
                what: "PCIe link".to_owned(),
                subject: device.address.clone(),
                text: format!("{speed}x{lanes}"),
                place: line.clone(),
                origin: host.format,
                badness: Some(u64::from(u16::MAX - lanes)),
            });
        }
        if let Some(acs) = &device.acs {
            let redirects = acs.contains("ReqRedir+");
            found.list.push(Fact {
                kind: ChangeKind::Topology,
                what: "access control (ACS)".to_owned(),
                subject: device.address.clone(),
                text: acs.clone(),
                place: line,
                origin: host.format,
                badness: Some(u64::from(redirects)),
            });
        }
    }
}

/// What is wrong by itself: of two sides, what is wrong on one only.
fn findings(side: Side<'_>, found: &mut Facts) {
    // Both sides are always looked at.
    for finding in side.diagnostics.iter().filter(|finding| finding.severity >= Severity::Warning) {
        let message = finding.message.clone();
        found.push(ChangeKind::Health, "finding", &message, &message, finding.place.clone(), "findings");
    }
    found.origins.push("findings");
}

/// How likely a change makes things slower.
pub(super) fn weight(was: Option<&Fact>, is: Option<&Fact>) -> u16 {
    let Some(fact) = is.or(was) else { return 0 };
    let worse = match (was.and_then(|fact| fact.badness), is.and_then(|fact| fact.badness)) {
        (Some(was), Some(is)) => Some(is > was),
        (None, _) | (_, None) => None,
    };
    let by_order = |worse_weight, other, better| match worse {
        Some(true) => worse_weight,
        None => other,
        Some(false) => better,
    };
    match fact.kind {
        ChangeKind::Topology => by_order(100, 60, 15),
        ChangeKind::Health if fact.what == "finding" || fact.what == "event" => {
            if is.is_some() {
                95
            } else {
                10
            }
        }
        ChangeKind::Health => {
            let is_link = LINKS.iter().any(|part| fact.what.contains(part));
            let is_error = ERRORS.iter().any(|part| fact.what.contains(part));
            if is_link {
                by_order(85, 35, 12)
            } else if is_error {
                by_order(60, 30, 8)
            } else {
                20
            }
        }
        ChangeKind::Library if fact.what == "warning of NCCL" => {
            if is.is_some() {
                80
            } else {
                10
            }
        }
        ChangeKind::Library => by_order(90, 70, 20),
        ChangeKind::Setting => setting_weight(&fact.what, &fact.text),
        ChangeKind::Version if fact.what.ends_with("NCCL") || fact.what.ends_with("RCCL") => 65,
        ChangeKind::Version => 45,
    }
}

/// Settings that act on predictions before others of the library, and those before the rest.
fn setting_weight(name: &str, value: &str) -> u16 {
    let acts = Settings::default().read(name, value) == Ok(Taken::Yes);
    let is_library = name.starts_with("NCCL_") || name.starts_with("RCCL_");
    match (acts, is_library) {
        (true, _) => 78,
        (false, true) if name.contains("DEBUG") => 5,
        (false, true) => 55,
        (false, false) => 35,
    }
}
