//! LLM Foundry: MPT models with FSDP, eager, the shape in the table.

use weft_workload::{Layout, Recompute, Sharding};

use super::table::Row;
use super::{Context, Entry, Left, Read, machine, name};

/// Eight NICs of 200 Gb/s are the 1,600 that are stated of the A100 clusters.
const A100_40: &str = "8 a100-sxm4-40gb @ nvswitch2(6) @ pex88096(4) + 8 cx6 @ pex88096(4)";
const A100_80: &str = "8 a100-sxm4-80gb @ nvswitch2(6) @ pex88096(4) + 8 cx6 @ pex88096(4)";

pub(super) fn read(row: &Row, _: &Context<'_>) -> Read {
    let gpus = row.needed("num_gpus")?;
    let mut layout = Layout::new(gpus, row.needed("global_batch_seqs")?, row.needed("seq_len_tokens")?);
    layout.micro_batch = row.needed("micro_batch_size")?;
    layout.sharding = match row.text("fsdp_sharding") {
        "FULL_SHARD" | "HYBRID_SHARD" => Sharding::Weights,
        "SHARD_GRAD_OP" => Sharding::Gradients,
        "NO_SHARD" | "" => Sharding::None,
        other => return Err(Left::unread(format!("fsdp_sharding is `{other}`"))),
    };
    layout.shard_gpus = (row.text("fsdp_sharding") == "HYBRID_SHARD").then_some(8);
    if row.lower("act_ckpt") == "true" {
        layout.recompute = Recompute::Full;
    }
    let title = row.text("model");
    let model = name::shaped(
        title,
        row.needed("n_layers")?,
        row.needed("d_model")?,
        row.needed("n_heads")?,
        row.needed("vocab")?,
    );
    let gpu = row.lower("gpu");
    let machine = match gpu.as_str() {
        "a100_40gb" => machine::rails(A100_40, gpus, 8),
        "a100_80gb" => machine::rails(A100_80, gpus, 8),
        // Their network is not stated; 400 Gb/s of each GPU fit.
        other => machine::nvidia(other, gpus).ok_or_else(|| Left::unread(format!("gpu is `{other}`")))?,
    };
    let step_s = match row.number("throughput_tokens_per_s").filter(|rate| *rate > 0.0) {
        Some(rate) => layout.step_tokens() / rate,
        None => row.positive("step_time_s_derived")?,
    };
    Ok(Entry {
        group: format!("{title}, {gpu}, {}", row.text("section")),
        model,
        layout,
        precision: name::precision(row.text("precision")),
        framework: "llm-foundry",
        machine,
        step_s,
        release: None,
        variant: format!("{} {}", row.text("precision"), row.text("fsdp_mixed_precision")),
    })
}
