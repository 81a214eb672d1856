//! What the readers of adapters' ports share: rates in Gb/s, and ports that carry nothing as findings.

use weft_base::{Diagnostic, Rate, Severity};
use weft_catalogue::Catalogue;

use crate::block::BlockFormat;
use crate::codes;
use crate::evidence::{Evidence, Record, Value};
use crate::format::{Claim, Format, Part, Read, Text};

/// A format of blocks whose records are ports; those that are down are reported.
#[derive(Debug)]
pub struct PortFormat(pub(crate) BlockFormat);

impl Format for PortFormat {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn title(&self) -> &'static str {
        self.0.title()
    }

    fn command(&self) -> Option<&'static str> {
        self.0.command()
    }

    fn marks(&self) -> &'static [&'static str] {
        self.0.marks()
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        self.0.find(text)
    }

    fn read(&self, part: &Part<'_>, catalogue: &Catalogue) -> Read {
        let mut read = self.0.read(part, catalogue);
        for located in &read.evidence {
            if let Evidence::Report(report) = &located.value {
                let ports = report.records.iter().filter(|record| record.kind == "port");
                read.diagnostics.extend(ports.filter_map(|record| down(record, part)));
            }
        }
        read
    }
}

/// A port that is not active, at the line that says so.
fn down(record: &Record, part: &Part<'_>) -> Option<Diagnostic> {
    let field = record.field("state")?;
    let Value::Text(state) = &field.value else { return None };
    let plain = state.trim_start_matches("PORT_");
    let physical = record.text("physical-state").unwrap_or_default();
    let (severity, hint) = if plain.eq_ignore_ascii_case("active") {
        return None;
    } else if plain.to_ascii_lowercase().starts_with("init") {
        (Severity::Warning, "the link is up, but no subnet manager has configured it: look for `opensm`")
    } else if physical.eq_ignore_ascii_case("disabled") {
        (Severity::Note, "it was switched off; nothing to do if nothing is cabled to it")
    } else {
        (Severity::Warning, "check the cable and the port at the other end, if something is cabled to it")
    };
    let state = if physical.is_empty() { state.clone() } else { format!("{state} ({physical})") };
    let message = format!("{} is {state}", record.subject);
    let index = part.lines.iter().position(|line| line.number == field.line)?;
    Some(Diagnostic::new(severity, codes::PORT_NOT_ACTIVE, message).hint(hint).at(part.start_at(index)))
}

/// `100`, `2.5`, `400 Gb/sec (4X NDR)`: Gb/s of one direction.
pub(crate) fn gigabits(text: &str) -> Option<Rate> {
    let number = text.split_whitespace().next()?;
    let gigabits: f64 = number.parse().ok().filter(|rate: &f64| (0.0..=100_000.0).contains(rate))?;
    Some(Rate::from_gigabytes(gigabits / 8.0))
}

/// A name written as one word with capitals: `SymbolErrorCounter` is `symbol-error-counter`.
pub(crate) fn camel(name: &str) -> String {
    let mut found = String::with_capacity(name.len() + 4);
    let mut before = ' ';
    for c in name.chars() {
        if c.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit()) {
            found.push('-');
        }
        if c.is_ascii_alphanumeric() {
            found.push(c.to_ascii_lowercase());
        } else if !found.ends_with('-') {
            found.push('-');
        }
        before = c;
    }
    found.truncate(found.trim_end_matches('-').len());
    found
}

/// A whole number, decimal or hexadecimal.
pub(crate) fn whole(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_written_with_hyphens() {
        assert_eq!(camel("SymbolErrorCounter"), "symbol-error-counter");
        assert_eq!(camel("VL15Dropped"), "vl15-dropped");
        assert_eq!(camel("PortXmitWait"), "port-xmit-wait");
    }

    #[test]
    fn rates_are_of_one_direction() {
        assert_eq!(gigabits("400 Gb/sec (4X NDR)").map(Rate::get), Some(50_000_000_000));
        assert_eq!(gigabits("2.5").map(Rate::get), Some(312_500_000));
        assert_eq!((gigabits("fast"), gigabits("1e99")), (None, None));
        assert_eq!((whole("0x1F"), whole("12"), whole("x")), (Some(31), Some(12), None));
    }
}
