//! Two runs of as many GPUs, one within a PCIe switch and one across: which is slower.

use weft_base::{Bytes, Place, Rate};
use weft_formats::Benchmark;
use weft_topology::ReportedClass;

use crate::chart::{Chart, Seat, at};

/// GPUs of one switch that are slower than as many across switches or sockets.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    pub inside: Rate,
    pub across: Rate,
    pub bytes: Bytes,
    pub ranks: usize,
    pub place: Place,
}

impl Pattern {
    pub fn ratio(&self) -> f64 {
        self.inside.as_gigabytes() / self.across.as_gigabytes().max(1e-9)
    }

    pub fn says(&self) -> String {
        format!(
            "{} GPUs within a switch reach {} at {}, {} GPUs across {}",
            self.ranks, self.inside, self.bytes, self.ranks, self.across
        )
    }
}

/// The pattern, where the input has both runs and the one within the switch is clearly slower.
pub(crate) fn inside_slower_than_across(chart: &Chart<'_>) -> Option<Pattern> {
    let runs: Vec<(&Benchmark, &Place)> =
        chart.benchmarks().filter(|(run, _)| !run.rows.is_empty()).collect();
    for (inside, place) in runs.iter().filter(|(run, _)| is_within(chart, run) == Some(true)) {
        let like = |run: &Benchmark| {
            run.ranks.len() == inside.ranks.len()
                && run.collective == inside.collective
                && is_within(chart, run) == Some(false)
        };
        for (across, _) in runs.iter().filter(|(run, _)| like(run)) {
            let Some((row, other)) = largest_common(inside, across) else { continue };
            let (Some(inside_rate), Some(across_rate)) = (row.rate(), other.rate()) else { continue };
            let found = Pattern {
                inside: inside_rate,
                across: across_rate,
                bytes: row.bytes,
                ranks: inside.ranks.len(),
                place: at(place, row.line),
            };
            // Within a switch nothing is shared that is not shared across: equal is the least.
            if found.ratio() < 0.8 {
                return Some(found);
            }
        }
    }
    None
}

/// Whether all ranks are behind one switch; `None` where the matrix does not tell.
fn is_within(chart: &Chart<'_>, run: &Benchmark) -> Option<bool> {
    let devices: Option<Vec<u32>> = run.ranks.iter().map(|rank| place_of(chart, rank)).collect();
    let devices = devices.filter(|devices| devices.len() > 1 && run.hosts().len() <= 1)?;
    let mut all = true;
    for (index, a) in devices.iter().enumerate() {
        for b in &devices[index + 1..] {
            let class = chart.class_of(*a, *b)?;
            if matches!(class, ReportedClass::Nv(_) | ReportedClass::Xgmi) {
                return None;
            }
            all &= matches!(class, ReportedClass::Pix | ReportedClass::Pxb);
        }
    }
    Some(all)
}

/// The number of a rank's GPU among those of the machine: by its bus, since `CUDA_VISIBLE_DEVICES` counts anew.
fn place_of(chart: &Chart<'_>, rank: &weft_formats::BenchmarkRank) -> Option<u32> {
    let bus = |text: &str| {
        let text = text.trim_start_matches("0x");
        let inner = text.rsplit(':').nth(1).unwrap_or(text);
        u8::from_str_radix(inner, 16).ok()
    };
    let wanted = bus(rank.bus.as_deref()?);
    let mut known: Vec<u8> =
        chart.devices().filter(Seat::is_gpu).filter_map(|seat| bus(&seat.device.address)).collect();
    for said in chart.records("gpu") {
        known.extend(said.record.text("bus-id").and_then(bus));
        known.extend(said.record.subject.strip_prefix("GPU ").filter(|it| it.contains(':')).and_then(bus));
    }
    known.sort_unstable();
    known.dedup();
    let by_bus = wanted.and_then(|wanted| known.iter().position(|own| *own == wanted));
    let number = by_bus.and_then(|at| u32::try_from(at).ok());
    number.or(if known.is_empty() { rank.device } else { None })
}

fn largest_common<'b>(
    a: &'b Benchmark,
    b: &'b Benchmark,
) -> Option<(&'b weft_formats::BenchmarkRow, &'b weft_formats::BenchmarkRow)> {
    let mut found = None;
    for row in a.rows.iter().filter(|row| !row.in_place && row.bytes >= Bytes::new(16 << 20)) {
        let other = b.rows.iter().find(|other| other.bytes == row.bytes && !other.in_place);
        found = other.map(|other| (row, other)).or(found);
    }
    found
}
