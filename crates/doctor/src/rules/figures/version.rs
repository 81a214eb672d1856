//! Versions of the library that are known to go wrong on a machine, by what they print.

use std::collections::BTreeSet;

use weft_base::{Place, Rate};
use weft_catalogue::LinkFamily;
use weft_formats::{NcclLog, TransportKind};
use weft_predictor::Version;

use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, Run, at, shares_gpu};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;

/// The library's own fault, or its tables'.
pub const VERSION_ALGORITHM: Cause = Cause {
    code: "D082",
    word: "version-algorithm",
    title: "the version of the library, or its choice, is known to be bad here",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "NCCL and RCCL choose algorithm, protocol and channels by what they read of the machine and by tables of their \
        version. Known to go wrong: up to 2.10 NCCL does not know the word `16.0 GT/s PCIe` that newer kernels print and takes \
        every link for generation 3 (NVIDIA/nccl#837); 2.6.2 does not read GPU memory with GPUDirect (NVIDIA/nccl#307); 2.28 adds \
        the PCIe widths of a bonded adapter's members (meta-pytorch/torchcomms#597); RCCL's tables are of whole GPUs and not of the partitions of CPX \
        mode (ROCm/rocm-systems#9764). And a setting (NCCL_ALGO, NCCL_PROTO, NCCL_MAX_NCHANNELS) that suited one machine stays in \
        a job's environment on the next. `NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING` shows version, links and choice; \
        another version, or unsetting the variable, shows whether it was that.",
};

/// Connections of networks carry so much in one slot only where its width was added up.
const DOUBLE: f64 = 1.9;

/// The rule.
#[derive(Debug)]
pub struct KnownVersions;

impl Rule for KnownVersions {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&VERSION_ALGORITHM]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let of_logs = chart
            .logs()
            .find_map(|(log, place)| unknown_speed(log, place).or_else(|| no_gdr_reads(log, place)));
        let found = of_logs.or_else(|| widened(chart)).or_else(|| partitions(chart));
        found.into_iter().collect()
    }
}

fn version(log: &NcclLog) -> Option<Version> {
    log.versions.first()?.version.parse().ok()
}

fn named(log: &NcclLog) -> String {
    log.versions
        .first()
        .map_or("the library".to_owned(), |it| format!("{} {}", it.library.to_uppercase(), it.version))
}

/// A speed of a PCIe link in words that the version does not know. (An empty word is a virtual machine's.)
fn unknown_speed(log: &NcclLog, place: &Place) -> Option<Finding> {
    let word = |text: &str| {
        let (_, rest) = text.split_once('\'')?;
        let (word, rest) = rest.split_once('\'')?;
        (word.contains("GT/s") && rest.contains("falling back")).then(|| word.trim().to_owned())
    };
    let (said, word) = log.remarks.iter().find_map(|said| Some((said, word(&said.text)?)))?;
    let library = named(log);
    let what =
        format!("{library} does not know the speed `{word}` and takes every PCIe link for generation 3");
    let finding = Finding::new(&VERSION_ALGORITHM, Confidence::Certain, what)
        .at(at(place, said.line), format!("{} ({} lines)", said.text, said.count))
        .figures("speed of the PCIe links", &word, "the default, 8 GT/s")
        .costs(0.4, "channels and ways that suit links of half the rate")
        .fix("a newer NCCL: 2.11 or later knows what kernels from 5.7 on print (for each environment that brings its own)")
        .check("no `falling back to` in NCCL_DEBUG=INFO, and PCI[24.0] for generation 4 with NCCL_DEBUG_SUBSYS=GRAPH");
    Some(finding)
}

/// Version 2.6 before 2.6.4 writes to GPU memory from the network, but does not read from it.
fn no_gdr_reads(log: &NcclLog, place: &Place) -> Option<Finding> {
    let version = version(log).filter(|it| (it.major, it.minor) == (2, 6) && it.patch < 4)?;
    let network = || log.transports.iter().filter(|it| it.kind == TransportKind::Network);
    let received = network().find(|it| it.gdr && it.receives > 0)?;
    let sent = network().find(|it| !it.gdr && it.sends > 0)?;
    if network().any(|it| it.gdr && it.sends > 0) {
        return None;
    }
    let what = format!(
        "NCCL {version} receives with GPUDirect RDMA and sends without: it does not read GPU memory over the network"
    );
    let finding = Finding::new(&VERSION_ALGORITHM, Confidence::Certain, what)
        .at(at(place, sent.line), format!("[send] via {} ({} lines)", sent.name, sent.sends))
        .at(
            at(place, received.line),
            format!("[receive] via {} ({} lines)", received.name, received.receives),
        )
        .costs(0.5, "what is sent goes through host memory: about half of the bandwidth between hosts")
        .fix("NCCL 2.6.4 or later; until then NCCL_NET_GDR_READ=1 (for this job)")
        .check("GDRDMA in [send] lines too");
    Some(finding)
}

/// Two versions on one machine of which the newer counts a NIC's slot twice, or a slot that carries more than any does.
fn widened(chart: &Chart<'_>) -> Option<Finding> {
    let widest = |log: &NcclLog| {
        let nodes =
            log.systems.iter().flat_map(|system| system.nodes.iter().map(move |node| (node, system.line)));
        let slots = nodes.filter(|(node, _)| {
            let is_slot = node.link.as_deref() == Some("PCI");
            is_slot && node.name.starts_with("NIC")
        });
        slots.filter_map(|(node, line)| Some((node.rate?, line))).max_by_key(|(rate, _)| *rate)
    };
    let logs: Vec<(Version, &NcclLog, Rate, Place)> = chart
        .logs()
        .filter_map(|(log, place)| {
            let (rate, line) = widest(log)?;
            Some((version(log)?, log, rate, at(place, line)))
        })
        .collect();
    let (_, log, rate, place) = logs.iter().max_by(|a, b| (a.2, a.0).cmp(&(b.2, b.0)))?;
    let older = logs.iter().find(|it| it.2 < *rate && rate.as_gigabytes() > DOUBLE * it.2.as_gigabytes());
    let most = widest_slot(chart)?;
    if older.is_none() && *rate <= most {
        return None;
    }
    let before = older
        .map_or(format!("no slot carries more than {most}"), |it| format!("{} counts {}", named(it.1), it.2));
    let what = format!(
        "{} counts {rate} for the PCIe slot of a NIC, where {before}: it adds the widths of a bonded NIC's members",
        named(log)
    );
    let mut finding = Finding::new(&VERSION_ALGORITHM, Confidence::Certain, what)
        .at(place.clone(), format!("NIC behind PCI[{rate}]"));
    if let Some((_, _, rate, place)) = older {
        finding = finding.at(place.clone(), format!("NIC behind PCI[{rate}]"));
    }
    let finding = finding
        .figures("PCIe slot of a NIC", older.map_or(most, |it| it.2), rate)
        .costs(0.3, "channels for bandwidth that is not there, and rings over the members beside the bond")
        .fix("the version before it, or one that is mended; or NCCL_NET_MERGE_LEVEL=LOC, so that NICs are not merged (for this job)")
        .check("the width in NCCL_DEBUG_SUBSYS=GRAPH is that of one slot, and as many channels as before");
    Some(finding)
}

/// What the fastest slot carries.
fn widest_slot(chart: &Chart<'_>) -> Option<Rate> {
    let kinds = chart.catalogue.links.iter().filter(|kind| kind.family == LinkFamily::Pcie);
    kinds.map(|kind| kind.rate(16)).max()
}

/// Ranks on partitions of one GPU, with the tables of whole GPUs.
fn partitions(chart: &Chart<'_>) -> Option<Finding> {
    let shared = |run: &Run<'_>| {
        let ranks = &run.benchmark.ranks;
        let first = ranks.first().filter(|rank| shares_gpu(run.benchmark, rank))?;
        let count = ranks.iter().filter(|rank| rank.host == first.host && rank.bus == first.bus).count();
        let devices: BTreeSet<_> = ranks.iter().map(|rank| (rank.host.as_deref(), rank.device)).collect();
        let is_amd = run.benchmark.tool == "rccl-tests" || chart.gpus().iter().any(|gpu| gpu.vendor == "amd");
        (is_amd && count >= 4 && devices.len() == ranks.len()).then_some((count, first.line))
    };
    let (run, (count, line)) = chart.runs.iter().find_map(|run| Some((run, shared(run)?)))?;
    let is_tuned = chart.stated().any(|stated| stated.name.contains("MSCCLPP") && stated.value != "0");
    if is_tuned {
        return None;
    }
    let what = format!(
        "{count} ranks are partitions of one GPU (CPX), and nothing tells RCCL so: its tables are of whole GPUs"
    );
    let mut finding = Finding::new(&VERSION_ALGORITHM, Confidence::Likely, what)
        .at(run.at(line), format!("{count} ranks with one bus address"))
        .costs(0.46, "reported: 170 GB/s in place of 315 in an all-reduce inside one MI300X")
        .fix("a RCCL with tables for partitions, or MSCCL++ (RCCL_MSCCLPP_ENABLE=1, RCCL_MSCCLPP_THRESHOLD=1073741824; for this job)")
        .check("the largest sizes gain by a half or more")
        .settle("rocm-smi --showcomputepartition, and the same test with these settings");
    if let Some(best) = run.benchmark.best() {
        finding = finding
            .at(run.at(best.line), format!("best: {} at {}", best.rate().unwrap_or(Rate::ZERO), best.bytes));
    }
    Some(finding)
}
