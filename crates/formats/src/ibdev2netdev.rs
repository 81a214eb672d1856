//! `ibdev2netdev`, also with `-v`: which network interface belongs to which port of an adapter.

use crate::block::{Block, BlockFormat, Step};
use crate::evidence::{Record, Value};
use crate::format::Line;
use crate::prefix;

/// The reader.
pub(crate) const IBDEV2NETDEV: BlockFormat = BlockFormat {
    name: "ibdev2netdev",
    title: "network interfaces of RDMA devices: ibdev2netdev",
    command: Some("ibdev2netdev"),
    marks: &["==> "],
    starts,
    step,
    records,
};

struct Row<'a> {
    adapter: &'a str,
    port: u32,
    interface: &'a str,
    state: &'a str,
    /// PCI address and what `-v` tells of the card.
    address: Option<&'a str>,
    card: Option<&'a str>,
}

/// `mlx5_0 port 1 ==> ib0 (Up)`, `0000:1b:00.0 mlx5_0 (MT4129 - …) … port 1 (ACTIVE) ==> ib0 (Up)`.
fn row(text: &str) -> Option<Row<'_>> {
    let (left, right) = text.trim().split_once(" ==> ")?;
    let (head, port) = left.rsplit_once(" port ")?;
    let port = port.split(' ').next()?.parse().ok()?;
    let (interface, state) = right.rsplit_once(" (")?;
    let state = state.strip_suffix(')').filter(|state| matches!(*state, "Up" | "Down" | "Unknown"))?;
    let (first, rest) = head.split_once(' ').unwrap_or((head, ""));
    if !first.contains(':') {
        return rest.is_empty().then_some(Row {
            adapter: first,
            port,
            interface,
            state,
            address: None,
            card: None,
        });
    }
    let (adapter, card) = rest.split_once(' ').unwrap_or((rest, ""));
    Some(Row { adapter, port, interface, state, address: Some(first), card: Some(card.trim()) })
}

fn starts(lines: &[Line<'_>], index: usize) -> Option<usize> {
    let text: &str = &lines[index].text;
    if !text.contains(" ==> ") {
        return None;
    }
    if row(text).is_some() {
        return Some(text.len() - text.trim_start().len());
    }
    let body = prefix::body(text);
    row(body.text).map(|_| body.offset)
}

fn step(text: &str, _: &str) -> Step {
    if row(text).is_some() { Step::More } else { Step::End }
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let mut records = Vec::new();
    for line in &block.lines {
        let Some(row) = row(line.text) else { continue };
        line.using();
        let mut record = Record::new("port", format!("{} port {}", row.adapter, row.port), line.number);
        record.push("interface", Value::Text(row.interface.to_owned()), line.number);
        record.push("interface-state", Value::Text(row.state.to_owned()), line.number);
        if let Some(address) = row.address {
            record.push("address", Value::Text(address.to_owned()), line.number);
        }
        if let Some(card) = row.card.filter(|card| !card.is_empty()) {
            record.push("card", Value::Text(card.to_owned()), line.number);
        }
        records.push(record);
    }
    records
}
