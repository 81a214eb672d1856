//! Advice as a page: what was asked, candidates as a picture, what the best consist of, and why the others lose.

mod member;
mod scatter;
mod tables;

use weft_advisor::advice::{Advice, Choice, Demand, Size, Standing};
use weft_advisor::candidate::Constraints;
use weft_advisor::fabric::Layout;
use weft_advisor::workload::Workload;
use weft_catalogue::Catalogue;

use super::{text, training};
use crate::page::{self, Card, Cell};

/// What was asked, and what was found.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// What is allowed.
    pub constraints: &'a Constraints,
    /// How large clusters are.
    pub size: Size,
    /// What is to be done.
    pub demand: &'a Demand,
    /// How far things stand from each other.
    pub layout: &'a Layout,
    /// How many prices are the user's.
    pub own_price_count: usize,
    /// What is trained; empty where an exchange alone is timed.
    pub workloads: &'a [Workload<'a>],
    /// The answer.
    pub advice: &'a Advice,
    /// The facts.
    pub catalogue: &'a Catalogue,
}

impl<'a> Asked<'a> {
    fn of(&self, standing: Standing) -> Vec<&'a Choice> {
        self.advice.choices.iter().filter(|choice| choice.standing == standing).collect()
    }
}

/// The document.
pub fn html(asked: &Asked<'_>) -> String {
    let title = format!("What to buy: {}", lower(&text::title(asked.constraints, asked.size)));
    let mut lead = vec![text::timed(asked.advice)];
    lead.extend(training::asked(asked.demand, asked.advice));
    let front = asked.of(Standing::Front);
    let mut body = page::head(&title, &sentence(&lead.join("; ")));
    body += &cards(asked, &front);
    body += &scatter::section(asked.advice);
    body += &tables::front(&front);
    body += &page::section("What was asked and assumed", "", &page::table(&[], &assumed(asked), 0));
    for (number, choice) in front.iter().enumerate() {
        body += &member::section(number, choice, asked);
    }
    body += &tables::open(&asked.of(Standing::Open));
    body += &tables::beaten(&asked.of(Standing::Beaten));
    body += &tables::left_out(asked.advice);
    body += &page::made_by();
    page::document(&title, &body)
}

/// A title within a sentence.
fn lower(title: &str) -> String {
    let mut letters = title.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// With a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).chain(['.']).collect()
}

/// How a member of the front is called in pictures and tables.
fn number(index: usize) -> String {
    (index + 1).to_string()
}

/// What the best are best in.
fn cards(asked: &Asked<'_>, front: &[&Choice]) -> String {
    let called = |choice: &Choice| choice.candidate.name.clone();
    let least = |of: fn(&Choice) -> Option<f64>| {
        let known = front.iter().filter_map(|choice| Some((*choice, of(choice)?)));
        known.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(choice, _)| choice)
    };
    let mut cards = Vec::new();
    cards.extend(least(Choice::seconds).map(|choice| Card {
        name: "Quickest",
        figure: choice.run.map_or_else(|| text::time(choice), |run| format!("{:.1} days", run.days)),
        more: called(choice),
    }));
    cards.extend(least(|choice| Some(choice.bill.cost.as_units())).map(|choice| Card {
        name: "Cheapest",
        figure: text::cost(choice),
        more: called(choice),
    }));
    cards.extend(least(|choice| Some(choice.bill.power.as_watts())).map(|choice| Card {
        name: "Least power",
        figure: text::power(choice),
        more: called(choice),
    }));
    let tokens = least(|choice| choice.million_tokens_cost.map(weft_base::Money::as_units));
    cards.extend(tokens.and_then(|choice| {
        let cost = choice.million_tokens_cost?;
        Some(Card {
            name: "Cheapest million tokens",
            figure: format!("{:.4} {}", cost.as_units(), cost.currency().word()),
            more: called(choice),
        })
    }));
    let open = asked.of(Standing::Open).len();
    cards.push(Card {
        name: "Candidates",
        figure: asked.advice.choices.len().to_string(),
        more: format!("{} nobody beats, {open} lack a price or a time", front.len()),
    });
    page::cards(&cards)
}

/// What was asked, and what the answer takes for granted.
fn assumed(asked: &Asked<'_>) -> Vec<Vec<Cell>> {
    let row =
        |what: &str, value: String, why: &str| vec![Cell::name(what), Cell::words(value), Cell::soft(why)];
    let Constraints { models, vendors, budget, power, software, ethernet_only, .. } = asked.constraints;
    let or = |list: &[String], all: &str| if list.is_empty() { all.to_owned() } else { list.join(", ") };
    let mut rows = vec![row("GPUs that can be had", or(models, "those of all servers of the catalogue"), "")];
    rows.push(row("makers", or(vendors, "all"), ""));
    rows.extend(budget.map(|budget| row("budget", budget.to_string(), "switches, cables and optics count")));
    rows.extend(power.map(|power| row("power", power.to_string(), "of hosts and network, without cooling")));
    rows.extend(ethernet_only.then(|| row("network", "Ethernet".to_owned(), "asked for")));
    let layout = asked.layout;
    let cables = if layout.fibre_only { "fibre throughout" } else { "copper where it reaches" };
    let lengths = format!("{} to leaves, {} above", layout.to_leaf, layout.to_spine);
    rows.push(row("cables", lengths, cables));
    let own = asked.own_price_count;
    let prices =
        if own == 0 { "of the catalogue".to_owned() } else { format!("{own} yours, else the catalogue's") };
    rows.push(row("prices", prices, "dated and graded, in the bills below; what has none is named"));
    rows.push(row(
        "interruptions",
        software.map_or_else(|| "of nodes".to_owned(), |rate| format!("of nodes, and of software {rate}")),
        "the least and the highest published rate, with published restarts, saved as often as is best",
    ));
    if !asked.workloads.is_empty() {
        rows.push(row(
            "layout",
            "the best of each candidate".to_owned(),
            "all that fit in memory are priced",
        ));
        let programs: std::collections::BTreeSet<&str> =
            asked.workloads.iter().map(|workload| workload.framework.title.as_str()).collect();
        let programs = programs.into_iter().collect::<Vec<_>>().join(", ");
        rows.push(row("program", programs, "what it hides and fuses was fitted on published steps"));
    }
    rows
}
