//! Candidates with all that is known of them, which of them nobody beats, and what the others lose by.

use weft_base::{Energy, FailureRate, Money, Period};
use weft_catalogue::Catalogue;
use weft_reliability::{Goodput, Job, Refusal, best_interval};

use crate::bill::{Bill, Prices, bill};
use crate::candidate::{Candidate, Constraints, Excluded, candidates};
use crate::fabric::Layout;
use crate::judge::judge;
use crate::performance::{Performance, StepTime};

const DAY_S: f64 = 86_400.0;

/// Whether a candidate is beaten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Nobody is nowhere worse and somewhere better.
    Front,
    /// As far as it is known nobody beats it, but a price or its time is missing.
    Open,
    /// Somebody beats it, whatever is missing.
    Beaten,
}

/// All tokens that are asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run {
    /// How many tokens.
    pub token_count: f64,
    /// Share of the time that is work, by the highest published rate of failures; nothing where that is not known, and
    /// then times are without interruptions.
    pub work_share: Option<f64>,
    /// Days, expected.
    pub days: f64,
    /// Begin of the interval of the steps.
    pub low_days: f64,
    /// Its end.
    pub high_days: f64,
    /// At the power of the bill.
    pub energy: Energy,
    /// What that costs; nothing where electricity has no price in the currency of the bill.
    pub energy_cost: Option<Money>,
}

/// A candidate, looked at.
#[derive(Debug, Clone)]
pub struct Choice {
    /// What is bought.
    pub candidate: Candidate,
    /// What it consists of and costs.
    pub bill: Bill,
    /// How fast it is; or why that is not known.
    pub step: Result<StepTime, String>,
    /// How much of the time is work: by the least and by the highest published rate of failures.
    pub goodput: Result<(Goodput, Goodput), Refusal>,
    /// The whole run; nothing where no number of tokens is asked for, or the step is not known.
    pub run: Option<Run>,
    /// What a million tokens cost: price of the system and electricity over its life; nothing where that life is not
    /// given, or a price is missing.
    pub million_tokens_cost: Option<Money>,
    /// Whether it is beaten.
    pub standing: Standing,
    /// What it loses by; empty for those that nobody beats.
    pub loses: Vec<String>,
    /// What is not known of it, with what to do about that.
    pub lacks: Vec<String>,
}

impl Choice {
    /// Whether nothing of its bill is missing.
    pub fn is_priced(&self) -> bool {
        self.bill.unpriced.is_empty()
    }

    /// What it is compared by: seconds of the whole run where there is one, else of a step.
    pub fn seconds(&self) -> Option<f64> {
        let step = self.step.as_ref().ok().map(|step| step.seconds).filter(|seconds| *seconds > 0.0)?;
        Some(self.run.map_or(step, |run| run.days * DAY_S))
    }

    /// What a step takes of energy, at the power of the bill.
    pub fn step_energy(&self) -> Option<Energy> {
        let step = self.step.as_ref().ok()?;
        Some(self.bill.power.during(Period::from_hours(step.seconds / 3600.0)))
    }
}

/// All that was looked at.
#[derive(Debug, Clone)]
pub struct Advice {
    /// What is timed.
    pub timed: String,
    /// Those that nobody beats first, the quickest of them first.
    pub choices: Vec<Choice>,
    /// What was left out, and why.
    pub excluded: Vec<Excluded>,
}

/// Looks at every candidate.
pub fn advise(
    constraints: &Constraints,
    layout: &Layout,
    prices: &Prices,
    performance: &dyn Performance,
    catalogue: &Catalogue,
) -> Advice {
    let (found, mut excluded) = candidates(constraints, catalogue);
    let mut choices = Vec::new();
    for candidate in found {
        let out = |reason: String| Excluded { name: candidate.name.clone(), reason };
        let bill = match bill(&candidate, layout, prices, catalogue) {
            Ok(bill) => bill,
            Err(error) => {
                excluded.push(out(error.to_string()));
                continue;
            }
        };
        if let Some(reason) = beyond(&bill, constraints) {
            excluded.push(out(reason));
            continue;
        }
        let step = performance.step(&candidate, catalogue);
        let goodput = goodput(&candidate, constraints.software, catalogue);
        choices.push(Choice {
            candidate,
            bill,
            step,
            goodput,
            run: None,
            million_tokens_cost: None,
            standing: Standing::Open,
            loses: Vec::new(),
            lacks: Vec::new(),
        });
    }
    judge(&mut choices);
    Advice { timed: performance.what(), choices, excluded }
}

/// Why a bill is outside the limits; sums that lack something are the least that it can be.
fn beyond(bill: &Bill, constraints: &Constraints) -> Option<String> {
    let least = if bill.unpriced.is_empty() { "" } else { "at least " };
    if let Some(budget) = constraints.budget.filter(|budget| budget.currency() == bill.cost.currency()) {
        if bill.cost > budget {
            return Some(format!("costs {least}{}, more than {budget}", bill.cost));
        }
    }
    let least = if bill.unpowered.is_empty() { "" } else { "at least " };
    let power = constraints.power.filter(|power| bill.power > *power)?;
    Some(format!("draws {least}{}, more than {power}", bill.power))
}

/// By what is published of nodes of eight GPUs, with Meta's checkpoints and restarts, saved as often as is best.
fn goodput(
    candidate: &Candidate,
    software: Option<FailureRate>,
    catalogue: &Catalogue,
) -> Result<(Goodput, Goodput), Refusal> {
    let (Ok(node), Ok(run)) = (catalogue.failure("node"), catalogue.restart("rsc")) else {
        return Err(Refusal::Nothing("the published rate of failures"));
    };
    let fact =
        |fact: &Option<weft_catalogue::Fact<Period>>| fact.as_ref().map_or(Period::ZERO, |fact| fact.value);
    let rates = [&node.low, &node.high].map(|rate| rate.as_ref().map_or(node.rate.value, |rate| rate.value));
    let restarts = [fact(&run.restart), fact(&run.longest_restart)];
    let of = |index: usize| {
        let job = Job {
            nodes: candidate.hosts,
            gpus: candidate.gpus(),
            rate: rates[index],
            software,
            restart: restarts[index],
            interval: Period::ZERO,
            save: fact(&run.save),
        };
        let interval = best_interval(job.mean_time_to_failure()?, job.save);
        Job { interval, ..job }.goodput()
    };
    Ok((of(0)?, of(1)?))
}
