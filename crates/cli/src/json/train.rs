//! `weft/train/1`.

use serde::Serialize;
use weft_base::Diagnostic;
use weft_predictor::train::{Breakdown, Candidate};
use weft_workload::{Layout, Memory, Recompute, Schedule};

use super::DiagnosticJson;
use crate::train::Run;

/// The document.
#[derive(Debug, Serialize)]
pub struct TrainJson {
    schema: &'static str,
    model: String,
    framework: String,
    precision: &'static str,
    gpus: u32,
    global_batch: u32,
    sequence_tokens: u32,
    /// Layouts that were looked at.
    layouts: u64,
    fitting: u64,
    #[serde(flatten)]
    best: Option<StepJson>,
    /// All that were kept, the fastest first.
    candidates: Vec<StepJson>,
    diagnostics: Vec<DiagnosticJson>,
}

#[derive(Debug, Serialize)]
struct StepJson {
    step_s: f64,
    low_s: f64,
    high_s: f64,
    tokens_per_s_per_gpu: f64,
    mfu: Option<f64>,
    memory_bytes_per_gpu: f64,
    memory: MemoryJson,
    breakdown: Vec<PartJson>,
    bound_by: String,
    layout: LayoutJson,
}

#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "every number of a document says its unit")]
struct MemoryJson {
    weights_bytes: f64,
    gradients_bytes: f64,
    optimizer_bytes: f64,
    activations_bytes: f64,
    buffer_bytes: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct PartJson {
    part: &'static str,
    seconds: f64,
}

#[derive(Debug, Serialize)]
pub(super) struct LayoutJson {
    tensor: u32,
    pipeline: u32,
    virtual_stages: u32,
    context: u32,
    expert: u32,
    data: u32,
    micro_batch: u32,
    micro_batches: u32,
    sequence_parallel: bool,
    sharding: &'static str,
    recompute: &'static str,
    schedule: &'static str,
}

/// The document of a run.
pub fn document(run: &Run<'_>, diagnostics: &[Diagnostic]) -> TrainJson {
    let found = run.found;
    let gpus = found.best.first().map_or(run.site.gpus, |best| best.layout.gpus);
    TrainJson {
        schema: "weft/train/1",
        model: run.model.name.clone(),
        framework: run.framework.name.clone(),
        precision: run.precision.word(),
        gpus,
        global_batch: run.global_batch,
        sequence_tokens: run.sequence_tokens,
        layouts: found.layout_count,
        fitting: found.fitting_count,
        best: found.best.first().map(|best| step(run, best)),
        candidates: found.best.iter().map(|candidate| step(run, candidate)).collect(),
        diagnostics: super::all(diagnostics),
    }
}

fn step(run: &Run<'_>, candidate: &Candidate) -> StepJson {
    let Candidate { layout, time, memory } = candidate;
    StepJson {
        step_s: time.seconds,
        low_s: time.low_s,
        high_s: time.high_s,
        tokens_per_s_per_gpu: run.step_tokens() / time.seconds / f64::from(layout.gpus),
        mfu: run.mfu(layout, time),
        memory_bytes_per_gpu: memory.total(),
        memory: memory_json(memory),
        breakdown: breakdown(&time.breakdown),
        bound_by: time.bound_by().to_owned(),
        layout: layout_json(layout),
    }
}

pub(super) fn breakdown(breakdown: &Breakdown) -> Vec<PartJson> {
    breakdown.parts().into_iter().map(|(part, seconds)| PartJson { part, seconds }).collect()
}

fn memory_json(memory: &Memory) -> MemoryJson {
    MemoryJson {
        weights_bytes: memory.weights_bytes,
        gradients_bytes: memory.gradients_bytes,
        optimizer_bytes: memory.optimizer_bytes,
        activations_bytes: memory.activations_bytes,
        buffer_bytes: memory.buffer_bytes,
    }
}

pub(super) fn layout_json(layout: &Layout) -> LayoutJson {
    LayoutJson {
        tensor: layout.tensor,
        pipeline: layout.pipeline,
        virtual_stages: layout.virtual_stages,
        context: layout.context,
        expert: layout.expert,
        data: layout.data(),
        micro_batch: layout.micro_batch,
        micro_batches: layout.micro_batches(),
        sequence_parallel: layout.sequence_parallel,
        sharding: layout.sharding.word(),
        recompute: match layout.recompute {
            Recompute::None => "none",
            Recompute::Selective => "selective",
            Recompute::Full => "full",
        },
        schedule: match layout.schedule {
            Schedule::Gpipe => "gpipe",
            Schedule::OneForwardOneBackward => "1f1b",
            Schedule::ZeroBubble => "zero-bubble",
        },
    }
}
