//! `ibqueryerrors`: counters of ports that are beyond their thresholds.

use crate::block::{Block, BlockFormat, Step, is_prefix};
use crate::evidence::{Record, Value};
use crate::format::Line;
use crate::port_report::{camel, whole};

/// The reader.
pub(crate) const IBQUERYERRORS: BlockFormat = BlockFormat {
    name: "ibqueryerrors",
    title: "error counters of an InfiniBand subnet: ibqueryerrors",
    command: Some("ibqueryerrors"),
    marks: &["GUID 0x"],
    starts,
    step,
    records,
};

/// The node of `Errors for 0x… "leaf-1"` or `Errors for "host-1 HCA-1"`.
fn node(text: &str) -> Option<&str> {
    let rest = text.trim().strip_prefix("Errors for ")?;
    let (_, name) = rest.split_once('"')?;
    name.strip_suffix('"')
}

/// GUID, port and the counters of `GUID 0x… port 1: [SymbolErrorCounter == 5] [PortXmitWait == 12]`.
fn counters(text: &str) -> Option<(&str, &str, &str)> {
    let rest = text.trim().strip_prefix("GUID ")?;
    let (guid, rest) = rest.split_once(" port ")?;
    let (port, rest) = rest.split_once(':')?;
    (guid.starts_with("0x") && !guid.contains(' ') && rest.contains("==")).then_some((guid, port, rest))
}

fn starts(lines: &[Line<'_>], index: usize) -> Option<usize> {
    let text: &str = &lines[index].text;
    let offset = text.find("Errors for ").or_else(|| text.find("GUID 0x"))?;
    let own = &text[offset..];
    (is_prefix(&text[..offset]) && (node(own).is_some() || counters(own).is_some())).then_some(offset)
}

fn step(text: &str, _: &str) -> Step {
    let own = text.trim_start();
    if own.is_empty() {
        Step::Perhaps
    } else if node(text).is_some()
        || counters(text).is_some()
        || own.starts_with("Link info:")
        || own.starts_with("## ")
    {
        Step::More
    } else {
        Step::End
    }
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    let mut name = "";
    for line in &block.lines {
        let own = line.text.trim_start();
        if let Some(found) = node(line.text) {
            line.using();
            name = found;
        } else if let Some((guid, port, rest)) = counters(line.text) {
            line.using();
            let mut record = Record::new("counter", format!("{guid} port {port}"), line.number);
            if !name.is_empty() {
                record.push("node", Value::Text(name.to_owned()), line.number);
            }
            for cell in rest.split('[').skip(1) {
                let cell = cell.split(']').next().unwrap_or_default();
                let Some((counter, value)) = cell.split_once("==") else { continue };
                let value = value.trim();
                // `PortXmitData == 1048576 (4.000MB)`.
                let count = value.split(' ').next().and_then(whole);
                let value = count.map_or_else(|| Value::Text(value.to_owned()), Value::Count);
                record.push(camel(counter.trim()), value, line.number);
            }
            records.push(record);
        } else if let Some(link) = own.strip_prefix("Link info:") {
            line.using();
            if let Some(record) = records.last_mut() {
                record.push(
                    "link",
                    Value::Text(link.split_whitespace().collect::<Vec<_>>().join(" ")),
                    line.number,
                );
            }
        } else if own.starts_with("## ") {
            line.using();
        }
    }
    records
}
