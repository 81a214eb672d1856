//! InternEvo: a 7B model on 8 to 1,024 GPUs over a slow network, by how far the optimizer is sharded.

use weft_workload::{Layout, Precision, Recompute, Sharding};

use super::table::Row;
use super::{Context, Entry, Read, layout, machine, name};

/// Eight A100 and four ports of 100 Gb/s.
const NODE: &str = "8 a100-sxm4-80gb @ nvswitch2(6) @ pex88096(4) + 4 cx5 @ pex88096(4)";

pub(super) fn read(row: &Row, context: &Context<'_>) -> Read {
    let model = name::model(row.text("model"), context.catalogue)?;
    let gpus = row.needed("num_gpus")?;
    let mut split = Layout::new(gpus, 1, row.needed("seq_len_tokens")?);
    layout::sizes(&mut split, row);
    split.micro_batch = row.needed("micro_bsz")?;
    split.global_batch = split.micro_batch * row.needed("micro_batches")? * split.data();
    split.sharding = Sharding::Optimizer;
    split.shard_gpus = row.whole("zero1_shard_size");
    if row.lower("act_ckpt") == "true" {
        split.recompute = Recompute::Full;
    }
    let step_s = split.step_tokens() / (row.positive("tokens_per_s_per_gpu")? * f64::from(gpus));
    Ok(Entry {
        group: format!("{}, {}, {}", model.title, row.text("gpu"), row.text("table")),
        model,
        layout: split,
        precision: Precision::Half,
        framework: "internevo",
        machine: machine::tree(NODE, gpus, 8),
        step_s,
        release: None,
        variant: String::new(),
    })
}
