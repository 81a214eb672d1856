//! A step for a reader: what it takes, where the time goes, what memory holds, and how the next layouts differ.

use std::fmt::Write as _;

use weft_predictor::train::Candidate;
use weft_workload::{Layout, Memory};

use super::Run;
use crate::style::{Tone, heading};
use crate::table::{Cell, Table};

/// The whole answer.
pub fn text(run: &Run<'_>) -> String {
    let Some(best) = run.found.best.first() else { return String::new() };
    let title = format!("A step of {}", run.model.title);
    let mut sections = vec![format!(
        "{} on {}: {} sequences of {} tokens, {}, {}\n",
        heading(title),
        run.machine,
        run.global_batch,
        run.sequence_tokens,
        run.precision.word(),
        run.framework.title
    )];
    if run.searched {
        sections.push(searched(run));
    }
    sections.push(summary(run, best));
    sections.push(breakdown("Where the time goes", &best.time.breakdown.parts()));
    sections.push(memory(run, &best.memory));
    sections.join("\n")
}

fn summary(run: &Run<'_>, best: &Candidate) -> String {
    let layout = &best.layout;
    let seconds = best.time.seconds;
    let rate = run.step_tokens() / seconds / f64::from(layout.gpus);
    let mfu =
        run.mfu(layout, &best.time).map_or_else(String::new, |mfu| format!(", MFU {:.1} %", 100.0 * mfu));
    let mut text = format!("{} {}\n", heading("Layout"), layout);
    let _ = writeln!(
        text,
        "  {} a step (90 % within {} to {}), {rate:.0} tokens/s per GPU{mfu}",
        span(seconds),
        span(best.time.low_s),
        span(best.time.high_s)
    );
    let _ = writeln!(text, "  bound by {}", best.time.bound_by());
    text
}

/// The parts of a time that are not next to nothing, with their shares of the sum.
pub fn breakdown(title: &str, parts: &[(&'static str, f64)]) -> String {
    let mut table = Table::default();
    let total: f64 = parts.iter().map(|(_, seconds)| seconds).sum();
    for (what, seconds) in parts.iter().copied() {
        if seconds > 0.0005 * total {
            let share = format!("{:.1} %", 100.0 * seconds / total);
            table.row([
                Cell::new(what),
                Cell::number(span(seconds)),
                Cell::number(share).tone(Tone::Heading),
            ]);
        }
    }
    format!("{}\n{}", heading(title), table.lines())
}

fn memory(run: &Run<'_>, memory: &Memory) -> String {
    let mut table = Table::default();
    for (what, bytes) in memory.parts() {
        if bytes > 0.0 {
            table.row([Cell::new(what), Cell::number(size(bytes))]);
        }
    }
    let all = format!("{} of {}", size(memory.total()), size(run.site.gpu_bytes()));
    table.row([Cell::new("together"), Cell::number(all).wide().tone(Tone::Heading)]);
    format!("{}\n{}", heading("Memory of a GPU"), table.lines())
}

/// The best layouts, and what makes each slower than the first.
fn searched(run: &Run<'_>) -> String {
    let found = run.found;
    let mut table = Table::default();
    let title = |text: &str| Cell::new(text).tone(Tone::Faint);
    let right = |text: &str| Cell::number(text).tone(Tone::Faint);
    table.row([right("step"), right("memory"), title("layout"), title("against the first")]);
    for candidate in &found.best {
        let why = found.best.first().map_or_else(String::new, |first| difference(first, candidate));
        table.row([
            Cell::number(span(candidate.time.seconds)).tone(Tone::Heading),
            Cell::number(size(candidate.memory.total())),
            Cell::new(candidate.layout.to_string()),
            Cell::new(why),
        ]);
    }
    let text = format!("Best of {} layouts, {} of which fit", found.layout_count, found.fitting_count);
    format!("{}\n{}", heading(text), table.lines())
}

/// `+0.4 s tensor parallelism`: the part in which a layout loses most.
pub fn difference(first: &Candidate, other: &Candidate) -> String {
    let pairs = first.time.breakdown.parts().into_iter().zip(other.time.breakdown.parts());
    let most = pairs.map(|((what, a), (_, b))| (what, b - a)).max_by(|a, b| a.1.total_cmp(&b.1));
    match most {
        Some((what, more)) if more > 1e-9 => format!("+{} {what}", span(more)),
        Some(_) | None => String::new(),
    }
}

/// `does not fit, by 11 GiB of 80 GB: weights 20 GiB, …`.
pub fn overflow(run: &Run<'_>, layout: &Layout, memory: &Memory) -> String {
    let capacity = run.site.gpu_bytes();
    let mut list = memory.parts();
    list.sort_by(|a, b| b.1.total_cmp(&a.1));
    let list: Vec<String> = list
        .into_iter()
        .filter(|(_, bytes)| *bytes > 0.0)
        .map(|(what, bytes)| format!("{what} {}", size(bytes)))
        .collect();
    let by = size(memory.total() - capacity);
    let which = if run.searched { "no layout fits; the nearest" } else { "the layout does not fit" };
    format!("{which} ({layout}) by {by} of {}: {}", size(capacity), list.join(", "))
}

/// `68.1 GiB`.
pub fn size(bytes: f64) -> String {
    format!("{:.1} GiB", bytes.max(0.0) / f64::from(1 << 30))
}

/// `13.4 s`, `812 ms`.
pub fn span(seconds: f64) -> String {
    match seconds {
        s if s >= 100.0 => format!("{s:.0} s"),
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.1} ms", 1e3 * s),
        s => format!("{:.1} us", 1e6 * s),
    }
}
