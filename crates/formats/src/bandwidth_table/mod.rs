//! Tables of rates that people write themselves or that scripts print: Markdown, tabs, commas or blanks, with a
//! header that names a size or a unit; and lists such as `before_Gbps: 104`.

mod header;
#[cfg(test)]
mod tests;

use std::ops::Range;

use weft_catalogue::Catalogue;

use crate::evidence::{Benchmark, BenchmarkRow, Evidence, Record, Report, Value};
use crate::format::{Claim, Format, Line, Located, Part, Read, Text};
use crate::measured_unit::{RateUnit, Size, sizes};
use crate::ranges;
use header::{Header, Role, collective, is_ruler};

/// The reader.
#[derive(Debug)]
pub struct BandwidthTable;

impl Format for BandwidthTable {
    fn name(&self) -> &'static str {
        "bandwidth-table"
    }

    fn title(&self) -> &'static str {
        "tables of rates by size or by test, in Markdown, CSV or columns"
    }

    fn command(&self) -> Option<&'static str> {
        None
    }

    fn marks(&self) -> &'static [&'static str] {
        &["busbw", "algbw", "B/s", "b/s", "GBps", "Gbps", "gbps", "MBps", "Mbps"]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let mut claims = Vec::new();
        let mut index = 0;
        while index < text.lines.len() {
            match table_at(text.lines, index) {
                Some((_, run)) => {
                    index = run.end;
                    claims.push(Claim { yields: true, ..Claim::yes(run) });
                }
                None => index += 1,
            }
        }
        claims
    }

    fn read(&self, part: &Part<'_>, _catalogue: &Catalogue) -> Read {
        let mut read = Read::default();
        let mut used = Vec::new();
        let mut index = 0;
        while index < part.lines.len() {
            let Some((table, run)) = table_at(&part.lines, index) else {
                index += 1;
                continue;
            };
            let place = part.start_at(run.start);
            used.extend(run.clone());
            index = run.end;
            let evidence = match table {
                Table::Sizes(header) => {
                    benchmarks(&header, &part.lines[run]).into_iter().map(boxed).collect()
                }
                Table::Labels(header) => vec![Evidence::Report(Box::new(report(&header, &part.lines[run])))],
                Table::List => vec![Evidence::Report(Box::new(list(&part.lines[run])))],
            };
            read.evidence.extend(evidence.into_iter().map(|value| Located { value, place: place.clone() }));
        }
        read.unused = ranges::unused(&part.lines, &used);
        read
    }
}

fn boxed(table: Benchmark) -> Evidence {
    Evidence::Benchmark(Box::new(table))
}

/// What kind of table it is.
enum Table {
    /// Rates by size.
    Sizes(Header),
    /// Rates by the words of the first column.
    Labels(Header),
    /// A name with its unit, a colon, a figure.
    List,
}

/// The table that begins at `start`, and its lines.
fn table_at(lines: &[Line<'_>], start: usize) -> Option<(Table, Range<usize>)> {
    let text = &lines.get(start)?.text;
    if list_item(text).is_some() {
        let end = start + lines[start..].iter().take_while(|line| list_item(&line.text).is_some()).count();
        return Some((Table::List, start..end));
    }
    let mut header = Header::new(text)?;
    let mut end = start + 1;
    // A ruler of Markdown, or the units of the columns.
    while let Some(line) = lines.get(end).filter(|line| is_ruler(&line.text) || header.take_units(&line.text))
    {
        end += 1;
        if line.is_blank() {
            break;
        }
    }
    let body = end;
    while lines.get(end).is_some_and(|line| header.row(&line.text).is_some()) {
        end += 1;
    }
    let rows = end - body;
    // Two lines of prose with a number each are no table; bars make one.
    if rows == 0 || (rows == 1 && !header.has_bars()) {
        return None;
    }
    let table = if header.has(Role::Size) { Table::Sizes(header) } else { Table::Labels(header) };
    Some((table, start..end))
}

/// One benchmark per label and, where several columns are no algbw and busbw of one run, per column.
fn benchmarks(header: &Header, lines: &[Line<'_>]) -> Vec<Benchmark> {
    let rows: Vec<(u32, Vec<&str>)> =
        lines.iter().filter_map(|line| Some((line.number, header.row(&line.text)?))).collect();
    let size_column = header.roles().position(|role| role == Role::Size).unwrap_or(0);
    let read: Vec<Size> = rows.iter().filter_map(|(_, cells)| Size::new(cells.get(size_column)?)).collect();
    let sizes = sizes(&read);
    let mut found: Vec<(String, Benchmark)> = Vec::new();
    for ((number, cells), bytes) in rows.iter().zip(sizes) {
        let label = header.label(cells);
        for column in header.series() {
            let name = [label.as_str(), header.series_name(column)];
            let name = name.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", ");
            let mut row = BenchmarkRow { bytes, line: *number, ..BenchmarkRow::default() };
            header.fill(&mut row, column, cells);
            if row.rate().is_none() && row.time.is_none() {
                continue;
            }
            match found.iter_mut().find(|(known, _)| *known == name) {
                Some((_, table)) => table.rows.push(row),
                None => found.push((name.clone(), new_table(&name, lines, row))),
            }
            if found.len() > TABLES_MAX {
                return found.into_iter().map(|(_, table)| table).collect();
            }
        }
    }
    found.into_iter().map(|(_, table)| table).collect()
}

/// Tables of more labels than this are no benchmark; the search for a label's table would take too long.
const TABLES_MAX: usize = 256;

fn new_table(name: &str, lines: &[Line<'_>], row: BenchmarkRow) -> Benchmark {
    let collective = collective(name);
    Benchmark {
        tool: "bandwidth-table",
        operation: Some(name.to_owned()).filter(|name| !name.is_empty() && collective.is_none()),
        collective,
        rows: vec![row],
        line: lines.first().map_or(1, |line| line.number),
        ..Benchmark::default()
    }
}

/// A record per row: the label, and a rate per column.
fn report(header: &Header, lines: &[Line<'_>]) -> Report {
    let mut report = Report { format: "bandwidth-table", ..Report::default() };
    for line in lines {
        let Some(cells) = header.row(&line.text) else { continue };
        let mut record = Record::new("test", header.label(&cells), line.number);
        for (name, rate) in header.rates(&cells) {
            record.push(name, Value::Rate(rate), line.number);
        }
        if !record.fields.is_empty() {
            report.records.push(record);
        }
    }
    report
}

fn list(lines: &[Line<'_>]) -> Report {
    let mut report = Report { format: "bandwidth-table", ..Report::default() };
    for line in lines {
        if let Some((name, rate)) = list_item(&line.text) {
            let mut record = Record::new("test", name, line.number);
            record.push("rate", Value::Rate(rate), line.number);
            report.records.push(record);
        }
    }
    report
}

/// `before_Gbps: 104`; pairs of devices are a list of their own.
fn list_item(text: &str) -> Option<(&str, weft_base::Rate)> {
    let text = text.trim();
    if text.len() > 80 || !text.ends_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (key, number) = text.split_once(':')?;
    let (name, unit) = key.rsplit_once('_')?;
    let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    let (known, _) = RateUnit::within(unit).filter(|(_, spelled)| *spelled == unit && is_word)?;
    if name.starts_with("pair") {
        return None;
    }
    Some((name, known.rate(number.trim().parse().ok()?)?))
}
