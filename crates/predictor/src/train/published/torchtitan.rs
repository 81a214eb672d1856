//! torchtitan: FSDP with tensor, pipeline and context parallelism, eager and compiled.

use weft_workload::{Layout, Recompute, Sharding};

use super::table::Row;
use super::{Context, Entry, Left, Read, layout, machine, name};

/// Chunks of layers of a stage where a schedule is called interleaved.
const INTERLEAVED: u32 = 2;

pub(super) fn read(row: &Row, context: &Context<'_>) -> Read {
    let technique = row.lower("technique");
    if technique.contains("rowwise") {
        return Err(Left::out("casts rows to float8 one by one, eagerly"));
    }
    if row.size("cp") > 1 {
        return Err(Left::out("context parallelism that does not balance the causal mask"));
    }
    let model = name::model(row.text("model"), context.catalogue)?;
    let gpus = row.needed("num_gpus")?;
    let local = row.needed("local_batch")?;
    let mut split = Layout::new(gpus, local, row.needed("seq_len_tokens")?);
    layout::sizes(&mut split, row);
    // The batch of a data-parallel rank; a pipeline takes it in micro-batches of one sequence.
    split.global_batch = local * split.data();
    split.micro_batch = if split.pipeline > 1 { 1 } else { local };
    split.virtual_stages =
        if split.pipeline > 1 && technique.contains("interleaved") { INTERLEAVED } else { 1 };
    split.sharding = Sharding::Weights;
    split.shard_gpus = row.whole("fsdp").filter(|shards| *shards < split.data());
    split.recompute = match row.lower("ac").as_str() {
        "full" => Recompute::Full,
        "selective" => Recompute::Selective,
        _ => Recompute::None,
    };
    let hardware = row.text("hardware");
    let step_s = split.step_tokens() / (row.positive("tokens_per_s_per_gpu")? * f64::from(gpus));
    Ok(Entry {
        group: format!("{}, {hardware}, {}", model.title, row.text("technique")),
        model,
        layout: split,
        precision: name::precision(&technique),
        framework: match () {
            () if technique.contains("async") => "torchtitan-async-tp",
            () if technique.contains("compile") => "torchtitan-compiled",
            () => "torchtitan",
        },
        machine: machine(hardware, gpus)?,
        step_s,
        release: None,
        variant: row.text("technique").to_owned(),
    })
}

fn machine(hardware: &str, gpus: u32) -> Result<String, Left> {
    let lower = hardware.to_lowercase();
    if lower.contains("500w") || lower.contains("hbm2e") {
        let node = "8 h100-500w-hbm2e @ nvswitch3(4) @ pcie-switch(4) + 8 cx7 @ pcie-switch(4)";
        return Ok(machine::rails(node, gpus, 8));
    }
    machine::nvidia(&lower, gpus).ok_or_else(|| Left::unread(format!("hardware is `{hardware}`")))
}
