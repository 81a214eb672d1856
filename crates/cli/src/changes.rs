//! What `weft compare` prints for a reader.

use std::fmt::Write as _;

use weft_predictor::compare::{Change, Changes, Moved, PairsChange, Said, TableChange};

use crate::names;
use crate::style::{Tone, faint, heading};
use crate::table::{Cell, Table};

/// Changes that are shown.
const SHOWN_MAX: usize = 20;

/// What got slower, and what changed.
pub fn text(found: &Changes) -> String {
    let mut sections = vec![verdict(found)];
    for table in &found.tables {
        sections.push(rows(table));
    }
    sections.extend(found.pairs.iter().map(pairs));
    if !found.expected.is_empty() {
        sections.push(expected(found));
    }
    sections.push(changes(found));
    sections.extend(rest(found));
    sections.join("\n")
}

fn verdict(found: &Changes) -> String {
    let count = |moved| {
        let rows = found.tables.iter().flat_map(|table| &table.rows);
        rows.filter(|row| row.moved == moved).count()
    };
    let slower_pairs: usize = found.pairs.iter().map(|pairs| pairs.slower.len()).sum();
    let (slower, quicker, all) = (
        count(Moved::Slower),
        count(Moved::Quicker),
        found.tables.iter().map(|table| table.rows.len()).sum::<usize>(),
    );
    let mut parts = Vec::new();
    if all > 0 {
        parts.push(format!("{slower} of {all} sizes are slower, {quicker} quicker"));
    }
    if slower_pairs > 0 {
        parts.push(format!("{} slower", names::count(slower_pairs, "pair")));
    }
    let word = if found.is_slower() { "Something got slower" } else { "Nothing got slower" };
    let measured =
        if parts.is_empty() { "nothing was measured on both sides".to_owned() } else { parts.join("; ") };
    let cause = found
        .changes
        .first()
        .filter(|_| found.is_slower())
        .map_or_else(String::new, |change| format!("\n  Most likely: {}\n", sentence(change)));
    format!("{}: {measured}\n{cause}", heading(word))
}

/// `path between GPU0 and GPU1: NV4, now NV2`.
fn sentence(change: &Change) -> String {
    let of = if change.subjects.is_empty() || change.subjects[0] == said(change.after.as_ref()) {
        String::new()
    } else {
        format!(" {}", names::first_ranges(&change.subjects))
    };
    match (&change.before, &change.after) {
        (Some(before), Some(after)) => format!("{}{of}: {}, now {}", change.what, before.text, after.text),
        (None, Some(after)) => format!("{}{of}: now {}", change.what, after.text),
        (Some(before), None) => format!("{}{of}: no longer {}", change.what, before.text),
        (None, None) => format!("{}{of}", change.what),
    }
}

fn said(said: Option<&Said>) -> &str {
    said.map_or("", |said| said.text.as_str())
}

fn rows(change: &TableChange) -> String {
    let mut table = Table::default();
    let title = |text: &str| Cell::new(text).tone(Tone::Faint);
    let right = |text: &str| Cell::number(text).tone(Tone::Faint);
    table.row([
        right("size"),
        right("before"),
        right("after"),
        right("time before"),
        right("after"),
        right("ratio"),
        title(""),
    ]);
    for row in &change.rows {
        let rate = |pick: fn(&(weft_base::Rate, weft_base::Rate)) -> weft_base::Rate| {
            row.rates.as_ref().map_or_else(|| "-".to_owned(), |rates| pick(rates).to_string())
        };
        let tone = match row.moved {
            Moved::Same => Tone::Plain,
            Moved::Slower => Tone::Slow,
            Moved::Quicker => Tone::Fast,
        };
        table.row([
            Cell::number(row.bytes.to_string()),
            Cell::number(rate(|rates| rates.0)),
            Cell::number(rate(|rates| rates.1)),
            Cell::number(row.before.0.to_string()),
            Cell::number(row.after.0.to_string()),
            Cell::number(format!("{:.2}", row.ratio)),
            Cell::new(row.moved.word()).tone(tone),
        ]);
    }
    let ranks = match change.ranks {
        (Some(before), Some(after)) if before == after => format!(" over {before} ranks"),
        (before, after) if before != after => {
            let word =
                |ranks: Option<usize>| ranks.map_or_else(|| "unknown".to_owned(), |ranks| ranks.to_string());
            format!(", over {} ranks before and {} after", word(before), word(after))
        }
        (_, _) => String::new(),
    };
    let limit = format!(
        "changed means by a factor of {:.2} or more, beyond what such runs differ by",
        change.limit_ratio
    );
    let mut text = format!(
        "{}{ranks}\n  {}\n{}  {}\n",
        heading(&change.what),
        faint(format_args!("{} and {}", change.before, change.after)),
        table.lines(),
        faint(limit)
    );
    if change.unmatched_count > 0 {
        let _ = writeln!(
            text,
            "  {}",
            faint(format_args!("{} are on one side only", names::count(change.unmatched_count, "size")))
        );
    }
    text
}

fn pairs(change: &PairsChange) -> String {
    let mut text = format!(
        "{}\n  {}\n  {} of both: median {:.2} of before, {} slower, {} quicker\n",
        heading(&change.what),
        faint(format_args!("{} and {}", change.before, change.after)),
        names::count(change.pair_count, "pair"),
        change.ratio,
        change.slower.len(),
        change.quicker_count
    );
    for (from, to, ratio) in change.slower.iter().take(4) {
        let _ = writeln!(text, "  {from} to {to}: {ratio:.2} of before");
    }
    text
}

fn expected(found: &Changes) -> String {
    let mut table = Table::default();
    for change in &found.expected {
        let ratio = change.after.as_gigabytes() / change.before.as_gigabytes().max(1e-9);
        table.row([
            Cell::number(change.bytes.to_string()),
            Cell::number(change.before.to_string()),
            Cell::new("->").tone(Tone::Faint),
            Cell::number(change.after.to_string()),
            Cell::number(format!("{ratio:.2}")),
        ]);
    }
    format!(
        "{}\n{}",
        heading("What all-reduce should reach, by the links and settings of each side"),
        table.lines()
    )
}

fn changes(found: &Changes) -> String {
    if found.changes.is_empty() {
        return format!("{}\n  nothing that both sides tell of\n", heading("What changed"));
    }
    let mut text = format!("{}, the likeliest cause of a slow-down first\n", heading("What changed"));
    for (index, change) in found.changes.iter().take(SHOWN_MAX).enumerate() {
        let place = |said: &Option<Said>| {
            said.as_ref()
                .and_then(|said| said.place.as_ref())
                .map(|place| format!("{}:{}", place.file, place.line))
        };
        let places: Vec<String> =
            [place(&change.before), place(&change.after)].into_iter().flatten().collect();
        let _ = writeln!(text, "  {:>2}  {:<8}  {}", index + 1, change.kind.name(), sentence(change));
        if !places.is_empty() {
            let _ = writeln!(text, "                {}", faint(places.join(", now ")));
        }
    }
    let more = found.changes.len().saturating_sub(SHOWN_MAX);
    if more > 0 {
        let _ = writeln!(text, "  {}", faint(format_args!("{more} more; `--format json` has all of them")));
    }
    text
}

/// What could not be compared.
fn rest(found: &Changes) -> Option<String> {
    let mut text = String::new();
    for (tool, is_before) in &found.one_sided {
        let side = if *is_before { "before" } else { "after" };
        let _ = writeln!(text, "  {tool}: only {side}");
    }
    for said in &found.unmatched {
        let place = said.place.as_ref().map_or_else(String::new, ToString::to_string);
        let _ = writeln!(text, "  {}: measured on one side only, {place}", said.text);
    }
    if found.left_out > 0 {
        let _ = writeln!(
            text,
            "  {} that change by themselves, such as temperatures",
            names::count(found.left_out, "field")
        );
    }
    (!text.is_empty()).then(|| format!("{}\n{text}", heading("Not compared")))
}
