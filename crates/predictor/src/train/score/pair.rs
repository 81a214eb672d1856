//! Rows that differ only in the way over the network: the difference of their steps is the network's.

use weft_workload::Layout;

use super::Answered;
use crate::train::published::Published;

/// Share of a step that two runs of the same dense configuration differ by anyway.
const NOISE: f64 = 0.03;
/// GPUs of a host.
const HOST: u32 = 8;
/// Sequences of a micro-batch up to which gathers of sharded weights are not hidden.
const SMALL: u32 = 2;

/// Two rows of a file, the first with the shorter way.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// The file's name.
    pub file: String,
    /// What they differ in.
    pub what: &'static str,
    /// Their lines.
    pub lines: (u64, u64),
    /// Seconds that the second takes longer, as measured.
    pub measured_s: f64,
    /// As predicted; `None` where a row has no prediction.
    pub predicted_s: Option<f64>,
    /// Whether measured runs differ by more than repeated ones do.
    pub is_clear: bool,
}

impl Pair {
    /// Error of the difference; infinite without a prediction.
    pub fn error(&self) -> f64 {
        let relative = |predicted: f64| ((predicted - self.measured_s) / self.measured_s).abs();
        self.predicted_s.map_or(f64::INFINITY, relative)
    }

    /// Whether the same of the two is the slower one.
    pub fn is_sign_right(&self) -> bool {
        self.predicted_s.is_some_and(|predicted| predicted * self.measured_s > 0.0)
    }
}

/// All pairs, file by file.
pub(super) fn pairs(rows: &[Answered]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for near in rows {
        for far in rows.iter().filter(|far| far.0.file == near.0.file && is_same_run(&near.0, &far.0)) {
            let Some(what) = differ(&near.0.layout, &far.0.layout, &near.0.framework) else { continue };
            let measured_s = far.0.step_s - near.0.step_s;
            let predicted_s = match (&near.1, &far.1) {
                (Ok(near), Ok(far)) => Some(far - near),
                _ => None,
            };
            pairs.push(Pair {
                file: near.0.file.clone(),
                what,
                lines: (near.0.line, far.0.line),
                measured_s,
                predicted_s,
                is_clear: measured_s.abs() > NOISE * near.0.step_s,
            });
        }
    }
    pairs
}

/// Same model, group, precision and program.
fn is_same_run(near: &Published, far: &Published) -> bool {
    (&near.model, &near.group, near.precision, &near.framework, &near.release, &near.variant)
        == (&far.model, &far.group, far.precision, &far.framework, &far.release, &far.variant)
}

/// What makes the second's way longer, where nothing else differs.
fn differ(near: &Layout, far: &Layout, framework: &str) -> Option<&'static str> {
    let shards = Layout { shard_gpus: far.shard_gpus, ..near.clone() };
    if near.shard_gpus == Some(HOST) && far.shard_gpus.is_none() && shards == *far && near.gpus > HOST {
        return Some("optimizer sharded within a host or over all");
    }
    let tensor = Layout { tensor: far.tensor, pipeline: far.pipeline, ..near.clone() };
    let is_halved = far.tensor == 2 * near.tensor && near.pipeline == 2 * far.pipeline;
    if framework == "megatron-deepspeed" && is_halved && far.tensor == HOST && tensor == *far {
        return Some("tensor parallel over 4 or 8 GPUs");
    }
    let hosts = Layout { gpus: far.gpus, global_batch: far.global_batch, ..near.clone() };
    let each = |layout: &Layout| layout.global_batch / layout.gpus;
    let spreads = near.gpus == HOST && far.gpus > HOST && each(near) == each(far);
    if framework == "llm-foundry" && near.micro_batch == SMALL && spreads && hosts == *far {
        return Some("sharded weights within a host or over several");
    }
    None
}
