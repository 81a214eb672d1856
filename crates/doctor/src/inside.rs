//! What is known of the inside of one machine: its GPUs by name, its IOMMU, who may access whom, runs that hang.

use weft_base::{Bytes, Place, Rate};
use weft_catalogue::{Gpu, PciId};
use weft_formats::{
    Access, Benchmark, DeviceRole, EndKind, Evidence, Measure, PairTable, PeerMode, TransportKind, Value,
};
use weft_topology::ReportedClass;

use crate::chart::{Chart, Seat, at};

/// A GPU that the input names.
#[derive(Debug, Clone)]
pub struct NamedGpu<'a> {
    /// Its model.
    pub gpu: &'a Gpu,
    /// Where.
    pub place: Place,
}

/// What the IOMMU does to peers' traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Iommu {
    /// Switched off.
    Off,
    /// On, and devices of the host are not translated.
    Passthrough,
    /// On, and each address is translated.
    Translated,
}

/// A fact and where it stands.
#[derive(Debug, Clone)]
pub struct Stands<T> {
    /// The fact.
    pub fact: T,
    /// Where.
    pub place: Place,
    /// What stands there, in few words.
    pub says: String,
}

/// What copies between GPUs reach with direct access and without.
#[derive(Debug, Clone)]
pub struct OnOff {
    /// `GPU0 to GPU1`.
    pub pair: String,
    /// With.
    pub on: Rate,
    /// Without.
    pub off: Rate,
    /// Of the figure with direct access.
    pub place: Place,
}

impl OnOff {
    /// With by without.
    pub fn ratio(&self) -> f64 {
        self.on.as_gigabytes() / self.off.as_gigabytes().max(1e-9)
    }
}

/// The model in a name as tools print it: `NVIDIA Corporation GA102 [GeForce RTX 3090] (rev a1)`, or of several
/// boards of one chip the first that is known: `[AMD/ATI] Tahiti XT [Radeon HD 7970/8970 OEM / R9 280X]`.
fn model<'a>(chart: &Chart<'a>, name: &str) -> Option<&'a Gpu> {
    let find = |name: &str| chart.catalogue.gpu(name.trim()).ok();
    let bracketed = || name.split('[').skip(1).filter_map(|rest| rest.split(']').next());
    let in_parts = || bracketed().flat_map(|inner| inner.split('/'));
    find(name).or_else(|| bracketed().find_map(find)).or_else(|| in_parts().find_map(find))
}

impl<'a> Chart<'a> {
    /// All GPUs that the input names and the catalogue knows; one entry for each place.
    pub fn named_gpus(&self) -> &[NamedGpu<'a>] {
        self.known.named.get_or_init(|| self.all_named_gpus())
    }

    fn all_named_gpus(&self) -> Vec<NamedGpu<'a>> {
        let mut found = Vec::new();
        let mut add = |gpu: Option<&'a Gpu>, place: Place| {
            found.extend(gpu.map(|gpu| NamedGpu { gpu, place }));
        };
        for said in self.records("gpu") {
            let named = ["product-name", "model", "name"].iter().find_map(|field| said.record.text(field));
            add(named.and_then(|name| model(self, name)), said.place());
        }
        for (table, place) in self.pair_tables() {
            for device in &table.devices {
                add(model(self, &device.model), at(place, table.line));
            }
        }
        for run in &self.runs {
            for rank in &run.benchmark.ranks {
                add(rank.gpu.as_deref().and_then(|name| model(self, name)), at(run.place, rank.line));
            }
        }
        // A topology file may be of another machine, so that what tools say goes first.
        for seat in self.devices().filter(Seat::is_gpu) {
            add(self.model_of(&seat), seat.place());
        }
        found
    }

    /// The model of a PCI function that is a GPU.
    pub fn model_of(&self, seat: &Seat<'a>) -> Option<&'a Gpu> {
        let id = seat.device.vendor.zip(seat.device.device);
        let by_id = id.and_then(|(vendor, device)| {
            let mut all = self.catalogue.gpus_by_id(PciId { vendor, device });
            all.next()
        });
        let role = seat.device.roles.iter().find_map(|role| match role {
            DeviceRole::Gpu(gpu) => gpu.model.as_deref(),
            DeviceRole::Adapter(_) | DeviceRole::GpuSwitch => None,
        });
        let by_name = || role.or(seat.device.name.as_deref()).and_then(|name| model(self, name));
        by_id.or_else(by_name)
    }

    /// The models of its GPUs, each once: those that the input names, else those of the machine.
    pub fn models(&self) -> Vec<&'a Gpu> {
        let mut found: Vec<&Gpu> = Vec::new();
        for named in self.named_gpus() {
            if found.iter().all(|own| own.name != named.gpu.name) {
                found.push(named.gpu);
            }
        }
        if found.is_empty() { self.gpus().to_vec() } else { found }
    }

    /// How many GPUs a host has, as far as is known.
    pub fn gpu_count(&self) -> usize {
        let matrix = self.case.matrix.iter().map(|it| it.value.of_kind(EndKind::Gpu).count());
        let listed = self.pair_tables().map(|(table, _)| table.devices.len());
        let seats = self
            .trees()
            .map(|(host, _)| (0..host.devices.len()).filter(|index| self.is_gpu_at(host, *index)).count());
        let said = self.reports().map(|(report, _)| {
            report.records.iter().filter(|it| it.kind == "gpu" && it.subject != "GPU").count()
        });
        let ran = self.runs.iter().map(|run| run.benchmark.ranks.len() / run.benchmark.hosts().len().max(1));
        matrix.chain(listed).chain(seats).chain(said).chain(ran).max().unwrap_or(0)
    }

    fn is_gpu_at(&self, host: &'a weft_formats::Host, index: usize) -> bool {
        self.devices().any(|seat| std::ptr::eq(seat.host, host) && seat.index == index && seat.is_gpu())
    }

    /// What the kernel was started with, of that name (`iommu`, `intel_iommu`); the last of several.
    pub fn kernel_option(&self, name: &str) -> Option<Stands<String>> {
        let field = name.replace('_', "-");
        let all = self.records("setting").filter(|said| said.record.subject == "kernel command line");
        let found = all.filter_map(|said| {
            let value = said.words(&field)?;
            Some(Stands { says: format!("{name}={value}"), fact: value, place: said.field_place(&field) })
        });
        found.last()
    }

    /// Whether the IOMMU translates what devices send to each other.
    pub fn iommu(&self) -> Option<Stands<Iommu>> {
        let mut on = None;
        for name in ["iommu", "intel_iommu", "amd_iommu", "iommu.passthrough"] {
            let Some(option) = self.kernel_option(name) else { continue };
            let fact = match option.fact.as_str() {
                "off" | "no" if name != "iommu.passthrough" => Iommu::Off,
                "pt" | "soft" | "1" => Iommu::Passthrough,
                "on" | "yes" | "force" | "sm_on" | "igfx_off" => {
                    let both = Stands { fact: Iommu::Translated, place: option.place, says: option.says };
                    on.get_or_insert(both);
                    continue;
                }
                _ => continue,
            };
            return Some(Stands { fact, place: option.place, says: option.says });
        }
        let events = || self.events("iommu").chain(self.events("pcie"));
        let message = |said: &crate::Said<'a>| said.record.text("message").unwrap_or_default().to_owned();
        let domain = events().find_map(|said| {
            let text = message(&said);
            let kind = text.split_once("Default domain type: ")?.1;
            let fact = if kind.starts_with("Passthrough") { Iommu::Passthrough } else { Iommu::Translated };
            Some(Stands { fact, place: said.place(), says: text.clone() })
        });
        if let Some(domain) = domain {
            // The kernel says so even where no IOMMU was switched on.
            let works = on.is_some()
                || events().any(|said| {
                    let text = message(&said);
                    text.contains("AMD-Vi: ") || text.contains("Virtualization Technology for Directed I/O")
                });
            return (works || domain.fact == Iommu::Passthrough).then_some(domain);
        }
        on.or_else(|| {
            let enabled = events().find(|said| message(said).contains("IOMMU enabled"))?;
            let says = message(&enabled);
            Some(Stands { fact: Iommu::Translated, place: enabled.place(), says })
        })
    }

    /// Accesses to memory that the IOMMU did not let through.
    pub fn iommu_faults(&self) -> Vec<Stands<()>> {
        let refused = ["fault reason", "IO_PAGE_FAULT", "fault addr"];
        self.events("iommu")
            .chain(self.events("pcie"))
            .chain(self.events("driver"))
            .filter_map(|said| {
                let text = said.record.text("message")?;
                refused.iter().any(|words| text.contains(words)).then(|| Stands {
                    fact: (),
                    place: said.place(),
                    says: text.to_owned(),
                })
            })
            .collect()
    }

    /// What the driver says of peers' access over PCIe: the first cell of each kind of answer.
    pub fn peer_answers(&self) -> Vec<Stands<Access>> {
        let mut found: Vec<Stands<Access>> = Vec::new();
        let copies = |mode: Option<PeerMode>| !matches!(mode, Some(PeerMode::NvLink | PeerMode::Atomics));
        for peers in self.case.peers.iter().filter(|peers| copies(peers.value.mode)) {
            let name = |index: usize| peers.value.ends.get(index).map_or("?", String::as_str);
            for cell in &peers.value.cells {
                let Some(access) = cell.access else { continue };
                if found.iter().all(|own| own.fact != access) {
                    let (row, column) = (name(cell.row), name(cell.column));
                    let says = format!("{row} to {column}: {}", access.word());
                    found.push(Stands { fact: access, place: cell.place.clone(), says });
                }
            }
        }
        found
    }

    /// Whether GPUs may access each other directly: what the driver or a test says; `None` where nothing says.
    pub fn peers_allowed(&self) -> Option<Stands<bool>> {
        let answers = self.peer_answers();
        let refused = answers.iter().find(|it| !matches!(it.fact, Access::Ok | Access::Unknown));
        if let Some(told) = refused.or_else(|| answers.first()) {
            let fact = refused.is_none();
            return Some(Stands { fact, place: told.place.clone(), says: told.says.clone() });
        }
        let tested = self.pair_tables().find_map(|(table, place)| {
            let cell = table.between().find_map(|cell| match cell.measure {
                Measure::Access(access) => Some((cell, access)),
                Measure::Rate(_) | Measure::Span(_) => None,
            });
            let all = table.between().all(|cell| cell.measure == Measure::Access(true));
            let (cell, _) = cell?;
            let says =
                (if all { "all pairs can access each other" } else { "not all pairs have access" }).into();
            Some(Stands { fact: all, place: at(place, cell.line), says })
        });
        let served = || {
            let (place, says) = self.all_reduce_refused().filter(|(_, why)| why.contains("P2P"))?;
            Some(Stands { fact: false, place, says })
        };
        tested.or_else(served).or_else(|| {
            // A test that names a refusal above prints what goes through host memory under `P2P=Enabled`.
            let (table, place) = self
                .pair_tables()
                .find(|(table, _)| table.is_direct == Some(false) && table.title.contains("P2P=Enabled"))?;
            let says = "no GPU can access another".to_owned();
            Some(Stands { fact: false, place: at(place, table.line), says })
        })
    }

    /// Copies with direct access beside the same copies without, the slowest first.
    pub fn on_and_off(&self) -> Vec<OnOff> {
        let tables: Vec<(&PairTable, &Place)> = self.pair_tables().collect();
        let mut found = Vec::new();
        for (with, place) in tables.iter().filter(|(table, _)| table.is_direct == Some(true)) {
            let without = tables.iter().find(|(table, other)| {
                table.is_direct == Some(false)
                    && table.both_directions == with.both_directions
                    && table.rows == with.rows
                    && other.file == place.file
            });
            let Some((without, _)) = without else { continue };
            for cell in with.between() {
                let other = without.cell(cell.row, cell.column).map(|cell| cell.measure);
                let (Measure::Rate(on), Some(Measure::Rate(off))) = (cell.measure, other) else { continue };
                let name = |names: &[String], index: usize| names.get(index).cloned().unwrap_or_default();
                let pair = format!("{} to {}", name(&with.rows, cell.row), name(&with.columns, cell.column));
                found.push(OnOff { pair, on, off, place: at(place, cell.line) });
            }
        }
        found.sort_by(|a, b| a.ratio().total_cmp(&b.ratio()));
        found
    }

    /// Runs that began and printed no figure, whose ranks were connected over peer-to-peer: benchmarks whose table is
    /// empty, with the place of the list of ranks.
    pub fn stalled_over_peers(&self) -> Vec<Stands<usize>> {
        let empty = self.runs.iter().filter(|run| {
            run.benchmark.rows.is_empty() && run.benchmark.ranks.len() > 1 && run.benchmark.hosts().len() <= 1
        });
        let over_peers = |run: &crate::Run<'a>| {
            self.logs().find_map(|(log, place)| {
                let transport = log.transports.iter().find(|it| it.kind == TransportKind::PeerToPeer)?;
                let came_up = log.communicators.iter().all(|it| it.members.iter().all(|rank| rank.complete));
                (place.file == run.place.file && came_up)
                    .then(|| (at(place, transport.line), &transport.name))
            })
        };
        empty
            .filter_map(|run| {
                let (place, name) = over_peers(run)?;
                let count = run.benchmark.ranks.len();
                let says = format!("{count} ranks connect over {name}, and no size is ever printed");
                Some(Stands { fact: count, place, says })
            })
            .collect()
    }

    /// The class of two GPUs of the matrix, by their numbers.
    pub fn class_of(&self, a: u32, b: u32) -> Option<ReportedClass> {
        let matrix = &self.case.matrix.as_ref()?.value;
        let gpu = |number: u32| matrix.of_kind(EndKind::Gpu).nth(usize::try_from(number).ok()?);
        matrix.class(gpu(a)?, gpu(b)?)
    }

    /// Whether a pair of GPUs of the matrix is not joined by NVLink, and whether one is.
    pub fn pairs_by_link(&self) -> (bool, bool) {
        let Some(matrix) = self.case.matrix.as_ref().map(|located| &located.value) else {
            return (false, false);
        };
        let gpus: Vec<usize> = matrix.of_kind(EndKind::Gpu).collect();
        let (mut without, mut with) = (false, false);
        for (at, a) in gpus.iter().enumerate() {
            for b in &gpus[at + 1..] {
                match matrix.class(*a, *b) {
                    Some(ReportedClass::Nv(_) | ReportedClass::Xgmi) => with = true,
                    Some(_) => without = true,
                    None => {}
                }
            }
        }
        (without, with)
    }

    /// Windows into the memory of GPUs (BAR1) beside that memory, in bytes, of those that are told.
    pub fn windows(&self) -> Vec<Stands<(Bytes, Bytes)>> {
        let mebibytes = |value: &Value| match value {
            Value::Text(text) => text.strip_suffix(" MiB")?.trim().parse::<u64>().ok()?.checked_mul(1 << 20),
            Value::Count(_) | Value::Rate(_) | Value::Flag(_) => None,
        };
        let said = self.records("gpu").filter_map(|said| {
            let size = |name: &str| said.record.get(name).and_then(mebibytes);
            let (window, memory) = (size("bar1-memory-usage-total")?, size("fb-memory-usage-total")?);
            Some(Stands {
                fact: (Bytes::new(window), Bytes::new(memory)),
                place: said.field_place("bar1-memory-usage-total"),
                says: format!("BAR1 of {} MiB for {} MiB of memory", window >> 20, memory >> 20),
            })
        });
        said.collect()
    }

    /// The version of the GPU driver, with where it stands.
    pub fn driver(&self) -> Option<Stands<String>> {
        let told = self.records("setting").chain(self.records("gpu")).find_map(|said| {
            let version = said.record.text("driver-version")?;
            Some(Stands {
                says: format!("driver {version}"),
                fact: version.to_owned(),
                place: said.field_place("driver-version"),
            })
        });
        told.or_else(|| {
            self.events("driver").find_map(|said| {
                let text = said.record.text("message")?;
                let rest = text.split_once("Kernel Module")?.1;
                let is_version =
                    |word: &&str| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit());
                let version = rest.split_whitespace().find(is_version)?;
                Some(Stands { says: text.to_owned(), fact: version.to_owned(), place: said.place() })
            })
        })
    }

    /// Benchmarks of the input, whether or not they are compared.
    pub fn benchmarks(&self) -> impl Iterator<Item = (&'a Benchmark, &'a Place)> {
        self.case.evidence.iter().filter_map(|located| {
            let Evidence::Benchmark(benchmark) = &located.value else { return None };
            Some((&**benchmark, &located.place))
        })
    }
}
