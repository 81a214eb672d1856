//! Candidates with all that is known of them, which of them nobody beats, and what the others lose by.

use weft_base::{Energy, FailureRate, Money, Period};
use weft_catalogue::Catalogue;
use weft_reliability::{Goodput, Job, Refusal, best_interval};

use crate::bill::{Bill, Prices, bill};
use crate::candidate::{Candidate, Constraints, Excluded, candidates};
use crate::fabric::Layout;
use crate::judge::judge;
use crate::performance::{NoStep, Performance, StepTime};
pub use crate::sizing::Size;
use crate::sizing::sized;

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

/// What is asked for besides the system.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Demand {
    /// Tokens to train on.
    pub token_count: Option<f64>,
    /// Within which time.
    pub deadline: Option<Period>,
    /// How long the system is used, for the price of tokens.
    pub life: Option<Period>,
}

impl Demand {
    /// The deadline in days.
    pub fn deadline_days(&self) -> Option<f64> {
        self.deadline.map(|deadline| deadline.as_hours() / 24.0)
    }
}

/// All that advice is asked on.
#[derive(Clone, Copy)]
pub struct Question<'q> {
    /// What is allowed.
    pub constraints: &'q Constraints,
    /// How large clusters are.
    pub size: Size,
    /// How far things stand from each other.
    pub layout: &'q Layout,
    /// Prices.
    pub prices: &'q Prices,
    /// How fast candidates are.
    pub performance: &'q dyn Performance,
    /// What is to be done.
    pub demand: Demand,
    /// Hears how many of how many candidates have been looked at.
    pub notice: &'q dyn Fn(usize, usize),
}

impl Question<'_> {
    /// The bill of a candidate, where it is within the limits; else why not.
    pub(crate) fn billed(&self, candidate: &Candidate, catalogue: &Catalogue) -> Result<Bill, String> {
        let bill = bill(candidate, self.layout, self.prices, catalogue).map_err(|error| error.to_string())?;
        beyond(&bill, self.constraints).map_or(Ok(bill), Err)
    }
}

/// Looks at every candidate.
pub fn advise(question: &Question<'_>, catalogue: &Catalogue) -> Advice {
    let (mut choices, excluded) = match question.size {
        Size::Asked => asked(question, catalogue),
        Size::Deadline | Size::Limits => sized(question, question.size, catalogue),
    };
    judge(&mut choices);
    Advice { timed: question.performance.what(), choices, excluded }
}

/// Candidates of the size asked for.
fn asked(question: &Question<'_>, catalogue: &Catalogue) -> (Vec<Choice>, Vec<Excluded>) {
    let (found, mut excluded) = candidates(question.constraints, catalogue);
    let (mut choices, all) = (Vec::new(), found.len());
    for (done, candidate) in found.into_iter().enumerate() {
        (question.notice)(done, all);
        let name = candidate.name.clone();
        let looked =
            look(candidate, question, catalogue).and_then(|choice| in_time(choice, &question.demand));
        match looked {
            Ok(choice) => choices.push(choice),
            Err(reason) => excluded.push(Excluded { name, reason }),
        }
    }
    (choices, excluded)
}

/// One candidate with all that is known of it; or why it is none.
pub(crate) fn look(
    candidate: Candidate,
    question: &Question<'_>,
    catalogue: &Catalogue,
) -> Result<Choice, String> {
    let bill = question.billed(&candidate, catalogue)?;
    let step = match question.performance.step(&candidate, catalogue) {
        Err(NoStep::Impossible(reason)) => return Err(reason),
        Err(NoStep::Unknown(reason)) => Err(reason),
        Ok(step) => Ok(step),
    };
    let goodput = goodput(&candidate, question.constraints.software, catalogue);
    let work_share = goodput.as_ref().ok().map(|(_, worst)| worst.share);
    let known = step.as_ref().ok();
    let run = known.and_then(|step| run(step, &bill, work_share, question, catalogue));
    let cost = known.and_then(|step| million_tokens(step, &bill, work_share, question.demand.life?));
    Ok(Choice {
        candidate,
        bill,
        step,
        goodput,
        run,
        million_tokens_cost: cost,
        standing: Standing::Open,
        loses: Vec::new(),
        lacks: Vec::new(),
    })
}

fn in_time(choice: Choice, demand: &Demand) -> Result<Choice, String> {
    match (choice.run, demand.deadline_days()) {
        (Some(run), Some(deadline)) if run.days > deadline => {
            Err(format!("takes {:.1} days, more than {deadline:.1}", run.days))
        }
        (Some(_) | None, Some(_) | None) => Ok(choice),
    }
}

/// All tokens, one step after another, with the time that failures take where it is known.
fn run(
    step: &StepTime,
    bill: &Bill,
    work_share: Option<f64>,
    question: &Question<'_>,
    catalogue: &Catalogue,
) -> Option<Run> {
    let token_count = question.demand.token_count?;
    let steps = token_count / step.token_count?;
    let days = |seconds: f64| steps * seconds / work_share.unwrap_or(1.0) / DAY_S;
    let expected = days(step.seconds);
    let energy = bill.power.during(Period::from_hours(expected * 24.0));
    let electricity = question.prices.of("electricity", catalogue).map(|price| price.amount);
    let electricity = electricity.filter(|price| price.currency() == bill.cost.currency());
    Some(Run {
        token_count,
        work_share,
        days: expected,
        low_days: days(step.low_seconds),
        high_days: days(step.high_seconds),
        energy,
        energy_cost: electricity.map(|price| price.scaled(energy.as_kilowatt_hours())),
    })
}

/// Price of the system and of electricity over its life, by the tokens that it could train on in that time.
fn million_tokens(step: &StepTime, bill: &Bill, work_share: Option<f64>, life: Period) -> Option<Money> {
    let years = life.as_hours() / Period::YEAR.as_hours();
    let electricity = bill.yearly_energy_cost?.scaled(years);
    let all = bill.is_priced().then_some(bill.cost)?.checked_add(electricity)?;
    let tokens = step.token_count? * life.as_hours() * 3600.0 / step.seconds * work_share.unwrap_or(1.0);
    Some(all.scaled(1e6 / tokens))
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
