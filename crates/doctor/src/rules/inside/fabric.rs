//! The service that makes NVSwitches a fabric.

use weft_base::Place;
use weft_catalogue::Form;

use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, at};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;
use crate::words::listed;

/// No fabric.
pub const FABRIC_MANAGER: Cause = Cause {
    code: "D026",
    word: "fabric-manager",
    title: "Fabric Manager does not run, or a GPU's fabric is not completed",
    nature: Nature::Fault,
    effect: Effect::Running,
    explanation: "Machines with NVSwitches need Fabric Manager (nvidia-fabricmanager.service, of the driver's very version), \
        which programs the switches and registers each GPU. Until then CUDA fails with 802 `system not yet initialized`, or \
        all NVLinks read active and peer-to-peer is refused or crawls over host memory. `nvidia-smi -q` says under Fabric: \
        State must be Completed and Status Success; Completed with another status is as bad as In Progress. A fatal SXid of a \
        switch stops the service; partitions of virtual machines and of NVL72 racks must be activated before. Restart the \
        service, look at its log (/var/log/fabricmanager.log), reset GPUs and switches, and look for SXids.",
};

/// The rule.
#[derive(Debug)]
pub struct Fabric;

impl Rule for Fabric {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&FABRIC_MANAGER]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let bad = bad_states(chart);
        let service = service_down(chart);
        let refused = uninitialised(chart);
        let confidence = match (&service, bad.iter().any(|it| it.is_final), &refused) {
            (Some(_), _, _) | (_, true, _) => Confidence::Certain,
            (None, false, Some(_)) => Confidence::Likely,
            (None, false, None) if !bad.is_empty() => Confidence::Likely,
            (None, false, None) => return Vec::new(),
        };
        let names: Vec<&str> = bad.iter().map(|it| it.gpu.as_str()).collect();
        let what = match (&service, names.is_empty()) {
            (Some(_), _) => "Fabric Manager does not run, so that the NVSwitches are no fabric".to_owned(),
            (None, false) => format!("the fabric of {} is not in order", listed(&names)),
            (None, true) => "CUDA says that the system is not yet initialised".to_owned(),
        };
        let mut found = Finding::new(&FABRIC_MANAGER, confidence, what);
        for (place, says) in service.into_iter().chain(refused) {
            found = found.at(place, says);
        }
        for it in bad.iter().take(4) {
            found = found.at(it.place.clone(), format!("{}: {}", it.gpu, it.says));
        }
        for said in chart.events("sxid").take(2) {
            found = found.at(said.place(), said.record.text("message").unwrap_or("SXid"));
        }
        let found = found
            .costs(1.0, "no NVLink between these GPUs, or nothing runs")
            .fix(
                "systemctl restart nvidia-fabricmanager (its version must be that of the driver; enable it to persist); \
                 then nvidia-smi -r with nothing running, or a cold start; in a virtual machine or rack the partition \
                 must be activated by its owner",
            )
            .check("nvidia-smi -q | grep -A3 Fabric says Completed and Success for each GPU")
            .settle("systemctl status nvidia-fabricmanager; dmesg | grep -i sxid; nvidia-smi -q");
        vec![found]
    }
}

struct Bad {
    gpu: String,
    place: Place,
    says: String,
    /// Whether waiting does not help.
    is_final: bool,
}

/// GPUs whose fabric is not completed with success.
fn bad_states(chart: &Chart<'_>) -> Vec<Bad> {
    let mut found = Vec::new();
    for said in chart.records("gpu") {
        let Some(state) = said.record.text("fabric-state") else { continue };
        let status = said.record.text("fabric-status").unwrap_or_default();
        // Cards without switches say N/A.
        let is_none = |text: &str| matches!(text, "N/A" | "Not Supported" | "");
        let is_completed = state.eq_ignore_ascii_case("completed");
        let is_final = is_completed && !is_none(status) && !status.eq_ignore_ascii_case("success");
        if is_final || (!is_completed && !is_none(state)) {
            let says = format!("Fabric State {state}, Status {status}");
            let gpu = said.record.subject.clone();
            found.push(Bad { gpu, place: said.field_place("fabric-state"), says, is_final });
        }
    }
    found
}

/// The service, where it is there and does not run, or is not there on a machine that needs it.
fn service_down(chart: &Chart<'_>) -> Option<(Place, String)> {
    let needs = chart.models().iter().any(|gpu| gpu.form == Form::Sxm);
    chart.records("service").find_map(|said| {
        let active = said.record.text("active").filter(|_| said.record.subject.contains("fabricmanager"))?;
        let is_down = match active {
            "failed" => true,
            "inactive" | "dead" | "not found" => needs,
            _ => false,
        };
        is_down.then(|| (said.field_place("active"), format!("{}: {active}", said.record.subject)))
    })
}

/// CUDA's error 802 in NCCL's log.
fn uninitialised(chart: &Chart<'_>) -> Option<(Place, String)> {
    chart.logs().find_map(|(log, place)| {
        let problem = log.problems.iter().find(|it| it.text.contains("system not yet initialized"))?;
        Some((at(place, problem.line), problem.text.clone()))
    })
}
