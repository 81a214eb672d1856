//! Memory of one GPU, with and without recomputation.

use weft_base::Diagnostic;
use weft_catalogue::Model;
use weft_workload::{Layout, Recompute, Sharding};

use super::name;
use super::table::{Row, Table};

/// Layers, width, heads, and layout of the paper's four models (Korthikanti et al., arXiv:2205.05198, table 3):
/// pipeline, virtual stages, micro-batch, batch; tensor 8 and 2,048 tokens in all.
const MODELS: [(&str, [u32; 3], [u32; 4]); 4] = [
    ("22b", [48, 6144, 64], [1, 1, 4, 4]),
    ("175b", [96, 12_288, 96], [8, 3, 1, 64]),
    ("530b", [105, 20_480, 128], [35, 3, 1, 280]),
    ("1t", [128, 25_600, 160], [64, 1, 1, 512]),
];
const TENSOR: u32 = 8;
const TOKENS: u32 = 2048;
const VOCABULARY: u32 = 51_200;
const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

/// What a GPU keeps, as published.
#[derive(Debug, Clone)]
pub struct PublishedMemory {
    /// Line of the file.
    pub line: u64,
    /// The model's shape.
    pub model: Model,
    /// How the run was split.
    pub layout: Layout,
    /// Weights, gradients and the optimizer's state.
    pub state_bytes: f64,
    /// What the forward pass keeps for the backward pass.
    pub activation_bytes: f64,
}

/// Reads a table of memory; of other files nothing. Lines of unknown models or modes come with what is wrong.
pub fn read_memory(file: &str, text: &str) -> (Vec<PublishedMemory>, Vec<(u64, String)>, Vec<Diagnostic>) {
    let table = Table::read(file, text);
    let (mut rows, mut left) = (Vec::new(), Vec::new());
    if table.has("activation_GiB") {
        for row in &table.rows {
            match memory(row) {
                Ok(memory) => rows.push(memory),
                Err(why) => left.push((row.line, why)),
            }
        }
    }
    (rows, left, table.diagnostics)
}

fn memory(row: &Row) -> Result<PublishedMemory, String> {
    let title = row.text("model");
    let lower = title.to_lowercase();
    let found = MODELS.into_iter().find(|(size, ..)| lower.ends_with(&format!("-{size}")) || lower == *size);
    let (_, [layers, hidden, heads], [pipeline, virtual_stages, micro_batch, batch]) =
        found.ok_or_else(|| format!("no shape of `{title}`"))?;
    let mut layout = Layout::new(TENSOR * pipeline, batch, TOKENS);
    layout.tensor = TENSOR;
    layout.pipeline = pipeline;
    layout.virtual_stages = virtual_stages;
    layout.micro_batch = micro_batch;
    layout.sharding = Sharding::None;
    (layout.recompute, layout.sequence_parallel) = match row.text("mode") {
        "none" => (Recompute::None, false),
        "seq" => (Recompute::None, true),
        "sel" => (Recompute::Selective, false),
        "seqsel" => (Recompute::Selective, true),
        "full" => (Recompute::Full, false),
        other => return Err(format!("mode is `{other}`")),
    };
    let bytes = |column: &str| {
        let gib = row.number(column).filter(|gib| *gib > 0.0);
        gib.map(|gib| gib * GIB).ok_or_else(|| format!("{column} is `{}`", row.text(column)))
    };
    Ok(PublishedMemory {
        line: row.line,
        model: name::shaped(title, layers, hidden, heads, VOCABULARY),
        layout,
        state_bytes: bytes("param_plus_optimizer_GiB")?,
        activation_bytes: bytes("activation_GiB")?,
    })
}
