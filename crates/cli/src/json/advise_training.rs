//! Training steps and whole runs in `weft/advise/1`.

use serde::Serialize;
use weft_advisor::advice::{Choice, Run};
use weft_advisor::performance::WorkloadStep;

use super::train::{LayoutJson, PartJson, breakdown, layout_json};

#[derive(Debug, Serialize)]
pub(super) struct WorkloadJson {
    name: String,
    share: f64,
    gpus: u32,
    step_s: f64,
    low_s: f64,
    high_s: f64,
    tokens_per_s_per_gpu: f64,
    mfu: Option<f64>,
    memory_bytes_per_gpu: f64,
    gpu_bytes: f64,
    breakdown: Vec<PartJson>,
    bound_by: &'static str,
    layout: LayoutJson,
}

#[derive(Debug, Serialize)]
pub(super) struct RunJson {
    tokens: f64,
    work_share: Option<f64>,
    days: f64,
    low_days: f64,
    high_days: f64,
    energy_kwh: f64,
    energy_cost: Option<f64>,
}

/// A step of each workload.
pub(super) fn workloads(choice: &Choice) -> Vec<WorkloadJson> {
    let steps = choice.step.as_ref().map_or(&[][..], |step| step.workloads.as_slice());
    steps.iter().map(workload).collect()
}

fn workload(step: &WorkloadStep) -> WorkloadJson {
    WorkloadJson {
        name: step.name.clone(),
        share: step.share,
        gpus: step.gpus,
        step_s: step.seconds,
        low_s: step.low_seconds,
        high_s: step.high_seconds,
        tokens_per_s_per_gpu: step.tokens_per_s_per_gpu(),
        mfu: step.mfu_share,
        memory_bytes_per_gpu: step.memory.total(),
        gpu_bytes: step.gpu_bytes,
        breakdown: breakdown(&step.breakdown),
        bound_by: step.bound_by(),
        layout: layout_json(&step.layout),
    }
}

/// The whole run.
pub(super) fn run(run: &Run) -> RunJson {
    RunJson {
        tokens: run.token_count,
        work_share: run.work_share,
        days: run.days,
        low_days: run.low_days,
        high_days: run.high_days,
        energy_kwh: run.energy.as_kilowatt_hours(),
        energy_cost: run.energy_cost.map(weft_base::Money::as_units),
    }
}
