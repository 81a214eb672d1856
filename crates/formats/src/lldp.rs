//! `lldpctl`: the switch and the port at the other end of each interface, as text or as keys and values.

use crate::block::{Block, BlockFormat, Step, is_prefix};
use crate::evidence::{Record, Value};
use crate::format::Line;

/// The reader.
pub(crate) const LLDP: BlockFormat = BlockFormat {
    name: "lldp",
    title: "the switch and port at the other end of each interface: lldpctl",
    command: Some("lldpctl"),
    marks: &["Interface:", "lldp."],
    starts,
    step,
    records,
};

/// What is said of an interface, and how the text and the keys call it.
const FIELDS: &[(&str, &str, &[&str])] = &[
    ("switch", "SysName", &["chassis.name"]),
    ("switch-id", "ChassisID", &["chassis.mac", "chassis.local"]),
    ("switch-port", "PortID", &["port.ifname", "port.local", "port.mac"]),
    ("switch-port-title", "PortDescr", &["port.descr"]),
];

/// The interface of `Interface:    eth0, via: LLDP, RID: 1, Time: 0 day, 00:01:23`.
fn interface(text: &str) -> Option<&str> {
    let (name, rest) = text.trim_start().strip_prefix("Interface:")?.trim_start().split_once(',')?;
    (rest.trim_start().starts_with("via:") && !name.contains(' ')).then_some(name)
}

/// Interface, key and value of `lldp.eth0.chassis.name=leaf01`. Interfaces of VLANs have a point in their names.
fn key(text: &str) -> Option<(&str, &str, &str)> {
    let (key, value) = text.trim().strip_prefix("lldp.")?.split_once('=')?;
    let at = [".chassis.", ".port.", ".via", ".rid", ".age", ".vlan.", ".lldp-med.", ".unknown-"].iter();
    let at = at.filter_map(|mark| key.find(mark)).min()?;
    Some((key.get(..at)?, key.get(at + 1..)?, value.trim()))
}

fn starts(lines: &[Line<'_>], index: usize) -> Option<usize> {
    let text: &str = &lines[index].text;
    let offset = text.find("Interface:").or_else(|| text.find("lldp."))?;
    let own = text.get(offset..)?;
    ((interface(own).is_some() || key(own).is_some()) && is_prefix(&text[..offset])).then_some(offset)
}

fn step(text: &str, _: &str) -> Step {
    let trimmed = text.trim();
    let is_ruler = trimmed.len() >= 10 && trimmed.bytes().all(|byte| byte == b'-');
    if trimmed.is_empty() || is_ruler {
        Step::Perhaps
    } else if interface(text).is_some() || key(text).is_some() || text.starts_with(' ') && text.contains(':')
    {
        Step::More
    } else {
        Step::End
    }
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    let begin = |name: &str, line: u32, records: &mut Vec<Record>| {
        let known = records.iter().position(|record| record.subject == name);
        known.unwrap_or_else(|| {
            records.push(Record::new("neighbour", name, line));
            records.len() - 1
        })
    };
    let mut open = None;
    for line in &block.lines {
        line.using();
        if let Some(name) = interface(line.text) {
            open = Some(begin(name, line.number, &mut records));
        } else if let Some((name, key, value)) = key(line.text) {
            let at = begin(name, line.number, &mut records);
            let field = FIELDS.iter().find(|(_, _, keys)| keys.contains(&key));
            push(&mut records[at], field.map(|it| it.0), value, line.number);
        } else if let (Some(at), Some((title, value))) = (open, line.text.trim().split_once(':')) {
            let field = FIELDS.iter().find(|(_, own, _)| *own == title.trim());
            // `mac 9c:05:91:00:00:01`, `ifname swp1`: the kind stands before the value.
            let value = value.trim();
            let kinds = ["mac", "ifname", "local", "ifalias"];
            let plain =
                value.split_once(' ').filter(|(kind, _)| kinds.contains(kind)).map_or(value, |it| it.1);
            push(&mut records[at], field.map(|it| it.0), plain, line.number);
        }
    }
    records.retain(|record| !record.fields.is_empty());
    records
}

/// Adds what is not known yet.
fn push(record: &mut Record, name: Option<&str>, value: &str, line: u32) {
    if let Some(name) = name.filter(|name| record.get(name).is_none() && !value.is_empty()) {
        record.push(name, Value::Text(value.to_owned()), line);
    }
}

#[cfg(test)]
mod tests {
    use weft_catalogue::Catalogue;

    use crate::evidence::{Evidence, Record};
    use crate::format::Source;

    fn records(text: &str) -> Vec<Record> {
        let reading = crate::read(&Source::file("t", text), Catalogue::embedded(), None);
        let Evidence::Report(report) = &reading.evidence[0].value else { panic!("a report") };
        report.records.clone()
    }

    #[test]
    fn neighbours_are_read_from_text_and_from_keys() {
        let text = records(include_str!("../../../examples/formats/lldp/text.txt"));
        let keys = records(include_str!("../../../examples/formats/lldp/keyvalue.txt"));
        for found in [text, keys] {
            let brief: Vec<_> = found
                .iter()
                .map(|it| {
                    (
                        it.subject.as_str(),
                        it.text("switch").unwrap_or(""),
                        it.text("switch-port").unwrap_or(""),
                    )
                })
                .collect();
            assert_eq!(brief, [("ens21f0np0", "leaf01", "swp7"), ("ens22f0np0", "leaf02", "swp7")]);
        }
    }
}
