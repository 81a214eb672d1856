//! Tables of benchmarks: rows of message sizes with what was measured at each.

use std::collections::BTreeSet;

use weft_base::{Bytes, Rate, Span};

/// One table; tables of one size each that follow each other make one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Benchmark {
    /// The tool: `nccl-tests`, `rccl-tests`, `perftest`, `bandwidth-test`, `bandwidth-table`.
    pub tool: &'static str,
    /// The program, where the text names it: `all_reduce_perf`.
    pub program: Option<String>,
    /// The tool's version, as printed.
    pub version: Option<String>,
    /// The collective: `all-reduce`; `None` where the text does not say and nothing tells.
    pub collective: Option<String>,
    /// Whether the collective was told from the columns and figures, not from a name.
    pub is_inferred: bool,
    /// What was measured, where that is no collective: `host to device`, `RDMA write`.
    pub operation: Option<String>,
    /// Settings in the order of the text, as printed: `warmup iters`, `20`.
    pub parameters: Vec<(String, String)>,
    /// The ranks, where they are listed.
    pub ranks: Vec<BenchmarkRank>,
    /// How many ranks ran, where they are listed or where busbw / algbw tells.
    pub rank_count: Option<usize>,
    /// The rows, in the order of the text; where a line has both halves, out of place comes first.
    pub rows: Vec<BenchmarkRow>,
    /// `# Avg bus bandwidth`, one per run that is in this table. It averages over all sizes.
    pub averages: Vec<Rate>,
    /// `# Out of bounds values`: how many results were wrong, over all runs; `None` where no run says.
    pub wrong_count: Option<usize>,
    /// Line of the header, from 1.
    pub line: u32,
}

/// A rank of the list above a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BenchmarkRank {
    /// The rank.
    pub rank: u32,
    /// The group it is in, where the list says so.
    pub group: Option<u32>,
    /// The process.
    pub process: Option<u32>,
    /// The host.
    pub host: Option<String>,
    /// The device's number on its host.
    pub device: Option<u32>,
    /// Its PCI bus, as printed: `0x1b`, `0009:01:00`.
    pub bus: Option<String>,
    /// The GPU's model, as printed.
    pub gpu: Option<String>,
    /// Line, from 1.
    pub line: u32,
}

/// One size, in place or not.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BenchmarkRow {
    /// Size of the message, as the tool counts it.
    pub bytes: Bytes,
    /// Elements of one rank.
    pub count: Option<usize>,
    /// The type of the elements: `float`.
    pub dtype: Option<String>,
    /// What was done with them: `sum`.
    pub redop: Option<String>,
    /// The root, where the collective has one.
    pub root: Option<u32>,
    /// Time of one operation; of many, the mean or what the tool calls typical.
    pub time: Option<Span>,
    /// The fastest operation.
    pub fastest: Option<Span>,
    /// The slowest operation.
    pub slowest: Option<Span>,
    /// Bytes by time.
    pub algbw: Option<Rate>,
    /// As the tool counts it.
    pub busbw: Option<Rate>,
    /// The best rate of a part of the run.
    pub peak: Option<Rate>,
    /// Whether it ran in place.
    pub in_place: bool,
    /// What the column of wrong results holds, as printed: `0`, `N/A`, `1e-06`.
    pub check: Option<String>,
    /// Line, from 1.
    pub line: u32,
}

impl BenchmarkRow {
    /// The rate by which rows are compared: busbw, else algbw.
    pub fn rate(&self) -> Option<Rate> {
        self.busbw.or(self.algbw)
    }
}

impl Benchmark {
    /// The hosts of the ranks, each once, in order of their names.
    pub fn hosts(&self) -> Vec<&str> {
        let hosts: BTreeSet<&str> = self.ranks.iter().filter_map(|rank| rank.host.as_deref()).collect();
        hosts.into_iter().collect()
    }

    /// The models of the GPUs, each once, in the order of the text.
    pub fn gpus(&self) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for gpu in self.ranks.iter().filter_map(|rank| rank.gpu.as_deref()) {
            if !found.contains(&gpu) {
                found.push(gpu);
            }
        }
        found
    }

    /// The row of the best rate; the first of several.
    pub fn best(&self) -> Option<&BenchmarkRow> {
        let mut best: Option<&BenchmarkRow> = None;
        for row in &self.rows {
            if row.rate() > best.and_then(BenchmarkRow::rate) {
                best = Some(row);
            }
        }
        best
    }
}
