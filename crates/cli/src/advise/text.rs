//! Advice as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use weft_advisor::advice::{Advice, Choice, Standing};
use weft_advisor::candidate::Constraints;
use weft_advisor::what_if::imagined_seconds;
use weft_base::Power;
use weft_catalogue::Catalogue;

use crate::style::{Tone, faint, heading};
use crate::table::{Cell, Table};

/// Losers that are shown: the quickest.
const MOST_LOSERS: usize = 24;

/// All candidates: those that nobody beats, those that lose, those left out.
pub fn advice(constraints: &Constraints, advice: &Advice) -> String {
    let title = format!("{} GPUs", constraints.gpus);
    let mut text = format!("{}  {}\n", heading(title), faint(format!("time: {}, alone", advice.timed)));
    let (best, rest): (Vec<&Choice>, Vec<&Choice>) =
        advice.choices.iter().partition(|choice| choice.standing == Standing::Front);
    let _ = write!(text, "{}\n{}", heading("Nobody beats these"), rows(&best));
    if best.is_empty() {
        text.push_str("  none has all of price and time: see why below, and give prices with `--prices`\n");
    }
    if !rest.is_empty() {
        let shown = &rest[..rest.len().min(MOST_LOSERS)];
        let _ = write!(text, "{}\n{}", heading("These lose, or lack a price or a time"), rows(shown));
        if rest.len() > MOST_LOSERS {
            let more = rest.len() - MOST_LOSERS;
            let _ = writeln!(text, "  … and {more} more; `--model` narrows them, `--format json` has all");
        }
    }
    text.push_str(&left_out(advice));
    let _ = writeln!(text, "`--why NAME` shows a bill and what it rests on");
    text
}

fn rows(choices: &[&Choice]) -> String {
    let mut table = Table::default();
    for choice in choices {
        table.row([
            Cell::new(&choice.candidate.name).tone(Tone::Heading),
            Cell::number(format!("{} hosts", choice.candidate.hosts)),
            Cell::number(cost(choice)),
            Cell::number(power(choice)),
            Cell::number(time(choice)),
        ]);
        for reason in choice.loses.iter().chain(&choice.lacks) {
            table.row([Cell::new(format!("  {reason}")).tone(Tone::Faint).wide()]);
        }
    }
    table.lines()
}

fn cost(choice: &Choice) -> String {
    let least = if choice.is_priced() { "" } else { "≥ " };
    format!("{least}{}", choice.bill.cost)
}

fn power(choice: &Choice) -> String {
    let least = if choice.bill.unpowered.is_empty() { "" } else { "≥ " };
    format!("{least}{}", choice.bill.power)
}

fn time(choice: &Choice) -> String {
    choice.step.as_ref().map_or_else(|_| "–".to_owned(), |step| milliseconds(step.seconds))
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.3} ms", seconds * 1e3)
}

/// Reasons with the systems that they hold for.
fn left_out(advice: &Advice) -> String {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for excluded in &advice.excluded {
        reasons.entry(&excluded.reason).or_default().push(&excluded.name);
    }
    if reasons.is_empty() {
        return String::new();
    }
    let mut text = format!("{}\n", heading("Left out"));
    for (reason, names) in reasons {
        let _ = writeln!(text, "  {reason}: {}", names.join(", "));
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
        let source = match price.map(|price| (&price.date, price.grade)) {
            Some((Some(date), Some(grade))) => format!("as of {date}, {}", grade.word()),
            Some(_) => "yours".to_owned(),
            None => line.note.clone().unwrap_or_else(|| format!("no price; set `{}`", line.name)),
        };
        table.row([
            Cell::number(line.count.to_string()),
            Cell::new(&line.what),
            Cell::number(price.map_or_else(|| "–".to_owned(), |price| price.amount.to_string())),
            Cell::number(match line.power {
                None => "–".to_owned(),
                // Of fibre, and of cards whose power is in that of their host.
                Some(Power::ZERO) => String::new(),
                Some(power) => power.to_string(),
            }),
            Cell::new(source).tone(Tone::Faint),
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

fn figures(choice: &Choice) -> String {
    let mut text = match &choice.step {
        Ok(step) => format!(
            "  time: {} ({} to {}), bound by {}\n",
            milliseconds(step.seconds),
            milliseconds(step.low_seconds),
            milliseconds(step.high_seconds),
            step.bound_by
        ),
        Err(reason) => format!("  no time: {reason}\n"),
    };
    let _ = match &choice.goodput {
        Ok((best, worst)) => writeln!(
            text,
            "  goodput: {:.1} to {:.1} % of the time is work; an interruption each {} to {}",
            worst.share * 100.0,
            best.share * 100.0,
            worst.mean_time_to_failure,
            best.mean_time_to_failure
        ),
        Err(refusal) => writeln!(text, "  no goodput: {refusal}"),
    };
    text
}

/// The same candidates with imagined links beside what is.
pub fn what_if(advice: &Advice, change: &str, imagined: &Advice) -> String {
    let mut text =
        format!("{}  {}\n", heading(format!("If {change}")), faint(format!("time: {}, alone", advice.timed)));
    let mut table = Table::default();
    for choice in &advice.choices {
        let Ok(now) = &choice.step else { continue };
        let same = |other: &&Choice| other.candidate.name == choice.candidate.name;
        let Some(Ok(then)) = imagined.choices.iter().find(same).map(|other| &other.step) else { continue };
        table.row([
            Cell::new(&choice.candidate.name).tone(Tone::Heading),
            Cell::number(milliseconds(now.seconds)),
            Cell::number(milliseconds(imagined_seconds(now, then))),
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
