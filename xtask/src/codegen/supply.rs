//! The part of the page of facts about what is bought and what fails.

use std::fmt::Display;

use weft_catalogue::{Catalogue, Fact, Failure, Price, PricedBy, Restart, Server};

use super::catalogue::{capacity, code, graded};
use super::table::table;

pub fn transceivers(catalogue: &Catalogue) -> String {
    let rows: Vec<Vec<String>> = catalogue
        .transceivers
        .iter()
        .map(|entry| {
            let links = entry.links.first().cloned().unwrap_or_default();
            let cells = [
                code(&entry.name),
                entry.title.clone(),
                format!("{} x {links}", entry.ports.value),
                graded(&entry.longest),
                graded(&entry.power),
            ];
            cells.into()
        })
        .collect();
    table(&["name", "module", "links", "longest fibre:", "power:"], &rows)
}

pub fn cables(catalogue: &Catalogue) -> String {
    let rows: Vec<Vec<String>> = catalogue
        .cables
        .iter()
        .map(|entry| {
            let cells = [
                code(&entry.name),
                entry.title.clone(),
                entry.kind.word().to_owned(),
                graded(&entry.longest),
                graded(&entry.end_power),
            ];
            cells.into()
        })
        .collect();
    table(&["name", "cable", "kind", "longest:", "power of an end:"], &rows)
}

/// Empty where there is no fact.
fn cell<T: Display>(fact: Option<&Fact<T>>) -> String {
    fact.map(graded).unwrap_or_default()
}

pub fn servers(catalogue: &Catalogue) -> String {
    let row = |server: &Server| {
        let bytes = |fact: Option<&Fact<weft_base::Bytes>>| {
            fact.map(|fact| format!("{} ({})", capacity(fact.value), fact.grade.word())).unwrap_or_default()
        };
        vec![
            code(&server.name),
            server.title.clone(),
            cell(server.most_power.as_ref()),
            cell(server.training_power.as_ref()),
            bytes(server.memory.as_ref()),
            bytes(server.storage.as_ref()),
        ]
    };
    let rows: Vec<Vec<String>> = catalogue.servers.iter().map(row).collect();
    table(&["system", "of one host", "most power:", "while training:", "memory:", "storage:"], &rows)
}

pub fn prices(catalogue: &Catalogue) -> String {
    let row = |price: &Price| {
        let per = match price.per {
            PricedBy::Piece => "",
            PricedBy::KilowattHour => " per kWh",
        };
        vec![
            code(&price.name),
            price.title.clone(),
            format!("{}{per} ({})", price.amount.value, price.amount.grade.word()),
            cell(price.low.as_ref()),
            cell(price.high.as_ref()),
            price.date.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = catalogue.prices.iter().map(row).collect();
    table(&["name", "what", "price:", "least:", "most:", "as of"], &rows)
}

pub fn failures(catalogue: &Catalogue) -> String {
    let row = |failure: &Failure| {
        vec![
            code(&failure.name),
            failure.title.clone(),
            graded(&failure.rate),
            cell(failure.low.as_ref()),
            cell(failure.high.as_ref()),
            cell(failure.dispersion.as_ref()),
        ]
    };
    let rows: Vec<Vec<String>> = catalogue.failures.iter().map(row).collect();
    table(&["name", "what", "rate:", "least:", "most:", "variance over mean:"], &rows)
}

pub fn restarts(catalogue: &Catalogue) -> String {
    let row = |run: &Restart| {
        vec![
            code(&run.name),
            run.title.clone(),
            cell(run.restart.as_ref()),
            cell(run.save.as_ref()),
            cell(run.interval.as_ref()),
        ]
    };
    let rows: Vec<Vec<String>> = catalogue.restarts.iter().map(row).collect();
    table(&["name", "run", "restart:", "save:", "interval:"], &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_have_a_date_and_a_unit() {
        let text = prices(Catalogue::embedded());
        let electricity = text.lines().find(|line| line.contains("`electricity`")).unwrap();
        assert!(electricity.contains("0.078 USD per kWh (assumed)"), "{electricity}");
        assert!(electricity.contains("2024-06"), "{electricity}");
    }
}
