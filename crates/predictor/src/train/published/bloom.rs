//! BigScience on Jean Zay: sweeps of layouts and shapes before BLOOM, and the run itself.

use weft_catalogue::Model;
use weft_workload::{Layout, Precision, Recompute, Sharding};

use super::table::Row;
use super::{Context, Entry, Left, Read, layout, machine, name};

/// Of BLOOM's own tokens.
const VOCABULARY: u32 = 250_880;
/// Heads where a table prints none; it fits.
const USUAL_HEADS: u32 = 64;
/// From that day on the tables say enough.
const FIRST_DAY: &str = "2022-02-20";
/// Eight A100 and four Omni-Path ports.
const NODE: &str = "8 a100-sxm4-80gb @ nvswitch2(6) @ pex88096(4) + 4 opa100 @ pex88096(4)";
/// Head counts whose kernels are not aligned.
const MISALIGNED_HEADS: [u32; 2] = [96, 112];

pub(super) fn read_sweep(row: &Row, _: &Context<'_>) -> Read {
    if row.text("date") < FIRST_DAY || !row.lower("gpu").contains("a100") {
        return Err(Left::out("the authors say that a shared network moved these by 40 %"));
    }
    let Some(layers) = row.whole("n_layers") else {
        return Err(Left::out("no shape: layers are not printed"));
    };
    let hidden = row.needed("hidden")?;
    let heads = row.whole("n_heads").unwrap_or(USUAL_HEADS);
    let head = hidden / heads;
    if !hidden.is_multiple_of(heads) || !head.is_multiple_of(8) || MISALIGNED_HEADS.contains(&heads) {
        return Err(Left::out("kernels of a head that is not aligned"));
    }
    let (tensor, micro_batch) = (row.needed("tp")?, row.needed("mbs")?);
    if tensor == 4 && micro_batch == 1 {
        return Err(Left::out("micro-batches of one sequence at tensor 4: kernels that are not fused"));
    }
    if row.size("num_nodes") == 1 {
        return Err(Left::out("one node: the printed batch is not its own"));
    }
    let title = row.text("model_size");
    let model = name::shaped(title, layers, hidden, heads, VOCABULARY);
    let mut split = split(row)?;
    split.sharding = if row.text("zero_stage") == "0" { Sharding::None } else { Sharding::Optimizer };
    let group = format!("{title} {layers}x{hidden}x{heads}, A100, {}", row.text("section"));
    entry(row, group, model, split)
}

pub(super) fn read_production(row: &Row, _: &Context<'_>) -> Read {
    let (layers, hidden) = (row.needed("n_layers")?, row.needed("hidden")?);
    let title = row.text("model");
    let model = name::shaped(title, layers, hidden, row.needed("n_heads")?, VOCABULARY);
    entry(row, format!("{title}, A100, production"), model, split(row)?)
}

fn split(row: &Row) -> Result<Layout, Left> {
    let mut split = Layout::new(row.needed("num_gpus")?, row.needed("gbs")?, row.needed("seq_len_tokens")?);
    layout::sizes(&mut split, row);
    split.sequence_parallel = false;
    split.micro_batch = row.needed("mbs")?;
    split.recompute = Recompute::Full;
    Ok(split)
}

fn entry(row: &Row, group: String, model: Model, layout: Layout) -> Read {
    let machine = machine::tree(NODE, layout.gpus, 8);
    Ok(Entry {
        group,
        model,
        layout,
        precision: Precision::Half,
        framework: "megatron-deepspeed",
        machine,
        step_s: row.positive("step_time_s")?,
        release: None,
        variant: String::new(),
    })
}
