//! Access control of PCIe bridges that sends peer-to-peer traffic up to the CPU.

use std::collections::BTreeMap;

use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, Seat};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;

/// Redirected requests or completions.
pub const ACS_IOMMU: Cause = Cause {
    code: "D014",
    word: "acs-iommu",
    title: "ACS redirects peer-to-peer traffic through the CPU",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "Access Control Services (ACS) are switches in each PCIe bridge. With request redirect (ReqRedir+) or \
        completion redirect (CmpltRedir+), a write from one GPU to another, or from a NIC to a GPU, does not turn around in \
        the bridge but goes up to the root complex, where the IOMMU looks at it. Peer-to-peer then runs at about half speed, \
        and on some boards it hangs or gives wrong data. Hypervisors need ACS to keep virtual machines apart; on bare metal \
        it is switched off: in the firmware, or by `setpci` at each boot. Look at ACSCtl in `lspci -vvv` as root. Settled so \
        by NCCL's maintainers in many threads, such as NVIDIA/nccl#2079, #631, #667, #949 and NVIDIA/nccl-tests#112.",
};

/// The rule.
#[derive(Debug)]
pub struct Acs;

impl Rule for Acs {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&ACS_IOMMU]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let mut on: BTreeMap<String, (Seat<'_>, Vec<String>)> = BTreeMap::new();
        for end in chart.devices().filter(|seat| takes_part(seat, chart)) {
            for bridge in end.above().into_iter().filter(redirects) {
                let entry = on.entry(bridge.device.address.clone()).or_insert((bridge, Vec::new()));
                entry.1.push(end.device.address.clone());
            }
        }
        if on.is_empty() { Vec::new() } else { vec![finding(&on, chart)] }
    }
}

/// GPUs that can reach each other over PCIe, and NICs.
fn takes_part(seat: &Seat<'_>, chart: &Chart<'_>) -> bool {
    let has_peers = || {
        let gpus = chart.gpus();
        gpus.is_empty() || gpus.iter().any(|gpu| gpu.peer_to_peer.as_ref().is_none_or(|peer| peer.pcie.value))
    };
    seat.is_gpu() && has_peers()
}

/// Whether a bridge sends requests or completions up.
fn redirects(seat: &Seat<'_>) -> bool {
    let flags = seat.device.acs.as_deref().unwrap_or_default();
    flags.split_whitespace().any(|flag| matches!(flag, "ReqRedir+" | "CmpltRedir+"))
}

fn finding(on: &BTreeMap<String, (Seat<'_>, Vec<String>)>, chart: &Chart<'_>) -> Finding {
    let bridges: Vec<&str> = on.keys().map(String::as_str).collect();
    let mut ends: Vec<&str> = on.values().flat_map(|(_, ends)| ends.iter().map(String::as_str)).collect();
    ends.sort_unstable();
    ends.dedup();
    let confidence = if chart.shortfall().is_some() { Confidence::Certain } else { Confidence::Likely };
    let what = format!(
        "ACS redirects peer-to-peer traffic of {} through the CPU, on {}",
        listed(&ends),
        listed(&bridges)
    );
    let mut found = Finding::new(&ACS_IOMMU, confidence, what);
    for (bridge, _) in on.values().take(4) {
        let flags = bridge.device.acs.as_deref().unwrap_or_default();
        found = found.at(bridge.place(), format!("bridge {}  ACSCtl: {flags}", bridge.device.address));
    }
    let commands: Vec<String> =
        bridges.iter().map(|bridge| format!("setpci -s {bridge} ECAP_ACS+6.w=0000")).collect();
    found
        .costs(0.5, "about half of the bandwidth of copies between these devices, or a hang")
        .fix(format!(
            "{} (as root; lost at reboot and possibly at hot reset; bridges of PLX need f2a.w in place of ECAP_ACS+6.w; \
             leave it on where virtual machines get devices passed through)",
            commands.join("; ")
        ))
        .check("lspci -vvv as root shows ReqRedir- and CmpltRedir- in ACSCtl of these bridges; run the benchmark again")
        .settle("a benchmark: all_reduce_perf -b 8 -e 1G -f 2 -g <GPUs>, and p2pBandwidthLatencyTest")
}

/// Up to four names, and how many more.
fn listed(names: &[&str]) -> String {
    let shown = names.iter().take(4).copied().collect::<Vec<_>>().join(", ");
    if names.len() > 4 { format!("{shown} and {} more", names.len() - 4) } else { shown }
}
