//! NVIDIA's DGX Cloud recipes: seconds of a step with the whole layout.

use weft_catalogue::Model;
use weft_workload::{Layout, Precision, Sharding};

use super::table::Row;
use super::{Context, Entry, Left, Read, layout, machine, name};

/// By how much tokens per second may differ from batch and step.
const TOLERANCE: f64 = 0.02;

/// GPUs of one copy of the weights of these recipes' MaxText, and of how many GPUs on there are several copies; up to
/// there all share one (maxtext/configure.sh of NVIDIA/dgxc-benchmarking v24.11.1).
const COPY: u32 = 128;
const COPIED_FROM: u32 = 512;

pub(super) fn read(row: &Row, context: &Context<'_>) -> Read {
    let title = row.lower("model");
    if ["finetuning", "lora", "sft"].iter().any(|word| title.contains(word)) {
        return Err(Left::out("fine-tuning of short sequences: reported, no bar"));
    }
    let model = model(row, context)?;
    let precision = name::precision(row.text("precision"));
    let release = row.text("release");
    if model.name == "deepseek-v3" && precision == Precision::Half && release.starts_with("v25.05") {
        return Err(Left::out("recomputes much that is not stated"));
    }
    let layout = split(row, &model)?;
    let step_s = seconds(row, &layout)?;
    let gpu = row.text("gpu");
    let machine = machine::nvidia(gpu, layout.gpus).ok_or_else(|| Left::unread(format!("gpu is `{gpu}`")))?;
    Ok(Entry {
        group: format!("{}, {gpu}, {}", model.title, row.text("recipe")),
        framework: if is_jax(row) { "maxtext" } else { "megatron-core" },
        release: Some(release.to_owned()),
        variant: String::new(),
        model,
        layout,
        precision,
        machine,
        step_s,
    })
}

fn is_jax(row: &Row) -> bool {
    let recipe = row.lower("recipe");
    ["maxtext", "pax", "jax"].iter().any(|word| recipe.contains(word))
}

/// By name; recipes that are only called after the program are of the GPT-3 whose size their page names.
fn model(row: &Row, context: &Context<'_>) -> Result<Model, Left> {
    let title = row.text("model");
    let recipe = row.lower("recipe");
    let mut model = match name::model(title, context.catalogue) {
        Err(Left::Unread { .. }) if recipe.contains("megatron") || recipe.contains("pax") => {
            name::model(&format!("GPT-3 {}", size(row)), context.catalogue)?
        }
        found => found?,
    };
    // A proxy has fewer layers.
    model.layers = row.whole("n_layers").unwrap_or(model.layers);
    Ok(model)
}

/// `README_175b.md`: 175b, which is also what is meant where no page says.
fn size(row: &Row) -> String {
    let text = format!("{} {}", row.lower("model"), row.lower("source"));
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
    let is_size = |part: &&str| part.strip_suffix('b').is_some_and(|number| number.parse::<f64>().is_ok());
    parts.map(|part| part.trim_end_matches('.')).find(is_size).unwrap_or("175b").to_owned()
}

fn split(row: &Row, model: &Model) -> Result<Layout, Left> {
    let batch = row.needed("gbs")?;
    let mut split = Layout::new(row.needed("num_gpus")?, batch, row.needed("seq_len_tokens")?);
    layout::sizes(&mut split, row);
    if model.experts.is_some() {
        split.expert = row.size("ep");
        // Megatron's own default.
        split.expert_tensor = row.whole("etp").unwrap_or(split.tensor);
    }
    match row.whole("mbs") {
        Some(size) => split.micro_batch = size,
        None => layout::usual_micro(&mut split),
    }
    let shards = row.whole("fsdp");
    if shards.is_some() || is_jax(row) {
        split.sharding = Sharding::Weights;
        split.shard_gpus = shards.filter(|shards| *shards > 1);
        if split.shard_gpus.is_none() && row.lower("recipe").contains("maxtext") {
            split.shard_gpus = Some(COPY).filter(|_| split.gpus >= COPIED_FROM);
        }
    }
    layout::interleave(&mut split, row)?;
    Ok(split)
}

/// As printed; rows whose tokens per second say otherwise are not used.
fn seconds(row: &Row, layout: &Layout) -> Result<f64, Left> {
    let printed = row.number("step_time_s").filter(|seconds| *seconds > 0.0);
    let from_rate =
        row.number("tokens_per_s").filter(|rate| *rate > 0.0).map(|rate| layout.step_tokens() / rate);
    match (printed, from_rate) {
        (Some(printed), Some(other)) if (other / printed - 1.0).abs() > TOLERANCE => {
            Err(Left::out("tokens per second and seconds differ by more than 2 %"))
        }
        (Some(seconds), _) | (None, Some(seconds)) => Ok(seconds),
        (None, None) => Err(Left::unread("neither step_time_s nor tokens_per_s is a number")),
    }
}
