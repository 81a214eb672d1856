//! Advice as text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use weft_advisor::advice::{Advice, Choice, Demand, Size, Standing};
use weft_advisor::bill::Line;
use weft_advisor::candidate::Constraints;
use weft_advisor::what_if::imagined_seconds;
use weft_base::Power;
use weft_catalogue::Catalogue;

use super::training;
use crate::style::{Tone, faint, heading};
use crate::table::{Cell, Table};

/// Of those that lose or lack something, how many are shown: the quickest.
const MOST_LOSERS: usize = 12;
/// Names that are shown of those left out for one reason.
const MOST_NAMES: usize = 8;

/// All candidates: those that nobody beats, those that lack something, those that lose, those left out.
pub fn advice(constraints: &Constraints, size: Size, demand: &Demand, advice: &Advice) -> String {
    let mut text = format!("{}  {}\n", heading(title(constraints, size)), faint(timed(advice)));
    if let Some(asked) = training::asked(demand, advice) {
        let _ = writeln!(text, "{}", faint(asked));
    }
    let of = |standing| advice.choices.iter().filter(move |choice| choice.standing == standing).collect();
    let (best, open, rest): (Vec<_>, Vec<_>, Vec<_>) =
        (of(Standing::Front), of(Standing::Open), of(Standing::Beaten));
    let _ = write!(text, "{}\n{}", heading("Nobody beats these"), rows(&best, true));
    if best.is_empty() {
        text.push_str(
            "  none has all of price and time: see what is missing below, and give prices with `--prices`\n",
        );
    }
    text.push_str(&some("Nobody is known to beat these, but a price or a time is missing", &open));
    text.push_str(&some("These lose", &rest));
    text.push_str(&left_out(advice));
    let _ = writeln!(text, "`--why NAME` shows a bill and what it rests on");
    text
}

/// What is looked for.
pub(super) fn title(constraints: &Constraints, size: Size) -> String {
    match size {
        Size::Asked => format!("{} GPUs", constraints.gpus),
        Size::Deadline => "The smallest cluster of each kind that meets the deadline".to_owned(),
        Size::Limits => "The largest cluster of each kind within the limits".to_owned(),
    }
}

/// `time: 1 GiB of all-reduce, alone`.
pub(super) fn timed(advice: &Advice) -> String {
    let is_training =
        advice.choices.iter().any(|choice| choice.step.as_ref().is_ok_and(|step| !step.workloads.is_empty()));
    let alone = if is_training || advice.timed.starts_with("a step") { "" } else { ", alone" };
    format!("time: {}{alone}", advice.timed)
}

/// The quickest of those under one heading; nothing of none.
fn some(title: &str, choices: &[&Choice]) -> String {
    if choices.is_empty() {
        return String::new();
    }
    // Of each system the best: the others differ in their network alone.
    let mut systems = BTreeSet::new();
    let (first, others): (Vec<&Choice>, Vec<&Choice>) =
        choices.iter().copied().partition(|choice| systems.insert(choice.candidate.system.as_str()));
    let shown: Vec<&Choice> = first.into_iter().chain(others).take(MOST_LOSERS).collect();
    let mut text = format!("{}\n{}", heading(title), rows(&shown, false));
    if choices.len() > shown.len() {
        let more = choices.len() - shown.len();
        let _ = writeln!(text, "  … and {more} more; `--gpu` narrows them, `--format json` has all");
    }
    text
}

fn rows(choices: &[&Choice], in_full: bool) -> String {
    let mut table = Table::default();
    for choice in choices {
        let mut row = vec![
            Cell::new(&choice.candidate.name).tone(Tone::Heading),
            Cell::number(format!("{} GPUs", choice.candidate.gpus())),
            Cell::number(cost(choice)),
            Cell::number(power(choice)),
            Cell::number(time(choice)),
        ];
        row.extend(training::cells(choice));
        table.row(row);
        let layouts = if in_full { training::layouts(choice) } else { Vec::new() };
        // Who is beaten whatever a price is need not have it.
        let lacks = if choice.loses.is_empty() { choice.lacks.as_slice() } else { &[] };
        for line in layouts.iter().chain(&choice.loses).chain(lacks) {
            table.row([Cell::new(format!("  {line}")).tone(Tone::Faint).wide()]);
        }
    }
    table.lines()
}

/// The price of all that has one; `≥` where that is not all.
pub(super) fn cost(choice: &Choice) -> String {
    match (choice.is_priced(), choice.bill.cost.as_units() > 0.0) {
        (true, _) => choice.bill.cost.to_string(),
        (false, true) => format!("≥ {}", choice.bill.cost),
        (false, false) => "no price".to_owned(),
    }
}

/// What it draws; `≥` where not all of that is known.
pub(super) fn power(choice: &Choice) -> String {
    let least = if choice.bill.unpowered.is_empty() { "" } else { "≥ " };
    format!("{least}{}", choice.bill.power)
}

/// A step.
pub(super) fn time(choice: &Choice) -> String {
    choice.step.as_ref().map_or_else(|_| "–".to_owned(), |step| span(step.seconds))
}

fn span(seconds: f64) -> String {
    match seconds {
        s if s >= 100.0 => format!("{s:.0} s"),
        s if s >= 1.0 => format!("{s:.2} s"),
        s => format!("{:.3} ms", s * 1e3),
    }
}

/// Reasons with the systems that they hold for.
pub(super) fn reasons(advice: &Advice) -> BTreeMap<&str, Vec<&str>> {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for excluded in &advice.excluded {
        reasons.entry(&excluded.reason).or_default().push(&excluded.name);
    }
    reasons
}

fn left_out(advice: &Advice) -> String {
    let reasons = reasons(advice);
    if reasons.is_empty() {
        return String::new();
    }
    let mut text = format!("{}\n", heading("Left out"));
    for (reason, names) in reasons {
        let more = names.len().saturating_sub(MOST_NAMES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let names: Vec<&str> = names.into_iter().take(MOST_NAMES).collect();
        let _ = writeln!(text, "  {reason}: {}{more}", names.join(", "));
    }
    text
}

/// Candidates in full.
pub fn why(choices: &[&Choice], catalogue: &Catalogue) -> String {
    choices.iter().map(|choice| one(choice, catalogue)).collect::<Vec<_>>().join("\n")
}

fn one(choice: &Choice, catalogue: &Catalogue) -> String {
    let candidate = &choice.candidate;
    let what = format!("{} x {}", candidate.hosts, candidate.title(catalogue));
    let mut text = format!("{}  {}\n", heading(&candidate.name), faint(what));
    let mut table = Table::default();
    for line in &choice.bill.lines {
        let price = line.price.as_ref();
        table.row([
            Cell::number(line.count.to_string()),
            Cell::new(&line.what),
            Cell::number(price.map_or_else(|| "–".to_owned(), |price| price.amount.to_string())),
            Cell::number(drawn(line)),
            Cell::new(source(line)).tone(Tone::Faint),
        ]);
    }
    text.push_str(&table.lines());
    let bill = &choice.bill;
    let _ =
        writeln!(text, "  costs {}; draws {}, {} a year", cost(choice), power(choice), bill.yearly_energy);
    if let Some(money) = bill.yearly_energy_cost {
        let _ = writeln!(text, "  electricity for a year: {money}");
    }
    if let Some(server) = catalogue.server(&candidate.system).filter(|_| candidate.is_as_sold) {
        let facts = [("memory", &server.memory), ("local storage", &server.storage)];
        for (word, fact) in facts {
            if let Some(fact) = fact {
                let _ = writeln!(text, "  {word} of a host: {} ({})", fact.value, fact.grade.word());
            }
        }
    }
    if bill.retimers_per_host > 0 {
        let _ = writeln!(text, "  retimers in a host: {}", bill.retimers_per_host);
    }
    text.push_str(&figures(choice));
    for reason in &choice.loses {
        let _ = writeln!(text, "  loses: {reason}");
    }
    for reason in &choice.lacks {
        let _ = writeln!(text, "  {reason}");
    }
    text
}

/// What one piece draws.
pub(super) fn drawn(line: &Line) -> String {
    match line.power {
        None => "–".to_owned(),
        // Of fibre, and of cards whose power is in that of their host.
        Some(Power::ZERO) => String::new(),
        Some(power) => power.to_string(),
    }
}

/// What the price of a line rests on; or why there is none.
pub(super) fn source(line: &Line) -> String {
    match line.price.as_ref().map(|price| (&price.date, price.grade)) {
        Some((Some(date), Some(grade))) => format!("as of {date}, {}", grade.word()),
        Some(_) => "yours".to_owned(),
        None => line.note.clone().unwrap_or_else(|| format!("no price; set `{}`", line.name)),
    }
}

fn figures(choice: &Choice) -> String {
    let mut text = match &choice.step {
        Ok(step) => format!(
            "  time: {} ({} to {}), bound by {}\n",
            span(step.seconds),
            span(step.low_seconds),
            span(step.high_seconds),
            step.bound_by
        ),
        Err(reason) => format!("  no time: {reason}\n"),
    };
    text.push_str(&training::in_full(choice));
    let _ = writeln!(text, "  {}", goodput(choice));
    text
}

/// How much of the time is work; or why that is not known.
pub(super) fn goodput(choice: &Choice) -> String {
    match &choice.goodput {
        Ok((best, worst)) => format!(
            "goodput: {:.1} to {:.1} % of the time is work; an interruption each {} to {}",
            worst.share * 100.0,
            best.share * 100.0,
            worst.mean_time_to_failure,
            best.mean_time_to_failure
        ),
        Err(refusal) => format!("no goodput: {refusal}"),
    }
}

/// The same candidates with imagined links beside what is.
pub fn what_if(advice: &Advice, change: &str, imagined: &Advice) -> String {
    let mut text = format!("{}  {}\n", heading(format!("If {change}")), faint(timed(advice)));
    let mut table = Table::default();
    for choice in &advice.choices {
        let Ok(now) = &choice.step else { continue };
        let same = |other: &&Choice| other.candidate.name == choice.candidate.name;
        let Some(Ok(then)) = imagined.choices.iter().find(same).map(|other| &other.step) else { continue };
        table.row([
            Cell::new(&choice.candidate.name).tone(Tone::Heading),
            Cell::number(span(now.seconds)),
            Cell::number(span(imagined_seconds(now, then))),
            Cell::number(format!("{:+.1} %", 100.0 * (imagined_seconds(now, then) / now.seconds - 1.0))),
            Cell::new(format!("then bound by {}", then.bound_by)).tone(Tone::Faint),
        ]);
    }
    text.push_str(&table.lines());
    text.push_str(
        "  what programs reach of a link is taken as the same share of its rate; nobody has measured it\n",
    );
    text
}
