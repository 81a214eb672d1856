//! A page that compares policies.

use weft_scheduler::words::clock;

use super::text::{broken, places, still_waiting};
use super::{Comparison, Run, figures, rows, svg};
use crate::page::{self, Card, Cell};

/// The document.
pub fn html(comparison: &Comparison<'_>) -> String {
    let scenario = comparison.scenario;
    let mut body = page::head(&scenario.title, &comparison.size());
    for paragraph in scenario.about.split("\n\n").filter(|text| !text.trim().is_empty()) {
        body += &page::paragraph(paragraph.trim());
    }
    body += &cards(comparison);
    if let Some(run) = comparison.runs.first() {
        let words = comparison.words(run);
        for trouble in run.record.troubles.iter().take(8) {
            body += &page::note(&broken(&words, *trouble));
        }
    }
    body += &policies(comparison);
    let plots = page::picture(&svg::drawn(comparison, ""), "fit");
    body += &page::section("Over time", "", &plots);
    for run in comparison.runs {
        body += &of_run(comparison, run);
    }
    body += &page::made_by();
    page::document(&scenario.title, &body)
}

/// The policy with the shortest mean completion among those under which most jobs ended.
fn best<'c>(comparison: &Comparison<'c>) -> Option<&'c Run> {
    let ended = |run: &&Run| run.record.totals.completion.count;
    let most = comparison.runs.iter().map(|run| ended(&run)).max()?;
    comparison
        .runs
        .iter()
        .filter(|run| ended(run) == most)
        .min_by_key(|run| run.record.totals.completion.mean)
}

fn cards(comparison: &Comparison<'_>) -> String {
    let Some(best) = best(comparison) else { return String::new() };
    let totals = &best.record.totals;
    let worst = comparison.runs.iter().max_by_key(|run| run.record.totals.completion.mean);
    let against = worst.map_or_else(String::new, |run| {
        format!("{} takes {}", run.strategy.name, run.record.totals.completion.mean)
    });
    page::cards(&[
        Card {
            name: "Shortest mean completion",
            figure: best.strategy.name.to_owned(),
            more: best.strategy.title.to_owned(),
        },
        Card { name: "Mean completion", figure: totals.completion.mean.to_string(), more: against },
        Card {
            name: "Mean wait",
            figure: totals.queueing.mean.to_string(),
            more: format!("99 % within {}", totals.queueing.p99),
        },
        Card {
            name: "Goodput",
            figure: format!("{:.1} %", 100.0 * totals.goodput_share),
            more: format!("{:.1} GPU-hours done again", totals.spent.lost.as_hours()),
        },
    ])
}

fn policies(comparison: &Comparison<'_>) -> String {
    let Some(first) = comparison.runs.first() else { return String::new() };
    let mut heads = vec![Cell::text("policy")];
    heads.extend(figures(&first.record).into_iter().map(|figure| Cell::number(figure.name)));
    // The best comes first, since it stands out.
    let mut runs: Vec<&Run> = comparison.runs.iter().collect();
    runs.sort_by_key(|run| {
        (std::cmp::Reverse(run.record.totals.completion.count), run.record.totals.completion.mean)
    });
    let row = |run: &&Run| {
        let mut cells = vec![Cell::text(run.strategy.name)];
        cells.extend(figures(&run.record).into_iter().map(|figure| Cell::number(figure.value)));
        cells
    };
    let rows: Vec<Vec<Cell>> = runs.iter().map(row).collect();
    let key: Vec<String> =
        figures(&first.record).iter().map(|figure| format!("{}: {}", figure.name, figure.title)).collect();
    let html = page::table(&heads, &rows, 1) + &page::note(&format!("{}.", key.join("; ")));
    page::section("Policies", "The one with the shortest mean completion first.", &html)
}

fn of_run(comparison: &Comparison<'_>, run: &Run) -> String {
    let heads = ["", "ended", "wait", "JCT", "put out", "broken", "nodes"].map(Cell::text);
    let row = |row: &super::RowFacts<'_>| {
        vec![
            Cell::text(row.name),
            Cell::text(format!("{}/{}", row.ended_count, row.job_count)),
            Cell::text(row.wait.to_string()),
            Cell::text(if row.completion.count == 0 {
                "–".to_owned()
            } else {
                row.completion.mean.to_string()
            }),
            Cell::text(row.put_out_count.to_string()),
            Cell::text(row.broken_count.to_string()),
            Cell::soft(places(row)),
        ]
    };
    let rows: Vec<Vec<Cell>> = rows(comparison.scenario, &run.record).iter().map(row).collect();
    let mut html = page::table(&heads, &rows, 0);
    for (name, why) in still_waiting(comparison, run).iter().take(8) {
        html += &page::note(&format!("{name} still waits: {why}."));
    }
    let words = comparison.words(run);
    let beats: Vec<Vec<Cell>> = comparison
        .story(run)
        .iter()
        .map(|beat| vec![Cell::number(clock(beat.at)), Cell::text(words.happening(&beat.what))])
        .collect();
    if let Some(job) = comparison.explain.filter(|_| !beats.is_empty()) {
        html += &page::paragraph(&format!("The story of {job}:"));
        html += &page::table(&[], &beats, 0);
    }
    page::section(run.strategy.name, run.strategy.title, &html)
}
