//! `ip -s link`: interfaces with their state, MTU and counters; also without `-s`.

use crate::block::{self, Block, BlockFormat, Own, Step, field_name, is_prefix};
use crate::evidence::{Record, Value};
use crate::format::Line;

/// The reader.
pub(crate) const IP_LINK_STATISTICS: BlockFormat = BlockFormat {
    name: "ip-link-statistics",
    title: "interfaces with state, MTU and counters: ip -s link",
    command: Some("ip -s link"),
    marks: &["> mtu "],
    starts,
    step,
    records,
};

/// Number, name, flags and the rest of `2: eth0: <UP,LOWER_UP> mtu 9000 …`.
fn interface(text: &str) -> Option<(u64, &str, &str, &str)> {
    let (number, rest) = text.trim_start().split_once(": ")?;
    let (name, rest) = rest.split_once(": <")?;
    let (flags, rest) = rest.split_once("> ")?;
    (rest.starts_with("mtu ") && !name.contains(' ')).then_some((block::number(number)?, name, flags, rest))
}

fn starts(lines: &[Line<'_>], index: usize) -> Option<usize> {
    let text: &str = &lines[index].text;
    let flags = text.find(": <").filter(|_| text.contains("> mtu "))?;
    let name = text.get(..flags)?.rfind(": ")?;
    let number = text.get(..name)?;
    let offset = number.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |before| before + 1);
    interface(text.get(offset..)?)?;
    is_prefix(&text[..offset]).then_some(offset)
}

fn step(text: &str, _: &str) -> Step {
    if text.trim().is_empty() {
        return Step::Perhaps;
    }
    if text.starts_with([' ', '\t']) || interface(text).is_some() { Step::More } else { Step::End }
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    // Names of the columns that the next line fills.
    let mut columns: Vec<String> = Vec::new();
    for line in &block.lines {
        if let Some((_, name, flags, rest)) = interface(line.text) {
            line.using();
            columns.clear();
            let mut record = Record::new("port", name.split('@').next().unwrap_or(name), line.number);
            record.push("flags", Value::Text(flags.to_owned()), line.number);
            pairs(&mut record, rest, line.number);
            records.push(record);
            continue;
        }
        let Some(record) = records.last_mut() else { continue };
        if below(record, line, &mut columns) {
            line.using();
        }
    }
    records
}

/// A line below an interface's own.
fn below(record: &mut Record, line: &Own<'_>, columns: &mut Vec<String>) -> bool {
    let text = line.text.trim();
    let mut words = text.split_whitespace();
    let Some(first) = words.next() else { return false };
    if let Some(way) = ["RX", "TX"].into_iter().find(|way| first.starts_with(way)) {
        // `RX: bytes packets errors` and `RX errors: length crc frame`.
        let errors = text.split(':').next().is_some_and(|head| head.contains("errors"));
        let way = if errors { format!("{way} errors") } else { way.to_owned() };
        let names = text.split_once(':').map_or("", |(_, names)| names).split_whitespace();
        *columns = names.map(|name| field_name(&format!("{way} {name}"))).collect();
        return !columns.is_empty();
    }
    if !columns.is_empty() {
        let counts: Vec<u64> = text.split_whitespace().filter_map(block::number).collect();
        for (name, count) in columns.drain(..).zip(counts) {
            record.push(name, Value::Count(count), line.number);
        }
        return true;
    }
    if let Some(layer) = first.strip_prefix("link/") {
        record.push("link-layer", Value::Text(layer.to_owned()), line.number);
        if let Some(address) = words.next() {
            record.push("address", Value::Text(address.to_owned()), line.number);
        }
        return true;
    }
    let rest = text.get(first.len()..).unwrap_or_default().trim();
    match first {
        "altname" | "inet" | "inet6" => {
            record.push(first, Value::Text(words.next().unwrap_or_default().to_owned()), line.number);
            true
        }
        "vf" => {
            record.push("virtual-function", Value::Text(rest.to_owned()), line.number);
            true
        }
        "valid_lft" => true,
        _ => false,
    }
}

/// `mtu 9000 qdisc mq state UP …`.
fn pairs(record: &mut Record, text: &str, line: u32) {
    let words: Vec<&str> = text.split_whitespace().collect();
    for pair in words.chunks(2) {
        if let [name @ ("mtu" | "qdisc" | "master" | "state" | "mode" | "qlen"), value] = pair {
            record.push(
                *name,
                block::number(value).map_or_else(|| Value::Text((*value).to_owned()), Value::Count),
                line,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Evidence, Source};

    #[test]
    fn counters_are_named_by_the_line_above_them() {
        let text = "2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT group default qlen 1000\n\
                    \x20   link/ether 02:00:00:00:00:01 brd ff:ff:ff:ff:ff:ff\n    RX:  bytes packets errors dropped  missed   mcast\n\
                    \x20      100 10 0 3 0 1\n    TX:  bytes packets errors dropped carrier collsns\n       200 20 1 0 0 0\n";
        let reading = crate::read(&Source::file("t", text), weft_catalogue::Catalogue::embedded(), None);
        let Evidence::Report(report) = &reading.evidence[0].value else { panic!("{reading:?}") };
        let port = &report.records[0];
        assert_eq!((port.count("mtu"), port.text("state")), (Some(9000), Some("UP")));
        assert_eq!(
            (port.count("rx-dropped"), port.count("tx-errors"), port.count("tx-bytes")),
            (Some(3), Some(1), Some(200))
        );
        assert!(reading.diagnostics.is_empty(), "{:?}", reading.diagnostics);
    }
}
