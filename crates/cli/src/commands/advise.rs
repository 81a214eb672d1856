use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use weft_advisor::advice::{Advice, Question, advise};
use weft_advisor::candidate::Constraints;
use weft_advisor::claim::claim;
use weft_advisor::fabric::Layout;
use weft_advisor::performance::{Exchange, Performance};
use weft_advisor::training::Training;
use weft_advisor::what_if::WhatIf;
use weft_base::{Diagnostic, FailureRate, Length, Money, Power};
use weft_catalogue::Catalogue;

use super::Answer;
use crate::advise::ask::{self, WorkArgs};
use crate::advise::report::{self, Asked};
use crate::advise::{prices, text};
use crate::arguments::Format;
use crate::codes::NO_ADVICE;
use crate::exit::{Exit, Failure};
use crate::{json, output};

/// Which system to buy: candidates with their bills, price, power, time and goodput, and what each loses by
///
/// Each server of the catalogue is a candidate with each network that its NICs run; `--gpu` adds servers of cards.
/// Switches, cables and optics are counted, prices are dated and can be replaced, and what has no published price is
/// named. With `--train` or `--workload` a step of training is timed in each candidate's best layout; else what all GPUs
/// exchange in a step, alone.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How many GPUs; without, a deadline, a budget or a power says how many
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    gpus: Option<u32>,
    #[command(flatten)]
    work: WorkArgs,
    /// A GPU model that can be had; several are given one by one [default: those of all servers]
    #[arg(long, value_name = "NAME")]
    gpu: Vec<String>,
    /// A maker of GPUs that is allowed: nvidia, amd
    #[arg(long, value_name = "NAME")]
    vendor: Vec<String>,
    /// The most that it may cost: `40000000 USD`
    #[arg(long, value_name = "PRICE", value_parser = Money::from_str)]
    budget: Option<Money>,
    /// The most that it may draw: `2 MW`
    #[arg(long, value_name = "POWER", value_parser = Power::from_str)]
    power: Option<Power>,
    /// How often a job dies of its own software: `2.2 per job-day`; below 2,048 GPUs there is no goodput without
    #[arg(long, value_name = "RATE", value_parser = FailureRate::from_str)]
    software: Option<FailureRate>,
    /// Ethernet only, as where there is some already
    #[arg(long)]
    ethernet: bool,
    /// From a host to its leaf switches
    #[arg(long, value_name = "LENGTH", default_value = "30 m", value_parser = Length::from_str)]
    to_leaf: Length,
    /// From leaf switches to those above
    #[arg(long, value_name = "LENGTH", default_value = "50 m", value_parser = Length::from_str)]
    to_spine: Length,
    /// Fibre and modules throughout, as in reference designs
    #[arg(long)]
    fibre: bool,
    /// A file of prices that replace those of the catalogue: TOML with lines such as `quantum-2-qm9700 = "36000 USD"`
    #[arg(long, value_name = "FILE")]
    prices: Option<OsString>,
    /// Explain the candidates with that in their names: `rocev2`, `hgx-h100-8/infiniband`
    #[arg(long, value_name = "NAME")]
    why: Option<String>,
    /// The same with faster or slower links beside: `nvlink x2`
    #[arg(long, value_name = "CHANGE")]
    what_if: Option<String>,
    /// Judge what somebody says: `T4, because it supports NVLink`
    #[arg(long, value_name = "TEXT", exclusive = true)]
    claim: Option<String>,
    /// Write a report with pictures to this file: one page of HTML that needs nothing else
    #[arg(long, value_name = "FILE", conflicts_with_all = ["claim", "what_if"])]
    report: Option<PathBuf>,
    /// How to print it
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "FORMAT")]
    format: Format,
}

pub fn run(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    if let Some(said) = &args.claim {
        return judged(said, catalogue);
    }
    answer(args, catalogue).map_err(|mut failure| {
        if args.format == Format::Json {
            failure.document = Some(json::text(&json::advise::refusal(args.gpus, &failure.diagnostics)));
        }
        failure
    })
}

fn answer(args: &Args, catalogue: &Catalogue) -> Result<Answer, Failure> {
    let size = args.work.size(args.gpus, args.budget.is_some() || args.power.is_some())?;
    let constraints = constraints(args, catalogue)?;
    let prices = prices::read(args.prices.as_deref(), catalogue)?;
    let workloads = args.work.workloads(catalogue)?;
    let exchange = Exchange { all_reduce: args.work.all_reduce, all_to_all: args.work.all_to_all };
    let layout = Layout { to_leaf: args.to_leaf, to_spine: args.to_spine, fibre_only: args.fibre };
    let progress = ask::progress();
    let ask = |catalogue: &Catalogue| {
        let training = Training::new(workloads.clone());
        let performance: &dyn Performance = if workloads.is_empty() { &exchange } else { &training };
        let notice = |done: usize, all: usize| {
            progress.set_length(all as u64);
            progress.set_position(done as u64);
        };
        let question = Question {
            constraints: &constraints,
            size,
            layout: &layout,
            prices: &prices,
            performance,
            demand: args.work.demand(),
            notice: &notice,
        };
        advise(&question, catalogue)
    };
    let advice = ask(catalogue);
    let imagined = match &args.what_if {
        None => None,
        Some(text) => {
            let change = WhatIf::read(text, catalogue).map_err(|error| refused(error.to_string()))?;
            Some((text.as_str(), ask(&change.applied(catalogue))))
        }
    };
    progress.finish_and_clear();
    if let Some(path) = &args.report {
        let asked = Asked {
            constraints: &constraints,
            size,
            demand: &args.work.demand(),
            layout: &layout,
            own_price_count: prices.overrides.len(),
            workloads: &workloads,
            advice: &advice,
            catalogue,
        };
        output::file(path, report::html(&asked).as_bytes())?;
    }
    let chosen = args.why.as_deref().map(|name| named(&advice, name)).transpose()?;
    match args.format {
        Format::Json => {
            let imagined = imagined.as_ref().map(|(text, advice)| (*text, advice));
            Ok(Answer::plain(json::text(&json::advise::document(&constraints, &advice, imagined, catalogue))))
        }
        Format::Text => Ok(Answer::text(match (chosen, imagined) {
            (Some(chosen), _) => text::why(&chosen, catalogue),
            (None, Some((change, imagined))) => text::what_if(&advice, change, &imagined),
            (None, None) => text::advice(&constraints, size, &args.work.demand(), &advice),
        })),
    }
}

fn refused(message: String) -> Failure {
    Failure::new(Exit::Usage, "give advice", Diagnostic::error(NO_ADVICE, message))
}

fn constraints(args: &Args, catalogue: &Catalogue) -> Result<Constraints, Failure> {
    let model = |name: &String| {
        let found = catalogue.gpu(name).map(|gpu| gpu.name.clone());
        found.map_err(|error| {
            let finding = Diagnostic::error(NO_ADVICE, error.to_string()).hint(error.hint());
            Failure::new(Exit::Usage, "give advice", finding)
        })
    };
    Ok(Constraints {
        gpus: args.gpus.unwrap_or_default(),
        models: args.gpu.iter().map(model).collect::<Result<_, _>>()?,
        vendors: args.vendor.iter().map(|vendor| vendor.to_lowercase()).collect(),
        budget: args.budget,
        power: args.power,
        software: args.software,
        ethernet_only: args.ethernet,
    })
}

/// Candidates by a part of their names, as people call networks.
fn named<'a>(advice: &'a Advice, name: &str) -> Result<Vec<&'a weft_advisor::advice::Choice>, Failure> {
    let lower = name.to_lowercase();
    let wanted = match lower.as_str() {
        "rocev2" | "roce-v2" => "roce",
        "ib" => "infiniband",
        other => other,
    };
    let found: Vec<_> =
        advice.choices.iter().filter(|choice| choice.candidate.name.contains(wanted)).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let left_out = advice.excluded.iter().find(|excluded| excluded.name.contains(wanted));
    Err(refused(match left_out {
        Some(excluded) => format!("`{}` is no candidate: it {}", excluded.name, excluded.reason),
        None => format!("no candidate has `{name}` in its name"),
    }))
}

fn judged(said: &str, catalogue: &Catalogue) -> Result<Answer, Failure> {
    let Some(reply) = claim(said, catalogue) else {
        return Err(refused("nothing in it is of a GPU and its links".to_owned()));
    };
    let word = match reply.holds {
        Some(true) => "yes",
        Some(false) => "no",
        None => "that cannot be known",
    };
    Ok(Answer::text(format!("{word}: {}\n", reply.why)))
}
