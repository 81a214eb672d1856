//! Ports of adapters that their slot cannot feed.

use std::collections::BTreeMap;

use weft_base::{Place, Rate, Ratio, Severity};
use weft_formats::Value;

use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, Seat};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;
use crate::words::listed;

/// A slot slower than its ports.
pub const NIC_PCIE_LIMIT: Cause = Cause {
    code: "D017",
    word: "nic-pcie-limit",
    title: "PCIe cannot feed the ports of a NIC",
    nature: Nature::Limit,
    effect: Effect::Bandwidth,
    explanation: "A slot carries what its lanes carry: PCIe 4.0 x16 gives 31.5 GB/s per direction, so that an adapter with two \
        ports of 200 Gb/s (25 GB/s each) makes hardly more than one of them, and 400 Gb/s needs PCIe 5.0 x16. More ports, a \
        bond or more queue pairs change nothing. The same holds inside: NICs add up only where GPUs can bring the bytes to \
        them (NVLink, a switch with GPU and NIC). Compare LnkSta in `lspci -vv` with the port's rate.",
};

/// The rule.
#[derive(Debug)]
pub struct NicSlot;

impl Rule for NicSlot {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&NIC_PCIE_LIMIT]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let Some((rate, place)) = port_rate(chart) else { return Vec::new() };
        let mut slots: BTreeMap<String, Vec<Seat<'_>>> = BTreeMap::new();
        for seat in chart.devices().filter(|seat| seat.host.format != "nccl-topology" && is_fast_nic(seat)) {
            let slot = seat.device.address.rsplit_once('.').map_or("", |(slot, _)| slot);
            let own = slots.entry(slot.to_owned()).or_default();
            // Two tools may list one function.
            if own.iter().all(|it| it.device.address != seat.device.address) {
                own.push(seat);
            }
        }
        let short: Vec<(&Seat<'_>, usize, Rate)> = slots
            .values()
            .filter_map(|ports| {
                let first = ports.first()?;
                let carries = chart.catalogue.link(generation(first)?).ok()?.rate(first.device.link.lanes?);
                let count = u32::try_from(ports.len()).ok()?;
                let all = rate.times(Ratio::new(count, 1)?);
                (all > carries).then_some((first, ports.len(), carries))
            })
            .collect();
        let Some((first, count, carries)) = short.first() else { return Vec::new() };
        let names: Vec<&str> = short.iter().map(|(seat, ..)| seat.device.address.as_str()).collect();
        let what = format!(
            "{count} ports of {rate} each behind {carries} per direction of PCIe, at {}",
            listed(&names)
        );
        let lanes = first.device.link.lanes.unwrap_or(0);
        let speed = first.device.link.speed.map_or_else(String::new, |speed| speed.to_string());
        #[expect(clippy::cast_precision_loss, reason = "a count of ports")]
        let share = 1.0 - carries.as_gigabytes() / (rate.as_gigabytes() * *count as f64).max(1e-9);
        vec![
            Finding::new(&NIC_PCIE_LIMIT, Confidence::Certain, what)
                .severity(Severity::Note)
                .at(first.place(), format!("LnkSta {speed} x{lanes}"))
                .at(place, format!("a port runs {rate}"))
                .costs(share, "of what the ports could carry together")
                .fix("nothing in software: use one port per such slot, or spread adapters over slots of their own")
                .check("ib_write_bw on all ports of a slot at once gives the slot's rate"),
        ]
    }
}

/// The rate of active ports, where all that are fast have the same; which function is which port is often not told.
fn port_rate(chart: &Chart<'_>) -> Option<(Rate, Place)> {
    let mut found: Option<(Rate, Place)> = None;
    for said in chart.records("port") {
        let Some(Value::Rate(rate)) = said.record.get("rate") else { continue };
        let is_down = said.record.text("state").is_some_and(|state| state.eq_ignore_ascii_case("down"));
        // The network of the office is no port of the fabric.
        if is_down || rate.as_gigabytes() < 6.0 {
            continue;
        }
        match &found {
            Some((own, _)) if own != rate => return None,
            Some(_) => {}
            None => found = Some((*rate, said.field_place("rate"))),
        }
    }
    found
}

fn is_fast_nic(seat: &Seat<'_>) -> bool {
    let is_virtual = seat.device.details.physical_function.is_some();
    let is_rdma = matches!(seat.device.class, Some(0x0207)) || seat.device.vendor == Some(0x15b3);
    seat.is_nic() && is_rdma && !is_virtual
}

/// The link kind by its transfers.
fn generation(seat: &Seat<'_>) -> Option<&'static str> {
    let gigatransfers = seat.device.link.speed?.to_string();
    let figure: f64 = gigatransfers.split_whitespace().next()?.trim_end_matches("GT/s").parse().ok()?;
    [("pcie3", 8.0), ("pcie4", 16.0), ("pcie5", 32.0), ("pcie6", 64.0)]
        .into_iter()
        .find(|(_, transfers)| (figure - transfers).abs() < 0.1)
        .map(|(name, _)| name)
}
