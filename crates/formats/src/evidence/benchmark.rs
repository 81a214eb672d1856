//! Tables of collective benchmarks.

use weft_base::{Bytes, Rate, Span};

/// One table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Benchmark {
    /// The tool: `nccl-tests`, `rccl-tests`.
    pub tool: &'static str,
    /// The collective: `all-reduce`; `None` where the text does not say.
    pub collective: Option<String>,
    /// The ranks, where they are listed.
    pub ranks: Vec<BenchmarkRank>,
    /// The rows, in the order of the text.
    pub rows: Vec<BenchmarkRow>,
    /// `# Avg bus bandwidth`.
    pub average_busbw: Option<Rate>,
}

/// A rank of the list above a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BenchmarkRank {
    /// The rank.
    pub rank: u32,
    /// The host.
    pub host: Option<String>,
    /// The GPU's model, as printed.
    pub gpu: Option<String>,
}

/// One size, in place or not.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchmarkRow {
    /// Size of the buffer.
    pub bytes: Bytes,
    /// Time of one operation.
    pub time: Span,
    /// Bytes by time.
    pub algbw: Rate,
    /// As the tool counts it.
    pub busbw: Rate,
    /// Whether it ran in place.
    pub in_place: bool,
    /// Line, from 1.
    pub line: u32,
}
