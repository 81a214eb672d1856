//! Published tables of training steps as rows that can be predicted.
//!
//! A table is known by its columns, not by its file's name. What a table leaves out is filled in by one rule for all its
//! rows; each rule stands where it is applied. Rows that say too little are left out with the reason, and rows that say
//! enough but that nothing here can describe are listed as unread, which counts as infinitely wrong.

mod bloom;
mod bridge;
mod dgxc;
mod flops;
mod internevo;
mod jax;
mod launcher;
mod layout;
mod llmfoundry;
mod long_sequence;
mod machine;
mod megatron;
mod memory;
mod name;
mod newest;
mod rates;
mod table;
mod torchtitan;
mod tpu;
mod trust;

use std::collections::BTreeMap;

use weft_base::Diagnostic;
use weft_catalogue::{Catalogue, Model};
use weft_workload::{Layout, Precision, Recompute};

pub use flops::flops_per_token;
pub use memory::{PublishedMemory, read_memory};
pub use rates::{PublishedRate, read_rates};
pub use trust::{Trust, trust};

use table::{Row, Table};

/// What is scored by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepKind {
    /// Steps of dense models.
    Dense,
    /// Steps of models with experts.
    Experts,
}

impl StepKind {
    /// The name used in text and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dense => "dense",
            Self::Experts => "experts",
        }
    }
}

/// A step that was measured, and all that a prediction of it needs.
#[derive(Debug, Clone)]
pub struct Published {
    /// The file's name.
    pub file: String,
    /// Line of the file.
    pub line: u64,
    /// Model, GPU and section of the source, all releases together.
    pub group: String,
    /// How it is scored.
    pub kind: StepKind,
    /// The model's shape.
    pub model: Model,
    /// How the run was split.
    pub layout: Layout,
    /// Of what matrices were multiplied.
    pub precision: Precision,
    /// The program, by its name in the catalogue.
    pub framework: String,
    /// The machine as a one-liner.
    pub machine: String,
    /// Seconds of a step.
    pub step_s: f64,
    /// The program's release.
    pub release: Option<String>,
    /// What tells configurations of equal layout apart: technique, how fp8 is scaled, whether tokens are dropped.
    pub variant: String,
}

/// Why a row is not among those to be predicted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// It says too little to be predicted, or is not of this kind: not counted.
    Out {
        /// The reason.
        why: String,
    },
    /// It says enough, but is not understood: counts as infinitely wrong.
    Unread {
        /// What is not understood.
        why: String,
        /// Among which rows it counts.
        kind: StepKind,
    },
}

impl Left {
    fn out(why: &str) -> Self {
        Self::Out { why: why.to_owned() }
    }

    fn unread(why: impl Into<String>) -> Self {
        Self::Unread { why: why.into(), kind: StepKind::Dense }
    }

    /// The same, of a row of that kind.
    fn of(self, kind: StepKind) -> Self {
        match self {
            Self::Unread { why, .. } => Self::Unread { why, kind },
            Self::Out { why } => Self::Out { why },
        }
    }
}

/// What a reader sees besides the row.
struct Context<'a> {
    catalogue: &'a Catalogue,
    /// All rows of the table.
    rows: &'a [Row],
}

type Read = Result<Entry, Left>;
type Reader = fn(&Row, &Context<'_>) -> Read;

/// A row as its table's reader understands it.
struct Entry {
    group: String,
    model: Model,
    layout: Layout,
    precision: Precision,
    framework: &'static str,
    machine: String,
    step_s: f64,
    release: Option<String>,
    variant: String,
}

/// Tables by columns that only they have.
const READERS: &[(&[&str], Reader)] = &[
    (&["strong_scaling", "step_time_s"], dgxc::read),
    (&["variant", "model_tflops_per_gpu"], bridge::read),
    (&["fsdp_sharding", "throughput_tokens_per_s"], llmfoundry::read),
    (&["iteration_ms", "params_B"], megatron::read_2020),
    (&["hw_tflops_per_gpu", "model_parallel"], megatron::read_2021),
    (&["interleave", "mode", "step_time_s"], megatron::read_selective),
    (&["aggregate_pflops", "model_tflops_per_gpu", "set"], megatron::read_core),
    (&["zero_stage", "mbs", "step_time_s"], bloom::read_sweep),
    (&["num_nodes", "mbs", "gbs", "precision", "step_time_s"], bloom::read_production),
    (&["zero1_shard_size"], internevo::read),
    (&["technique", "local_batch"], torchtitan::read),
    (&["seq_len_ktokens"], long_sequence::read),
    (&["step_time_with_lddl_s"], launcher::read),
    (&["kernels", "local_batch"], bridge::read_automodel),
    (&["sequences_or_images_per_s"], jax::read_toolbox),
    (&["tokens_per_step", "tflops_per_chip"], tpu::read),
    (&["tflops_per_chip", "num_chips"], jax::read_maxtext),
    (&["value", "unit", "status"], headline),
    (&["activation_GiB"], memory_only),
    (&["gpu_col", "metric"], ratio_only),
    (&["gpu_config", "workload"], ratio_only),
];

fn headline(_: &Row, _: &Context<'_>) -> Read {
    Err(Left::out("a quoted layout without interleaving: only the order counts"))
}

fn memory_only(_: &Row, _: &Context<'_>) -> Read {
    Err(Left::out("bytes, not seconds"))
}

fn ratio_only(_: &Row, _: &Context<'_>) -> Read {
    Err(Left::out("only its scaling counts"))
}

/// Reads a table; of a file that is none of those known, nothing.
pub fn read(
    file: &str,
    text: &str,
    catalogue: &Catalogue,
) -> (Vec<Published>, Vec<(u64, Left)>, Vec<Diagnostic>) {
    let table = Table::read(file, text);
    let has = |columns: &[&str]| columns.iter().all(|column| table.has(column));
    let Some((_, reader)) = READERS.iter().find(|(columns, _)| has(columns)) else {
        return (Vec::new(), Vec::new(), table.diagnostics);
    };
    let context = Context { catalogue, rows: &table.rows };
    let (mut rows, mut left) = (Vec::new(), Vec::new());
    for row in &table.rows {
        match reader(row, &context) {
            Ok(entry) => rows.push(entry.published(file, row.line)),
            Err(why) => left.push((row.line, why.of(kind(row, catalogue)))),
        }
    }
    newest::keep(&mut rows, &mut left);
    // Rows of which only the scaling counts say by themselves what they lack for it.
    let lacking: BTreeMap<u64, String> = rates::read_rates(file, text).1.into_iter().collect();
    for (line, out) in &mut left {
        if let Some(why) = lacking.get(line) {
            *out = Left::Out { why: why.clone() };
        }
    }
    left.sort_by_key(|(line, _)| *line);
    (rows, left, table.diagnostics)
}

/// Of a row that is not understood: experts where it shares them out, or where its model is known to have some.
fn kind(row: &Row, catalogue: &Catalogue) -> StepKind {
    let has_experts = |model: Model| model.experts.is_some();
    if row.size("ep") > 1 || name::model(row.text("model"), catalogue).is_ok_and(has_experts) {
        StepKind::Experts
    } else {
        StepKind::Dense
    }
}

impl Entry {
    fn published(self, file: &str, line: u64) -> Published {
        let Self { group, model, mut layout, precision, framework, machine, step_s, release, variant } = self;
        // Programs of JAX say nothing of what they compute again, and do.
        if framework == "maxtext" && layout.recompute == Recompute::None {
            layout.recompute = Recompute::Selective;
        }
        let kind = if model.experts.is_some() { StepKind::Experts } else { StepKind::Dense };
        let (file, framework) = (file.to_owned(), framework.to_owned());
        Published {
            file,
            line,
            group,
            kind,
            model,
            layout,
            precision,
            framework,
            machine,
            step_s,
            release,
            variant,
        }
    }
}

#[cfg(test)]
mod tests;
