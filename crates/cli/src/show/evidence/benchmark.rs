//! The table of a benchmark: a few sizes, the best rate and where it was reached.

use weft_base::{Bytes, Place, Rate, Span};
use weft_formats::{Benchmark, BenchmarkRow};

use crate::show::titled;
use crate::style::Tone;
use crate::table::{Cell, Table};

/// Settings of perftest that decide what can be reached.
const SETTINGS: [&str; 5] = ["Device", "Link type", "Mtu", "GID index", "Number of qps"];

/// Sizes that are shown of a long table.
const SIZES_MAX: usize = 8;

/// One table; `None` where it has nothing to show.
pub fn section(table: &Benchmark, _place: &Place) -> Option<String> {
    if table.rows.is_empty() && table.ranks.is_empty() {
        return None;
    }
    let sizes = sizes(table);
    let shown = chosen(table, &sizes);
    let mut text = if sizes.is_empty() { String::new() } else { rows(&shown) };
    if shown.len() < sizes.len() {
        text.extend(["  ", &shown.len().to_string(), " of ", &sizes.len().to_string(), " sizes\n"]);
    }
    for line in remarks(table) {
        text.extend(["  ", &line, "\n"]);
    }
    Some(titled(&title(table), &text))
}

/// `all-reduce over 8 ranks on 1 host, NVIDIA H800 (nccl-tests, line 12)`.
fn title(table: &Benchmark) -> String {
    let what = table.collective.as_deref().or(table.operation.as_deref());
    let name = what.or(table.program.as_deref()).unwrap_or("Unnamed collective");
    let counted =
        |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    let over = table.rank_count.map(|ranks| format!(" over {}", counted(ranks, "rank", "ranks")));
    let on = Some(table.hosts().len()).filter(|hosts| *hosts > 0);
    let on = on.map(|hosts| format!(" on {}", counted(hosts, "host", "hosts")));
    let gpus = Some(table.gpus().join(" and ")).filter(|gpus| !gpus.is_empty());
    let gpus = gpus.map(|gpus| format!(", {gpus}"));
    let title: String = [Some(name.to_owned()), over, on, gpus].into_iter().flatten().collect();
    let program = match (&table.program, what) {
        (Some(program), Some(_)) => format!(" {program}"),
        _ => String::new(),
    };
    format!("{title} ({}{program}, line {})", table.tool, table.line)
}

/// One size: its half out of place, its half in place.
#[derive(Default)]
struct Size<'a> {
    bytes: Bytes,
    outside: Option<&'a BenchmarkRow>,
    inside: Option<&'a BenchmarkRow>,
}

/// Halves of one size that follow each other.
fn sizes(table: &Benchmark) -> Vec<Size<'_>> {
    let mut sizes: Vec<Size<'_>> = Vec::new();
    for row in &table.rows {
        match sizes.last_mut() {
            Some(last) if row.in_place && last.inside.is_none() && last.bytes == row.bytes => {
                last.inside = Some(row);
            }
            Some(_) | None => {
                let mut size = Size { bytes: row.bytes, ..Size::default() };
                *(if row.in_place { &mut size.inside } else { &mut size.outside }) = Some(row);
                sizes.push(size);
            }
        }
    }
    sizes
}

/// The first, the last, the best, and some between.
fn chosen<'s, 'a>(table: &Benchmark, sizes: &'s [Size<'a>]) -> Vec<&'s Size<'a>> {
    if sizes.len() <= SIZES_MAX {
        return sizes.iter().collect();
    }
    let best = table.best().map(|row| (row.bytes, row.line));
    let is_best = |size: &Size<'_>| {
        [size.outside, size.inside].iter().flatten().any(|row| Some((row.bytes, row.line)) == best)
    };
    let steps = SIZES_MAX - 2;
    let mut indices: Vec<usize> = (0..=steps).map(|step| step * (sizes.len() - 1) / steps).collect();
    indices.extend(sizes.iter().position(is_best));
    indices.sort_unstable();
    indices.dedup();
    indices.into_iter().map(|index| &sizes[index]).collect()
}

fn rows(sizes: &[&Size<'_>]) -> String {
    let has = |half: fn(&Size<'_>) -> bool| sizes.iter().any(|size| half(size));
    let (has_outside, has_inside) = (has(|size| size.outside.is_some()), has(|size| size.inside.is_some()));
    let faint = |text: &str| Cell::number(text).tone(Tone::Faint);
    let mut table = Table::default();
    let mut head = vec![faint("size")];
    let any = |of: fn(&BenchmarkRow) -> bool| {
        sizes.iter().flat_map(|size| [size.outside, size.inside]).flatten().any(of)
    };
    let columns =
        [any(|row| row.time.is_some()), any(|row| row.algbw.is_some()), any(|row| row.busbw.is_some())];
    for (has, mark) in [(has_outside, ""), (has_inside, if has_outside { " in place" } else { "" })] {
        for (column, name) in columns.iter().zip(["time", "algbw", "busbw"]) {
            if has && *column {
                head.push(faint(&format!("{name}{mark}")));
            }
        }
    }
    table.row(head);
    for size in sizes {
        let mut cells = vec![Cell::number(size.bytes.to_string())];
        for (has, row) in [(has_outside, size.outside), (has_inside, size.inside)] {
            if has {
                cells.extend(half(row, columns));
            }
        }
        table.row(cells);
    }
    table.lines()
}

fn half(row: Option<&BenchmarkRow>, columns: [bool; 3]) -> Vec<Cell> {
    let time = row.and_then(|row| row.time).map_or_else(|| "-".to_owned(), |span: Span| span.to_string());
    let rate = |rate: Option<Rate>| rate.map_or_else(|| "-".to_owned(), |rate| rate.to_string());
    let texts = [time, rate(row.and_then(|row| row.algbw)), rate(row.and_then(|row| row.busbw))];
    let shown = texts.into_iter().zip(columns).filter(|(_, shown)| *shown);
    shown.map(|(text, _)| Cell::number(text)).collect()
}

fn remarks(table: &Benchmark) -> Vec<String> {
    let mut found = Vec::new();
    let best = table.best().filter(|row| row.rate().is_some_and(|rate| rate > Rate::ZERO));
    if let Some((row, rate)) = best.and_then(|row| Some((row, row.rate()?))) {
        let name = if row.busbw.is_some() { "busbw" } else { "rate" };
        let place = if row.in_place { ", in place" } else { "" };
        found.push(format!("Best {name}: {rate} at {}{place}", row.bytes));
        let average = table.averages.first().filter(|_| table.averages.len() == 1);
        // An average far below the best one has small messages in it, and is no measure of the machine.
        if let Some(average) = average.filter(|average| average.get() < rate.get() / 10 * 8) {
            found.push(format!(
                "The tool's average over all sizes, {average}, has the small ones in it: compare the best"
            ));
        }
    }
    if let Some(wrong) = table.wrong_count.filter(|wrong| *wrong > 0) {
        found.push(format!("{wrong} results were wrong: the tool found other numbers than it expected"));
    }
    let setting = |name: &str| {
        let known = table.parameters.iter().find(|(known, _)| known == name);
        known.map(|(name, value)| format!("{name} {value}"))
    };
    let settings: Vec<String> = SETTINGS.into_iter().filter_map(setting).collect();
    if !settings.is_empty() {
        found.push(settings.join(", "));
    }
    if table.rows.is_empty() {
        found.push("No row of figures: the run ended before its first size, or the paste does".to_owned());
    }
    found
}
