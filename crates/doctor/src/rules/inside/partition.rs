//! GPUs that are cut into devices.

use std::collections::BTreeSet;

use weft_base::{Place, Severity};
use weft_formats::Value;

use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, at};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;
use crate::words::listed;

/// A part taken for the whole.
pub const GPU_PARTITIONED: Cause = Cause {
    code: "D021",
    word: "gpu-partitioned",
    title: "GPUs are cut into devices, and a job takes the parts for GPUs",
    nature: Nature::Fault,
    effect: Effect::Bandwidth,
    explanation: "AMD's Instinct accelerators can show their dies as devices (compute partitions DPX, QPX, CPX in place of SPX; memory \
        NPS2, NPS4), NVIDIA's data-centre GPUs can be cut into instances (MIG). A device is then a part: the dies of one package \
        talk over its own fabric and share its links to the others, memory and compute are the part's, and figures of whole GPUs \
        do not hold. NCCL takes one rank per GPU and ends with `Duplicate GPU detected` where two ranks are instances of one; \
        instances have no peer-to-peer and no NVLink. Look at `rocm-smi --showcomputepartition --showmemorypartition` or \
        `nvidia-smi -L`. For jobs over several GPUs: `amd-smi set --compute-partition SPX` (or rocm-smi \
        --setcomputepartition SPX), `nvidia-smi -mig 0` (both with nothing running). RCCL's tables for partitions are another \
        matter: see version-algorithm.",
};

/// The rule.
#[derive(Debug)]
pub struct Partition;

impl Rule for Partition {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&GPU_PARTITIONED]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        parts(chart).or_else(|| instances(chart)).into_iter().collect()
    }
}

/// AMD's partitions.
fn parts(chart: &Chart<'_>) -> Option<Finding> {
    let mut cut: Vec<(String, Place, String)> = Vec::new();
    for said in chart.records("gpu") {
        let own = ["compute-partition", "memory-partition"].map(|field| said.record.text(field));
        let is_cut = own[0].is_some_and(|mode| matches!(mode, "DPX" | "TPX" | "QPX" | "CPX"));
        if is_cut {
            let says: Vec<&str> = own.into_iter().flatten().collect();
            cut.push((said.record.subject.clone(), said.place(), says.join(", ")));
        }
    }
    let (_, place, says) = cut.first()?;
    let names: Vec<&str> = cut.iter().map(|it| it.0.as_str()).collect();
    let what = format!("{} are parts of packages ({says}), not whole accelerators", listed(&names));
    // Ranks on the parts of one package know that they are parts; on those of several they may be taken for packages.
    let is_mixed = chart.benchmarks().any(|(run, _)| {
        let buses: BTreeSet<Option<&str>> = run.ranks.iter().map(|rank| rank.bus.as_deref()).collect();
        buses.len() > 1 && buses.len() < run.ranks.len()
    });
    let is_low = chart.shortfall().is_some();
    let confidence = if is_low { Confidence::Likely } else { Confidence::Possible };
    let mut found = Finding::new(&GPU_PARTITIONED, confidence, what).at(place.clone(), says.clone());
    if !(is_mixed || is_low) || chart.is_fast() {
        found = found.severity(Severity::Note);
    }
    Some(
        found
            .costs(0.4, "a device has the links, the memory and the compute of a part")
            .fix(
                "for jobs over whole accelerators: rocm-smi --setcomputepartition SPX and --setmemorypartition NPS1 (as root, \
                 nothing running; set again at boot); compare figures of parts with figures of parts only",
            )
            .check("rocm-smi --showcomputepartition says SPX, and as many devices as packages are listed")
            .settle("the same run in SPX mode"),
    )
}

/// NVIDIA's instances: ranks on one GPU, or a job that ends over them.
fn instances(chart: &Chart<'_>) -> Option<Finding> {
    let modes = ["mig-mode", "mig-mode-current"];
    let on = chart.records("gpu").find_map(|said| {
        let field = modes.into_iter().find(|field| said.record.get(field) == Some(&Value::Flag(true)))?;
        Some((said.field_place(field), format!("{}: MIG mode enabled", said.record.subject)))
    });
    let listed = || {
        let said = chart.records("mig").next()?;
        Some((said.place(), format!("{} is an instance", said.record.subject)))
    };
    let (place, says) = on.or_else(listed)?;
    let twice = chart.logs().find_map(|(log, place)| {
        let problem = log.problems.iter().find(|it| it.text.contains("Duplicate GPU detected"))?;
        Some((at(place, problem.line), problem.text.clone()))
    });
    let runs = chart.logs().next().is_some() || chart.benchmarks().next().is_some();
    let what = "GPUs are cut into instances (MIG), between which there is neither peer-to-peer nor NVLink";
    let confidence = match (twice.is_some(), runs) {
        (true, _) => Confidence::Certain,
        (false, true) => Confidence::Likely,
        (false, false) => Confidence::Possible,
    };
    let mut found = Finding::new(&GPU_PARTITIONED, confidence, what).at(place, says);
    if !runs {
        found = found.severity(Severity::Note);
    }
    let share = if twice.is_some() { 1.0 } else { 0.6 };
    if let Some((place, text)) = twice {
        found = found.at(place, text);
    }
    Some(
        found
            .costs(share, "NCCL takes one rank for each GPU, and instances talk through host memory")
            .fix("nvidia-smi -mig 0 on the GPUs of the job (as root, nothing running; persists), or one rank for each GPU")
            .check("nvidia-smi -L lists GPUs without instances")
            .settle("nvidia-smi -L; NCCL_DEBUG=INFO of the job"),
    )
}
