//! PCIe links that run narrower or slower than their ends, or behind the chipset.

use weft_base::{Place, Severity, TransferRate};
use weft_formats::{PcieState, Record};

use super::guest;
use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, Seat};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;

/// Fewer lanes.
pub const PCIE_WIDTH: Cause = Cause {
    code: "D010",
    word: "pcie-width-degraded",
    title: "a PCIe link runs on fewer lanes than both ends have",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "`LnkSta: Width x8 (downgraded)` below `LnkCap: Width x16` of the card and of the port above it: lanes did not \
        train. A badly seated card, a riser or cable, dirt, a bent pin of the CPU, a slot that shares its lanes with another \
        (then the port above says x8 itself, and nothing is degraded). Unlike speed, the width does not fall when idle. \
        Reseat, swap the way, look for AER errors.",
};

/// Lower speed.
pub const PCIE_SPEED: Cause = Cause {
    code: "D011",
    word: "pcie-speed-degraded",
    title: "a PCIe link runs at a lower generation than both ends have, under load",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "A link that stays at 2.5, 5 or 8 GT/s while the GPU works, though card and port above can do more: it did not \
        train at its speed (riser, cable, slot), or the firmware caps it. Read it under load: idle GPUs lower the speed to \
        save power, which is no fault. `nvidia-smi -q` says current and highest generation beside the performance state, and \
        a copy to the GPU (bandwidthTest, nvbandwidth) shows what it really carries.",
};

/// Idle.
pub const PCIE_IDLE: Cause = Cause {
    code: "D012",
    word: "pcie-idle-speed",
    title: "a PCIe link reads slow only since its GPU is idle",
    nature: Nature::Misreading,
    effect: Effect::Bandwidth,
    explanation: "GPUs lower the speed of their link when nothing runs (performance state P8): lspci then says `Speed 2.5GT/s \
        (downgraded)` and `nvidia-smi -q` a current generation of 1. Under load it is back within milliseconds. Read it again \
        while a copy runs: `nvidia-smi --query-gpu=pcie.link.gen.current,pstate --format=csv -l 1`.",
};

/// Behind the chipset.
pub const CHIPSET_LANES: Cause = Cause {
    code: "D015",
    word: "chipset-lanes",
    title: "a device hangs off the chipset, whose uplink it shares",
    nature: Nature::Limit,
    effect: Effect::Bandwidth,
    explanation: "Desktop boards have slots on lanes of the CPU and slots behind the chipset (PCH), whose uplink of four or eight \
        lanes all disks, USB ports and cards behind it share. `nvidia-smi topo -m` says PHB for both, and the card's own link \
        reads x8: only lspci's tree and a measurement show it. Copies with the other GPUs run at the uplink's rate, and the \
        slowest pair rules a collective. Known from noonghunna/club-3090#895.",
};

/// The rule.
#[derive(Debug)]
pub struct Pcie;

impl Rule for Pcie {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&PCIE_WIDTH, &PCIE_SPEED, &PCIE_IDLE, &CHIPSET_LANES]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        // Virtual root ports tell nothing of the wire.
        if guest::signs(chart).is_some() {
            return Vec::new();
        }
        let ends = || chart.devices().filter(|seat| seat.host.format != "nccl-topology" && is_end(seat));
        let mut found: Vec<Finding> = ends().filter_map(|seat| width(&seat)).collect();
        found.extend(ends().filter_map(|seat| speed(&seat, chart)));
        found.extend(ends().filter(Seat::is_gpu).filter_map(|seat| chipset(&seat)));
        found
    }
}

/// A GPU, or an adapter of eight lanes or more.
fn is_end(seat: &Seat<'_>) -> bool {
    let lanes = seat.device.link_capability.lanes.unwrap_or(0);
    seat.is_gpu() && lanes > 0 || seat.is_nic() && lanes >= 8
}

/// What both ends can do; the second says whether the port above was read.
fn both(seat: &Seat<'_>) -> (PcieState, bool) {
    let own = seat.device.link_capability;
    let above = seat.parent().map(|port| port.device.details.link_below_capability).unwrap_or_default();
    let lanes = own.lanes.map(|own| above.lanes.map_or(own, |above| own.min(above)));
    let speed = own.speed.map(|own| above.speed.map_or(own, |above| if above < own { above } else { own }));
    (PcieState { speed, lanes }, above.lanes.is_some() && above.speed.is_some())
}

fn name(seat: &Seat<'_>) -> String {
    let words = seat.device.name.as_deref().unwrap_or("device");
    let words = words.split_once('[').and_then(|(_, rest)| rest.split(']').next()).unwrap_or(words);
    format!("{words} at {}", seat.device.address)
}

fn width(seat: &Seat<'_>) -> Option<Finding> {
    let (can, above) = both(seat);
    let (runs, can) = (seat.device.link.lanes?, can.lanes?);
    if runs == 0 || runs >= can {
        return None;
    }
    let confidence = if above { Confidence::Certain } else { Confidence::Possible };
    let what = format!("{} runs on {runs} PCIe lanes of {can}", name(seat));
    let share = 1.0 - f64::from(runs) / f64::from(can);
    let found = Finding::new(&PCIE_WIDTH, confidence, what)
        .at(seat.place(), format!("LnkSta x{runs}, both ends can do x{can}"))
        .costs(share, format!("{:.0} % of the bandwidth of this link", 100.0 * share))
        .fix("reseat the card, its riser or cable; swap slots to tell card from way; look for errors in dmesg (AER)")
        .check("lspci -vv shows the full width in LnkSta")
        .settle("lspci -vv of the port above, whose LnkCap says how many lanes the slot has");
    Some(found)
}

/// What `nvidia-smi` says of the GPU at an address.
fn state<'c>(chart: &Chart<'c>, seat: &Seat<'_>) -> Option<(&'c Record, Place, u32)> {
    let tail = |address: &str| {
        address.rsplit_once(':').map(|(front, device)| {
            let bus = front.rsplit(':').next().unwrap_or(front);
            format!("{bus}:{device}").to_ascii_lowercase()
        })
    };
    let wanted = tail(&seat.device.address)?;
    chart.records("gpu").find_map(|said| {
        let address = said.record.text("bus-id").or_else(|| said.record.text("pci-bus-id"));
        let address = address.or_else(|| said.record.subject.strip_prefix("GPU "))?;
        let state = said.record.text("performance-state")?.strip_prefix('P')?.parse().ok()?;
        (tail(address)? == wanted).then(|| (said.record, said.field_place("performance-state"), state))
    })
}

fn speed(seat: &Seat<'_>, chart: &Chart<'_>) -> Option<Finding> {
    let (can, above) = both(seat);
    let (runs, can) = (seat.device.link.speed?, can.speed?);
    if runs >= can {
        return None;
    }
    let told = state(chart, seat);
    // P0 to P3 are states of work.
    let works = told.as_ref().map(|(.., state)| *state <= 3);
    let says = format!("{} runs at {runs} of {can}", name(seat));
    match (works, seat.is_gpu()) {
        (Some(false), _) | (None, true) => {
            Some(idle(seat, &says, told.map(|(_, place, state)| (place, state))))
        }
        (Some(true), _) | (None, false) => {
            let copies = slow_copy(chart, runs, seat.device.link.lanes?);
            let confidence = match (above, copies.is_some(), works) {
                (true, true, _) => Confidence::Certain,
                (true, false, Some(true)) => Confidence::Likely,
                _ => Confidence::Possible,
            };
            let share = 1.0 - ratio(runs, can);
            let mut found = Finding::new(&PCIE_SPEED, confidence, format!("{says}, under load"))
                .at(seat.place(), format!("LnkSta {runs}, both ends can do {can}"));
            if let Some((_, place, state)) = told {
                found = found.at(place, format!("and the GPU works (P{state})"));
            }
            if let Some((place, says)) = copies {
                found = found.at(place, says);
            }
            Some(
                found
                    .costs(share, format!("{:.0} % of the bandwidth of this link", 100.0 * share))
                    .fix(
                        "reseat or replace riser and cable; set the slot's generation to Auto in the firmware (it may be \
                         capped); look for errors in dmesg (AER)",
                    )
                    .check("lspci -vv under load shows the full speed in LnkSta; bandwidthTest --memory=pinned")
                    .settle("nvidia-smi --query-gpu=pcie.link.gen.current,pstate --format=csv -l 1 while bandwidthTest runs"),
            )
        }
    }
}

fn ratio(a: TransferRate, b: TransferRate) -> f64 {
    let rate = |it: TransferRate| it.rate(16, weft_base::Ratio::ONE).as_gigabytes();
    rate(a) / rate(b).max(1e-9)
}

fn idle(seat: &Seat<'_>, says: &str, told: Option<(Place, u32)>) -> Finding {
    let confidence = if told.is_some() { Confidence::Certain } else { Confidence::Possible };
    let mut found =
        Finding::new(&PCIE_IDLE, confidence, format!("{says}, as idle GPUs do")).at(seat.place(), "LnkSta");
    if let Some((place, state)) = told {
        found = found.at(place, format!("the GPU is idle (P{state})"));
    }
    found.fix("nothing: read the link again while the GPU works").settle(
        "nvidia-smi --query-gpu=pcie.link.gen.current,pstate --format=csv -l 1 while bandwidthTest runs",
    )
}

/// A copy between host and GPU that reaches no more than a link of this speed can.
fn slow_copy(chart: &Chart<'_>, runs: TransferRate, lanes: u16) -> Option<(Place, String)> {
    let most = runs.rate(lanes, weft_base::Ratio::ONE);
    chart.benchmarks().find_map(|(run, place)| {
        let operation = run.operation.as_deref()?;
        let is_host = operation.contains("host to device") || operation.contains("device to host");
        let best = run.best().filter(|_| is_host)?;
        let rate = best.rate()?;
        (rate <= most).then(|| (crate::chart::at(place, best.line), format!("{operation}: {rate}")))
    })
}

/// The switch of a chipset above a device: AMD's, or a root port that Intel's PCH has at 1b, 1c and 1d of the first bus.
fn chipset(seat: &Seat<'_>) -> Option<Finding> {
    let mut above = seat.above();
    // AMD's GPUs bring a switch of their own along.
    let is_own = seat.device.vendor == Some(0x1002)
        || seat.device.name.as_deref().is_some_and(|name| name.contains("[AMD/ATI]"));
    above.drain(..above.len().min(if is_own { 2 } else { 0 }));
    let port = above.iter().find(|bridge| is_chipset(bridge))?;
    let root = above.last()?;
    let uplink = [port, root].into_iter().filter_map(|it| {
        let below = it.device.details.link_below;
        let own = it.device.link;
        (below.lanes.is_some() || own.lanes.is_some()).then(|| {
            if below.lanes.is_some() && it.device.details.port_kind.as_deref() != Some("Upstream Port") {
                below
            } else {
                own
            }
        })
    });
    let lanes = uplink.filter_map(|state| state.lanes).min();
    let own = seat.device.link.lanes?;
    let what = match lanes {
        Some(lanes) => {
            format!("{} hangs off the chipset, behind {lanes} lanes that all its devices share", name(seat))
        }
        None => format!("{} hangs off the chipset", name(seat)),
    };
    let share = lanes.map_or(0.3, |lanes| (1.0 - f64::from(lanes) / f64::from(own.max(1))).max(0.3));
    let found = Finding::new(&CHIPSET_LANES, Confidence::Certain, what)
        .severity(Severity::Warning)
        .at(port.place(), format!("above it: {}", port.device.name.as_deref().unwrap_or(&port.device.address)))
        .at(seat.place(), format!("its own link: x{own}"))
        .costs(share, "copies of this device run at the chipset's uplink, and all that wait for it")
        .fix("move the card to a slot on lanes of the CPU (the board's manual says which), or leave it out of the group")
        .check("lspci -tv shows it under a root port of the CPU; nvbandwidth gives all GPUs the same rate from the host");
    Some(found)
}

fn is_chipset(bridge: &Seat<'_>) -> bool {
    let name = bridge.device.name.as_deref().unwrap_or_default();
    let is_intel = bridge.device.vendor == Some(0x8086) || name.starts_with("Intel");
    // AMD makes switches for chipsets only; those inside its graphics cards are ATI's.
    let is_amd = bridge.device.vendor == Some(0x1022) || name.contains("[AMD] ");
    let in_pch = ["0000:00:1b.", "0000:00:1c.", "0000:00:1d."]
        .iter()
        .any(|start| bridge.device.address.starts_with(start));
    (is_intel && in_pch && bridge.is_bridge())
        || (is_amd && name.contains("Switch Upstream"))
        || (is_amd && bridge.device.details.port_kind.as_deref() == Some("Upstream Port"))
}
