//! NeMo's launcher: weak scaling on A100, and FP8 on H100.

use weft_catalogue::Model;
use weft_workload::{Layout, Parameters, Precision, Recompute};

use super::table::Row;
use super::{Context, Entry, Left, Read, layout, machine, name};

/// Tokens of a sequence of GPT-3 in its recipes.
const USUAL_TOKENS: u32 = 2048;

pub(super) fn read(row: &Row, context: &Context<'_>) -> Read {
    let table = row.text("table");
    let lower = table.to_lowercase();
    if lower.contains("sft") || lower.contains("lora") {
        return Err(Left::out("fine-tuning of short sequences: reported, no bar"));
    }
    let model = name::model(row.text("model"), context.catalogue)?;
    let gpus = row.needed("num_gpus")?;
    let mut split = match row.whole("global_batch_seqs") {
        Some(batch) => printed(row, &model, batch)?,
        None => recipe(&model, gpus),
    };
    let system = row.text("system");
    // The tables of A100 are older than its attention in one kernel: what that saves was recomputed.
    let is_old = system.contains("A100");
    if is_old {
        split.recompute = Recompute::Selective;
    }
    let rate = row
        .number("tokens_per_s")
        .or_else(|| row.number("tokens_per_s_per_gpu").map(|rate| rate * f64::from(gpus)));
    let step_s = match row.number("step_time_s").filter(|seconds| *seconds > 0.0) {
        Some(seconds) => seconds,
        None => {
            split.step_tokens() / rate.filter(|rate| *rate > 0.0).ok_or_else(|| Left::unread("no time"))?
        }
    };
    let machine =
        machine::nvidia(system, gpus).ok_or_else(|| Left::unread(format!("system is `{system}`")))?;
    let words = format!("{} {table}", row.text("notes"));
    let precision = name::precision(&words);
    Ok(Entry {
        group: format!("{}, {system}, {table}", model.title),
        model,
        layout: split,
        precision: if is_old { Precision::Half } else { precision },
        framework: if is_old { "megatron-2021" } else { "megatron-core" },
        machine,
        step_s,
        release: None,
        variant: String::new(),
    })
}

fn printed(row: &Row, model: &Model, batch: u32) -> Result<Layout, Left> {
    let tokens = row.whole("seq_len_tokens").unwrap_or(USUAL_TOKENS);
    let mut split = Layout::new(row.needed("num_gpus")?, batch, tokens);
    layout::sizes(&mut split, row);
    match row.whole("micro_batch_size") {
        Some(size) => split.micro_batch = size,
        None => layout::usual_micro(&mut split),
    }
    layout::usual_interleave(&mut split, model.layers);
    Ok(split)
}

/// Weak scaling prints neither layout nor batch: the launcher's recipes by size, and sixteen micro-batches or more of
/// each copy of the model, so that neither matters much.
fn recipe(model: &Model, gpus: u32) -> Layout {
    let billions = Parameters::of(model).total(model) / 1e9;
    let (tensor, pipeline, micro_batch, micro_batches) = match () {
        () if billions < 8.0 => (1, 1, 4, 16),
        () if billions < 30.0 => (4, 1, 4, 16),
        () if billions < 60.0 => (8, 1, 2, 16),
        () => (8, 8, 1, 64),
    };
    let mut split = Layout::new(gpus, 1, USUAL_TOKENS);
    split.tensor = tensor;
    split.pipeline = if gpus.is_multiple_of(tensor * pipeline) { pipeline } else { 1 };
    split.sequence_parallel = tensor > 1;
    split.micro_batch = micro_batch;
    split.global_batch = split.data().max(1) * micro_batch * micro_batches;
    layout::usual_interleave(&mut split, model.layers);
    split
}
