//! The comparison as text.

use std::fmt::Write as _;

use weft_base::{Moment, Period};
use weft_scheduler::words::Words;
use weft_scheduler::words::{clock, gpus};
use weft_scheduler::world::{Fate, Record, Trouble};

use super::{Comparison, RowFacts, Run, figures, rows};
use crate::style::{Tone, faint, heading};
use crate::table::{Cell, Table};

/// Characters of a line of words.
const WIDTH: usize = 110;
/// Jobs that still wait and are named with their reasons.
const WAITING_MOST: usize = 5;
/// Rows of a scenario beyond which only the policies are compared.
const ROWS_MOST: usize = 24;

/// All of it.
pub fn text(comparison: &Comparison<'_>) -> String {
    let scenario = comparison.scenario;
    let mut text = format!("{}  {}\n", heading(&scenario.title), faint(comparison.size()));
    if !scenario.about.is_empty() {
        text.push_str(&wrapped(&scenario.about, ""));
    }
    text.push_str(&faults(comparison));
    text.push('\n');
    text.push_str(&policies(comparison));
    for run in comparison.runs {
        text.push_str(&of_run(comparison, run));
    }
    text.push('\n');
    text.push_str(&key(comparison));
    text
}

fn faults(comparison: &Comparison<'_>) -> String {
    let Some(run) = comparison.runs.first() else { return String::new() };
    let words = comparison.words(run);
    let mut text = String::new();
    for (at, what, until) in run.record.troubles.iter().take(WAITING_MOST) {
        let _ = writeln!(text, "  {}", faint(broken(&words, (*at, *what, *until))));
    }
    text
}

fn policies(comparison: &Comparison<'_>) -> String {
    let mut table = Table::default();
    for (number, run) in comparison.runs.iter().enumerate() {
        let figures = figures(&run.record);
        if number == 0 {
            let mut head = vec![Cell::new("policy").tone(Tone::Heading)];
            head.extend(figures.iter().map(|figure| Cell::number(figure.name).tone(Tone::Faint)));
            table.row(head);
        }
        let mut cells = vec![Cell::new(run.strategy.name)];
        cells.extend(figures.into_iter().map(|figure| Cell::number(figure.value)));
        table.row(cells);
    }
    table.lines()
}

fn of_run(comparison: &Comparison<'_>, run: &Run) -> String {
    let rows = rows(comparison.scenario, &run.record);
    let mut text = String::new();
    if rows.len() <= ROWS_MOST {
        let _ = writeln!(text, "\n{}: {}", heading(run.strategy.name), run.strategy.title);
        text.push_str(&row_table(&rows));
    }
    text.push_str(&waiting(comparison, run));
    let beats = comparison.story(run);
    if let Some(job) = comparison.explain.filter(|_| !beats.is_empty()) {
        let _ = writeln!(text, "  The story of {job} under {}:", run.strategy.name);
        let words = comparison.words(run);
        let mut table = Table::default();
        for beat in beats {
            table.row([
                Cell::new(""),
                Cell::number(clock(beat.at)).tone(Tone::Faint),
                Cell::new(words.happening(&beat.what)).wide(),
            ]);
        }
        text.push_str(&table.lines());
    }
    text
}

fn row_table(rows: &[RowFacts<'_>]) -> String {
    let mut table = Table::default();
    let heads =
        ["", "ended", "wait", "JCT", "put out", "broken"].map(|name| Cell::number(name).tone(Tone::Faint));
    table.row(heads.into_iter().chain([Cell::new("nodes").tone(Tone::Faint)]));
    for row in rows {
        let count = |count: u32| Cell::number(if count == 0 { String::new() } else { count.to_string() });
        table.row([
            Cell::new(format!("  {}", row.name)),
            Cell::number(format!("{}/{}", row.ended_count, row.job_count)),
            Cell::number(row.wait.to_string()),
            Cell::number(if row.completion.count == 0 {
                "–".to_owned()
            } else {
                row.completion.mean.to_string()
            }),
            count(row.put_out_count),
            count(row.broken_count),
            Cell::new(places(row)),
        ]);
    }
    table.lines()
}

/// Groups of nodes, the one with most stays first: `h100, l4 (2 of 6)`.
pub fn places(row: &RowFacts<'_>) -> String {
    let all: usize = row.places.iter().map(|(_, count)| count).sum();
    let place = |(name, count): &(&str, usize)| {
        if *count == all { (*name).to_owned() } else { format!("{name} ({count} of {all})") }
    };
    row.places.iter().map(place).collect::<Vec<_>>().join(", ")
}

/// Jobs that wait when the run is over, and why.
pub fn still_waiting(comparison: &Comparison<'_>, run: &Run) -> Vec<(String, String)> {
    let words = comparison.words(run);
    let waits = |record: &Record| {
        let jobs = record.jobs.iter().filter_map(|job| match &job.fate {
            Fate::Waits(reasons) => Some((job.name.clone(), job.gpu_milli, words.reasons(reasons))),
            Fate::Ended(_) | Fate::On => None,
        });
        jobs.collect::<Vec<_>>()
    };
    let said = |(name, milli, why): (String, u64, String)| {
        let why = if why.is_empty() { "nobody has looked at it yet".to_owned() } else { why };
        (format!("{name} ({})", gpus(milli)), why)
    };
    waits(&run.record).into_iter().map(said).collect()
}

fn waiting(comparison: &Comparison<'_>, run: &Run) -> String {
    let waiting = still_waiting(comparison, run);
    let mut text = String::new();
    for (name, why) in waiting.iter().take(WAITING_MOST) {
        let _ = writeln!(text, "  {name} still waits under {}: {why}", run.strategy.name);
    }
    if let Some(more) = waiting.len().checked_sub(WAITING_MOST).filter(|more| *more > 0) {
        let _ = writeln!(text, "  and {more} more; `--format json` has all of them");
    }
    text
}

/// What the columns are.
fn key(comparison: &Comparison<'_>) -> String {
    let Some(run) = comparison.runs.first() else { return String::new() };
    let each = figures(&run.record).into_iter().map(|figure| format!("{}: {}", figure.name, figure.title));
    wrapped(&each.collect::<Vec<_>>().join("; "), "  ").lines().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{}", faint(line));
        text
    })
}

/// What broke from when until when.
pub fn broken(words: &Words<'_>, (at, what, until): (Moment, Trouble, Moment)) -> String {
    let lasts = until - at;
    let until = if lasts > Period::YEAR { "for good".to_owned() } else { format!("for {lasts}") };
    format!("at {} {} breaks, {until}", clock(at), words.trouble(what))
}

/// Lines of a text that are not too long for a reader; empty lines stay.
fn wrapped(text: &str, indent: &str) -> String {
    let mut found = String::new();
    for paragraph in text.trim().lines() {
        let mut line = String::from(indent);
        for word in paragraph.split_whitespace() {
            if line.chars().count() + word.chars().count() >= WIDTH && line.trim() != "" {
                let _ = writeln!(found, "{}", line.trim_end());
                line = String::from(indent);
            }
            line.push_str(word);
            line.push(' ');
        }
        let _ = writeln!(found, "{}", line.trim_end());
    }
    found
}
