//! PCIe links whose bits arrive wrong.

use std::collections::BTreeMap;

use weft_base::Place;

use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, Seat};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;

/// Errors on the wire.
pub const PCIE_SIGNAL: Cause = Cause {
    code: "D013",
    word: "pcie-signal",
    title: "a PCIe link has errors on the wire",
    nature: Nature::Fault,
    effect: Effect::Running,
    explanation: "Advanced error reporting (AER) counts bits that arrived wrong and were sent again: receiver errors, bad TLPs \
        and DLLPs, replays. PCIe allows one wrong bit in 1e12, so that a link in order says nothing for hours; errors each \
        second mean a riser, cable, adapter or slot that loses too much, a missing retimer, or dirt. Corrected errors cost \
        little by themselves; the link falls back in width or speed, and some day the device drops off (Xid 79). Reseat, \
        shorten or replace the way, or cap the link one generation lower in the firmware until then. The kernel prints only \
        some of the errors: /sys/bus/pci/devices/<device>/aer_dev_correctable counts all.",
};

/// Reports of a link from which on chance is no explanation.
const REPORTS_MIN: usize = 3;
/// What PCIe allows: wrong bits by bits.
pub(super) const ALLOWED_ERROR_RATE: f64 = 1e-12;

/// The rule.
#[derive(Debug)]
pub struct Signal;

/// Errors that the kernel's log tells of one device.
#[derive(Debug, Default)]
struct Errors {
    count: usize,
    fatal: bool,
    first: Option<(Place, String)>,
    from_s: Option<f64>,
    to_s: Option<f64>,
}

impl Rule for Signal {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&PCIE_SIGNAL]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let mut devices: BTreeMap<String, Errors> = BTreeMap::new();
        for said in chart.events("aer") {
            let message = said.record.text("message").unwrap_or_default();
            // What the physical and the data link layer report; transactions are no matter of the wire.
            let is_wire = message.contains("PCIe Bus Error")
                && (message.contains("Physical Layer") || message.contains("Data Link Layer"));
            if !is_wire {
                continue;
            }
            let own = devices.entry(said.record.subject.clone()).or_default();
            own.count += 1;
            own.fatal |= message.contains("Uncorrect");
            let time = said.record.text("time").and_then(|time| time.parse::<f64>().ok());
            own.from_s = own.from_s.or(time);
            own.to_s = time.or(own.to_s);
            own.first.get_or_insert((said.place(), message.to_owned()));
        }
        let count: usize = devices.values().map(|own| own.count).sum();
        if count < REPORTS_MIN {
            return super::wire_counters::grown(chart).into_iter().collect();
        }
        // Both ends of a link report: they are one link.
        vec![finding(&devices, count, chart)]
    }
}

fn finding(devices: &BTreeMap<String, Errors>, count: usize, chart: &Chart<'_>) -> Finding {
    let names: Vec<&str> = devices.keys().map(String::as_str).collect();
    let what =
        format!("the PCIe link of {} reports {count} errors on the wire", crate::words::listed(&names));
    let confidence = if count >= 2 * REPORTS_MIN { Confidence::Certain } else { Confidence::Likely };
    let mut found = Finding::new(&PCIE_SIGNAL, confidence, what);
    for own in devices.values().take(3) {
        if let Some((place, message)) = &own.first {
            found = found.at(place.clone(), format!("{message} ({} such reports)", own.count));
        }
    }
    for seat in chart.devices().filter(|seat| devices.contains_key(&seat.device.address)) {
        let wire: Vec<&str> = seat
            .device
            .details
            .errors
            .iter()
            .filter(|name| name.starts_with("CESta"))
            .map(String::as_str)
            .collect();
        if !wire.is_empty() {
            found = found.at(seat.place(), format!("{} has {} set", seat.device.address, wire.join(", ")));
        }
    }
    if let Some(rate) = error_rate(devices, chart) {
        found = found.figures(
            "wrong bits by bits, at least",
            format!("below {ALLOWED_ERROR_RATE:.0e}"),
            format!("{rate:.0e}"),
        );
    }
    let lost = chart.events("xid").any(|said| said.record.count("code") == Some(79));
    let fell = devices.values().any(|own| own.fatal) || lost;
    let (share, cost) = if fell {
        (1.0, "the device is lost when an error cannot be corrected")
    } else {
        (0.2, "packets are sent again; the link may fall back or drop off")
    };
    found
        .costs(share, cost)
        .fix(
            "reseat card, riser and cable, shorten or replace them (or add a retimer); until then cap the link one \
             generation lower in the firmware (persists), or by setpci on LnkCtl2 of the port above and a retrain (as root; \
             lost at reboot)",
        )
        .check("cat /sys/bus/pci/devices/<device>/aer_dev_correctable twice, a minute apart, under load: no new errors")
        .settle("cat /sys/bus/pci/devices/*/aer_dev_correctable, twice; lspci -vvv as root")
}

/// Wrong bits by bits, from the reports of the kernel, which prints some of the errors: the least that it is.
fn error_rate(devices: &BTreeMap<String, Errors>, chart: &Chart<'_>) -> Option<f64> {
    let rates = devices.iter().filter_map(|(address, own)| {
        let seat = chart.devices().find(|seat| seat.device.address == *address)?;
        let bits_per_s = bits_per_second(&seat)?;
        let time_s = own.to_s? - own.from_s?;
        #[expect(clippy::cast_precision_loss, reason = "a count of lines")]
        let count = own.count as f64;
        (time_s > 1.0).then(|| count / time_s / bits_per_s)
    });
    rates.max_by(f64::total_cmp)
}

/// Bits that the link moves in a second, in one direction.
pub(super) fn bits_per_second(seat: &Seat<'_>) -> Option<f64> {
    let link = if seat.is_bridge() { seat.device.details.link_below } else { seat.device.link };
    let rate = link.speed?.rate(link.lanes?, weft_base::Ratio::ONE);
    Some(rate.as_gigabytes() * 8e9)
}
