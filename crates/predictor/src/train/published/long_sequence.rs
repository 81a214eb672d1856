//! NeMo with sequences of up to a million tokens: TFLOP/s, attention counted without the mask.

use weft_workload::Layout;

use super::table::Row;
use super::{Context, Entry, Left, Read, flops, layout, machine, name};

/// Tokens of a printed thousand.
const THOUSAND: u32 = 1024;

pub(super) fn read(row: &Row, context: &Context<'_>) -> Read {
    let model = name::model(row.text("model"), context.catalogue)?;
    let sequence = row.needed("seq_len_ktokens")? * THOUSAND;
    let mut split = Layout::new(1, row.needed("global_batch_seqs")?, sequence);
    // What is printed as the number of GPUs disagrees with the layout.
    split.gpus = row.size("tp") * row.size("pp") * row.size("cp") * row.needed("dp")?;
    layout::sizes(&mut split, row);
    // One sequence is more than enough.
    split.micro_batch = 1;
    layout::usual_interleave(&mut split, model.layers);
    // The layout is the one with context parallelism; that without is not printed.
    let reached = row.positive("tflops_per_gpu_with_cp")? * 1e12;
    let step_s = split.step_tokens() * flops::unmasked(&model, sequence) / (reached * f64::from(split.gpus));
    let system = row.text("system");
    let machine =
        machine::nvidia(system, split.gpus).ok_or_else(|| Left::unread(format!("system is `{system}`")))?;
    Ok(Entry {
        group: format!("{}, {system}", model.title),
        precision: name::precision(row.text("precision")),
        framework: "megatron-core",
        release: None,
        variant: String::new(),
        layout: split,
        model,
        machine,
        step_s,
    })
}
