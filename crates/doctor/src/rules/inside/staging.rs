//! Copies through the CPU: its root complexes, its memory, and how its NUMA nodes are cut; several GPUs behind one uplink.

use weft_base::{Place, Severity};
use weft_formats::TransportKind;
use weft_topology::ReportedClass;

use super::acs::redirecting;
use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, at};
use crate::finding::{Confidence, Finding};
use crate::inside::{Iommu, Stands};
use crate::rules::Rule;

/// Peer-to-peer through the CPU.
pub const HOST_BRIDGE_P2P: Cause = Cause {
    code: "D020",
    word: "host-bridge-p2p",
    title: "peer-to-peer through the CPU's root complex is slower than through its memory",
    nature: Nature::Limit,
    effect: Effect::Bandwidth,
    explanation: "GPUs on different root ports (PHB, NODE, SYS) reach each other through the CPU's root complex, which on some \
        CPUs forwards peers' packets far slower than it serves memory. p2pBandwidthLatencyTest then gives less with P2P \
        enabled than disabled, for those pairs only. Let NCCL use peer-to-peer only below a switch (NCCL_P2P_LEVEL=PXB), and \
        rule ACS and the IOMMU out, which look alike.",
};

/// How the BIOS cuts a socket.
pub const NUMA_NPS: Cause = Cause {
    code: "D022",
    word: "numa-nps",
    title: "the firmware makes one NUMA node of each socket, and data is staged through far memory",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "On EPYC the firmware's NUMA nodes per socket (NPS) says over which memory channels a page is spread. With NPS1 \
        a buffer near no GPU in particular is spread over the whole socket, and each copy between GPUs or to a NIC that goes \
        through host memory crosses the socket's own fabric. With NPS4 buffers stand in the quarter of their GPU. It matters \
        only where data is staged: cards without peer-to-peer, NICs without GPUDirect RDMA. Known from NVIDIA/nccl#1285, \
        NVIDIA/nccl-tests#293 and #115.",
};

/// The rule.
#[derive(Debug)]
pub struct Staging;

impl Rule for Staging {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&HOST_BRIDGE_P2P, &NUMA_NPS]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        host_bridge(chart).into_iter().chain(nodes_per_socket(chart)).collect()
    }
}

/// Pairs across root ports that are slower with peer-to-peer than without.
fn host_bridge(chart: &Chart<'_>) -> Option<Finding> {
    let translated = chart.iommu().is_some_and(|iommu| iommu.fact == Iommu::Translated);
    if translated || !redirecting(chart).is_empty() {
        return None;
    }
    let number = |name: &str| name.trim_start_matches("GPU").parse::<u32>().ok();
    let across = |pair: &str| {
        let (a, b) = pair.split_once(" to ")?;
        let class = chart.class_of(number(a)?, number(b)?)?;
        matches!(class, ReportedClass::Phb | ReportedClass::Node | ReportedClass::Sys).then_some(class)
    };
    let slow =
        chart.on_and_off().into_iter().find(|pair| pair.ratio() < 0.8 && across(&pair.pair).is_some())?;
    let class = across(&slow.pair)?;
    let what = format!("{} ({class}): peer-to-peer is slower than a copy through host memory", slow.pair);
    let says = format!("{} with peer-to-peer, {} without", slow.on, slow.off);
    Some(
        Finding::new(&HOST_BRIDGE_P2P, Confidence::Likely, what)
            .severity(Severity::Warning)
            .at(slow.place.clone(), says)
            .figures("copies between these GPUs", format!("at least {}", slow.off), slow.on)
            .costs(1.0 - slow.ratio(), "of the bandwidth of this pair")
            .fix("NCCL_P2P_LEVEL=PXB in the job's environment: peer-to-peer only below a PCIe switch")
            .check("NCCL_DEBUG=INFO shows `via SHM` for these pairs; all_reduce_perf is faster")
            .settle("lspci -vvv as root (ACSCtl) and /proc/cmdline, to rule ACS and the IOMMU out"),
    )
}

/// One NUMA node for each socket of AMD's, where data is staged and slow.
fn nodes_per_socket(chart: &Chart<'_>) -> Option<Finding> {
    let whole = whole_sockets(chart)?;
    let staged = chart.logs().find_map(|(log, place)| {
        let through = |it: &&weft_formats::Transport| {
            it.kind == TransportKind::SharedMemory || (it.kind == TransportKind::Network && !it.gdr)
        };
        let is_direct = log.transports.iter().any(|it| it.kind == TransportKind::PeerToPeer || it.gdr);
        let it = log.transports.iter().find(through).filter(|_| !is_direct)?;
        Some((at(place, it.line), format!("data is staged: channels go via {}", it.name)))
    })?;
    let ran = chart
        .benchmarks()
        .any(|(run, _)| run.rows.iter().any(|row| row.bytes >= weft_base::Bytes::new(16 << 20)));
    if !ran {
        return None;
    }
    let confidence = if chart.shortfall().is_some() { Confidence::Likely } else { Confidence::Possible };
    let what =
        "the firmware makes one NUMA node of each socket (NPS1), and each byte is staged through its memory";
    Some(
        Finding::new(&NUMA_NPS, confidence, what)
            .at(whole.place, whole.says)
            .at(staged.0, staged.1)
            .costs(0.4, "up to half of what is staged through host memory")
            .fix(
                "in the firmware: AMD CBS, DF Common Options, NUMA nodes per socket: NPS4 (persists; reboot)",
            )
            .check("numactl -H shows four nodes per socket; run the benchmark again")
            .settle("the same benchmark with NPS4; numactl -H; NCCL_DEBUG=INFO"),
    )
}

/// That the sockets of a machine of AMD's are one NUMA node each.
fn whole_sockets(chart: &Chart<'_>) -> Option<Stands<()>> {
    let stands = |place: Place, says: String| Some(Stands { fact: (), place, says });
    let told = chart.records("cpu").find_map(|said| {
        let model = said.record.text("model-name")?;
        let (nodes, sockets) = (said.record.count("numa-nodes")?, said.record.count("sockets")?);
        Some((model.contains("EPYC"), nodes, sockets, said.field_place("numa-nodes")))
    });
    if let Some((is_epyc, nodes, sockets, place)) = told {
        let is_whole = is_epyc && nodes == sockets;
        return if is_whole {
            stands(place, format!("{nodes} NUMA nodes of {sockets} sockets"))
        } else {
            None
        };
    }
    let is_amd = chart
        .events("iommu")
        .chain(chart.events("pcie"))
        .any(|said| said.record.text("message").is_some_and(|text| text.contains("AMD-Vi")));
    let nodes: Vec<_> = chart.records("numa-node").collect();
    let first = nodes.first().filter(|_| is_amd)?;
    // Nodes of one socket are 11 or 12 apart, sockets 20 and more.
    let near = nodes.iter().any(|said| {
        (0..nodes.len())
            .any(|to| said.record.count(&format!("distance-to-{to}")).is_some_and(|d| d > 10 && d < 16))
    });
    if near || nodes.len() > 2 {
        return None;
    }
    stands(first.place(), format!("{} NUMA nodes, none nearer to another than a socket is", nodes.len()))
}
