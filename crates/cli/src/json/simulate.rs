//! `weft/simulate/1`.

use serde::Serialize;
use weft_base::Diagnostic;

use super::DiagnosticJson;
use super::predict::LimitJson;
use crate::simulate::{JobReport, Judged, Report};

/// The version of this document.
pub const SCHEMA: &str = "weft/simulate/1";

/// The document.
#[derive(Debug, Serialize)]
pub struct SimulateJson {
    schema: &'static str,
    end_s: f64,
    network: Option<&'static str>,
    jobs: Vec<JobJson>,
    busiest: Vec<BusyJson>,
    happened: Vec<ChangeJson>,
    diagnostics: Vec<DiagnosticJson>,
}

#[derive(Debug, Serialize)]
struct JobJson {
    name: String,
    collective: &'static str,
    algorithm: &'static str,
    /// Null where the algorithm was named.
    choice: Option<ChoiceJson>,
    ranks: u32,
    bytes: u64,
    repeat: u32,
    start_s: f64,
    /// Null where a rank never was done.
    took_s: Option<f64>,
    algbw_bytes_per_s: Option<u64>,
    busbw_bytes_per_s: Option<u64>,
    limit: Option<LimitJson>,
    /// Of each rank, null where it never was done.
    end_s: Vec<Option<f64>>,
    reruns: u32,
    stalled_messages: usize,
    noticing_s: f64,
    critical_path: Option<CriticalJson>,
}

#[derive(Debug, Serialize)]
struct ChoiceJson {
    /// The quickest first.
    times: Vec<ChoiceTimeJson>,
    slower: Vec<&'static str>,
    not_judged: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
struct ChoiceTimeJson {
    algorithm: &'static str,
    took_s: f64,
}

impl ChoiceJson {
    fn of(judged: &Judged) -> Self {
        let time = |(algorithm, span): &(&'static str, weft_base::Span)| ChoiceTimeJson {
            algorithm,
            took_s: span.as_seconds(),
        };
        Self {
            times: judged.times.iter().map(time).collect(),
            slower: judged.slower.clone(),
            not_judged: judged.unplayed.clone(),
        }
    }
}

#[derive(Debug, Serialize)]
struct CriticalJson {
    rank: u32,
    total_s: f64,
    parts: Vec<PartJson>,
}

#[derive(Debug, Serialize)]
struct PartJson {
    on: String,
    span_s: f64,
    share: f64,
    messages: u32,
    sharing_flows: Option<f64>,
}

#[derive(Debug, Serialize)]
struct BusyJson {
    link: String,
    share: f64,
    interval_s: Option<f64>,
    shares: Vec<f64>,
}

#[derive(Debug, Serialize)]
struct ChangeJson {
    at_s: f64,
    text: String,
}

/// The document of a simulation.
pub fn document(report: &Report, diagnostics: &[Diagnostic]) -> SimulateJson {
    let busy = |busy: &crate::simulate::Busy| BusyJson {
        link: busy.name.clone(),
        share: busy.share,
        interval_s: report.every.map(weft_base::Span::as_seconds),
        shares: busy.interval_share.clone(),
    };
    let happened = report.happened.iter();
    SimulateJson {
        schema: SCHEMA,
        end_s: report.end.as_seconds(),
        network: Some(report.network),
        jobs: report.jobs.iter().map(job).collect(),
        busiest: report.busiest.iter().map(busy).collect(),
        happened: happened
            .map(|(at, text)| ChangeJson { at_s: at.as_seconds(), text: text.clone() })
            .collect(),
        diagnostics: super::all(diagnostics),
    }
}

/// The document where nothing could be simulated.
pub fn failed(diagnostics: &[Diagnostic]) -> SimulateJson {
    SimulateJson {
        schema: SCHEMA,
        end_s: 0.0,
        network: None,
        jobs: Vec::new(),
        busiest: Vec::new(),
        happened: Vec::new(),
        diagnostics: super::all(diagnostics),
    }
}

fn job(job: &JobReport) -> JobJson {
    let critical = job.critical.as_ref().map(|path| CriticalJson {
        rank: path.rank,
        total_s: path.total.as_seconds(),
        parts: path
            .parts
            .iter()
            .map(|part| PartJson {
                on: part.on.clone(),
                span_s: part.span.as_seconds(),
                share: part.span.as_seconds() / path.total.as_seconds(),
                messages: part.messages,
                sharing_flows: part.sharing_count,
            })
            .collect(),
    });
    JobJson {
        name: job.name.clone(),
        collective: job.collective.name(),
        algorithm: job.algorithm,
        choice: job.judged.as_ref().map(ChoiceJson::of),
        ranks: job.ranks,
        bytes: job.size.get(),
        repeat: job.repeat,
        start_s: job.start.as_seconds(),
        took_s: job.took.map(weft_base::Span::as_seconds),
        algbw_bytes_per_s: job.reached.map(|reached| reached.algbw.get()),
        busbw_bytes_per_s: job.reached.map(|reached| reached.busbw.get()),
        limit: job.limit.as_ref().map(LimitJson::of),
        end_s: job.ends.iter().map(|end| end.map(weft_base::Span::as_seconds)).collect(),
        reruns: job.reruns,
        stalled_messages: job.stalled,
        noticing_s: job.noticing.as_seconds(),
        critical_path: critical,
    }
}
