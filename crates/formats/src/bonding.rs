//! `/proc/net/bonding/*`: a bond and its members.

use crate::block::{
    Block, BlockFormat, Step, asked, asked_start, behind_prefix, field_name, last_word, pair, value,
};
use crate::evidence::{Record, Value};
use crate::format::Line;

/// The reader.
pub(crate) const BONDING: BlockFormat = BlockFormat {
    name: "bonding",
    title: "a bond and its members: /proc/net/bonding",
    command: Some("cat /proc/net/bonding/DEV"),
    marks: &[HEAD],
    starts: |lines: &[Line<'_>], index| asked_start(lines, index, "cat", |text| behind_prefix(text, HEAD)),
    step,
    records,
};

const HEAD: &str = "Ethernet Channel Bonding Driver";

fn step(text: &str, last: &str) -> Step {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Step::Perhaps;
    }
    if trimmed.starts_with(HEAD) {
        return if last.contains("cat ") { Step::More } else { Step::End };
    }
    let heading = trimmed.ends_with("info") || trimmed.ends_with(':');
    let keyed =
        pair(trimmed).is_some_and(|(key, _)| key.split(' ').count() <= 6 && !key.contains(['@', '$', '#']));
    if keyed || heading { Step::More } else { Step::End }
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let Some(first) = block.lines.first() else { return Vec::new() };
    let named = asked(first.text, "cat").and_then(last_word).and_then(|path| path.rsplit('/').next());
    let mut records = vec![Record::new("setting", named.unwrap_or("bond"), first.number)];
    let mut heading = String::new();
    for line in &block.lines {
        let text = line.text.trim();
        if asked(line.text, "cat").is_some() || text.starts_with(HEAD) {
            line.using();
            continue;
        }
        let Some((key, said)) = pair(text).filter(|(_, said)| !said.is_empty()) else {
            if !text.is_empty() {
                line.using();
                let short = text
                    .trim_end_matches([':', ' '])
                    .trim_end_matches(" info")
                    .trim_end_matches(" Info")
                    .trim_start_matches("details ");
                heading = format!("{} ", short.trim_end_matches(" pdu"));
            }
            continue;
        };
        line.using();
        if key == "Slave Interface" {
            records.push(Record::new("port", said, line.number));
            heading.clear();
        } else if let Some(record) = records.last_mut() {
            let nested = line.text.starts_with([' ', '\t']);
            let name = if nested { format!("{heading}{key}") } else { key.to_owned() };
            record.push(field_name(&name), speed(said), line.number);
        }
    }
    records.retain(|record| !record.fields.is_empty());
    records
}

/// `100000 Mbps` is a rate; all else is as usual.
fn speed(text: &str) -> Value {
    let megabits = text.strip_suffix("Mbps").and_then(|figure| figure.trim().parse::<u64>().ok());
    match megabits.filter(|megabits| *megabits < 100_000_000) {
        Some(megabits) => Value::Rate(weft_base::Rate::bytes_per_second(megabits * 125_000)),
        None => value(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Evidence, Source};

    #[test]
    fn members_are_told_from_the_bond() {
        let text = "Ethernet Channel Bonding Driver: v5.15.0\n\nBonding Mode: IEEE 802.3ad Dynamic link aggregation\nMII Status: up\n\n\
                    802.3ad info\nLACP active: on\nActive Aggregator Info:\n\tAggregator ID: 1\n\tNumber of ports: 2\n\n\
                    Slave Interface: eth0\nMII Status: up\nSpeed: 100000 Mbps\nLink Failure Count: 3\n";
        let reading = crate::read(&Source::file("t", text), weft_catalogue::Catalogue::embedded(), None);
        let Evidence::Report(report) = &reading.evidence[0].value else { panic!("{reading:?}") };
        let [bond, member] = &report.records[..] else { panic!("{report:?}") };
        assert_eq!(bond.text("bonding-mode"), Some("IEEE 802.3ad Dynamic link aggregation"));
        assert_eq!(bond.count("active-aggregator-number-of-ports"), Some(2));
        assert_eq!((member.subject.as_str(), member.count("link-failure-count")), ("eth0", Some(3)));
        assert_eq!(
            member.get("speed"),
            Some(&Value::Rate(weft_base::Rate::bytes_per_second(12_500_000_000)))
        );
        assert!(reading.diagnostics.is_empty(), "{:?}", reading.diagnostics);
    }
}
