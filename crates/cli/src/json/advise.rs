//! `weft/advise/1`.

use serde::Serialize;
use weft_advisor::advice::{Advice, Choice, Standing};
use weft_advisor::bill::Line;
use weft_advisor::candidate::Constraints;
use weft_advisor::what_if::imagined_seconds;
use weft_base::Diagnostic;
use weft_catalogue::Catalogue;
use weft_reliability::Goodput;

use super::DiagnosticJson;
use super::advise_training::{RunJson, WorkloadJson, run, workloads};

/// The version of this document.
pub const SCHEMA: &str = "weft/advise/1";

/// The document.
#[derive(Debug, Serialize)]
pub struct AdviseDocument {
    schema: &'static str,
    /// Null where a deadline, a budget or a power says how many.
    gpus: Option<u32>,
    timed: String,
    candidates: Vec<CandidateJson>,
    excluded: Vec<ExcludedJson>,
    what_if: Option<WhatIfJson>,
    /// Why there is no advice.
    diagnostics: Vec<DiagnosticJson>,
}

#[derive(Debug, Serialize)]
struct CandidateJson {
    name: String,
    system: String,
    title: String,
    gpu: String,
    gpus: u32,
    hosts: u32,
    /// Null where a price is missing.
    cost: Option<f64>,
    /// Of all that has a price.
    cost_at_least: f64,
    currency: String,
    unpriced: Vec<String>,
    power_w: f64,
    unpowered: Vec<String>,
    yearly_energy_kwh: f64,
    yearly_energy_cost: Option<f64>,
    switches: Vec<u64>,
    links: Vec<LinksJson>,
    bill: Vec<LineJson>,
    retimers_per_host: u16,
    step_s: Option<f64>,
    low_s: Option<f64>,
    high_s: Option<f64>,
    bound_by: Option<String>,
    no_step: Option<String>,
    step_energy_kwh: Option<f64>,
    workloads: Vec<WorkloadJson>,
    run: Option<RunJson>,
    million_tokens_cost: Option<f64>,
    goodput: Option<GoodputJson>,
    no_goodput: Option<String>,
    on_front: bool,
    standing: &'static str,
    reasons: Vec<String>,
}

#[derive(Debug, Serialize)]
struct LinksJson {
    place: &'static str,
    count: u64,
    cable: String,
}

#[derive(Debug, Serialize)]
struct LineJson {
    what: String,
    name: String,
    count: u64,
    price: Option<f64>,
    price_date: Option<String>,
    price_grade: Option<&'static str>,
    power_w: Option<f64>,
    note: Option<String>,
}

#[derive(Debug, Serialize)]
struct GoodputJson {
    low_share: f64,
    high_share: f64,
    shortest_mean_time_to_failure_s: f64,
    longest_mean_time_to_failure_s: f64,
}

#[derive(Debug, Serialize)]
struct ExcludedJson {
    name: String,
    reason: String,
}

#[derive(Debug, Serialize)]
struct WhatIfJson {
    change: String,
    steps: Vec<ImaginedJson>,
}

#[derive(Debug, Serialize)]
struct ImaginedJson {
    name: String,
    step_s: Option<f64>,
    bound_by: Option<String>,
}

/// The whole of an advice.
pub fn document(
    constraints: &Constraints,
    advice: &Advice,
    imagined: Option<(&str, &Advice)>,
    catalogue: &Catalogue,
) -> AdviseDocument {
    let (excluded, now) = (advice.excluded.iter(), advice.choices.as_slice());
    AdviseDocument {
        schema: SCHEMA,
        gpus: Some(constraints.gpus).filter(|gpus| *gpus > 0),
        timed: advice.timed.clone(),
        candidates: advice.choices.iter().map(|choice| candidate(choice, catalogue)).collect(),
        excluded: excluded
            .map(|one| ExcludedJson { name: one.name.clone(), reason: one.reason.clone() })
            .collect(),
        what_if: imagined.map(|(change, imagined)| WhatIfJson {
            change: change.to_owned(),
            steps: imagined.choices.iter().map(|then| step(then, now)).collect(),
        }),
        diagnostics: Vec::new(),
    }
}

/// The document where there is no advice.
pub fn refusal(gpus: Option<u32>, diagnostics: &[Diagnostic]) -> AdviseDocument {
    AdviseDocument {
        schema: SCHEMA,
        gpus,
        timed: String::new(),
        candidates: Vec::new(),
        excluded: Vec::new(),
        what_if: None,
        diagnostics: super::all(diagnostics),
    }
}

fn step(choice: &Choice, now: &[Choice]) -> ImaginedJson {
    let then = choice.step.as_ref().ok();
    let same = now.iter().find(|other| other.candidate.name == choice.candidate.name);
    let now = same.and_then(|other| other.step.as_ref().ok());
    ImaginedJson {
        name: choice.candidate.name.clone(),
        step_s: now.zip(then).map(|(now, then)| imagined_seconds(now, then)),
        bound_by: then.map(|step| step.bound_by.clone()),
    }
}

fn candidate(choice: &Choice, catalogue: &Catalogue) -> CandidateJson {
    let (one, bill, step) = (&choice.candidate, &choice.bill, choice.step.as_ref().ok());
    let fabric = bill.fabric.as_ref();
    let links = fabric.iter().flat_map(|fabric| &fabric.wiring);
    CandidateJson {
        name: one.name.clone(),
        system: one.system.clone(),
        title: one.title(catalogue),
        gpu: one.gpu.clone(),
        gpus: one.gpus(),
        hosts: one.hosts,
        cost: choice.is_priced().then(|| bill.cost.as_units()),
        cost_at_least: bill.cost.as_units(),
        currency: bill.cost.currency().word().to_owned(),
        unpriced: bill.unpriced.clone(),
        power_w: bill.power.as_watts(),
        unpowered: bill.unpowered.clone(),
        yearly_energy_kwh: bill.yearly_energy.as_kilowatt_hours(),
        yearly_energy_cost: bill.yearly_energy_cost.map(weft_base::Money::as_units),
        switches: fabric.map(|fabric| fabric.counts.switch_counts.clone()).unwrap_or_default(),
        links: links
            .map(|run| LinksJson { place: run.place, count: run.link_count, cable: run.cable.clone() })
            .collect(),
        bill: bill.lines.iter().map(line).collect(),
        retimers_per_host: bill.retimers_per_host,
        step_s: step.map(|step| step.seconds),
        low_s: step.map(|step| step.low_seconds),
        high_s: step.map(|step| step.high_seconds),
        bound_by: step.map(|step| step.bound_by.clone()),
        no_step: choice.step.as_ref().err().cloned(),
        step_energy_kwh: choice.step_energy().map(weft_base::Energy::as_kilowatt_hours),
        workloads: workloads(choice),
        run: choice.run.as_ref().map(run),
        million_tokens_cost: choice.million_tokens_cost.map(weft_base::Money::as_units),
        goodput: choice.goodput.as_ref().ok().map(|(best, worst)| goodput(best, worst)),
        no_goodput: choice.goodput.as_ref().err().map(ToString::to_string),
        on_front: choice.standing == Standing::Front,
        standing: match choice.standing {
            Standing::Front => "front",
            Standing::Open => "open",
            Standing::Beaten => "beaten",
        },
        reasons: choice.loses.iter().chain(&choice.lacks).cloned().collect(),
    }
}

fn line(line: &Line) -> LineJson {
    let price = line.price.as_ref();
    LineJson {
        what: line.what.clone(),
        name: line.name.clone(),
        count: line.count,
        price: price.map(|price| price.amount.as_units()),
        price_date: price.and_then(|price| price.date.clone()),
        price_grade: price.and_then(|price| price.grade).map(weft_catalogue::Grade::word),
        power_w: line.power.map(weft_base::Power::as_watts),
        note: line.note.clone(),
    }
}

fn goodput(best: &Goodput, worst: &Goodput) -> GoodputJson {
    GoodputJson {
        low_share: worst.share,
        high_share: best.share,
        shortest_mean_time_to_failure_s: worst.mean_time_to_failure.as_hours() * 3600.0,
        longest_mean_time_to_failure_s: best.mean_time_to_failure.as_hours() * 3600.0,
    }
}
