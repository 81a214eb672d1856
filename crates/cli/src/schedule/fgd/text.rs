//! A study as text.

use std::fmt::Write as _;

use weft_scheduler::study::{Mean, PERCENTS, Run, mean};

use super::{Learn, Outcome, Plan};
use crate::style::{Tone, faint, heading};
use crate::table::{Cell, Table};

/// Percent asked for that have a column.
const SHOWN: [u32; 5] = [80, 90, 95, 100, 130];

/// A table for each trace, and the means over all.
pub fn text(plan: &Plan<'_>, outcomes: &[Outcome<'_>]) -> String {
    let gpus = plan.fleet.gpu_milli() / 1000;
    let title = format!("{} nodes, {gpus} GPUs", plan.fleet.nodes.len());
    let last = plan.first_seed.saturating_add(plan.seed_count - 1);
    let learnt = match plan.learn {
        Learn::All => "",
        Learn::Half => "; usual pods learnt from one half, the other half comes",
    };
    let rest = format!("seeds {} to {last}{learnt}", plan.first_seed);
    let mut text = format!("{}  {}\n", heading(title), faint(rest));
    text.push_str("Percent of GPUs not allocated when so much of them has been asked for (mean, ± standard deviation)\n");
    let mut table = Table::default();
    for trace in plan.traces {
        head(&trace.name, &mut table);
        for outcome in outcomes.iter().filter(|outcome| outcome.trace == trace.name) {
            row(outcome, &mut table);
        }
    }
    text.push_str(&table.lines());
    if plan.traces.len() > 1 {
        text.push_str(&over_all(plan, outcomes));
    }
    for policy in plan.policies {
        let _ = writeln!(text, "  {}", faint(format!("{}: {}", policy.name, policy.title)));
    }
    text
}

fn head(name: &str, table: &mut Table) {
    let mut cells = vec![Cell::new(name).tone(Tone::Heading)];
    cells.extend(SHOWN.map(|percent| Cell::number(format!("{percent} %")).tone(Tone::Faint)));
    cells.push(Cell::number("±").tone(Tone::Faint));
    cells.push(Cell::number("8-GPU pods dropped").tone(Tone::Faint));
    table.row(cells);
}

fn row(outcome: &Outcome<'_>, table: &mut Table) {
    let mut cells = vec![Cell::new(format!("  {}", outcome.policy.name))];
    cells.extend(SHOWN.map(|percent| Cell::number(format!("{:.2}", at(outcome, percent).mean_percent))));
    cells.push(Cell::number(format!("{:.2}", at(outcome, 100).deviation_percent)));
    cells.push(Cell::number(format!("{:.1}", average(outcome, |run| run.dropped_large_count))));
    table.row(cells);
}

/// The mean at a percentage that is looked at.
pub fn at(outcome: &Outcome<'_>, percent: u32) -> Mean {
    let place = PERCENTS.iter().position(|known| *known == percent).unwrap_or_default();
    mean(&outcome.runs, place)
}

/// A count of each run, on average.
pub fn average(outcome: &Outcome<'_>, of: impl Fn(&Run) -> u32) -> f64 {
    let runs = outcome.runs.iter().map(|_| 1.0).sum::<f64>().max(1.0);
    outcome.runs.iter().map(|run| f64::from(of(run))).sum::<f64>() / runs
}

fn over_all(plan: &Plan<'_>, outcomes: &[Outcome<'_>]) -> String {
    let mut table = Table::default();
    table.row([
        Cell::new(format!("mean of {} traces", plan.traces.len())).tone(Tone::Heading),
        Cell::number("100 %").tone(Tone::Faint),
        Cell::number("130 %").tone(Tone::Faint),
    ]);
    for policy in plan.policies {
        let own: Vec<&Outcome<'_>> =
            outcomes.iter().filter(|outcome| outcome.policy.name == policy.name).collect();
        let count = own.iter().map(|_| 1.0).sum::<f64>().max(1.0);
        let mean = |percent| own.iter().map(|outcome| at(outcome, percent).mean_percent).sum::<f64>() / count;
        table.row([
            Cell::new(format!("  {}", policy.name)),
            Cell::number(format!("{:.2}", mean(100))),
            Cell::number(format!("{:.2}", mean(130))),
        ]);
    }
    table.lines()
}
