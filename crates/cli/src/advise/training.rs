//! Training steps and whole runs of candidates.

use std::fmt::Write as _;

use weft_advisor::advice::{Advice, Choice, Demand};
use weft_advisor::performance::WorkloadStep;

use crate::table::Cell;

/// Parts of a step that are named: the longest.
const NAMED_PARTS: usize = 3;

/// What is asked for besides the system, with what the answer takes for granted.
pub fn asked(demand: &Demand, advice: &Advice) -> Option<String> {
    let count = demand.token_count?;
    let mut words = vec![tokens(count)];
    words.extend(demand.deadline_days().map(|days| format!("within {days:.1} days")));
    let runs = advice.choices.iter().filter_map(|choice| choice.run);
    let (known, unknown): (Vec<_>, Vec<_>) = runs.partition(|run| run.work_share.is_some());
    let goodput = match (known.is_empty(), unknown.is_empty()) {
        (false, true) => "with interruptions at the highest published rate",
        (true, _) => "without interruptions: `--software '2.2 per job-day'` adds them to small jobs",
        (false, false) => {
            "with interruptions from 2,048 GPUs on; `--software '2.2 per job-day'` adds them to smaller jobs"
        }
    };
    words.push(goodput.to_owned());
    Some(words.join(", "))
}

/// `15 T tokens`.
fn tokens(count: f64) -> String {
    match count {
        c if c >= 1e12 => format!("{} T tokens", round(c / 1e12)),
        c => format!("{} B tokens", round(c / 1e9)),
    }
}

fn round(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Columns behind the step's time.
pub fn cells(choice: &Choice) -> Vec<Cell> {
    let Ok(step) = &choice.step else { return Vec::new() };
    let mut cells = Vec::new();
    if let [only] = step.workloads.as_slice() {
        cells.push(Cell::number(format!("{:.0} tokens/s/GPU", only.tokens_per_s_per_gpu())));
        cells.push(Cell::number(
            only.mfu_share.map_or_else(String::new, |mfu| format!("MFU {:.1} %", 100.0 * mfu)),
        ));
    }
    if let Some(run) = choice.run {
        cells.push(Cell::number(format!("{:.1} days", run.days)));
    }
    if let Some(cost) = choice.million_tokens_cost {
        cells.push(Cell::number(format!("{:.4} {} / M tokens", cost.as_units(), cost.currency().word())));
    }
    cells
}

/// A line for each workload: its layout, where the time goes, what memory holds.
pub fn layouts(choice: &Choice) -> Vec<String> {
    let Ok(step) = &choice.step else { return Vec::new() };
    let several = step.workloads.len() > 1;
    let one = |one: &WorkloadStep| {
        let name =
            if several { format!("{}: {:.2} s a step; ", one.name, one.seconds) } else { String::new() };
        let idle = choice.candidate.gpus().saturating_sub(one.gpus);
        let idle = if idle > 0 { format!("; {idle} GPUs idle") } else { String::new() };
        format!("{name}{}; {}; {}{idle}", one.layout, parts(one), memory(one))
    };
    step.workloads.iter().map(one).collect()
}

/// `computing 88.9 %, tensor parallelism 6.1 %`.
fn parts(step: &WorkloadStep) -> String {
    let mut parts = step.breakdown.parts();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let shown = parts.iter().take(NAMED_PARTS).filter(|(_, seconds)| *seconds > 0.005 * step.seconds);
    let words: Vec<String> =
        shown.map(|(part, seconds)| format!("{part} {:.1} %", 100.0 * seconds / step.seconds)).collect();
    words.join(", ")
}

/// `62.7 of 74.5 GiB`.
fn memory(step: &WorkloadStep) -> String {
    let size = |bytes: f64| bytes / f64::from(1 << 30);
    format!("{:.1} of {:.1} GiB", size(step.memory.total()), size(step.gpu_bytes))
}

/// What `--why` says of steps and of the run.
pub fn in_full(choice: &Choice) -> String {
    let mut text = String::new();
    let Ok(step) = &choice.step else { return text };
    for (one, line) in step.workloads.iter().zip(layouts(choice)) {
        let _ = writeln!(text, "  layout of {}: {line}", one.name);
        let mfu = one.mfu_share.map_or_else(String::new, |mfu| format!(", MFU {:.1} %", 100.0 * mfu));
        let _ = writeln!(text, "    {:.0} tokens/s of each GPU{mfu}", one.tokens_per_s_per_gpu());
    }
    if step.workloads.is_empty() {
        return text;
    }
    if let Some(energy) = choice.step_energy() {
        let _ = writeln!(text, "  energy of a step: {energy}");
    }
    if let Some(run) = choice.run {
        let share = run.work_share.map_or_else(
            || "without interruptions".to_owned(),
            |share| format!("{:.1} % of the time work", 100.0 * share),
        );
        let cost = run.energy_cost.map_or_else(String::new, |cost| format!(", {cost} of electricity"));
        let _ = writeln!(
            text,
            "  {}: {:.1} days ({:.1} to {:.1}), {share}; {}{cost}",
            tokens(run.token_count),
            run.days,
            run.low_days,
            run.high_days,
            run.energy
        );
    }
    if let Some(cost) = choice.million_tokens_cost {
        let _ = writeln!(
            text,
            "  a million tokens: {:.4} {}, of system and electricity over its life",
            cost.as_units(),
            cost.currency().word()
        );
    }
    text
}
