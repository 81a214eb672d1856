//! Access control of PCIe bridges, and an IOMMU that translates: peer-to-peer traffic goes up to the CPU.

use std::collections::BTreeMap;

use weft_formats::TransportKind;
use weft_predictor::compare::{Comparison, Verdict};
use weft_topology::fabric_islands;

use super::switch_pattern::inside_slower_than_across;
use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, Run, Seat};
use crate::finding::{Confidence, Finding};
use crate::inside::{Iommu, Stands};
use crate::rules::Rule;
use crate::words::listed;

/// Redirected requests or completions.
pub const ACS_IOMMU: Cause = Cause {
    code: "D014",
    word: "acs-iommu",
    title: "ACS or the IOMMU sends peer-to-peer traffic through the CPU",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "Access Control Services (ACS) are switches in each PCIe bridge. With request redirect (ReqRedir+) or \
        completion redirect (CmpltRedir+), a write from one GPU to another, or from a NIC to a GPU, does not turn around in \
        the bridge but goes up to the root complex, where the IOMMU looks at it. Peer-to-peer then runs at about half speed, \
        and where the IOMMU translates (no iommu=pt) it hangs, faults or gives wrong data on many boards. Hypervisors need \
        ACS to keep virtual machines apart (with DirectTrans+ and ATS on in the adapters it costs nothing); on bare metal it \
        is switched off: in the firmware, with pci=noacs where the kernel knows it, or by `setpci` at each boot. Look at \
        ACSCtl in `lspci -vvv` as root, at /proc/cmdline and at `dmesg | grep -i -e iommu -e dmar`. Settled so by NCCL's \
        maintainers in many threads, such as NVIDIA/nccl#2079, #631, #667, #257, #949 and NVIDIA/nccl-tests#112 and #115.",
};

/// The rule.
#[derive(Debug)]
pub struct Acs;

impl Rule for Acs {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&ACS_IOMMU]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        if !has_peers(chart) {
            return Vec::new();
        }
        let on = redirecting(chart);
        let symptoms = symptoms(chart);
        if !on.is_empty() {
            return vec![redirected(&on, &symptoms, chart)];
        }
        let translating = chart.iommu().filter(|iommu| iommu.fact == Iommu::Translated);
        if let (Some(iommu), false) = (translating, symptoms.is_empty()) {
            return vec![translated(&iommu, &symptoms)];
        }
        unseen(chart).into_iter().collect()
    }
}

/// Something that redirected traffic shows.
struct Symptom {
    stands: Stands<()>,
    /// Whether nothing runs.
    is_hang: bool,
    figures: Option<(String, String)>,
}

/// Whether peer-to-peer over PCIe is there at all: by the cards, or since the driver says so.
fn has_peers(chart: &Chart<'_>) -> bool {
    let models = chart.models();
    let by_card = models.is_empty()
        || models.iter().any(|gpu| gpu.peer_to_peer.as_ref().is_none_or(|peer| peer.pcie.value));
    by_card || chart.peers_allowed().is_some_and(|told| told.fact)
}

/// Bridges that redirect, above GPUs and NICs of which some traffic would turn around below, with those devices.
pub(super) fn redirecting<'a>(chart: &Chart<'a>) -> BTreeMap<String, (Seat<'a>, Vec<String>)> {
    let mut on: BTreeMap<String, (Seat<'a>, Vec<String>)> = BTreeMap::new();
    for end in chart.devices().filter(Seat::is_gpu).filter(|seat| !is_display(seat)) {
        for bridge in end.above().into_iter().filter(|bridge| redirects(bridge, chart)) {
            let entry = on.entry(bridge.device.address.clone()).or_insert((bridge, Vec::new()));
            entry.1.push(end.device.address.clone());
        }
    }
    // `lspci -vvv | grep` leaves out what is behind a bridge, or all but bridges.
    let has_tree = chart.devices().any(|seat| (seat.is_gpu() || seat.is_nic()) && seat.parent().is_some());
    let is_alone = chart.gpu_count() == 1 && !chart.devices().any(|seat| seat.is_nic() && is_fast(&seat));
    // A list that goes on with other devices was cut before it came to those.
    let is_cut = !chart.devices().any(|seat| seat.is_gpu())
        && chart.devices().any(|seat| !seat.is_bridge() && seat.parent().is_some());
    if !has_tree && !is_cut {
        for bridge in chart.devices().filter(|seat| redirects(seat, chart)) {
            on.insert(bridge.device.address.clone(), (bridge, Vec::new()));
        }
    }
    if works_over_nvlink(chart) || is_alone { BTreeMap::new() } else { on }
}

/// The graphics of a CPU, or an emulated one.
fn is_display(seat: &Seat<'_>) -> bool {
    seat.device.class == Some(0x0300) && seat.parent().is_none() && seat.device.link.lanes.is_none()
}

/// Whether all GPUs reach each other over NVLink and no network takes part.
fn works_over_nvlink(chart: &Chart<'_>) -> bool {
    let has_network = chart.host_count() > 1 || chart.devices().any(|seat| seat.is_nic() && is_fast(&seat));
    chart.pairs_by_link() == (false, true) && !has_network
}

/// Eight lanes or more.
fn is_fast(seat: &Seat<'_>) -> bool {
    seat.device.link.lanes.or(seat.device.link_capability.lanes).is_some_and(|lanes| lanes >= 8)
}

/// Whether a bridge sends requests or completions up. What is translated already passes where direct translation is on
/// and an adapter uses it.
fn redirects(seat: &Seat<'_>, chart: &Chart<'_>) -> bool {
    let flags = seat.device.acs.as_deref().unwrap_or_default();
    let has = |wanted: &str| flags.split_whitespace().any(|flag| flag == wanted);
    let passes = || has("DirectTrans+") && chart.devices().any(|it| it.device.details.ats == Some(true));
    (has("ReqRedir+") || has("CmpltRedir+")) && !passes()
}

/// Whether a run is slow whose traffic passes PCIe: over several hosts, or over GPUs that no fabric joins.
fn short_across_pcie(chart: &Chart<'_>) -> bool {
    let is_low =
        |comparison: &Comparison| comparison.points.last().is_some_and(|point| point.verdict == Verdict::Low);
    let mut low = chart.compared().filter(|(_, comparison)| is_low(comparison)).map(|(run, _)| run);
    low.any(|run| run.benchmark.hosts().len() > 1 || !joined_by_fabric(run))
}

/// Whether NVLink, xGMI or their switches join all GPUs that ran.
fn joined_by_fabric(run: &Run<'_>) -> bool {
    let gpus = run.gpus();
    let islands = run.topology().map(fabric_islands).unwrap_or_default();
    !gpus.is_empty() && islands.iter().any(|island| gpus.iter().all(|gpu| island.contains(gpu)))
}

/// What shows that peers' traffic is slow or dead.
fn symptoms(chart: &Chart<'_>) -> Vec<Symptom> {
    let mut found = Vec::new();
    let mut add = |stands: Stands<()>, is_hang: bool, figures: Option<(String, String)>| {
        found.push(Symptom { stands, is_hang, figures });
    };
    for fault in chart.iommu_faults().into_iter().take(2) {
        add(fault, true, None);
    }
    for run in chart.stalled_over_peers() {
        add(Stands { fact: (), place: run.place, says: run.says }, true, None);
    }
    for pair in chart.on_and_off().into_iter().filter(|pair| pair.ratio() < 0.6).take(2) {
        let says = format!("{}: {} with peer-to-peer, {} without", pair.pair, pair.on, pair.off);
        let figures = Some((format!("at least {}", pair.off), pair.on.to_string()));
        add(Stands { fact: (), place: pair.place, says }, false, figures);
    }
    if let Some(pattern) = inside_slower_than_across(chart) {
        let figures = Some((format!("at least {}", pattern.across), pattern.inside.to_string()));
        add(Stands { fact: (), place: pattern.place.clone(), says: pattern.says() }, false, figures);
    }
    for (log, place) in chart.logs() {
        let over_gdr = log.transports.iter().any(|it| it.kind == TransportKind::Network && it.gdr);
        // Status 4 is a local protection error: the adapter may not reach the memory it was given.
        let denied = log.problems.iter().find(|problem| problem.status == Some(4));
        if let (true, Some(problem)) = (over_gdr, denied) {
            add(
                Stands { fact: (), place: crate::chart::at(place, problem.line), says: problem.text.clone() },
                true,
                None,
            );
        }
    }
    found
}

type Bridges<'a> = BTreeMap<String, (Seat<'a>, Vec<String>)>;

/// Bridges that redirect.
fn redirected(on: &Bridges<'_>, symptoms: &[Symptom], chart: &Chart<'_>) -> Finding {
    let bridges: Vec<&str> = on.keys().map(String::as_str).collect();
    let mut ends: Vec<&str> = on.values().flat_map(|(_, ends)| ends.iter().map(String::as_str)).collect();
    ends.sort_unstable();
    ends.dedup();
    // Each device behind a root port of its own: its traffic passes the root complex anyway.
    let turns_below =
        on.values().any(|(bridge, ends)| ends.len() > 1 || bridge.parent().is_some() || ends.is_empty());
    let confidence = match (symptoms.is_empty(), chart.shortfall().is_some(), turns_below) {
        (false, ..) => Confidence::Certain,
        (true, true, _) if short_across_pcie(chart) => Confidence::Certain,
        // What is slow does not pass these bridges.
        (true, true, _) | (true, false, false) => Confidence::Possible,
        (true, false, true) => Confidence::Likely,
    };
    let whose = if ends.is_empty() { String::new() } else { format!(" of {}", listed(&ends)) };
    let what = format!("ACS redirects peer-to-peer traffic{whose} through the CPU, on {}", listed(&bridges));
    let mut found = Finding::new(&ACS_IOMMU, confidence, what);
    for (bridge, _) in on.values().take(4) {
        let flags = bridge.device.acs.as_deref().unwrap_or_default();
        found = found.at(bridge.place(), format!("bridge {}  ACSCtl: {flags}", bridge.device.address));
    }
    if let Some(iommu) = chart.iommu().filter(|iommu| iommu.fact == Iommu::Translated) {
        found = found.at(iommu.place, format!("the IOMMU translates: {}", iommu.says));
    }
    let commands: Vec<String> =
        bridges.iter().map(|bridge| format!("setpci -s {bridge} ECAP_ACS+6.w=0000")).collect();
    seen(found, symptoms)
        .fix(format!(
            "{} (as root; lost at reboot and possibly at hot reset; bridges of PLX need f2a.w in place of ECAP_ACS+6.w; \
             leave it on where virtual machines get devices passed through, and switch DirectTrans and ATS on there), or \
             switch VT-d/AMD-Vi off in the firmware, or start the kernel with iommu=pt",
            commands.join("; ")
        ))
        .check("lspci -vvv as root shows ReqRedir- and CmpltRedir- in ACSCtl of these bridges; run the benchmark again")
        .settle("a benchmark: all_reduce_perf -b 8 -e 1G -f 2 -g <GPUs>, and p2pBandwidthLatencyTest")
}

/// An IOMMU that translates, where the bridges are not shown.
fn translated(iommu: &Stands<Iommu>, symptoms: &[Symptom]) -> Finding {
    let is_proven =
        symptoms.iter().any(|it| it.stands.says.contains("fault") || it.stands.says.contains("FAULT"));
    let confidence = if is_proven { Confidence::Certain } else { Confidence::Likely };
    let what = "the IOMMU translates what GPUs send to each other, and peer-to-peer does not work through it";
    let found = Finding::new(&ACS_IOMMU, confidence, what).at(iommu.place.clone(), iommu.says.clone());
    seen(found, symptoms)
        .fix(
            "start the kernel with iommu=pt (add it to GRUB_CMDLINE_LINUX in /etc/default/grub, then update-grub and \
             reboot; persists), or switch VT-d/AMD-Vi off in the firmware; until then NCCL_P2P_DISABLE=1 runs, slower",
        )
        .check("dmesg says `Default domain type: Passthrough`; the run prints its sizes")
        .settle("lspci -vvv as root, for ACSCtl of the bridges; the same run with NCCL_P2P_DISABLE=1")
}

/// Cards of one switch that are slower than the same cards across, with nothing known of bridges or IOMMU.
fn unseen(chart: &Chart<'_>) -> Option<Finding> {
    let known_off = chart.iommu().is_some_and(|iommu| iommu.fact != Iommu::Translated);
    let bridges_seen = chart.devices().any(|seat| seat.device.acs.is_some());
    if let (Some(run), false, false) =
        (chart.stalled_over_peers().into_iter().next(), known_off, bridges_seen)
    {
        let what = "a run over peer-to-peer prints no size, as where ACS or the IOMMU catch its traffic";
        let found = Finding::new(&ACS_IOMMU, Confidence::Possible, what)
            .at(run.place, run.says)
            .figures("a run over peer-to-peer", "ends", "prints no size")
            .costs(1.0, "nothing runs over peer-to-peer")
            .fix("iommu=pt on the kernel's command line and ACS off, if they are on; NCCL_P2P_DISABLE=1 until then")
            .settle("lspci -vvv as root (ACSCtl), cat /proc/cmdline, dmesg | grep -i -e iommu -e dmar");
        return Some(found);
    }
    let pattern = inside_slower_than_across(chart).filter(|_| !known_off && !bridges_seen)?;
    let what =
        "GPUs behind one switch are slower than GPUs across, as where ACS sends their traffic up and back";
    let found = Finding::new(&ACS_IOMMU, Confidence::Likely, what)
        .at(pattern.place.clone(), pattern.says())
        .figures("busbw within the switch", format!("at least {}", pattern.across), pattern.inside)
        .costs(1.0 - pattern.ratio(), "about half of the bandwidth within a switch")
        .fix("switch ACS off: in the firmware, or setpci -s <bridge> ECAP_ACS+6.w=0000 (as root; lost at reboot)")
        .settle("lspci -vvv as root, for ACSCtl of the bridges");
    Some(found)
}

/// A finding with what shows it, and what that costs.
fn seen(mut found: Finding, symptoms: &[Symptom]) -> Finding {
    for symptom in symptoms.iter().take(4) {
        found = found.at(symptom.stands.place.clone(), symptom.stands.says.clone());
    }
    if symptoms.iter().any(|it| it.is_hang) {
        return found
            .figures("a run over peer-to-peer", "ends", "hangs or fails")
            .costs(1.0, "nothing runs over peer-to-peer");
    }
    if let Some((expected, measured)) = symptoms.iter().find_map(|it| it.figures.clone()) {
        found = found.figures("copies between GPUs", expected, measured);
    }
    found.costs(0.5, "about half of the bandwidth of copies between these devices, or a hang")
}
