//! The study as text.

use std::fmt::Write as _;

use weft_base::Period;
use weft_scheduler::philly::{CLASSES, Locality, Waits, Way};

use super::{Outcome, Study};
use crate::style::{Tone, faint, heading};
use crate::table::{Cell, Table};

/// A table for each size and locality, and what they say together.
pub fn text(study: &Study<'_>, outcomes: &[Outcome]) -> String {
    let jobs: usize = study.clusters.iter().map(|cluster| cluster.rows.len()).sum();
    let title = format!("{jobs} jobs of {} virtual clusters", study.clusters.len());
    let mut text =
        format!("{}  {}\n", heading(title), faint("nodes of 8 GPUs, each cluster alone on its own"));
    text.push_str("Mean time without places, by GPUs of a job\n");
    let mut table = Table::default();
    let mut last = None;
    for outcome in outcomes {
        let part = (outcome.way.size_percent, outcome.way.locality);
        if last.replace(part) != Some(part) {
            head(outcome, &mut table);
        }
        row(outcome, &mut table);
    }
    text.push_str(&table.lines());
    text.push_str(&verdict(outcomes));
    let mut told: Vec<&str> = Vec::new();
    for outcome in outcomes {
        let strategy = outcome.way.strategy;
        if !told.contains(&strategy.name) {
            told.push(strategy.name);
            let _ = writeln!(text, "  {}", faint(format!("{}: {}", strategy.name, strategy.title)));
        }
    }
    text
}

fn head(outcome: &Outcome, table: &mut Table) {
    let Way { size_percent, locality, .. } = outcome.way;
    let share = f64::from(size_percent) / 100.0;
    let title = format!("{share} x demand, locality {}", locality.word());
    let mut cells = vec![Cell::new(title).tone(Tone::Heading)];
    let class = |(from, to): (u32, u32)| match (from, to) {
        (from, to) if from == to => format!("{from} GPU"),
        (from, u32::MAX) => format!("{from} or more"),
        (from, to) => format!("{from}-{to}"),
    };
    let names = CLASSES.map(class).into_iter();
    let rest = ["over 4", "over 4 / 1", "all", "JCT", "GPUs had", "put out"].map(str::to_owned);
    cells.extend(names.chain(rest).map(|name| Cell::number(name).tone(Tone::Faint)));
    table.row(cells);
    let nodes = format!("  {} nodes", outcome.all.node_count);
    table.row([Cell::new(nodes).tone(Tone::Faint)]);
}

fn row(outcome: &Outcome, table: &mut Table) {
    let all = &outcome.all;
    let mut cells = vec![Cell::new(format!("  {}", outcome.way.strategy.name))];
    cells.extend(all.by_class.iter().map(|class| Cell::number(time(class.mean))));
    let ratio = all.large_ratio().map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.2}"));
    let unended = match all.unended_count {
        0 => String::new(),
        count => format!("{count} jobs never ended"),
    };
    cells.extend([
        Cell::number(time(all.large.mean)),
        Cell::number(ratio),
        Cell::number(time(all.all.mean)),
        Cell::number(time(all.completion.mean)),
        Cell::number(format!("{:.1} %", 100.0 * all.allocated_share)),
        Cell::number(all.put_out_count.to_string()),
        Cell::new(unended).tone(Tone::Slow),
    ]);
    table.row(cells);
}

/// Times of the same unit, so that columns can be compared.
fn time(period: Period) -> String {
    format!("{:.2} h", period.as_hours())
}

/// First come, first served where all that fits may pass, as it came out for large jobs.
fn verdict(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    let passes = |outcome: &&Outcome| outcome.way.strategy.name == FIRST_COME;
    for outcome in outcomes.iter().filter(passes).filter(|outcome| outcome.way.locality == Locality::Required)
    {
        let size_percent = outcome.way.size_percent;
        let relaxed = outcomes
            .iter()
            .filter(passes)
            .find(|other| other.way.locality == Locality::Relaxed && other.way.size_percent == size_percent);
        text.push_str(&compared(size_percent, &outcome.all, relaxed.map(|other| &other.all)));
    }
    text
}

/// The strategy that the verdict is of: first come, first served, each that fits may pass.
const FIRST_COME: &str = "best-fit";

fn compared(size_percent: u32, required: &Waits, relaxed: Option<&Waits>) -> String {
    let share = f64::from(size_percent) / 100.0;
    let (one, large) = (required.by_class[0].mean, required.large.mean);
    let mut text = format!(
        "At {share} x, first come with passing ({FIRST_COME}), locality required: {} jobs of more than 4 GPUs wait {} on \
         average, those of one GPU {}",
        required.large.count,
        time(large),
        time(one)
    );
    if let Some(ratio) = required.large_ratio() {
        let _ = write!(text, ", {ratio:.2} times as long");
    }
    if let Some(relaxed) = relaxed {
        let _ = write!(text, "; with relaxed locality {}", time(relaxed.large.mean));
    }
    text.push_str(".\n");
    text
}
