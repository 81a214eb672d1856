//! One that nobody beats: its bill, where its time goes, and of the quickest its step and its links.

use weft_advisor::advice::Choice;
use weft_advisor::bill::Line;
use weft_advisor::training::timeline;
use weft_catalogue::Catalogue;

use super::{Asked, number, sentence};
use crate::advise::text;
use crate::page::{self, Cell};
use crate::train::report;

/// Hosts up to which a cluster is drawn whole; of larger ones one host.
const MOST_DRAWN: u32 = 256;

/// The section of a member of the front; the first is the quickest.
pub(super) fn section(index: usize, choice: &Choice, asked: &Asked<'_>) -> String {
    let candidate = &choice.candidate;
    let title = format!("{}  {}", number(index), candidate.name);
    let goodput = sentence(&text::goodput(choice));
    let lead = format!("{} x {}. {goodput}", candidate.hosts, candidate.title(asked.catalogue));
    let mut html = bill(choice);
    let steps = choice.step.as_ref().map_or(&[][..], |step| step.workloads.as_slice());
    for step in steps {
        if steps.len() > 1 {
            html += &page::paragraph(&format!("{}: {}", step.name, step.layout));
        }
        html += &page::columns(&report::time(&step.breakdown), &report::memory(&step.memory, step.gpu_bytes));
    }
    let mut all = page::section(&title, &lead, &html);
    if index == 0 {
        for (step, workload) in steps.iter().zip(asked.workloads) {
            let drawn =
                timeline(workload, step, candidate, asked.catalogue).map_err(|error| error.to_string());
            all += &report::timeline(&step.layout, drawn.as_ref().map_err(String::as_str));
        }
        all += &links(choice, asked.catalogue);
    }
    all
}

/// What is bought, with what each price rests on.
fn bill(choice: &Choice) -> String {
    let heads = [
        Cell::number("pieces"),
        Cell::words("what"),
        Cell::number("each"),
        Cell::number("together"),
        Cell::number("draws each"),
        Cell::soft("price"),
    ];
    let money = |line: &Line, count: u64| {
        let price = line.price.as_ref();
        Cell::number(price.map_or_else(|| "–".to_owned(), |price| price.amount.times(count).to_string()))
    };
    let row = |line: &Line| {
        vec![
            Cell::number(line.count.to_string()),
            Cell::words(&line.what),
            money(line, 1),
            money(line, line.count),
            Cell::number(text::drawn(line)),
            Cell::soft(text::source(line)),
        ]
    };
    let bill = &choice.bill;
    let rows: Vec<Vec<Cell>> = bill.lines.iter().map(row).collect();
    let electricity =
        bill.yearly_energy_cost.map_or_else(String::new, |cost| format!(", {cost} of electricity"));
    let sum = format!(
        "Together {}; draws {}: {} a year{electricity}.",
        text::cost(choice),
        text::power(choice),
        bill.yearly_energy
    );
    page::table(&heads, &rows, 0) + &page::paragraph(&sum)
}

/// The cluster as a drawing.
fn links(choice: &Choice, catalogue: &Catalogue) -> String {
    let candidate = &choice.candidate;
    let whole = candidate.hosts <= MOST_DRAWN;
    let hosts = if whole { candidate.hosts } else { 1 };
    let lead = if whole { "" } else { "One host; the cluster is too large for a drawing." };
    let title = format!("{hosts} × {}", candidate.title(catalogue));
    let html = match weft_topology::build(&candidate.cluster(hosts), catalogue) {
        Ok(built) => {
            let options = weft_topology::draw::Options { title: &title, catalogue: Some(catalogue) };
            page::picture(&weft_topology::draw::svg(&built.topology, &options), "topology")
        }
        Err(error) => page::paragraph(&format!("No drawing: {error}.")),
    };
    page::section("How the quickest is joined", lead, &html)
}
