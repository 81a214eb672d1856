//! JAX: NVIDIA's toolbox (Pax, MaxText), and MaxText on A3.

use weft_workload::{Layout, Precision, Sharding};

use super::table::Row;
use super::{Context, Entry, Left, Read, flops, machine, name, tpu};

/// MaxText's scripts for Llama 2 7B on A3: sequences of each GPU, and tokens of a sequence.
const A3_BATCH: u32 = 4;
const A3_TOKENS: u32 = 4096;
const A3_HOST: u32 = 8;

/// Sequences per second.
pub(super) fn read_toolbox(row: &Row, context: &Context<'_>) -> Read {
    let project = row.lower("project");
    let (section, size) = (row.text("section"), row.text("size"));
    if project == "t5x" || project == "imagen" || project == "vit" {
        return Err(Left::out("not a decoder of text"));
    }
    if section.contains("SFT") || section.contains("LoRA") {
        return Err(Left::out("fine-tuning of short sequences: reported, no bar"));
    }
    if size.ends_with('M') {
        return Err(Left::out("steps of a tenth of a second, which the host bounds"));
    }
    let is_gpt = project == "pax" && !section.to_lowercase().contains("llama");
    let family = if is_gpt { "GPT-3" } else { "Llama-2" };
    let spelled = name::model(&format!("{family} {size}"), context.catalogue);
    let model = spelled.or_else(|_| name::model(size, context.catalogue))?;
    let gpus = row.needed("num_gpus")?;
    let each = row.needed("batch_per_gpu")?;
    let mut split = Layout::new(gpus, each * gpus, row.needed("seq_len_tokens")?);
    split.tensor = row.size("tp");
    split.sequence_parallel = split.tensor > 1;
    let shards = row.size("fsdp");
    split.sharding = if shards > 1 { Sharding::Weights } else { Sharding::None };
    split.shard_gpus = Some(shards).filter(|shards| *shards > 1 && *shards < split.data());
    split.micro_batch = each * split.tensor;
    let step_s = match row.number("step_time_s").filter(|seconds| *seconds > 0.0) {
        Some(seconds) => seconds,
        None => f64::from(split.global_batch) / row.positive("sequences_or_images_per_s")?,
    };
    let gpu = row.text("gpu");
    let machine = machine::nvidia(gpu, gpus).ok_or_else(|| Left::unread(format!("gpu is `{gpu}`")))?;
    let precision = name::precision(row.text("precision"));
    let group = format!("{}, {gpu}, {section}", model.title);
    let mut entry = entry(group, model, split, precision, machine, step_s);
    row.text("precision").clone_into(&mut entry.variant);
    Ok(entry)
}

/// TFLOP/s: the embedding counted as a matrix, attention without the mask.
pub(super) fn read_maxtext(row: &Row, context: &Context<'_>) -> Read {
    let hardware = row.text("hardware");
    if hardware.contains("TPU") {
        return tpu::read(row, context);
    }
    let model = name::model(row.text("model"), context.catalogue)?;
    let gpus = row.needed("num_chips")?;
    let tokens = row.whole("seq_len_tokens").unwrap_or(A3_TOKENS);
    let mut split = Layout::new(gpus, A3_BATCH * gpus, tokens);
    split.micro_batch = A3_BATCH;
    split.sharding = Sharding::Weights;
    // Its scripts shard within a host, and copy over the slower network.
    split.shard_gpus = hardware.contains("A3").then_some(A3_HOST);
    let flops = flops::with_embedding(&model, tokens);
    let rate = match row.number("tokens_per_s_per_chip").filter(|rate| *rate > 0.0) {
        Some(rate) => rate,
        None => row.positive("tflops_per_chip")? * 1e12 / flops,
    };
    let step_s = split.step_tokens() / (rate * f64::from(gpus));
    let machine = if hardware.contains("A3") {
        machine::tree("gcp-a3-high", gpus, 8)
    } else {
        machine::nvidia(hardware, gpus).ok_or_else(|| Left::unread(format!("hardware is `{hardware}`")))?
    };
    let group =
        format!("{}, {}", model.title, hardware.split_once("x ").map_or(hardware, |(_, words)| words));
    Ok(entry(group, model, split, Precision::Half, machine, step_s))
}

fn entry(
    group: String,
    model: weft_catalogue::Model,
    layout: Layout,
    precision: Precision,
    machine: String,
    step_s: f64,
) -> Entry {
    let variant = String::new();
    Entry { group, model, layout, precision, framework: "maxtext", machine, step_s, release: None, variant }
}
