//! `perfquery`, also with `-x`: all counters of one port.

use crate::block::{Block, BlockFormat, Step, behind_prefix};
use crate::evidence::{Record, Value};
use crate::format::Line;
use crate::port_report::{camel, whole};

/// The reader.
pub(crate) const PERFQUERY: BlockFormat = BlockFormat {
    name: "perfquery",
    title: "counters of an InfiniBand port: perfquery",
    command: Some("perfquery"),
    marks: &["# Port counters:", "# Port extended counters:"],
    starts,
    step,
    records,
};

/// What is behind `# Port counters:`: `Lid 6 port 1 (CapMask: 0x1400)`.
fn head(text: &str) -> Option<&str> {
    let text = text.trim();
    text.strip_prefix("# Port counters:").or(text.strip_prefix("# Port extended counters:")).map(str::trim)
}

/// `SymbolErrorCounter:..............0`.
fn counter(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.trim().split_once(":.")?;
    let value = rest.trim_start_matches('.').trim();
    (name.chars().all(|c| c.is_ascii_alphanumeric()) && !name.is_empty() && !value.is_empty())
        .then_some((name, value))
}

fn starts(lines: &[Line<'_>], index: usize) -> Option<usize> {
    let text: &str = &lines[index].text;
    behind_prefix(text, "# Port counters:").or_else(|| behind_prefix(text, "# Port extended counters:"))
}

fn step(text: &str, _: &str) -> Step {
    if counter(text).is_some() { Step::More } else { Step::End }
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    for line in &block.lines {
        if let Some(head) = head(line.text) {
            line.using();
            let subject = head.split(" (").next().unwrap_or(head);
            records.push(Record::new("counter", subject, line.number));
        } else if let (Some((name, value)), Some(record)) = (counter(line.text), records.last_mut()) {
            line.using();
            record.push(
                camel(name),
                whole(value).map_or_else(|| Value::Text(value.to_owned()), Value::Count),
                line.number,
            );
        }
    }
    records
}
