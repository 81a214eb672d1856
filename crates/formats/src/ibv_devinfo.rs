//! `ibv_devinfo`, also with `-v`: RDMA devices of a host and their ports.

use weft_base::Rate;

use crate::block::{self, Block, BlockFormat, Step, behind_prefix, field_name};
use crate::evidence::{Record, Value};
use crate::format::Line;
use crate::port_report::{PortFormat, gigabits};

/// The reader.
pub(crate) const IBV_DEVINFO: PortFormat = PortFormat(BlockFormat {
    name: "ibv-devinfo",
    title: "RDMA devices and their ports: ibv_devinfo",
    command: Some("ibv_devinfo"),
    marks: &["hca_id:"],
    starts,
    step,
    records,
});

fn starts(lines: &[Line<'_>], index: usize) -> Option<usize> {
    behind_prefix(&lines[index].text, "hca_id:")
}

fn step(text: &str, _: &str) -> Step {
    if text.trim().is_empty() {
        return Step::Perhaps;
    }
    if text.trim_start().starts_with("hca_id:") {
        return Step::More;
    }
    // With `-v` capabilities stand below their heading, one name a line.
    let key = text.trim().split(':').next().unwrap_or_default();
    let is_name = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_[] ".contains(c))
    };
    let words = key.split_whitespace().count();
    let keyed = text.contains(':') && is_name(key) && words <= 2;
    let capability = words == 1 && is_name(key) && key.contains('_');
    let indented = text.starts_with([' ', '\t']);
    let unknown = key.starts_with("Unknown flags");
    if (keyed && (indented || key.contains('_') || key == "port" || key == "state" || key == "transport"))
        || capability
        || unknown
    {
        Step::More
    } else {
        Step::End
    }
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    let mut name = String::new();
    for line in &block.lines {
        let Some((key, text)) = block::pair(line.text) else {
            // A capability below its heading.
            if !records.is_empty() && !line.text.trim().is_empty() {
                line.using();
            }
            continue;
        };
        line.using();
        if key == "hca_id" {
            text.clone_into(&mut name);
            records.push(Record::new("adapter", text, line.number));
        } else if key == "port" {
            records.push(Record::new("port", format!("{name} port {text}"), line.number));
        } else if let Some(record) = records.last_mut() {
            push(record, key, text, line.number);
        }
    }
    for record in records.iter_mut().filter(|record| record.kind == "port") {
        let lanes = record.text("active-width").and_then(|text| text.split('X').next()?.parse::<u64>().ok());
        let lane = record.field("active-speed").and_then(|field| {
            let Value::Text(text) = &field.value else { return None };
            Some((gigabits(text)?, field.line))
        });
        if let (Some(lanes), Some((lane, line))) = (lanes.filter(|lanes| *lanes <= 12), lane) {
            record.push("rate", Value::Rate(Rate::bytes_per_second(lane.get() * lanes)), line);
        }
    }
    records
}

fn push(record: &mut Record, key: &str, text: &str, line: u32) {
    // `GID[  0]:` and its kind behind a comma.
    if key.starts_with("GID[") {
        let number: String = key.chars().filter(char::is_ascii_digit).collect();
        record.push(format!("gid-{number}"), Value::Text(text.to_owned()), line);
        return;
    }
    let name = match key {
        "node_guid" => "node-guid".to_owned(),
        "phys_state" => "physical-state".to_owned(),
        _ => field_name(key),
    };
    // `4096 (5)`, `PORT_ACTIVE (4)`: the number behind is how the driver codes it.
    let plain =
        text.split_once(" (").filter(|(_, code)| code.ends_with(')')).map_or(text, |(plain, _)| plain);
    record.push(name, block::number(plain).map_or_else(|| Value::Text(plain.to_owned()), Value::Count), line);
}
