//! `sminfo`: the subnet manager that a host sees.

use crate::block::{Block, BlockFormat, Step, behind_prefix, number};
use crate::evidence::{Record, Value};
use crate::format::Line;

/// The reader.
pub(crate) const SMINFO: BlockFormat = BlockFormat {
    name: "sminfo",
    title: "the subnet manager: sminfo",
    command: Some("sminfo"),
    marks: &[MARK],
    starts,
    step,
    records,
};

const MARK: &str = "sminfo: sm lid ";

fn starts(lines: &[Line<'_>], index: usize) -> Option<usize> {
    behind_prefix(&lines[index].text, MARK)
}

fn step(_: &str, _: &str) -> Step {
    Step::End
}

/// `sminfo: sm lid 1 sm guid 0x…, activity count 5353 priority 14 state 3 SMINFO_MASTER`.
fn records(block: &Block<'_>) -> Vec<Record> {
    let Some(line) = block.lines.first().filter(|line| line.text.contains(MARK)) else { return Vec::new() };
    line.using();
    let words: Vec<&str> = line.text.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let behind = |name: &str| {
        let name: Vec<&str> = name.split(' ').collect();
        let at = words.windows(name.len()).position(|window| window == name.as_slice())?;
        words.get(at + name.len()).copied()
    };
    let mut record = Record::new("service", "subnet manager", line.number);
    for (name, words) in [
        ("lid", "sm lid"),
        ("guid", "sm guid"),
        ("activity-count", "activity count"),
        ("priority", "priority"),
    ] {
        if let Some(text) = behind(words) {
            let value = number(text).map_or_else(|| Value::Text(text.to_owned()), Value::Count);
            record.push(name, value, line.number);
        }
    }
    if let Some(state) = words.last().filter(|word| word.starts_with("SMINFO_")) {
        record.push("state", Value::Text((*state).to_owned()), line.number);
    }
    vec![record]
}
