use std::collections::BTreeMap;

use serde::Serialize;
use weft_base::{Place, Rate, Span};
use weft_formats::{Benchmark, BenchmarkRank, BenchmarkRow};

/// One table.
#[derive(Debug, Serialize)]
pub struct BenchmarkJson {
    tool: &'static str,
    program: Option<String>,
    version: Option<String>,
    collective: Option<String>,
    collective_inferred: bool,
    operation: Option<String>,
    ranks: Option<usize>,
    hosts: Option<usize>,
    host_names: Vec<String>,
    gpus: Vec<String>,
    parameters: BTreeMap<String, String>,
    rank_list: Vec<RankJson>,
    rows: Vec<RowJson>,
    average_busbw_bytes_per_s: Vec<u64>,
    wrong: Option<usize>,
    file: String,
    line: u32,
}

#[derive(Debug, Serialize)]
struct RankJson {
    rank: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<u32>,
    host: Option<String>,
    device: Option<u32>,
    bus: Option<String>,
    gpu: Option<String>,
    line: u32,
}

#[derive(Debug, Serialize)]
struct RowJson {
    bytes: u64,
    time_s: Option<f64>,
    algbw_bytes_per_s: Option<u64>,
    busbw_bytes_per_s: Option<u64>,
    in_place: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none", rename = "type")]
    dtype: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    redop: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fastest_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slowest_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_bytes_per_s: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<String>,
    line: u32,
}

impl BenchmarkJson {
    pub fn new(table: &Benchmark, place: &Place) -> Self {
        let hosts = table.hosts();
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self {
            tool: table.tool,
            program: table.program.clone(),
            version: table.version.clone(),
            collective: table.collective.clone(),
            collective_inferred: table.is_inferred,
            operation: table.operation.clone(),
            ranks: table.rank_count,
            hosts: Some(hosts.len()).filter(|count| *count > 0),
            host_names: own(&hosts),
            gpus: own(&table.gpus()),
            parameters: table.parameters.iter().cloned().collect(),
            rank_list: table.ranks.iter().map(rank).collect(),
            rows: table.rows.iter().map(row).collect(),
            average_busbw_bytes_per_s: table.averages.iter().map(|rate| rate.get()).collect(),
            wrong: table.wrong_count,
            file: place.file.clone(),
            line: table.line,
        }
    }
}

fn rank(rank: &BenchmarkRank) -> RankJson {
    RankJson {
        rank: rank.rank,
        group: rank.group,
        process: rank.process,
        host: rank.host.clone(),
        device: rank.device,
        bus: rank.bus.clone(),
        gpu: rank.gpu.clone(),
        line: rank.line,
    }
}

fn row(row: &BenchmarkRow) -> RowJson {
    let seconds = |span: Option<Span>| span.map(Span::as_seconds);
    let rate = |rate: Option<Rate>| rate.map(Rate::get);
    RowJson {
        bytes: row.bytes.get(),
        time_s: seconds(row.time),
        algbw_bytes_per_s: rate(row.algbw),
        busbw_bytes_per_s: rate(row.busbw),
        in_place: row.in_place,
        count: row.count,
        dtype: row.dtype.clone(),
        redop: row.redop.clone(),
        root: row.root,
        fastest_s: seconds(row.fastest),
        slowest_s: seconds(row.slowest),
        peak_bytes_per_s: rate(row.peak),
        check: row.check.clone(),
        line: row.line,
    }
}
