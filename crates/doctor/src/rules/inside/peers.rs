//! Peer-to-peer that is not there, or that the driver wrongly promises.

use weft_base::Severity;
use weft_catalogue::Gpu;
use weft_formats::{Access, TransportKind};

use super::acs::redirecting;
use super::switch_pattern::inside_slower_than_across;
use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, at};
use crate::finding::{Confidence, Finding};
use crate::inside::{Iommu, Stands};
use crate::rules::Rule;
use crate::words::listed;

/// Cards without peer-to-peer.
pub const NO_P2P_CARD: Cause = Cause {
    code: "D018",
    word: "no-p2p-card",
    title: "these cards have no peer-to-peer over PCIe",
    nature: Nature::Limit,
    effect: Effect::Bandwidth,
    explanation: "GeForce cards since the RTX 20 series (RTX 20 and 30 without an NVLink bridge, all of RTX 40 and 50) do not \
        let another GPU read or write their memory with NVIDIA's own driver. `nvidia-smi topo -p2p r` says CNS, \
        p2pBandwidthLatencyTest says CANNOT Access Peer Device, and NCCL's channels say `via SHM`: each byte goes from the GPU \
        to host memory and from there to the other GPU. Behind a PCIe switch both ways cross its one uplink, so that four \
        cards of one switch are slower than two and two across: the picture of ACS, told apart by the card. No setting mends \
        it. A bridge does where the card takes one, and a patched open driver on one's own risk. Known from \
        NVIDIA/nccl#1086, NVIDIA/nccl-tests#117 and tinygrad/open-gpu-kernel-modules.",
};

/// Peer-to-peer that driver or virtual machine refuse or break.
pub const NO_P2P_DRIVER: Cause = Cause {
    code: "D019",
    word: "no-p2p-driver-or-vm",
    title: "the driver or the virtual machine refuses peer-to-peer, or promises it wrongly",
    nature: Nature::Fault,
    effect: Effect::Running,
    explanation: "The cards could reach each other, and the driver says no (`nvidia-smi topo -p2p r`: NS, CNS, TNS, DR): in a \
        virtual machine without the passthrough that it needs, by a registry key, or since the window into the card's memory \
        (BAR1 in `nvidia-smi -q`) is smaller than the memory, which drivers patched for peer-to-peer need whole. Or it says \
        yes and it does not work: drivers about 520 to 530 promised it for RTX 4090, 560 hung in it, and patched drivers \
        hang on some boards. NCCL then connects over P2P and never ends; with NCCL_P2P_DISABLE=1 it ends. Rule out ACS and \
        the IOMMU first, which look the same. Known from NVIDIA/nccl-tests#117, dmlc/xgboost#11242, \
        tinygrad/open-gpu-kernel-modules#45.",
};

/// The rule.
#[derive(Debug)]
pub struct Peers;

impl Rule for Peers {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&NO_P2P_CARD, &NO_P2P_DRIVER]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let stalled = stalled(chart);
        if !stalled.is_empty() {
            return stalled;
        }
        refused(chart).or_else(|| no_peers(chart)).or_else(|| known_driver(chart)).into_iter().collect()
    }
}

/// Whether all models are known to have no peer-to-peer over PCIe.
pub(super) fn without_peers(models: &[&Gpu]) -> bool {
    let has_none = |gpu: &&Gpu| gpu.peer_to_peer.as_ref().is_some_and(|peer| !peer.pcie.value);
    !models.is_empty() && models.iter().all(has_none)
}

fn titles(models: &[&Gpu]) -> String {
    let titles: Vec<&str> = models.iter().map(|gpu| gpu.title.as_str()).collect();
    listed(&titles)
}

/// Cards that have none, told by the catalogue and not contradicted.
fn no_peers(chart: &Chart<'_>) -> Option<Finding> {
    let models = chart.models();
    let allowed = chart.peers_allowed();
    let (without, with) = chart.pairs_by_link();
    let uses_peers =
        chart.logs().any(|(log, _)| log.transports.iter().any(|it| it.kind == TransportKind::PeerToPeer));
    let is_other = allowed.as_ref().is_some_and(|told| told.fact) || uses_peers || (with && !without);
    // Over the bridge of a pair the copies are direct though the matrix is not in the input.
    let linked = chart.records("nvlink").any(|said| said.words("active").as_deref() == Some("on"));
    if !without_peers(&models) || chart.gpu_count() < 2 || is_other || linked {
        return None;
    }
    let what = format!(
        "{}: no peer-to-peer over PCIe, copies between GPUs pass through host memory",
        titles(&models)
    );
    let mut found = Finding::new(&NO_P2P_CARD, Confidence::Certain, what).severity(Severity::Note);
    if let Some(told) = allowed {
        found = found.at(told.place, told.says);
    }
    let named = chart.named_gpus();
    if let Some(first) = named.first() {
        found = found.at(first.place.clone(), format!("{}: none with the vendor's driver", first.gpu.title));
    }
    let staged = chart.logs().find_map(|(log, place)| {
        let it = log.transports.iter().find(|it| it.kind == TransportKind::SharedMemory)?;
        Some((at(place, it.line), format!("channels go via {}", it.name)))
    });
    if let Some((place, says)) = staged {
        found = found.at(place, says);
    }
    let asked = chart.peer_answers().iter().any(|it| it.fact != Access::Ok);
    // Who asks the driver for peers and measures copies between them asks for these, and not for a bridge.
    let is_measured = chart.pair_tables().any(|(table, _)| table.is_direct.is_some());
    let share = match (is_measured, asked) {
        (true, true) => 0.95,
        (false, true) => 0.85,
        (_, false) => 0.5,
    };
    found = found.costs(share, "each byte crosses PCIe twice, through host memory");
    if let Some(pattern) = inside_slower_than_across(chart) {
        found = found
            .severity(Severity::Error)
            .at(pattern.place.clone(), pattern.says())
            .figures("busbw within the switch", pattern.across, pattern.inside)
            .costs(1.0 - pattern.ratio(), "both ways of each copy cross the switch's one uplink");
    }
    let bridged = models.iter().any(|gpu| gpu.bridges.iter().any(|bridge| bridge.carries_data));
    let bridge = if bridged { "an NVLink bridge between pairs of cards, which these take; " } else { "" };
    let spread = "spread groups of GPUs over both sockets; ";
    Some(
        found
            .fix(format!(
                "no setting mends it: {bridge}{spread}or cards with peer-to-peer; an open driver patched for it exists, \
                 at one's own risk"
            ))
            .check("nvidia-smi topo -p2p r; p2pBandwidthLatencyTest"),
    )
}

/// Runs that connect over peer-to-peer and never print a size, where neither ACS nor the IOMMU is to blame.
fn stalled(chart: &Chart<'_>) -> Vec<Finding> {
    let Some(run) = chart.stalled_over_peers().into_iter().next() else { return Vec::new() };
    let iommu = chart.iommu();
    let translated = iommu.as_ref().is_some_and(|iommu| iommu.fact == Iommu::Translated);
    if translated || !redirecting(chart).is_empty() || !chart.iommu_faults().is_empty() {
        return Vec::new();
    }
    let models = chart.models();
    let (what, confidence) = match (without_peers(&models), iommu.is_some()) {
        (true, true) => (
            format!(
                "the driver lets {} use peer-to-peer, which these cards do not have, and it hangs",
                titles(&models)
            ),
            Confidence::Certain,
        ),
        (true, false) => (
            format!(
                "the driver lets {} use peer-to-peer, which these cards do not have, and it hangs",
                titles(&models)
            ),
            Confidence::Likely,
        ),
        (false, true) => ("peer-to-peer hangs, and the IOMMU is not to blame".to_owned(), Confidence::Likely),
        (false, false) => ("a run over peer-to-peer prints no size".to_owned(), Confidence::Possible),
    };
    let mut found = Finding::new(&NO_P2P_DRIVER, confidence, what).at(run.place, run.says);
    let facts =
        [chart.peers_allowed().map(|it| (it.place, it.says)), chart.driver().map(|it| (it.place, it.says))];
    for (place, says) in facts.into_iter().flatten() {
        found = found.at(place, says);
    }
    if let Some(iommu) = iommu {
        found = found.at(iommu.place, format!("the IOMMU is out of the way: {}", iommu.says));
    }
    let found = found
        .costs(1.0, "nothing runs over peer-to-peer")
        .fix(
            "NCCL_P2P_DISABLE=1 (or CUDA's peer access off in the program) runs at once, slower; then another driver: \
             newer ones of NVIDIA do not promise what the card has not, and a patched one is left again",
        )
        .check("the run prints its sizes; `nvidia-smi topo -p2p r` and the channels in NCCL's log agree")
        .settle("lspci -vvv as root (ACSCtl), cat /proc/cmdline, dmesg; simpleP2P of the CUDA samples");
    vec![found]
}

/// Series of drivers in which peer-to-peer is known to hang, with where that is known from.
const HANGING: &[(&str, &str)] = &[("560", "dmlc/xgboost#11242")];

/// A driver that is known to hang in peer-to-peer, and a job that uses it and shows no result.
fn known_driver(chart: &Chart<'_>) -> Option<Finding> {
    let driver = chart.driver()?;
    let series = driver.fact.split('.').next()?;
    let (_, source) = HANGING.iter().find(|(known, _)| *known == series)?;
    let has_result = chart.benchmarks().any(|(run, _)| !run.rows.is_empty());
    let used = chart.logs().find_map(|(log, place)| {
        let it = log.transports.iter().find(|it| it.kind == TransportKind::PeerToPeer)?;
        Some((at(place, it.line), format!("channels go via {}", it.name)))
    });
    let (place, says) = used.filter(|_| !has_result)?;
    let what = format!("driver {} can hang in peer-to-peer, which this job uses", driver.fact);
    let found = Finding::new(&NO_P2P_DRIVER, Confidence::Possible, what)
        .at(driver.place, driver.says)
        .at(place, says)
        .costs(1.0, "nothing runs over peer-to-peer")
        .fix(format!("a driver of the next series; NCCL_P2P_DISABLE=1 until then ({source})"))
        .check("the job goes on past its first collective")
        .settle("the same job with NCCL_P2P_DISABLE=1; lspci -vvv as root (ACSCtl) and dmesg to rule ACS and IOMMU out");
    Some(found)
}

/// Peers' access refused though the cards have it, or could have it if their window were large enough.
fn refused(chart: &Chart<'_>) -> Option<Finding> {
    let models = chart.models();
    let answers = chart.peer_answers();
    let no: Vec<&Stands<Access>> =
        answers.iter().filter(|it| !matches!(it.fact, Access::Ok | Access::Unknown)).collect();
    let is_all = answers.iter().all(|it| it.fact != Access::Ok);
    let first = no.first()?;
    let small = chart.windows().into_iter().find(|it| it.fact.0 < it.fact.1);
    let capable = !models.is_empty() && !without_peers(&models);
    // The stock driver of cards without peers says CNS; NS is said of what was tried and did not work.
    let tried = no.iter().any(|it| it.fact == Access::NotSupported);
    let (what, confidence) = match (&small, capable) {
        (Some(_), _) if capable || tried => {
            let what = "peer-to-peer is refused, and the window into the cards' memory (BAR1) is smaller than the memory";
            (what.to_owned(), Confidence::Likely)
        }
        (_, true) => {
            let whose = titles(&models);
            let what = format!(
                "the driver refuses peer-to-peer between {whose}, which have it: {}",
                first.fact.word()
            );
            (what, if is_all { Confidence::Likely } else { Confidence::Possible })
        }
        _ => return None,
    };
    let mut found = Finding::new(&NO_P2P_DRIVER, confidence, what);
    if let Some(small) = small {
        found = found.at(small.place, small.says);
    }
    for answer in &no {
        found = found.at(answer.place.clone(), answer.says.clone());
    }
    if let Some(driver) = chart.driver() {
        found = found.at(driver.place, driver.says);
    }
    Some(
        found
            .costs(0.5, "copies between GPUs pass through host memory")
            .fix(
                "switch on Above 4G Decoding and Resizable BAR in the firmware (and nvidia-smi's display mode off on \
                 workstation cards: displaymodeselector); in a virtual machine pass the GPUs through with their switch \
                 and ACS/ATS as NVIDIA's guide says",
            )
            .check("nvidia-smi -q -d MEMORY shows a BAR1 as large as the memory; nvidia-smi topo -p2p r says OK")
            .settle("nvidia-smi -q -d MEMORY, lspci -vv (Resizable BAR), lscpu (hypervisor)"),
    )
}
