//! NeMo, Megatron Bridge and NeMo Automodel: tokens per second and GPU, with the whole layout.

use weft_catalogue::Model;
use weft_workload::{Layout, Sharding};

use super::table::Row;
use super::{Context, Entry, Left, Read, layout, machine, name, newest};

pub(super) fn read(row: &Row, context: &Context<'_>) -> Read {
    tuning(row)?;
    let model = name::model(row.text("model"), context.catalogue)?;
    let release = row.text("release");
    if model.name.starts_with("gpt-oss") && release.ends_with("26.06.01") {
        return Err(Left::out("a release that changed how tokens are counted"));
    }
    let split = split(row, &model)?;
    let framework = framework(row, release, model.experts.is_some());
    layout_entry(row, model, split, framework, release)
}

/// From this release on, experts run in CUDA graphs on Blackwell.
const GRAPHS: &[u32] = &[26, 6];

fn framework(row: &Row, release: &str, experts: bool) -> &'static str {
    let blackwell = row.text("system").contains('B') && !row.text("system").contains("H100");
    match () {
        () if row.lower("model").contains("drop") && !row.lower("model").contains("dropless") => {
            "megatron-core-drop"
        }
        () if experts && blackwell && newest::number(Some(release)).as_slice() >= GRAPHS => "megatron-bridge",
        () => "megatron-core",
    }
}

pub(super) fn read_automodel(row: &Row, context: &Context<'_>) -> Read {
    tuning(row)?;
    let model = name::model(row.text("model"), context.catalogue)?;
    if model.experts.is_none() {
        return Err(Left::out("what is recomputed and compiled is not given"));
    }
    let mut split = split(row, &model)?;
    split.sharding = Sharding::Weights;
    // DeepEP moves tokens between experts: where their group is not printed, it is that of the shards.
    let shards = split.shard_gpus.unwrap_or(split.gpus);
    let count = model.experts.map_or(1, |experts| experts.count);
    if split.expert == 1 && row.lower("kernels").contains("deepep") && count.is_multiple_of(shards) {
        split.expert = shards;
    }
    layout_entry(row, model, split, "nemo-automodel", "")
}

fn tuning(row: &Row) -> Result<(), Left> {
    let task = row.lower("task");
    if ["sft", "lora", "tuning"].iter().any(|word| task.contains(word)) {
        return Err(Left::out("fine-tuning of short sequences: reported, no bar"));
    }
    Ok(())
}

fn layout_entry(row: &Row, model: Model, layout: Layout, framework: &'static str, release: &str) -> Read {
    let rate = row.number("tokens_per_s_per_gpu").filter(|rate| *rate > 0.0);
    let step_s = match rate {
        Some(rate) => layout.step_tokens() / (rate * f64::from(layout.gpus)),
        None => row.positive(if row.text("step_time_s").is_empty() {
            "step_time_s_derived"
        } else {
            "step_time_s"
        })?,
    };
    let system = row.text("system");
    let machine =
        machine::nvidia(system, layout.gpus).ok_or_else(|| Left::unread(format!("system is `{system}`")))?;
    let precision = match row.text("precision") {
        "" => system,
        text => text,
    };
    Ok(Entry {
        group: format!("{}, {}, {}", model.title, server(system), row.text("task")),
        precision: name::precision(precision),
        variant: variant(row, precision),
        framework,
        release: Some(release.to_owned()).filter(|release| !release.is_empty()),
        model,
        layout,
        machine,
        step_s,
    })
}

/// `DGX H100 BF16`: without the precision.
fn server(system: &str) -> String {
    let words = system.split_whitespace().filter(|word| !word.to_lowercase().contains("f16"));
    words.collect::<Vec<_>>().join(" ")
}

/// How fp8 is scaled, and what stands behind the model's name.
fn variant(row: &Row, precision: &str) -> String {
    let scaling = precision.to_lowercase();
    let scaling = match () {
        () if scaling.starts_with("mxfp8") || scaling.contains("-mx") => "blocks of 32",
        () if scaling.contains("fp8") => "whole tensors",
        () => "",
    };
    let remark = row.text("model").split_once('(').map_or("", |(_, remark)| remark.trim_end_matches(')'));
    [scaling, remark].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
}

fn split(row: &Row, model: &Model) -> Result<Layout, Left> {
    let batch = row.needed("global_batch_seqs")?;
    let mut split = Layout::new(row.needed("num_gpus")?, batch, row.needed("seq_len_tokens")?);
    layout::sizes(&mut split, row);
    if model.experts.is_some() {
        // These recipes keep each expert's matrices whole.
        split.expert = row.size("ep");
    }
    match row.whole("micro_batch_size") {
        Some(size) => split.micro_batch = size,
        None => layout::usual_micro(&mut split),
    }
    if let Some(shards) = row.whole("fsdp") {
        split.sharding = Sharding::Weights;
        split.shard_gpus = Some(shards).filter(|shards| *shards > 1);
    }
    layout::interleave(&mut split, row)?;
    Ok(split)
}
