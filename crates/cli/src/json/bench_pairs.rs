//! `weft/bench-pairs/1`.

use serde::Serialize;
use weft_base::{Diagnostic, Rate};
use weft_predictor::pairs::Limit;

use super::DiagnosticJson;
use crate::bench::pairs::PairsReport;

/// The version of this document.
pub const SCHEMA: &str = "weft/bench-pairs/1";

/// The document.
#[derive(Debug, Default, Serialize)]
pub struct PairsJson {
    schema: &'static str,
    transport: Option<String>,
    names: Vec<String>,
    bytes: Option<u64>,
    repeats: Option<usize>,
    pairs: Vec<PairJson>,
    typical_bytes_per_s: Option<f64>,
    host_limit: Option<LimitJson>,
    pair_limit: Option<LimitJson>,
    slow_hosts: Vec<SlowHostJson>,
    slow_pairs: Vec<SlowPairJson>,
    unsteady: Vec<EndsJson>,
    diagnostics: Vec<DiagnosticJson>,
}

#[derive(Debug, Serialize)]
struct PairJson {
    from: String,
    to: String,
    bytes_per_s: f64,
    least_bytes_per_s: f64,
    most_bytes_per_s: f64,
    latency_s: f64,
    wrong: u64,
}

#[derive(Debug, Serialize)]
struct LimitJson {
    share: f64,
    noise: f64,
    deviations: f64,
}

#[derive(Debug, Serialize)]
struct SlowHostJson {
    host: String,
    sends_bytes_per_s: Option<f64>,
    receives_bytes_per_s: Option<f64>,
}

#[derive(Debug, Serialize)]
struct SlowPairJson {
    from: String,
    to: String,
    bytes_per_s: f64,
    back_bytes_per_s: Option<f64>,
    expected_bytes_per_s: f64,
}

#[derive(Debug, Serialize)]
struct EndsJson {
    from: String,
    to: String,
}

/// What was measured, and what stands out.
pub fn document(report: &PairsReport) -> PairsJson {
    let name = |rank: usize| report.name(rank).to_owned();
    let rate = |rate: Rate| rate.as_gigabytes() * 1e9;
    let limit = |limit: Limit| LimitJson {
        share: limit.share,
        noise: limit.noise_share,
        deviations: limit.deviation_count,
    };
    let ranks = report.names.len();
    let pairs = (0..ranks * ranks).filter_map(|at| {
        let (from, to) = (at / ranks, at % ranks);
        let seen = report.measured.get(from, to)?;
        Some(PairJson {
            from: name(from),
            to: name(to),
            bytes_per_s: seen.bytes_per_s,
            least_bytes_per_s: seen.range_bytes_per_s.0,
            most_bytes_per_s: seen.range_bytes_per_s.1,
            latency_s: seen.latency_s,
            wrong: seen.wrong_count,
        })
    });
    let verdict = &report.verdict;
    let slow_hosts = verdict.hosts.iter().map(|slow| SlowHostJson {
        host: name(slow.host),
        sends_bytes_per_s: slow.sends.map(rate),
        receives_bytes_per_s: slow.receives.map(rate),
    });
    let slow_pairs = verdict.pairs.iter().map(|slow| SlowPairJson {
        from: name(slow.from),
        to: name(slow.to),
        bytes_per_s: rate(slow.rate),
        back_bytes_per_s: slow.back.map(rate),
        expected_bytes_per_s: rate(slow.expected),
    });
    let unsteady = verdict.unsteady.iter().map(|(from, to)| EndsJson { from: name(*from), to: name(*to) });
    let series = &report.task.series;
    PairsJson {
        schema: SCHEMA,
        transport: Some(report.transport.clone()),
        names: report.names.clone(),
        bytes: series.sizes.first().map(|size| size.get()),
        repeats: Some(series.repeats),
        pairs: pairs.collect(),
        typical_bytes_per_s: verdict.typical.map(rate),
        host_limit: Some(limit(verdict.host_limit)),
        pair_limit: Some(limit(verdict.pair_limit)),
        slow_hosts: slow_hosts.collect(),
        slow_pairs: slow_pairs.collect(),
        unsteady: unsteady.collect(),
        diagnostics: super::all(&report.findings()),
    }
}

/// Why nothing was measured.
pub fn failed(diagnostics: &[Diagnostic]) -> PairsJson {
    PairsJson { schema: SCHEMA, diagnostics: super::all(diagnostics), ..PairsJson::default() }
}
