//! `ibstatus`: ports of a host's adapters, from sysfs.

use crate::block::{self, Block, BlockFormat, Step, behind_prefix, field_name};
use crate::evidence::{Record, Value};
use crate::format::Line;
use crate::port_report::{PortFormat, gigabits, whole};

/// The reader.
pub(crate) const IBSTATUS: PortFormat = PortFormat(BlockFormat {
    name: "ibstatus",
    title: "ports of InfiniBand adapters: ibstatus",
    command: Some("ibstatus"),
    marks: &[HEAD],
    starts,
    step,
    records,
});

const HEAD: &str = "Infiniband device '";

fn starts(lines: &[Line<'_>], index: usize) -> Option<usize> {
    behind_prefix(&lines[index].text, HEAD)
}

/// Adapter and port of `Infiniband device 'mlx5_0' port 1 status:`.
fn head(text: &str) -> Option<String> {
    let (name, rest) = text.trim().strip_prefix(HEAD)?.split_once('\'')?;
    let port = block::number(rest.trim().strip_prefix("port ")?.split(' ').next()?)?;
    Some(format!("{name} port {port}"))
}

fn step(text: &str, _: &str) -> Step {
    let keys = ["default gid:", "base lid:", "sm lid:", "state:", "phys state:", "rate:", "link_layer:"];
    let own = text.trim_start();
    if own.is_empty() {
        Step::Perhaps
    } else if head(text).is_some() || keys.iter().any(|key| own.starts_with(key)) {
        Step::More
    } else {
        Step::End
    }
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    for line in &block.lines {
        if let Some(subject) = head(line.text) {
            line.using();
            records.push(Record::new("port", subject, line.number));
        } else if let (Some((key, text)), Some(record)) = (block::pair(line.text), records.last_mut()) {
            line.using();
            let field = match key {
                "phys state" => "physical-state".to_owned(),
                "default gid" => "gid".to_owned(),
                _ => field_name(key),
            };
            // `4: ACTIVE`.
            let word = || text.split_once(": ").map_or(text, |(_, word)| word).trim().to_owned();
            let value = match field.as_str() {
                "rate" => gigabits(text).map_or_else(|| Value::Text(text.to_owned()), Value::Rate),
                "base-lid" | "sm-lid" => {
                    whole(text).map_or_else(|| Value::Text(text.to_owned()), Value::Count)
                }
                "state" | "physical-state" => Value::Text(word()),
                _ => Value::Text(text.to_owned()),
            };
            record.push(field, value, line.number);
            // `100 Gb/sec (4X EDR)`.
            if let Some((_, width)) = text.split_once('(').filter(|_| key == "rate") {
                record.push("signalling", Value::Text(width.trim_end_matches(')').to_owned()), line.number);
            }
        }
    }
    records
}
