//! What is known of a patient, ready to be asked.

use std::cell::OnceCell;
use std::rc::Rc;

use weft_base::{Bytes, Diagnostic, Place};
use weft_catalogue::{Catalogue, Gpu, Machine};
use weft_collective::Collective;
use weft_formats::{
    Benchmark, BenchmarkRank, Case, CaseGraph, Device, DeviceRole, Evidence, Host, Located, NcclLog,
    OsDeviceKind, PairTable, Record, Report, Value,
};
use weft_predictor::calibrate::Calibration;
use weft_predictor::compare::{Asked, Comparison, Pairs, Point, Side, Table, Verdict, tables};
use weft_predictor::{PeerAccess, Prediction, Request, Settings};
use weft_topology::{NodeId, NodeKind, Subnet, Topology};

use crate::inside::NamedGpu;

/// Who is looked at: one machine or one job, as far as the input tells.
#[derive(Debug, Clone, Copy)]
pub struct Patient<'a> {
    /// What was read and joined.
    pub case: &'a Case,
    /// Its graphs; empty where the input describes no machine.
    pub graph: &'a CaseGraph,
    /// What reading and joining found: contradictions are findings too.
    pub diagnostics: &'a [Diagnostic],
    /// What the machine does differently from its kind.
    pub calibration: Option<&'a Calibration>,
}

/// What is known of a patient.
#[derive(Debug)]
pub struct Chart<'a> {
    /// What was read and joined.
    pub case: &'a Case,
    /// All hosts, with what is down taken away; empty where the input describes no machine.
    pub topology: &'a Topology,
    /// One host.
    pub host: &'a Topology,
    /// What reading and joining found.
    pub diagnostics: &'a [Diagnostic],
    /// The facts.
    pub catalogue: &'a Catalogue,
    /// What the library was told.
    pub settings: Settings,
    /// Tables of benchmarks, each beside what is expected where that is known.
    pub runs: Vec<Run<'a>>,
    /// Copies between pairs of GPUs beside what their links are known to reach.
    pub copies: Vec<Pairs>,
    pub(crate) known: Known<'a>,
}

/// What many rules ask for and is counted over the whole input.
#[derive(Debug, Default)]
pub(crate) struct Known<'a> {
    hosts: OnceCell<usize>,
    gpus: OnceCell<Vec<&'a Gpu>>,
    pub named: OnceCell<Vec<NamedGpu<'a>>>,
}

/// A table of a benchmark.
#[derive(Debug)]
pub struct Run<'a> {
    /// As read.
    pub benchmark: &'a Benchmark,
    /// Where it was read; its lines are in the same file.
    pub place: &'a Place,
    /// Beside what is expected; `None` where the machine does not follow or the model does not cover it.
    pub comparison: Option<Comparison>,
    /// The machine in words, where it follows from the list of ranks alone.
    pub assumed: Option<String>,
    asked: Option<Rc<Asked<'a>>>,
}

impl Run<'_> {
    /// What would be expected of the same GPUs at the sizes of the table, were something else asked.
    pub fn instead(&self, change: impl FnOnce(&mut Request)) -> Option<Rc<Prediction>> {
        self.asked.as_ref()?.instead(change).ok()
    }

    /// A line of its file.
    pub fn at(&self, line: u32) -> Place {
        at(self.place, line)
    }

    /// The machine that ran it, with as many hosts as took part.
    pub fn topology(&self) -> Option<&Topology> {
        self.asked.as_ref().map(|asked| asked.topology())
    }

    /// The GPUs that ran, of all hosts; none where no machine is known.
    pub fn gpus(&self) -> Vec<NodeId> {
        let Some(asked) = &self.asked else { return Vec::new() };
        let all = || asked.topology().of_kind(NodeKind::Gpu).collect();
        asked.request().gpus.clone().unwrap_or_else(all)
    }
}

/// A record of a report.
#[derive(Debug, Clone, Copy)]
pub struct Said<'a> {
    /// The report that it is in.
    pub report: &'a Report,
    /// What is said of one thing.
    pub record: &'a Record,
    place: &'a Place,
}

/// A setting: a variable of the environment, of a file, or one that a log says was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stated {
    /// `NCCL_IB_HCA`.
    pub name: String,
    /// As written.
    pub value: String,
    /// Where.
    pub place: Place,
}

/// A PCI function and the host it is in.
#[derive(Debug, Clone, Copy)]
pub struct Seat<'a> {
    /// The host.
    pub host: &'a Host,
    /// Index into [`Host::devices`].
    pub index: usize,
    /// The function.
    pub device: &'a Device,
    place: &'a Place,
}

impl<'a> Chart<'a> {
    /// Puts everything that is known in its place; predicts what each benchmark should have reached.
    pub fn new(patient: Patient<'a>, catalogue: &'a Catalogue) -> Self {
        let Patient { case, graph, diagnostics, calibration } = patient;
        let mut settings = Settings::default();
        settings.take_from(&case.evidence, |_| false);
        let mut chart = Self {
            case,
            topology: &graph.topology,
            host: &graph.host,
            diagnostics,
            catalogue,
            settings,
            runs: Vec::new(),
            copies: Vec::new(),
            known: Known::default(),
        };
        let request = chart.request(Collective::AllReduce, calibration);
        let side = Side { case, topology: chart.topology, diagnostics, request: &request };
        let mut compared = tables(side, |_| true, Collective::AllReduce, catalogue);
        chart.copies = std::mem::take(&mut compared.pairs);
        chart.runs = case
            .evidence
            .iter()
            .filter_map(|located| {
                let Evidence::Benchmark(benchmark) = &located.value else { return None };
                let at = compared.tables.iter().position(|table| table.place == located.place);
                let table = at.map(|at| compared.tables.swap_remove(at));
                Some(run(benchmark, &located.place, table.filter(|table| fits(benchmark, table))))
            })
            .collect();
        chart
    }

    /// What would be asked of the predictor for this machine, with the settings that the input holds.
    pub fn request(&self, collective: Collective, calibration: Option<&Calibration>) -> Request {
        let mut request = Request::new(collective);
        request.settings = self.settings.clone();
        request.access = PeerAccess::of_case(self.case, self.host, self.catalogue);
        request.nic_names = self.case.nic_names();
        request.calibration = calibration.cloned();
        request
    }

    /// The machine, where one follows.
    pub fn machine(&self) -> Option<&'a Machine> {
        self.case.machine.as_ref()
    }

    fn each<T>(&self, pick: impl Fn(&'a Evidence) -> Option<T>) -> impl Iterator<Item = (T, &'a Place)> {
        self.case
            .evidence
            .iter()
            .filter_map(move |Located { value, place }| pick(value).map(|found| (found, place)))
    }

    /// What tools said of devices, ports, settings and events.
    pub fn reports(&self) -> impl Iterator<Item = (&'a Report, &'a Place)> {
        self.each(|evidence| if let Evidence::Report(report) = evidence { Some(&**report) } else { None })
    }

    /// The records of a kind: `port`, `event`, `nvlink`, `module`, `service`, `counter`, `cpu`, …
    pub fn records(&self, kind: &'static str) -> impl Iterator<Item = Said<'a>> {
        self.reports().flat_map(move |(report, place)| {
            let own = report.records.iter().filter(move |record| record.kind == kind);
            own.map(move |record| Said { report, record, place })
        })
    }

    /// The kernel's events of a kind: `xid`, `aer`, `link-down`, `iommu`, `peermem`, …
    pub fn events(&self, what: &'static str) -> impl Iterator<Item = Said<'a>> {
        self.records("event").filter(move |said| said.record.text("event") == Some(what))
    }

    /// Logs of NCCL and RCCL.
    pub fn logs(&self) -> impl Iterator<Item = (&'a NcclLog, &'a Place)> {
        self.each(|evidence| if let Evidence::Log(log) = evidence { Some(&**log) } else { None })
    }

    /// Trees of PCI functions: lspci, NCCL's topology files, hwloc, this machine.
    pub fn trees(&self) -> impl Iterator<Item = (&'a Host, &'a Place)> {
        self.each(|evidence| if let Evidence::Host(host) = evidence { Some(&**host) } else { None })
    }

    /// All PCI functions of all trees.
    pub fn devices(&self) -> impl Iterator<Item = Seat<'a>> {
        self.trees().flat_map(|(host, place)| {
            let all = host.devices.iter().enumerate();
            all.map(move |(index, device)| Seat { host, index, device, place })
        })
    }

    /// Figures of pairs of GPUs, hosts or ports.
    pub fn pair_tables(&self) -> impl Iterator<Item = (&'a PairTable, &'a Place)> {
        self.each(|evidence| if let Evidence::Pairs(table) = evidence { Some(&**table) } else { None })
    }

    /// Networks of switches.
    pub fn subnets(&self) -> impl Iterator<Item = (&'a Subnet, &'a Place)> {
        self.each(|evidence| if let Evidence::Subnet(subnet) = evidence { Some(&**subnet) } else { None })
    }

    /// All that is set, by `env`, a file or a log; one entry for each place.
    pub fn stated(&self) -> impl Iterator<Item = Stated> {
        let written = self.records("setting").filter_map(|said| {
            let value = said.record.text("value")?.to_owned();
            Some(Stated { name: said.record.subject.clone(), value, place: said.place() })
        });
        let logged = self.logs().flat_map(|(log, place)| {
            log.settings.iter().map(|setting| Stated {
                name: setting.name.clone(),
                value: setting.value.clone(),
                place: at(place, setting.line),
            })
        });
        written.chain(logged)
    }

    /// The first statement of a setting.
    pub fn setting(&self, name: &str) -> Option<Stated> {
        self.stated().find(|stated| stated.name == name)
    }

    /// The models of the GPUs: of the machine, else of what benchmarks list; each once, unknown ones left out.
    pub fn gpus(&self) -> &[&'a Gpu] {
        self.known.gpus.get_or_init(|| self.all_gpus())
    }

    fn all_gpus(&self) -> Vec<&'a Gpu> {
        let known = |name: &str| self.catalogue.gpu(name).ok();
        let mut found: Vec<&Gpu> = Vec::new();
        let of_machine = self.machine().into_iter().flat_map(|machine| &machine.gpus);
        let mut add = |gpu: Option<&'a Gpu>| {
            if let Some(gpu) = gpu.filter(|gpu| found.iter().all(|own| own.name != gpu.name)) {
                found.push(gpu);
            }
        };
        of_machine.for_each(|group| add(group.model.as_deref().and_then(known)));
        for run in &self.runs {
            run.benchmark.gpus().into_iter().for_each(|name| add(known(name)));
        }
        found
    }

    /// The version of NCCL or RCCL, with where it stands.
    pub fn library(&self) -> Option<(&'a str, Place)> {
        self.logs().find_map(|(log, place)| {
            let first = log.versions.first()?;
            Some((first.version.as_str(), at(place, first.line)))
        })
    }

    /// How many hosts take part, as a log, a list of ranks or the machine says; at least 1.
    pub fn host_count(&self) -> usize {
        *self.known.hosts.get_or_init(|| self.count_hosts())
    }

    fn count_hosts(&self) -> usize {
        let logged = self.logs().map(|(log, _)| {
            let nodes = log.communicators.iter().filter_map(|it| it.nodes).max().unwrap_or(1);
            log.hosts.len().max(usize::try_from(nodes).unwrap_or(1))
        });
        let listed = self.runs.iter().map(|run| run.benchmark.hosts().len());
        let built = self.machine().map_or(1, |machine| usize::try_from(machine.host.count).unwrap_or(1));
        logged.chain(listed).max().unwrap_or(1).max(built)
    }

    /// Runs with an expectation.
    pub fn compared(&self) -> impl Iterator<Item = (&Run<'a>, &Comparison)> {
        self.runs.iter().filter_map(|run| Some((run, run.comparison.as_ref()?)))
    }

    /// The point that falls farthest short of what is expected, of the largest size of each run that is low; with its
    /// place.
    pub fn shortfall(&self) -> Option<(&Point, Place, &Comparison)> {
        let low = self.compared().filter_map(|(run, comparison)| {
            let point = comparison.points.last().filter(|point| point.verdict == Verdict::Low)?;
            Some((point, at(run.place, point.line), comparison))
        });
        low.min_by(|a, b| a.0.ratio.total_cmp(&b.0.ratio))
    }

    /// Whether there is a run that reaches sizes where links and not latencies count, and none of those sizes is low.
    pub fn is_fast(&self) -> bool {
        let mut large = self
            .compared()
            .flat_map(|(_, comparison)| &comparison.points)
            .filter(|point| point.bytes >= Bytes::new(16 << 20))
            .peekable();
        large.peek().is_some() && large.all(|point| point.verdict != Verdict::Low)
    }
}

impl Said<'_> {
    /// Where the record begins.
    pub fn place(&self) -> Place {
        at(self.place, self.record.line)
    }

    /// Where a field stands; the record's begin where there is no such field.
    pub fn field_place(&self, name: &str) -> Place {
        at(self.place, self.record.field(name).map_or(self.record.line, |field| field.line))
    }

    /// A field in words, as `weft show` has it: text, or `on`/`off`, or the number.
    pub fn words(&self, name: &str) -> Option<String> {
        Some(match self.record.get(name)? {
            Value::Text(text) => text.clone(),
            Value::Count(count) => count.to_string(),
            Value::Rate(rate) => rate.to_string(),
            Value::Flag(flag) => (if *flag { "on" } else { "off" }).to_owned(),
        })
    }
}

impl Seat<'_> {
    /// Where the tool prints it.
    pub fn place(&self) -> Place {
        at(self.place, self.device.line)
    }

    /// The bridge above.
    pub fn parent(&self) -> Option<Self> {
        let index = self.device.parent?;
        Some(Self { index, device: self.host.devices.get(index)?, ..*self })
    }

    /// The bridges above, from the next one up to the root.
    pub fn above(&self) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        let mut next = self.parent();
        // A file may name a bridge above itself.
        while let Some(seat) = next.filter(|seat| found.iter().all(|own| own.index != seat.index)) {
            found.push(seat);
            next = seat.parent();
        }
        found
    }

    /// Whether it is a GPU for computing: by what a library sees in it, else by class and vendor.
    pub fn is_gpu(&self) -> bool {
        let seen = self.device.roles.iter().any(|role| matches!(role, DeviceRole::Gpu(_)));
        let (class, vendor) = (self.device.class, self.device.vendor);
        // VGA and 3D controllers, and AMD's accelerators; Aspeed and Matrox drive consoles.
        seen || matches!(class, Some(0x0300 | 0x0302 | 0x0380 | 0x1200))
            && matches!(vendor, Some(0x10de | 0x1002))
    }

    /// Whether it is a network adapter: by what a library or the operating system sees in it, else by class.
    pub fn is_nic(&self) -> bool {
        let seen = self.device.roles.iter().any(|role| matches!(role, DeviceRole::Adapter(_)));
        let named = self.host.os_devices.iter().any(|device| {
            device.device == Some(self.index)
                && matches!(device.kind, OsDeviceKind::Network | OsDeviceKind::Rdma)
        });
        seen || named || self.device.class.is_some_and(|class| class >> 8 == 0x02)
    }

    /// Whether it is a bridge.
    pub fn is_bridge(&self) -> bool {
        self.device.class == Some(0x0604)
    }
}

fn run<'a>(benchmark: &'a Benchmark, place: &'a Place, table: Option<Table<'a>>) -> Run<'a> {
    let Some(Table { comparison, machine, asked, .. }) = table else {
        return Run { benchmark, place, comparison: None, assumed: None, asked: None };
    };
    Run { benchmark, place, comparison: Some(comparison), assumed: machine, asked: Some(asked) }
}

/// Whether what was compared can be what ran. A collective that is not named was taken to be an all-reduce, and its
/// busbw by its algbw may speak against that; ranks that share a GPU are partitions of it, and no machine of so many.
fn fits(benchmark: &Benchmark, table: &Table<'_>) -> bool {
    let Comparison { collective, ranks, .. } = table.comparison;
    let last = benchmark.rows.iter().rev().find_map(|row| row.busbw.zip(row.algbw));
    let told = last.map(|(busbw, algbw)| busbw.as_gigabytes() / algbw.as_gigabytes().max(1e-9));
    let is_so = told.is_none_or(|told| (told / collective.bus_factor(ranks) - 1.0).abs() < 0.05);
    let is_whole = table.machine.is_none() || !benchmark.ranks.iter().any(|rank| shares_gpu(benchmark, rank));
    (benchmark.collective.is_some() || is_so) && is_whole
}

/// Whether another rank of the host has the same bus address; virtual machines print 0 for all.
pub(crate) fn shares_gpu(benchmark: &Benchmark, rank: &BenchmarkRank) -> bool {
    let bus = rank.bus.as_deref().unwrap_or_default();
    let is_known =
        bus.trim_start_matches("0x").chars().any(|digit| digit.is_ascii_hexdigit() && digit != '0');
    let is_like = |other: &BenchmarkRank| other.host == rank.host && other.bus == rank.bus;
    is_known && benchmark.ranks.iter().any(|other| other.rank != rank.rank && is_like(other))
}

/// The line of a file of which `place` is some place.
pub fn at(place: &Place, line: u32) -> Place {
    if line == 0 { place.clone() } else { Place::new(place.file.clone(), line, 1, 0) }
}
