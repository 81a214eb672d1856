//! Adapters that their PCIe slot, or the GPUs' way to them, cannot feed.

use std::collections::BTreeMap;

use weft_base::{Rate, Severity};
use weft_catalogue::LinkFamily;
use weft_predictor::HcaFilter;

use super::lookup::{self, best_rate};
use super::ports;
use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, Seat};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;

/// PCIe is narrower than the network.
pub const NIC_PCIE_LIMIT: Cause = Cause {
    code: "D065",
    word: "nic-pcie-limit",
    title: "PCIe cannot feed the adapters: more of them give nothing",
    nature: Nature::Limit,
    effect: Effect::Bandwidth,
    explanation: "Adapters add up only where everything behind them carries their sum. Two ports of 200G in one slot of PCIe 4.0 \
        x16 have 32 GB/s together, so that four such ports make what two do; cards without NVLink carry a ring's traffic over \
        the same PCIe links as the NICs' and reach one NIC's rate with one, two or four of them. Compare the ports' rates with \
        LnkSta of the slot, and with what GPUs reach inside the host. One port per slot, PCIe 5.0, or NVLink mend it; bonds and \
        settings do not. Known from NVIDIA/nccl#412, #452.",
};

/// The rule.
#[derive(Debug)]
pub struct Slots;

impl Rule for Slots {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&NIC_PCIE_LIMIT]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        narrow_slot(chart).or_else(|| useless(chart)).into_iter().collect()
    }
}

/// What a slot's link carries after its encoding.
fn link_rate(seat: &Seat<'_>, chart: &Chart<'_>) -> Option<Rate> {
    let (speed, lanes) = (seat.device.link.speed?, seat.device.link.lanes?);
    let kinds = ["pcie1", "pcie2", "pcie3", "pcie4", "pcie5", "pcie6"];
    let kind = kinds
        .iter()
        .filter_map(|name| chart.catalogue.link(name).ok())
        .find(|kind| kind.family == LinkFamily::Pcie && kind.lane.value == speed)?;
    Some(kind.rate(lanes))
}

/// Several functions of one card whose ports carry more than the slot.
fn narrow_slot(chart: &Chart<'_>) -> Option<Finding> {
    if chart.host_count() < 2 {
        return None;
    }
    let ports = ports::ports(chart);
    let used = ports::used(chart);
    let rates = ports.values().filter(|port| {
        port.is_up != Some(false)
            && (used.is_empty() || used.iter().any(|(name, _, _)| *name == port.adapter))
    });
    // Which port is which function is rarely said: only where all have one rate.
    let mut rates: Vec<Rate> = rates.filter_map(|port| port.rate).collect();
    rates.dedup();
    let [rate] = rates[..] else { return None };
    let mut slots: BTreeMap<(String, String), Vec<Seat<'_>>> = BTreeMap::new();
    for seat in chart.devices().filter(Seat::is_nic) {
        let Some((slot, _)) = seat.device.address.rsplit_once('.') else { continue };
        slots.entry((seat.host.name.clone().unwrap_or_default(), slot.to_owned())).or_default().push(seat);
    }
    let all: usize = slots.values().map(Vec::len).sum();
    if all != ports.len() && all != used.len() {
        return None;
    }
    let (seats, carries, wants) = slots.values().find_map(|seats| {
        let count = u64::try_from(seats.len()).ok().filter(|count| *count > 1)?;
        let carries = link_rate(seats.first()?, chart)?;
        let wants = Rate::bytes_per_second(rate.get().saturating_mul(count));
        (wants.as_gigabytes() > 1.1 * carries.as_gigabytes()).then_some((seats, carries, wants))
    })?;
    let (first, last) = (seats.first()?, seats.last()?);
    let what = format!(
        "the slot of {} carries {carries}, its {} ports {wants}",
        first.device.address.rsplit_once('.').map_or("the adapter", |(slot, _)| slot),
        seats.len()
    );
    let confidence = if chart.shortfall().is_some() { Confidence::Certain } else { Confidence::Likely };
    let share = 1.0 - carries.as_gigabytes() / wants.as_gigabytes();
    Some(
        Finding::new(&NIC_PCIE_LIMIT, confidence, what)
            .at(first.place(), format!("{}: a link of {carries} in each direction", first.device.address))
            .at(last.place(), format!("{} is in the same slot", last.device.address))
            .costs(share, format!("{:.0} % of what the ports carry", 100.0 * share))
            .fix("one port per slot in use, or a slot and a card of the next PCIe generation; no setting and no bond helps")
            .check("busbw with one port of each slot is what it is with all"),
    )
}

/// More adapters would not be faster: the prediction with one is that with all.
fn useless(chart: &Chart<'_>) -> Option<Finding> {
    let used = ports::used(chart);
    let (first, _, place) = used.first()?;
    if used.len() < 2 || chart.host_count() < 2 {
        return None;
    }
    let only = HcaFilter::read(&format!("={first}"));
    let (one, all) = lookup::otherwise(chart, |request| request.settings.hca = Some(only.clone()))?;
    let measured = chart.runs.iter().filter_map(best_rate).max()?;
    let alike =
        one.as_gigabytes() > 0.9 * all.as_gigabytes() && one.as_gigabytes() < 1.1 * all.as_gigabytes();
    if !alike || measured.as_gigabytes() > 1.5 * all.as_gigabytes() {
        return None;
    }
    let what = format!(
        "{} adapters are no faster than one: PCIe between the GPUs and to the adapters is the bound",
        used.len()
    );
    Some(
        Finding::new(&NIC_PCIE_LIMIT, Confidence::Likely, what)
            .at(place.clone(), format!("{} adapters are used", used.len()))
            .without(format!("with one of them {one} would be expected, with all {all}"))
            .costs(0.0, "nothing that a setting brings back")
            .fix("NVLink between the GPUs, or GPUs and NICs in pairs below PCIe switches; no setting helps")
            .severity(Severity::Note),
    )
}
