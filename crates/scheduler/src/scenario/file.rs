//! A scenario as it is written.

use serde::Deserialize;
use toml::Spanned;
use weft_base::{Bytes, Moment, Period, Rate, Ratio};
use weft_formats::traces::JobRow;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct File {
    pub title: Option<String>,
    pub about: Option<String>,
    #[serde(default)]
    pub policies: Vec<Spanned<String>>,
    pub explain: Option<String>,
    #[serde(default)]
    pub seed: u64,
    pub until: Option<Moment>,
    #[serde(default)]
    pub kill_at_limit: bool,
    #[serde(default)]
    pub nodes: Vec<Spanned<Nodes>>,
    #[serde(default, rename = "queue")]
    pub queues: Vec<Spanned<QueueTable>>,
    #[serde(default, rename = "job")]
    pub jobs: Vec<Spanned<JobRow>>,
    #[serde(default, rename = "fault")]
    pub faults: Vec<Spanned<FaultTable>>,
    #[serde(default)]
    pub latencies: LatencyTable,
    #[serde(default)]
    pub chances: ChanceTable,
    pub speed: Option<Spanned<SpeedTable>>,
    pub uplinks: Option<Spanned<UplinkTable>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Nodes {
    pub name: String,
    #[serde(default = "one")]
    pub count: u32,
    pub gpu: Option<String>,
    pub gpus: Option<u8>,
    #[serde(rename = "cpus")]
    pub cpu_count: f64,
    pub memory: Bytes,
    pub joined: Option<String>,
    pub numa: Option<u8>,
    pub domain: Option<u32>,
    pub rack: Option<u32>,
    pub leaf: Option<u32>,
    pub spine: Option<u32>,
    #[serde(default)]
    pub taints: Vec<String>,
    #[serde(default)]
    pub mig: bool,
    pub control: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct QueueTable {
    pub name: String,
    pub parent: Option<String>,
    pub weight: Option<u32>,
    #[serde(rename = "limit")]
    pub limit_gpu_count: Option<f64>,
    #[serde(rename = "own")]
    pub own_gpu_count: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FaultTable {
    pub at: Moment,
    pub what: String,
    #[serde(rename = "for")]
    pub lasts: Option<Period>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct LatencyTable {
    pub bind: Period,
    pub report: Period,
    pub start: Period,
    pub restart: Period,
    pub grace: Period,
    pub slow: Period,
    pub detection: Period,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ChanceTable {
    pub conflict: Option<Spanned<Ratio>>,
    pub expiry: Option<Spanned<Ratio>>,
    pub slow: Option<Spanned<Ratio>>,
    pub unheeded: Option<Spanned<Ratio>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct SpeedTable {
    pub node: Option<Ratio>,
    pub domain: Option<Ratio>,
    pub rack: Option<Ratio>,
    pub leaf: Option<Ratio>,
    pub spine: Option<Ratio>,
    pub cluster: Option<Ratio>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct UplinkTable {
    pub node: Rate,
    pub leaf: Rate,
    pub spine: Option<Rate>,
}

fn one() -> u32 {
    1
}
