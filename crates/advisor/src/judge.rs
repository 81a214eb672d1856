//! Who is beaten, by whom and by what; what has no price or no time is compared as far as it is known.

use std::collections::BTreeMap;

use weft_base::Money;
use weft_catalogue::NetworkDesign;

use crate::advice::{Choice, Standing};
use crate::bill::Bill;

/// Of two times, prices or powers, what is not seen by a reader is no difference.
const SEEN: f64 = 1.0005;
/// From here on a longer step is what a candidate loses by, rather than its price.
const SLOWER: f64 = 1.01;

/// Says of each choice who beats it, and sorts them: those that nobody beats, those of which something is not known,
/// the others; the quickest first.
pub(crate) fn judge(choices: &mut [Choice]) {
    let beaten: Vec<Option<usize>> = (0..choices.len()).map(|own| best_of(choices, own)).collect();
    for (own, best) in beaten.into_iter().enumerate() {
        let choice = &choices[own];
        let lacks = lacks(choice, choices);
        let loses: Vec<String> = best.map(|best| why(choice, &choices[best])).into_iter().collect();
        let standing = match (loses.is_empty(), lacks.is_empty()) {
            (true, true) => Standing::Front,
            (true, false) => Standing::Open,
            (false, _) => Standing::Beaten,
        };
        let choice = &mut choices[own];
        (choice.loses, choice.lacks, choice.standing) = (loses, lacks, standing);
    }
    choices.sort_by(|a, b| {
        let time = |choice: &Choice| choice.seconds().unwrap_or(f64::MAX);
        let key = |choice: &Choice| (choice.standing, choice.step.is_err());
        key(a).cmp(&key(b)).then(time(a).total_cmp(&time(b))).then(a.candidate.name.cmp(&b.candidate.name))
    });
}

/// Of those that beat `own`, one of the same system, else the quickest: that says most about what it loses by.
fn best_of(choices: &[Choice], own: usize) -> Option<usize> {
    let beats = |other: &usize| *other != own && beats(&choices[*other], &choices[own]);
    (0..choices.len()).filter(beats).min_by(|a, b| {
        let key = |index: usize| choices[index].candidate.system != choices[own].candidate.system;
        let time = |index: usize| choices[index].seconds().unwrap_or(f64::MAX);
        key(*a).cmp(&key(*b)).then(time(*a).total_cmp(&time(*b)))
    })
}

/// Whether `other` is nowhere worse and somewhere better, whatever missing prices and powers turn out to be. One that
/// has no time beats nobody and is beaten by nobody.
fn beats(other: &Choice, own: &Choice) -> bool {
    let (Some(others), Some(owns)) = (other.seconds(), own.seconds()) else { return false };
    let time = if owns < others { None } else { Some(owns > others) };
    let strict = [time, at_least_as_dear(&own.bill, &other.bill), at_least_as_hungry(&own.bill, &other.bill)];
    strict.iter().all(Option::is_some) && (strict.contains(&Some(true)) || joins_more(other, own))
}

/// Whether `other` is the same with rails that switches join, so that more can run on it.
fn joins_more(other: &Choice, own: &Choice) -> bool {
    let design = |choice: &Choice| choice.candidate.network.as_ref().map(|network| network.design);
    other.candidate.system == own.candidate.system
        && design(own) == Some(NetworkDesign::RailOnly)
        && design(other) == Some(NetworkDesign::RailOptimized)
}

/// Whether `own` costs as much as `other` at least, and then whether more; nothing where that is not known or not so.
fn at_least_as_dear(own: &Bill, other: &Bill) -> Option<bool> {
    let (owns, others) = (own.cost, other.cost);
    let more = at_least(&unpriced(own), &unpriced(other))?;
    (owns.currency() == others.currency() && owns >= others).then_some(more || owns > others)
}

fn at_least_as_hungry(own: &Bill, other: &Bill) -> Option<bool> {
    let more = at_least(&unpowered(own), &unpowered(other))?;
    (own.power >= other.power).then_some(more || own.power > other.power)
}

/// Whether `own` lacks all that `other` lacks, and then whether more.
fn at_least(own: &BTreeMap<&str, u64>, other: &BTreeMap<&str, u64>) -> Option<bool> {
    let holds = other.iter().all(|(name, count)| own.get(name).is_some_and(|own| own >= count));
    holds.then(|| own != other)
}

/// What a bill has no price for, with how many of it.
fn unpriced(bill: &Bill) -> BTreeMap<&str, u64> {
    let lines = bill.lines.iter().filter(|line| line.lacks_price());
    lines.map(|line| (line.name.as_str(), line.count)).collect()
}

fn unpowered(bill: &Bill) -> BTreeMap<&str, u64> {
    let lines = bill.lines.iter().filter(|line| line.power.is_none());
    lines.map(|line| (line.name.as_str(), line.count)).collect()
}

fn why(own: &Choice, best: &Choice) -> String {
    let ratio = |own: f64, other: f64, more: &str| {
        (own > other * SEEN).then(|| format!("{:.3} times as {more}", own / other))
    };
    let seconds = |choice: &Choice| choice.seconds().unwrap_or_default();
    let (a, b) = (&own.bill, &best.bill);
    let priced = own.is_priced() && best.is_priced();
    let parts = [
        ratio(seconds(own), seconds(best), "slow"),
        ratio(a.cost.as_units(), b.cost.as_units(), "dear").filter(|_| priced),
        (!priced && at_least_as_dear(a, b) == Some(true)).then(|| "dearer".to_owned()),
        ratio(a.power.as_watts(), b.power.as_watts(), "hungry"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let name = &best.candidate.name;
    if parts.is_empty() && joins_more(best, own) {
        return format!("in nothing better than `{name}`, whose switches join the rails too");
    }
    if parts.is_empty() {
        return format!("in nothing better than `{name}`, and by less than a thousandth worse");
    }
    let because = because(own, best).map_or_else(String::new, |because| format!(": {because}"));
    format!("{} than `{name}` and better in nothing{because}", parts.join(", "))
}

/// The one number that decides.
fn because(own: &Choice, best: &Choice) -> Option<String> {
    let is_slower = own.seconds()? > best.seconds()? * SLOWER;
    if is_slower {
        return slower(own, best);
    }
    let network = |choice: &Choice| choice.bill.network_cost();
    let (a, b) = (network(own)?, network(best)?);
    (own.candidate.system == best.candidate.system && a > b)
        .then(|| format!("its network costs {a}, there {b}, and the step is as long"))
}

/// Of a training step the part that grew most.
fn slower(own: &Choice, best: &Choice) -> Option<String> {
    let steps = |choice: &Choice| choice.step.as_ref().ok().map(|step| step.workloads.clone());
    let (owns, bests) = (steps(own)?, steps(best)?);
    let pairs = owns.iter().zip(&bests).flat_map(|(own, best)| {
        // Of clusters that differ in size, GPU-seconds are what can be compared.
        let parts = own.breakdown.parts().into_iter().zip(best.breakdown.parts());
        parts.map(move |((part, a), (_, b))| {
            let share = |seconds: f64, all: f64| 100.0 * seconds / all.max(f64::MIN_POSITIVE);
            (part, a - b, a, b, share(a, own.seconds), share(b, best.seconds))
        })
    });
    let (part, _, a, b, own_share, best_share) = pairs.max_by(|x, y| x.1.total_cmp(&y.1))?;
    Some(match part {
        "computing" if own.candidate.gpu == best.candidate.gpu && owns[0].layout != bests[0].layout => {
            let (own, best) = (&owns[0].layout, &bests[0].layout);
            format!("{part} takes {a:.2} s in its best layout ({own}), there {b:.2} s ({best})")
        }
        "computing" => format!("{part} takes {a:.2} s of its step, there {b:.2} s"),
        _ => format!("{part} takes {own_share:.1} % of its step, there {best_share:.1} %"),
    })
}

/// What is not known of a choice, and what to do about it.
fn lacks(choice: &Choice, all: &[Choice]) -> Vec<String> {
    let mut reasons = Vec::new();
    if let Err(reason) = &choice.step {
        reasons.push(format!("its time is not known: {reason}"));
    }
    let missing = missing(&choice.candidate.gpu, &choice.candidate.system, &choice.bill);
    if !missing.is_empty() {
        let worth = worth(choice, all).map_or_else(String::new, |worth| format!("; {worth}"));
        reasons.push(format!("no price: {}{worth}", paste(&missing)));
    }
    reasons
}

/// The prices that would do: that of a host holds its GPUs, that of a link its modules.
pub(crate) fn missing<'b>(gpu: &str, system: &str, bill: &'b Bill) -> Vec<&'b str> {
    let all = bill.missing_prices();
    let (host, links) = (all.contains(&system), all.iter().any(|name| name.starts_with("link-")));
    let is_module = |name: &str| bill.fabric.as_ref().is_some_and(|fabric| fabric.modules.contains_key(name));
    all.into_iter().filter(|name| !(host && *name == gpu || links && is_module(name))).collect()
}

/// The lines that a file of prices should have.
pub(crate) fn paste(missing: &[&str]) -> String {
    let lines: Vec<String> = missing.iter().map(|name| format!("`{name} = \"… USD\"`")).collect();
    format!("a file for `--prices` with {} mends it", lines.join(" and "))
}

/// Below which price nobody beats it, where one price is all that is missing.
fn worth(choice: &Choice, all: &[Choice]) -> Option<String> {
    let seconds = choice.seconds().filter(|_| choice.bill.unpowered.is_empty())?;
    let mut missing = choice.bill.lines.iter().filter(|line| line.lacks_price());
    let (Some(line), None) = (missing.next(), missing.next()) else { return None };
    let as_good = |other: &&Choice| {
        other.is_priced()
            && other.bill.cost.currency() == choice.bill.cost.currency()
            && other.seconds().is_some_and(|others| others <= seconds)
            && at_least_as_hungry(&choice.bill, &other.bill).is_some()
    };
    let Some(least) = all.iter().filter(as_good).map(|other| other.bill.cost).min() else {
        return Some(
            "nobody with a price is as quick at that power, so that it is beaten at no price".to_owned(),
        );
    };
    // A price of the host as a whole takes the place of those of its cards.
    let is_host = line.name == choice.candidate.system;
    let network = choice.bill.network_cost();
    let known = if is_host { network } else { Some(choice.bill.cost) };
    let known = known.map_or(0.0, Money::as_units);
    #[expect(clippy::cast_precision_loss, reason = "no bill has 2^53 pieces")]
    let each = (least.as_units() - known) / line.count.max(1) as f64;
    Some(if each > 0.0 {
        format!("nobody beats it below {} each", least.scaled(each / least.as_units()))
    } else {
        "it is beaten at any price".to_owned()
    })
}
