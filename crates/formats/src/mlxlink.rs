//! `mlxlink`: one port in depth, with bit errors, counters and what the module says.

use crate::block::{self, Block, BlockFormat, Step, behind_prefix, field_name};
use crate::evidence::{Record, Value};
use crate::format::Line;
use crate::port_report::PortFormat;

/// The reader.
pub(crate) const MLXLINK: PortFormat = PortFormat(BlockFormat {
    name: "mlxlink",
    title: "one port with bit errors and module: mlxlink",
    command: Some("mlxlink -d mlx5_0 -c -e -m"),
    marks: &[HEAD],
    starts,
    step,
    records,
});

const HEAD: &str = "Operational Info";

fn starts(lines: &[Line<'_>], index: usize) -> Option<usize> {
    let offset = behind_prefix(&lines[index].text, HEAD)?;
    (lines[index].text[offset..].trim() == HEAD).then_some(offset)
}

/// `Physical Counters and BER Info`, `Module Info`.
fn is_heading(text: &str) -> bool {
    let text = text.trim();
    let last = text.split(' ').next_back().unwrap_or_default();
    !text.contains(':') && matches!(last, "Info" | "Information" | "Status" | "Counters") && text.len() < 60
}

fn is_rule(text: &str) -> bool {
    let text = text.trim();
    text.len() > 2 && text.chars().all(|c| c == '-')
}

fn step(text: &str, last: &str) -> Step {
    if text.trim().is_empty() {
        Step::Perhaps
    } else if is_rule(text) || is_heading(text) {
        // A heading has a rule below it, and more headings may follow each other only so.
        if is_heading(text) && is_heading(last) { Step::End } else { Step::More }
    } else if text.contains(" : ") || text.trim_end().ends_with(" :") {
        Step::More
    } else {
        Step::End
    }
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    for line in &block.lines {
        let text = line.text.trim();
        if text == HEAD {
            line.using();
            records.push(Record::new("port", "port", line.number));
        } else if is_heading(text) || is_rule(text) {
            line.using();
        } else if let (Some((key, value)), Some(record)) = (text.split_once(" :"), records.last_mut()) {
            line.using();
            let value = value.trim();
            let value = block::number(value).map_or_else(|| Value::Text(value.to_owned()), Value::Count);
            record.push(field_name(key.trim_end()), value, line.number);
        }
    }
    records
}
