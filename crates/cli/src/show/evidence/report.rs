//! Records of a tool, one line each.

use weft_base::Place;
use weft_formats::{Record, Report, Value};

use crate::show::titled;
use crate::style::Tone;
use crate::table::{Cell, Table};

/// Records that are shown of one report; the rest is counted.
const RECORDS_MAX: usize = 40;

/// Statements that are shown of one record; JSON has all of them.
const FIELDS_MAX: usize = 24;

/// The records of one report; `None` where it has none.
pub fn section(report: &Report, place: &Place) -> Option<String> {
    if report.records.is_empty() {
        return None;
    }
    let mut table = Table::default();
    for record in report.records.iter().take(RECORDS_MAX) {
        table.row([Cell::new(&record.subject).tone(Tone::Faint), Cell::new(fields(record)).wide()]);
    }
    let mut lines = table.lines();
    let left = report.records.len().saturating_sub(RECORDS_MAX);
    if left > 0 {
        lines.extend(["  and ", &left.to_string(), " more\n"]);
    }
    if report.format == weft_probe::SOURCE {
        return Some(titled("Ports, drivers and counters", &lines));
    }
    Some(titled(&super::title(report.format, report.host.as_deref(), place), &lines))
}

fn fields(record: &Record) -> String {
    let field = |field: &weft_formats::Field| match &field.value {
        Value::Text(text) => format!("{} {text}", field.name),
        Value::Count(count) => format!("{} {count}", field.name),
        Value::Rate(rate) => format!("{} {rate}", field.name),
        Value::Flag(true) => format!("{} yes", field.name),
        Value::Flag(false) => format!("{} no", field.name),
    };
    let mut shown: Vec<String> = record.fields.iter().take(FIELDS_MAX).map(field).collect();
    if let Some(left @ 1..) = record.fields.len().checked_sub(FIELDS_MAX) {
        shown.push(format!("and {left} more"));
    }
    shown.join(", ")
}
