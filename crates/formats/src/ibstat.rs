//! `ibstat`: the adapters of a host and their ports.

use crate::block::{self, Block, BlockFormat, Step, field_name, is_prefix};
use crate::evidence::{Record, Value};
use crate::format::Line;
use crate::port_report::{PortFormat, gigabits};

/// The reader.
pub(crate) const IBSTAT: PortFormat = PortFormat(BlockFormat {
    name: "ibstat",
    title: "InfiniBand adapters and their ports: ibstat",
    command: Some("ibstat"),
    marks: &["CA '", "CA: '", "Switch '"],
    starts,
    step,
    records,
});

/// The adapter that a heading names.
fn adapter(text: &str) -> Option<&str> {
    let text = text.trim();
    let rest = ["CA '", "CA: '", "Switch '", "Router '"].iter().find_map(|word| text.strip_prefix(word))?;
    rest.strip_suffix('\'').filter(|name| !name.is_empty() && !name.contains(['\'', ' ']))
}

fn starts(lines: &[Line<'_>], index: usize) -> Option<usize> {
    let text: &str = &lines[index].text;
    let quote = text.find('\'')?;
    let word = ["CA ", "CA: ", "Switch "].iter().find(|word| text[..quote].ends_with(**word))?;
    let offset = quote - word.len();
    (is_prefix(&text[..offset]) && adapter(&text[offset..]).is_some()).then_some(offset)
}

/// The number in `Port 1:`.
fn port(text: &str) -> Option<u64> {
    block::number(text.trim().strip_prefix("Port ")?.strip_suffix(':')?)
}

fn step(text: &str, _: &str) -> Step {
    if text.trim().is_empty() {
        return Step::Perhaps;
    }
    let known = [
        "CA type:",
        "Switch type:",
        "Number of ports:",
        "Firmware version:",
        "Hardware version:",
        "Node GUID:",
        "System image GUID:",
        "State:",
        "Physical state:",
        "Rate:",
        "Base lid:",
        "LMC:",
        "SM lid:",
        "Capability mask:",
        "Port GUID:",
        "Link layer:",
        "Node name:",
    ];
    let own = text.trim_start();
    let is_known =
        adapter(text).is_some() || port(text).is_some() || known.iter().any(|key| own.starts_with(key));
    if is_known { Step::More } else { Step::End }
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    let mut name = "";
    for line in &block.lines {
        if let Some(found) = adapter(line.text) {
            name = found;
            line.using();
            records.push(Record::new("adapter", name, line.number));
        } else if let Some(number) = port(line.text) {
            line.using();
            records.push(Record::new("port", format!("{name} port {number}"), line.number));
        } else if let (Some((key, text)), Some(record)) = (block::pair(line.text), records.last_mut()) {
            line.using();
            let field = field_name(key);
            let value = match field.as_str() {
                "rate" => gigabits(text).map_or_else(|| Value::Text(text.to_owned()), Value::Rate),
                "base-lid" | "sm-lid" | "lmc" | "number-of-ports" => block::value(text),
                _ => Value::Text(text.to_owned()),
            };
            record.push(field, value, line.number);
        }
    }
    records
}
