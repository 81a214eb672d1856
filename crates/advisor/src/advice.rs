//! Candidates with all that is known of them, which of them nobody beats, and what the others lose by.

use weft_base::{FailureRate, Period};
use weft_catalogue::Catalogue;
use weft_reliability::{Goodput, Job, Refusal, best_interval};

use crate::bill::{Bill, Prices, bill};
use crate::candidate::{Candidate, Constraints, Excluded, candidates};
use crate::fabric::Layout;
use crate::performance::{Performance, StepTime};

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
    /// What it loses by; empty for those that nobody beats.
    pub loses: Vec<String>,
}

impl Choice {
    /// Whether nothing of its bill is missing.
    pub fn is_priced(&self) -> bool {
        self.bill.unpriced.is_empty()
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
        choices.push(Choice { candidate, bill, step, goodput, loses: Vec::new() });
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

/// Who is beaten, by whom and in what.
fn judge(choices: &mut [Choice]) {
    let figures: Vec<Option<Figures>> = choices.iter().map(figures).collect();
    for index in 0..choices.len() {
        choices[index].loses = match &figures[index] {
            None => unknown(&choices[index]),
            Some(own) => {
                let beats = |other: &usize| figures[*other].as_ref().is_some_and(|other| other.beats(own));
                let best = (0..choices.len()).filter(beats).min_by(|a, b| {
                    let time =
                        |index: usize| figures[index].as_ref().map_or(f64::MAX, |figures| figures.seconds);
                    time(*a).total_cmp(&time(*b))
                });
                best.map(|best| why(&choices[best], own, figures[best].as_ref())).into_iter().collect()
            }
        };
    }
    choices.sort_by(|a, b| {
        let time = |choice: &Choice| choice.step.as_ref().map_or(f64::MAX, |step| step.seconds);
        let key = |choice: &Choice| (!choice.loses.is_empty(), !choice.is_priced());
        key(a).cmp(&key(b)).then(time(a).total_cmp(&time(b))).then(a.candidate.name.cmp(&b.candidate.name))
    });
}

/// What candidates are compared by: less is better.
struct Figures {
    seconds: f64,
    cost: f64,
    watts: f64,
}

impl Figures {
    fn beats(&self, other: &Self) -> bool {
        let (own, others) = ([self.seconds, self.cost, self.watts], [other.seconds, other.cost, other.watts]);
        let pairs = || own.iter().zip(&others);
        pairs().all(|(own, other)| own <= other) && pairs().any(|(own, other)| own < other)
    }
}

/// Nothing where time or price is not known: what is not known beats nobody and is beaten by nobody.
fn figures(choice: &Choice) -> Option<Figures> {
    let step = choice.step.as_ref().ok().filter(|step| step.seconds > 0.0)?;
    choice.is_priced().then(|| Figures {
        seconds: step.seconds,
        cost: choice.bill.cost.as_units(),
        watts: choice.bill.power.as_watts(),
    })
}

fn unknown(choice: &Choice) -> Vec<String> {
    let mut reasons = Vec::new();
    if let Err(reason) = &choice.step {
        reasons.push(format!("its time is not known: {reason}"));
    }
    if !choice.is_priced() {
        reasons.push(format!("its price is not known: {} has none", choice.bill.unpriced.join(", ")));
    }
    reasons
}

fn why(best: &Choice, own: &Figures, other: Option<&Figures>) -> String {
    let Some(other) = other else { return String::new() };
    let word = |own: f64, other: f64, more: &str| {
        (own > other * 1.0005).then(|| format!("{:.3} times as {more}", own / other))
    };
    let parts = [
        word(own.seconds, other.seconds, "slow"),
        word(own.cost, other.cost, "dear"),
        word(own.watts, other.watts, "hungry"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let parts = if parts.is_empty() { "nowhere better".to_owned() } else { parts.join(", ") };
    format!("{parts} than `{}` and better in nothing", best.candidate.name)
}
