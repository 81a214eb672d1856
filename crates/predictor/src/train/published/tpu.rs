//! MaxText on TPUs: weights sharded over all chips, which their own torus joins.

use weft_catalogue::{Catalogue, Model};
use weft_workload::{Layout, Precision, Recompute, Sharding};

use super::table::Row;
use super::{Context, Entry, Left, Read, flops, name};

/// Chips of a host.
const HOST: u32 = 4;
/// Tokens of a sequence in MaxText's recipes where a table does not say; those of GPT-3 have fewer.
const TOKENS: u32 = 8192;
const GPT_TOKENS: u32 = 2048;
/// Sequences of each chip where neither a batch nor tokens of a step are printed.
const BATCH: u32 = 4;
/// MaxText's own models on TPU v4 by its scripts (configs/tpu/v4/*.sh): layers, width, feed-forward width, heads of 256,
/// sequences of each chip; everything is recomputed.
const SCRIPTS: [(&str, [u32; 5]); 2] =
    [("22B", [48, 6144, 24_576, 24, 13]), ("52B", [32, 12_288, 49_152, 32, 7])];
const SCRIPT_HEAD: u32 = 256;
const SCRIPT_VOCABULARY: u32 = 32_000;

pub(super) fn read(row: &Row, context: &Context<'_>) -> Read {
    let (model, each) = match script(row.text("model")) {
        Some((model, each)) => (model, Some(each)),
        None => (name::model(row.text("model"), context.catalogue)?, None),
    };
    let usual = if model.name.starts_with("gpt-3") || each.is_some() { GPT_TOKENS } else { TOKENS };
    let chips = row.needed("num_chips")?;
    let tokens = row.whole("seq_len_tokens").unwrap_or(usual);
    let printed =
        row.whole("global_batch_seqs").or_else(|| row.whole("tokens_per_step").map(|all| all / tokens));
    let batch = printed.unwrap_or(each.unwrap_or(BATCH) * chips);
    let mut split = Layout::new(chips, batch, tokens);
    split.sharding = Sharding::Weights;
    // Where there are fewer sequences than chips, chips share one.
    split.context =
        if batch < chips && chips.is_multiple_of(batch.max(1)) { chips / batch.max(1) } else { 1 };
    split.micro_batch = (batch / split.data().max(1)).max(1);
    if each.is_some() {
        split.recompute = Recompute::Full;
    }
    let hardware = row.text("hardware");
    let chip = chip(hardware, context.catalogue)?;
    let precision = if row.lower("precision").contains("fp8") { Precision::Fp8 } else { Precision::Half };
    Ok(Entry {
        group: format!("{}, {chip}", model.title),
        step_s: seconds(row, &split, &model)?,
        machine: machine(&chip, chips),
        model,
        layout: split,
        precision,
        framework: "maxtext",
        release: None,
        variant: String::new(),
    })
}

/// Hosts without NICs: what joins chips is their own torus.
fn machine(chip: &str, chips: u32) -> String {
    match chips.div_ceil(HOST) {
        0 | 1 => format!("{HOST} {chip}"),
        hosts => format!("{hosts} x {HOST} {chip}"),
    }
}

fn seconds(row: &Row, layout: &Layout, model: &Model) -> Result<f64, Left> {
    if let Some(seconds) = row.number("step_time_s").filter(|seconds| *seconds > 0.0) {
        return Ok(seconds);
    }
    let rate = match row.number("tokens_per_s_per_chip").filter(|rate| *rate > 0.0) {
        Some(rate) => rate,
        None => {
            row.positive("tflops_per_chip")? * 1e12 / flops::with_embedding(model, layout.sequence_tokens)
        }
    };
    Ok(layout.step_tokens() / (rate * f64::from(layout.gpus)))
}

/// `2x TPU v4-128`, `TPU7x (Ironwood)`: the catalogue's name.
fn chip(hardware: &str, catalogue: &Catalogue) -> Result<String, Left> {
    let lower = hardware.to_lowercase();
    let behind = lower.split_once("tpu").map_or("", |(_, behind)| behind).trim_start_matches([' ', 'v']);
    let behind = behind.split([' ', '-', '(']).next().filter(|word| !word.is_empty());
    let name = behind.map(|word| format!("tpu-v{word}"));
    let found = name.and_then(|name| catalogue.gpu(&name).ok());
    found.map(|chip| chip.name.clone()).ok_or_else(|| Left::unread(format!("hardware is `{hardware}`")))
}

fn script(title: &str) -> Option<(Model, u32)> {
    let (_, [layers, hidden, width, heads, each]) = SCRIPTS.into_iter().find(|(size, _)| *size == title)?;
    let mut model = name::shaped(title, layers, hidden, heads, SCRIPT_VOCABULARY);
    model.attention.head_dim = Some(SCRIPT_HEAD);
    model.feed_forward.width = width;
    Some((model, each))
}
