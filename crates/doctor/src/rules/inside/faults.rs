//! GPUs that the kernel's log calls lost or faulty.

use std::collections::BTreeMap;

use weft_base::Place;

use crate::cause::{Cause, Effect, Nature};
use crate::chart::Chart;
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;

/// A GPU that is gone.
pub const GPU_FELL_OFF: Cause = Cause {
    code: "D032",
    word: "gpu-fell-off",
    title: "a GPU fell off the bus",
    nature: Nature::Fault,
    effect: Effect::Running,
    explanation: "Xid 79: the driver reads all ones from the card, which no longer answers over PCIe. Power (cables, spikes of \
        many cards at once), heat, a bad riser, cable or slot, or the card. Errors of the link before (AER, `PCIe Bus Error`) \
        speak for the way, none of them for power or the card. Only a restart of the machine brings it back. NVIDIA's Xid \
        documentation asks to look at power and seating first, then to swap cards between slots: what stays with the slot is \
        the way, what goes with the card is the card.",
};

/// Errors of a GPU.
pub const GPU_ERRORS: Cause = Cause {
    code: "D033",
    word: "gpu-errors",
    title: "a GPU reports errors of its memory, links or firmware",
    nature: Nature::Fault,
    effect: Effect::Running,
    explanation: "Xids of the kernel's log that point at hardware: 48, 63, 64, 94, 95 and 140 at memory (ECC, rows remapped), \
        74 at NVLink, 119 and 120 at the firmware processor (GSP). One contained error kills one program; repeated ones, a \
        failed remapping (64) or an uncontained error (95) ask for a reset and then for a replacement. `nvidia-smi -q -d \
        ECC,ROW_REMAPPER` shows what is pending. From NVIDIA's Xid documentation.",
};

/// Numbers of [`GPU_ERRORS`]; those that programs cause (13, 31, 43, 45) are none.
const HARDWARE: &[u64] = &[48, 61, 62, 64, 74, 92, 94, 95, 119, 120, 140];

/// The rule.
#[derive(Debug)]
pub struct Faults;

impl Rule for Faults {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&GPU_FELL_OFF, &GPU_ERRORS]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let mut gone: BTreeMap<String, (Place, String)> = BTreeMap::new();
        let mut errors: BTreeMap<(String, u64), (Place, String, u32)> = BTreeMap::new();
        for said in chart.events("xid") {
            let code = said.record.count("code").unwrap_or(0);
            let message = said.record.text("message").unwrap_or("Xid").to_owned();
            let device = said.record.subject.clone();
            if code == 79 {
                gone.entry(device).or_insert((said.place(), message));
            } else if HARDWARE.contains(&code) {
                errors.entry((device, code)).or_insert((said.place(), message, 0)).2 += 1;
            }
        }
        let lost = gone.iter().map(|(device, (place, message))| {
            Finding::new(&GPU_FELL_OFF, Confidence::Certain, format!("the GPU at {device} fell off the bus"))
                .at(place.clone(), message.clone())
                .costs(1.0, "this GPU is gone until the machine is restarted, and each job on it with it")
                .fix(
                    "restart the machine (cold); then power cables and supply, seating, riser or cable; swap cards \
                     between slots to tell card from way",
                )
                .check("nvidia-smi lists all GPUs and dmesg stays without Xid 79 under load")
                .settle("dmesg | grep -i -e aer -e xid from before the loss; nvidia-smi -q -d POWER,TEMPERATURE under load")
        });
        let mut found: Vec<Finding> = lost.collect();
        for ((device, code), (place, message, count)) in errors {
            if gone.contains_key(&device) {
                continue;
            }
            let what = format!("the GPU at {device} reports Xid {code}, {count} times");
            found.push(
                Finding::new(&GPU_ERRORS, Confidence::Likely, what)
                    .at(place, message)
                    .costs(0.3, "jobs on this GPU end, or go on slower")
                    .fix(
                        "nvidia-smi -r -i <GPU> with nothing running on it; replace the GPU if it comes back",
                    )
                    .check("nvidia-smi -q -d ECC,ROW_REMAPPER: nothing pending; dmesg without new Xids")
                    .settle("nvidia-smi -q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT; nvidia-smi nvlink -e"),
            );
        }
        found
    }
}
