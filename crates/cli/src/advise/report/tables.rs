//! Candidates in rows.

use weft_advisor::advice::{Advice, Choice};

use super::number;
use crate::advise::{text, training};
use crate::page::{self, Cell};

/// A column: its head, and what a candidate has there.
type Column = (&'static str, fn(&Choice) -> Option<String>);

/// Columns of which those are shown in which somebody has something.
const COLUMNS: [Column; 9] = [
    ("GPUs", |choice| Some(choice.candidate.gpus().to_string())),
    ("cost", |choice| Some(text::cost(choice))),
    ("power", |choice| Some(text::power(choice))),
    ("step", |choice| choice.step.is_ok().then(|| text::time(choice))),
    ("days", |choice| choice.run.map(|run| format!("{:.1}", run.days))),
    ("goodput", |choice| {
        let (best, worst) = choice.goodput.as_ref().ok()?;
        Some(format!("{:.1}–{:.1} %", 100.0 * worst.share, 100.0 * best.share))
    }),
    ("tokens/s/GPU", |choice| {
        let [only] = choice.step.as_ref().ok()?.workloads.as_slice() else { return None };
        Some(format!("{:.0}", only.tokens_per_s_per_gpu()))
    }),
    ("MFU", |choice| {
        let [only] = choice.step.as_ref().ok()?.workloads.as_slice() else { return None };
        only.mfu_share.map(|mfu| format!("{:.1} %", 100.0 * mfu))
    }),
    ("a million tokens", |choice| {
        let cost = choice.million_tokens_cost?;
        Some(format!("{:.4} {}", cost.as_units(), cost.currency().word()))
    }),
];

/// A table of candidates, with words of each in the last column.
fn table(choices: &[&Choice], numbered: bool, words: &str, of: fn(&Choice) -> Vec<String>) -> String {
    let has = |column: &&Column| choices.iter().any(|choice| column.1(choice).is_some());
    let columns: Vec<&Column> = COLUMNS.iter().filter(has).collect();
    let mut heads = vec![Cell::text("candidate")];
    heads.extend(columns.iter().map(|(head, _)| Cell::number(*head)));
    heads.push(Cell::words(words));
    let row = |(index, choice): (usize, &&Choice)| {
        let name = &choice.candidate.name;
        let name = if numbered { format!("{}  {name}", number(index)) } else { name.clone() };
        let mut cells = vec![Cell::name(name)];
        cells
            .extend(columns.iter().map(|(_, of)| Cell::number(of(choice).unwrap_or_else(|| "–".to_owned()))));
        cells.push(Cell::words(of(choice).join("; ")));
        cells
    };
    let rows: Vec<Vec<Cell>> = choices.iter().enumerate().map(row).collect();
    page::table(&heads, &rows, 0)
}

/// Those that nobody beats, the quickest first.
pub(super) fn front(choices: &[&Choice]) -> String {
    if choices.is_empty() {
        let why = "None has all of price and time: what is missing stands below; `--prices` takes prices.";
        return page::section("Nobody beats these", why, "");
    }
    let bound = |choice: &Choice| match &choice.step {
        Ok(step) if step.workloads.is_empty() => vec![format!("bound by {}", step.bound_by)],
        Ok(_) => training::layouts(choice),
        Err(reason) => vec![reason.clone()],
    };
    let lead =
        "Each is somewhere better than every other: in price, in power or in time. The quickest first.";
    page::section("Nobody beats these", lead, &table(choices, true, "where the time goes", bound))
}

/// Those of which something is not known.
pub(super) fn open(choices: &[&Choice]) -> String {
    if choices.is_empty() {
        return String::new();
    }
    let lead = "Nobody is known to beat these, but a price or a time is missing. “≥” sums what is known.";
    page::section(
        "Not decided",
        lead,
        &table(choices, false, "what is missing", |choice| choice.lacks.clone()),
    )
}

/// Those that lose, with what by.
pub(super) fn beaten(choices: &[&Choice]) -> String {
    if choices.is_empty() {
        return String::new();
    }
    let lead = "For each there is one that is nowhere worse and somewhere better.";
    page::section("These lose", lead, &table(choices, false, "why", |choice| choice.loses.clone()))
}

/// Those that are no candidates.
pub(super) fn left_out(advice: &Advice) -> String {
    let reasons = text::reasons(advice);
    if reasons.is_empty() {
        return String::new();
    }
    let heads = [Cell::words("why"), Cell::soft("which")];
    let rows: Vec<Vec<Cell>> = reasons
        .into_iter()
        .map(|(reason, names)| vec![Cell::words(reason), Cell::soft(names.join(", "))])
        .collect();
    page::section("Left out", "", &page::table(&heads, &rows, 0))
}
