//! A rate of the data sheet that adds both directions, or is of the line before its protocol.

use weft_base::{Bytes, Place, Rate};
use weft_catalogue::LinkFamily;
use weft_formats::{Measure, PairCell, PairTable};
use weft_predictor::Algorithm;
use weft_predictor::compare::{Pairs, Verdict};
use weft_topology::{NodeId, NodeKind, route};

use super::wires::{Port, fabric_port};
use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, at};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;

/// The data sheet's figure is not what one direction can do.
pub const MISREAD_NAMEPLATE: Cause = Cause {
    code: "D074",
    word: "misread-nameplate",
    title: "a rate of the data sheet counts both directions, or the line before its protocol",
    nature: Nature::Misreading,
    effect: Effect::Bandwidth,
    explanation: "Data sheets add both directions of all links: the 600 GB/s of an A100 are 12 links x 25 GB/s x 2, the 900 of an \
        H100 or H20 are 450 one way, the 400 of an H800 are 200, the 112.5 of a bridge between two RTX 3090 are 56.25. Of one \
        direction a protocol takes its share (an XGMI link of MI300X is 64 GB/s raw and 48 behind protocol and error \
        correction, one of MI100 gives 76 %), and copies by the GPU's cores in packets of 128 bytes reach about 80 % of an \
        NVLink. So 230 GB/s on an A100, 160 on an H800, 337 on an H20 are as they should be; so are 26 GB/s over PCIe 4.0 x16. \
        benchmarks count one direction. Settled so in NVIDIA/nccl-tests#149, deepseek-ai/DeepSeek-V3#28, deepseek-ai/DeepEP#16, \
        ROCm/rccl#1210, ROCm/legacy-rocm-build#2499 and huggingface/transformers#9371.",
};

/// Copies from this share of what links are known to reach are in order.
const FINE: f64 = 0.8;
/// More than that and the links are others than assumed.
const TOO_GOOD: f64 = 1.3;
/// From here on a run shows the links and not latencies.
const LARGE: Bytes = Bytes::new(64 << 20);

/// The rule.
#[derive(Debug)]
pub struct Nameplate;

impl Rule for Nameplate {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&MISREAD_NAMEPLATE]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let found =
            of_runs(chart).or_else(|| chart.copies.iter().find_map(|copies| of_copies(chart, copies)));
        found.into_iter().collect()
    }
}

/// The best run that is in order, goes over the fabric of one node, and whose switches do not add.
fn of_runs(chart: &Chart<'_>) -> Option<Finding> {
    let runs = chart.compared().filter_map(|(run, comparison)| {
        let point =
            comparison.points.iter().filter(|point| point.bytes >= LARGE).max_by_key(|it| it.busbw)?;
        let is_fine = comparison
            .points
            .last()
            .is_some_and(|it| matches!(it.verdict, Verdict::AsExpected | Verdict::High));
        let is_added = matches!(point.expected.algorithm, Algorithm::Nvls | Algorithm::NvlsTree);
        if !is_fine || is_added || comparison.prediction.nodes != 1 {
            return None;
        }
        let port = fabric_port(run, chart.catalogue).filter(|port| point.busbw < port.raw)?;
        Some((point.busbw, port, run.at(point.line), format!("busbw of {}", comparison.collective.name())))
    });
    let (rate, port, place, of) = runs.max_by_key(|(rate, ..)| *rate)?;
    Some(finding(chart, &port, rate, place, &of))
}

/// Copies between two GPUs that reach what their links do.
fn of_copies(chart: &Chart<'_>, copies: &Pairs) -> Option<Finding> {
    if !(FINE..TOO_GOOD).contains(&copies.evidence.share) {
        return None;
    }
    let (table, place) = chart.pair_tables().find(|(_, place)| **place == copies.place)?;
    let rate = |cell: &PairCell| if let Measure::Rate(rate) = cell.measure { Some(rate) } else { None };
    let cell = table.between().max_by_key(|cell| rate(cell))?;
    let port = path(chart, table, cell)?;
    let rate = rate(cell).filter(|rate| *rate < port.raw)?;
    Some(finding(chart, &port, rate, at(place, cell.line), &format!("copies in {}", copies.title)))
}

/// The narrowest links between the two GPUs of a cell.
fn path<'c>(chart: &Chart<'c>, table: &PairTable, cell: &PairCell) -> Option<Port<'c>> {
    let gpus: Vec<NodeId> = chart.host.of_kind(NodeKind::Gpu).collect();
    let gpu = |name: Option<&String>| {
        let number: usize = name?.trim_start_matches("GPU").trim().parse().ok()?;
        gpus.get(number).copied()
    };
    let (from, to) = (gpu(table.rows.get(cell.row))?, gpu(table.columns.get(cell.column))?);
    let route = route(chart.host, from, to)?;
    let hop = route.hops.get(route.bottleneck)?;
    let links = || hop.links.iter().map(|link| chart.host.link(*link));
    let family = chart.host.family(links().next()?);
    if !matches!(family, LinkFamily::GpuFabric | LinkFamily::Pcie) {
        return None;
    }
    let kind = chart.catalogue.link(&chart.host.kind(links().next()?.kind).name).ok()?;
    let count: u16 = links().map(|link| link.count).sum();
    Some(Port { kind, count, raw: kind.rate(count), usable: kind.usable(count), to_switch: false })
}

fn finding(chart: &Chart<'_>, port: &Port<'_>, rate: Rate, place: Place, of: &str) -> Finding {
    let gpu = match *chart.gpus() {
        [gpu] => format!(" of {}", gpu.title),
        _ => String::new(),
    };
    let share = 100.0 * rate.as_gigabytes() / port.raw.as_gigabytes();
    let what = format!(
        "{rate} is in order: the {} that {}{gpu} are sold with add both directions; one way they signal {}, of which \
         copies reach about {}",
        port.both(),
        port.text(),
        port.raw,
        port.usable
    );
    let mut found = Finding::new(&MISREAD_NAMEPLATE, Confidence::Likely, what)
        .at(place, format!("{of}: {rate}, {share:.0} % of {} one way", port.raw))
        .figures(of, port.usable, rate)
        .fix(format!("nothing to mend; compare with {} one way", port.usable));
    if let Some(protocol) = &port.kind.protocol {
        let behind = port.raw.times(protocol.value);
        found = found.without(format!("behind the protocol's own bytes {behind} of {} are left", port.raw));
    }
    found
}
