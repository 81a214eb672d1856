//! Megatron-LM's own tables: 2020 (V100 and A100), SC'21, selective recomputation, and Megatron Core on H100.

use weft_catalogue::Model;
use weft_workload::{Layout, Precision, Recompute, Sharding};

use super::table::Row;
use super::{Context, Entry, Left, Read, flops, layout, machine, name};

/// Of GPT-2's tokens, padded for tensor parallelism; tables of 2020 do not print it.
const VOCABULARY: u32 = 51_200;
/// Tokens of a sequence in the tables of 2020, by their paper.
const TOKENS_2020: u32 = 1024;
/// Peak of H100 in 16 bits, of which shares are printed.
const H100_FLOPS: f64 = 989.4e12;
/// Of SC'21's ten models: hidden width, sequences of a micro-batch, layers of a virtual stage (0: not interleaved), by
/// the authors' own script for the table (examples/sc21/run_table_1.sh of Megatron-LM).
const SC21: [(u32, u32, u32); 10] = [
    (2304, 16, 0),
    (3072, 16, 0),
    (4096, 16, 0),
    (6144, 8, 0),
    (8192, 4, 0),
    (10240, 2, 5),
    (12288, 2, 5),
    (16384, 1, 3),
    (20480, 1, 1),
    (25600, 1, 0),
];
/// Models of Megatron Core's table whose micro-batch would have to be guessed.
const NO_MICRO_BATCH: [&str; 3] = ["1.7B", "7.1B", "32B"];

fn shape(row: &Row, vocabulary: u32) -> Result<Model, Left> {
    let (layers, hidden) = (row.needed("n_layers")?, row.needed("hidden")?);
    Ok(name::shaped(row.text("model"), layers, hidden, row.needed("n_heads")?, vocabulary))
}

/// 2020: everything is recomputed, a step is one micro-batch of each copy of the model.
pub(super) fn read_2020(row: &Row, _: &Context<'_>) -> Read {
    let model = shape(row, VOCABULARY)?;
    let gpus = row.needed("num_gpus")?;
    let mut split = Layout::new(gpus, row.needed("global_batch_seqs")?, TOKENS_2020);
    layout::sizes(&mut split, row);
    split.sequence_parallel = false;
    split.sharding = Sharding::None;
    split.recompute = Recompute::Full;
    split.micro_batch = (split.global_batch / split.data().max(1)).max(1);
    let system = row.text("system");
    let machine = match system.to_lowercase() {
        lower if lower.contains("dgx-2") => machine::rails("dgx-2", gpus, 16),
        lower if lower.contains("a100") => machine::rails("dgx-a100-40gb", gpus, 8),
        _ => return Err(Left::unread(format!("system is `{system}`"))),
    };
    let step_s = row.positive("iteration_ms")? / 1e3;
    let group = format!("{}, {system}", model.title);
    Ok(entry(group, model, split, "megatron-2020", machine, step_s))
}

/// SC'21's table: everything is recomputed.
pub(super) fn read_2021(row: &Row, _: &Context<'_>) -> Read {
    let set = row.text("set");
    if set.to_lowercase().contains("jan 2021") {
        return Err(Left::out("an older code than that of the paper"));
    }
    let model = shape(row, row.whole("vocab").unwrap_or(VOCABULARY))?;
    let gpus = row.needed("num_gpus")?;
    let mut split = Layout::new(gpus, row.needed("global_batch_seqs")?, row.needed("seq_len_tokens")?);
    layout::sizes(&mut split, row);
    split.sequence_parallel = false;
    split.sharding = Sharding::None;
    split.recompute = Recompute::Full;
    let script = SC21.into_iter().find(|(hidden, ..)| *hidden == model.hidden);
    if let Some((_, micro_batch, stage_layers)) = script {
        split.micro_batch = micro_batch;
        let stages = model.layers / (split.pipeline * stage_layers).max(1);
        split.virtual_stages = if stage_layers == 0 { 1 } else { stages.max(1) };
    } else {
        layout::usual_micro(&mut split);
        layout::usual_interleave(&mut split, model.layers);
    }
    let step_s = match row.number("step_time_s_derived") {
        Some(seconds) if seconds > 0.0 => seconds,
        // The paper counts the second forward pass too: four passes for three.
        _ => {
            let flops = split.step_tokens() * flops::unmasked(&model, split.sequence_tokens) * 4.0 / 3.0;
            flops / (row.positive("hw_tflops_per_gpu")? * 1e12 * f64::from(gpus))
        }
    };
    let group = format!("{}, A100, {set}", model.title);
    Ok(entry(group, model, split, "megatron-2021", machine::rails("dgx-a100", gpus, 8), step_s))
}

/// Full against selective recomputation with sequence parallelism.
pub(super) fn read_selective(row: &Row, _: &Context<'_>) -> Read {
    let model = shape(row, row.whole("vocab").unwrap_or(VOCABULARY))?;
    let gpus = row.needed("num_gpus")?;
    let mut split = Layout::new(gpus, row.needed("global_batch_seqs")?, row.needed("seq_len_tokens")?);
    layout::sizes(&mut split, row);
    split.virtual_stages = row.size("interleave");
    split.micro_batch = row.needed("micro_batch_size")?;
    split.sharding = Sharding::None;
    let mode = row.lower("mode");
    split.sequence_parallel = mode.contains("+ sequence parallel");
    split.recompute = match () {
        () if mode.contains("selective") => Recompute::Selective,
        () if mode.contains("full") => Recompute::Full,
        () => Recompute::None,
    };
    let group = format!("{}, A100", model.title);
    let step_s = row.positive("step_time_s")?;
    Ok(entry(group, model, split, "megatron-2021", machine::rails("dgx-a100", gpus, 8), step_s))
}

/// Megatron Core: TFLOP/s of the model, attention counted without the mask.
pub(super) fn read_core(row: &Row, context: &Context<'_>) -> Read {
    let title = row.text("model");
    if NO_MICRO_BATCH.contains(&title) {
        return Err(Left::out("its micro-batch is not given"));
    }
    let model = shape(row, row.needed("vocab")?)?;
    let gpus = row.needed("num_gpus")?;
    let mut split = Layout::new(gpus, row.needed("global_batch_seqs")?, row.needed("seq_len_tokens")?);
    // Scaling in the text is of a model of the table, whose layout it keeps.
    let is_split = |other: &&Row| other.text("model") == title && other.whole("tp").is_some();
    let printed = if is_split(&row) { Some(row) } else { context.rows.iter().find(is_split) };
    layout::sizes(&mut split, printed.ok_or_else(|| Left::unread("tp and pp are not printed"))?);
    layout::usual_micro(&mut split);
    most_interleaved(&mut split, model.layers);
    let reached = match row.number("model_tflops_per_gpu") {
        Some(tera) if tera > 0.0 => tera * 1e12,
        _ => row.positive("mfu_pct")? / 100.0 * H100_FLOPS,
    };
    let flops = split.step_tokens() * flops::unmasked(&model, split.sequence_tokens);
    let step_s = flops / (reached * f64::from(gpus));
    let group = format!("{title}, H100, {}", row.text("set"));
    Ok(entry(group, model, split, "megatron-core", machine::rails("dgx-h100", gpus, 8), step_s))
}

/// Megatron Core interleaves as far as six chunks of layers where they divide.
fn most_interleaved(split: &mut Layout, layers: u32) {
    if split.pipeline > 1 && split.micro_batches().is_multiple_of(split.pipeline) {
        let divides = |stages: &u32| layers.is_multiple_of(split.pipeline * stages);
        split.virtual_stages = (1..=6).rev().find(divides).unwrap_or(1);
    }
}

fn entry(
    group: String,
    model: Model,
    layout: Layout,
    framework: &'static str,
    machine: String,
    step_s: f64,
) -> Entry {
    let precision = Precision::Half;
    let variant = String::new();
    Entry { group, model, layout, precision, framework, machine, step_s, release: None, variant }
}
