//! Tables of benchmarks, and rates that people tell in other words.

use weft_base::{Rate, Span};
use weft_formats::{Benchmark, BenchmarkRow, Evidence, Measure, Reading, Value};
use weft_testkit::noted::Noted;

use crate::{logs, reports};

/// Notes that cannot be right: the file, the key and why.
const WRONG: &[(&str, &str, &str)] = &[
    ("032-", "rows", "the row is there, of the same form as that of 030, where it was counted"),
    ("096-", "rows", "the text has five rows"),
    ("096-", "ranks", "the text does not say, and all rates are too small to tell"),
    ("111-", "ranks", "the text does not say, and all rates are too small to tell"),
    ("113-", "avg_bus_bandwidth", "the text ends at the header"),
];

/// What differs from the notes of a benchmark.
pub fn misses(file: &Noted, reading: &Reading) -> Option<Vec<String>> {
    if file.kind != "E" || logs::is_own(file) || reports::is_own(file) {
        return None;
    }
    let (tables, rates) = found(reading);
    Some(differences(file, &tables, &rates))
}

/// Benchmarks, and the rates of all else.
fn found(reading: &Reading) -> (Vec<&Benchmark>, Vec<f64>) {
    let (mut tables, mut rates) = (Vec::new(), Vec::new());
    for located in &reading.evidence {
        if let Evidence::Benchmark(table) = &located.value {
            tables.push(&**table);
        } else if let Evidence::Pairs(table) = &located.value {
            rates.extend(table.cells.iter().filter_map(|cell| match cell.measure {
                Measure::Rate(rate) => Some(rate),
                Measure::Span(_) | Measure::Access(_) => None,
            }));
        } else if let Evidence::Report(report) = &located.value {
            let fields = report.records.iter().flat_map(|record| &record.fields);
            rates.extend(fields.filter_map(|field| match field.value {
                Value::Rate(rate) => Some(rate),
                Value::Text(_) | Value::Count(_) | Value::Flag(_) => None,
            }));
        }
    }
    rates.sort_unstable();
    (tables, rates.into_iter().map(Rate::as_gigabytes).collect())
}

/// Each line once: of a line with two halves, that which ran out of place.
fn lines<'a>(tables: &[&'a Benchmark]) -> Vec<&'a BenchmarkRow> {
    let mut lines: Vec<&BenchmarkRow> = Vec::new();
    for row in tables.iter().copied().flat_map(|table| &table.rows) {
        if lines.last().is_none_or(|last| last.line != row.line)
            && !(row.in_place && lines.last().is_some_and(|last| last.bytes == row.bytes && !last.in_place))
        {
            lines.push(row);
        }
    }
    lines
}

fn differences(file: &Noted, tables: &[&Benchmark], rates: &[f64]) -> Vec<String> {
    let lines = lines(tables);
    let rows = || tables.iter().flat_map(|table| &table.rows);
    let gigabytes = |rate: Option<Rate>| rate.map(Rate::as_gigabytes);
    let microseconds = |row: Option<&&BenchmarkRow>| row.and_then(|row| row.time).map(Span::as_microseconds);
    let largest = lines.iter().rev().max_by_key(|row| row.bytes);
    let smallest = lines.iter().min_by_key(|row| row.bytes);
    let first = tables.first();
    let count = |count: usize| u32::try_from(count).ok().map(f64::from);
    let averages = first.and_then(|table| table.averages.first());
    let found = [
        ("rows", count(lines.len())),
        ("min_size", smallest.map(|row| row.bytes.as_f64())),
        ("max_size", largest.map(|row| row.bytes.as_f64())),
        ("best_busbw_gbps", gigabytes(rows().filter_map(|row| row.busbw).max())),
        ("largest_size_busbw_oop_gbps", gigabytes(largest.and_then(|row| row.busbw))),
        ("largest_size_time_us", microseconds(largest)),
        ("smallest_size_time_us", microseconds(smallest)),
        ("avg_bus_bandwidth", gigabytes(averages.copied())),
        ("hosts", first.and_then(|table| count(table.hosts().len()))),
        ("ranks", first.and_then(|table| table.rank_count).and_then(count)),
        ("max_value", gigabytes(rows().filter_map(BenchmarkRow::rate).max())),
    ];
    let skip = |key: &str| WRONG.iter().any(|(name, wrong, _)| file.is(name) && *wrong == key);
    let mut misses: Vec<String> = found
        .iter()
        .filter(|(key, _)| !skip(key))
        .filter_map(|(key, found)| file.miss(key, *found))
        .collect();
    // The notes have whole figures of these.
    for (key, rate) in [("good_gbps", rates.last()), ("bad_gbps", rates.first())] {
        if let Some(wanted) = file.number(key) {
            if !rate.is_some_and(|rate| (rate - wanted).abs() <= 0.5) {
                misses.push(format!("{key}: found {rate:?}, wanted {wanted}"));
            }
        }
    }
    if let Some(gpu) = file.expected.get("gpu").and_then(|gpu| gpu.as_str()) {
        let found = first.and_then(|table| table.gpus().first().copied().map(str::to_owned));
        if found.as_deref() != Some(gpu) {
            misses.push(format!("gpu: found {found:?}, wanted {gpu}"));
        }
    }
    misses
}
