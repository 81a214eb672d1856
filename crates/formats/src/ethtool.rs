//! `ethtool`: settings of an Ethernet port, its driver (`-i`), features (`-k`), pause frames (`-a`), rings (`-g`),
//! channels (`-l`), error correction (`--show-fec`) and its module (`-m`).

use weft_base::Rate;

use crate::block::{
    self, Block, BlockFormat, Step, asked, asked_start, field_name, is_prefix, last_word, pair, value,
};
use crate::evidence::{Record, Value};
use crate::format::Line;

/// The reader.
pub(crate) const ETHTOOL: BlockFormat = BlockFormat {
    name: "ethtool",
    title: "settings, driver, pause frames and module of an Ethernet port: ethtool",
    command: Some("ethtool DEV"),
    marks: &[
        "Settings for ",
        "Features for ",
        "Pause parameters for ",
        "Ring parameters for ",
        "Channel parameters for ",
        "Coalesce parameters for ",
        "FEC parameters for ",
        "driver: ",
        "Identifier ",
    ],
    starts: |lines: &[Line<'_>], index| {
        asked_start(lines, index, "ethtool", head).filter(|offset| is_whole(lines, index, *offset))
    },
    step,
    records,
};

/// First lines that name the port.
const HEADS: &[&str] = &[
    "Settings for ",
    "Features for ",
    "Pause parameters for ",
    "Ring parameters for ",
    "Channel parameters for ",
    "Coalesce parameters for ",
    "FEC parameters for ",
];

fn head(text: &str) -> Option<usize> {
    let named = HEADS.iter().find_map(|mark| text.find(mark)).filter(|_| text.trim_end().ends_with(':'));
    let driver = || text.find("driver: ").filter(|offset| !text[offset + 8..].trim().contains(' '));
    let module = || text.find("Identifier ").filter(|offset| text[*offset..].contains(" : 0x"));
    named.or_else(driver).or_else(module).filter(|offset| is_prefix(&text[..*offset]))
}

/// A `driver:` line is ours only with a version below it.
fn is_whole(lines: &[Line<'_>], index: usize, offset: usize) -> bool {
    let own = lines[index].text.get(offset..).unwrap_or_default();
    !own.starts_with("driver: ") || lines.get(index + 1).is_some_and(|line| line.text.contains("version:"))
}

fn step(text: &str, last: &str) -> Step {
    if text.trim().is_empty() {
        return Step::Perhaps;
    }
    let asked_above = last.contains("ethtool ");
    if head(text).is_some() && !asked_above {
        return Step::End;
    }
    let indented = text.starts_with([' ', '\t']);
    let keyed =
        pair(text).is_some_and(|(key, _)| key.len() < 48 && !key.contains(['@', '$', '#', '<', '[', ',']));
    // Prose has blanks in it; keys at the margin are short.
    let short = pair(text).is_some_and(|(key, _)| key.split(' ').count() <= 4);
    if (indented && (keyed || !last.is_empty())) || (keyed && short) { Step::More } else { Step::End }
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let Some(first) = block.lines.first() else { return Vec::new() };
    let asked_for = asked(first.text, "ethtool").and_then(last_word);
    let named = block.lines.iter().find_map(|line| {
        let text = line.text.trim();
        HEADS.iter().find_map(|mark| text.strip_prefix(mark)).map(|rest| rest.trim_end_matches(':'))
    });
    let mut record = Record::new("port", named.or(asked_for).unwrap_or("port"), first.number);
    for line in &block.lines {
        let text = line.text.trim();
        if asked(line.text, "ethtool").is_some() || HEADS.iter().any(|mark| text.starts_with(mark)) {
            line.using();
        } else if let Some((key, text)) = pair(text) {
            line.using();
            // `Pre-set maximums:` and its like head what follows.
            if !text.is_empty() {
                record.push(field_name(key), typed(text), line.number);
            }
        } else if let Some(Value::Text(list)) = record.fields.last_mut().map(|field| &mut field.value) {
            // Link modes go on over lines.
            if !text.is_empty() && line.text.starts_with([' ', '\t']) {
                line.using();
                list.push(' ');
                list.push_str(text);
            }
        }
    }
    if record.fields.is_empty() { Vec::new() } else { vec![record] }
}

fn typed(text: &str) -> Value {
    let megabits = text.strip_suffix("Mb/s").and_then(block::number);
    if let Some(megabits) = megabits.filter(|megabits| *megabits < 100_000_000) {
        return Value::Rate(Rate::bytes_per_second(megabits * 125_000));
    }
    value(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Evidence, Reading, Source};

    fn reading(text: &str) -> Reading {
        crate::read(&Source::file("t", text), weft_catalogue::Catalogue::embedded(), None)
    }

    fn only(reading: &Reading) -> Record {
        let Evidence::Report(report) = &reading.evidence[0].value else { panic!("{reading:?}") };
        report.records[0].clone()
    }

    #[test]
    fn settings_are_read_with_their_lists() {
        let found = reading(
            "Settings for ens1np0:\n\tSupported ports: [ FIBRE ]\n\tSupported link modes:   100000baseSR4/Full\n\
             \t                        200000baseSR4/Full\n\tSpeed: 200000Mb/s\n\tDuplex: Full\n\tLink detected: yes\n\nthat is all\n",
        );
        let port = only(&found);
        assert_eq!(port.subject, "ens1np0");
        assert_eq!(port.text("supported-link-modes"), Some("100000baseSR4/Full 200000baseSR4/Full"));
        assert_eq!(port.get("speed"), Some(&Value::Rate(Rate::bytes_per_second(25_000_000_000))));
        assert_eq!(port.get("link-detected"), Some(&Value::Flag(true)));
        assert_eq!(found.diagnostics.len(), 1, "{:?}", found.diagnostics);
    }

    #[test]
    fn the_driver_is_of_the_port_that_was_asked_for() {
        let port = only(&reading(
            "$ ethtool -i eth2\ndriver: mlx5_core\nversion: 5.15.0\nfirmware-version: 28.39.1002 (MT_0)\nbus-info: 0000:1a:00.0\n",
        ));
        assert_eq!((port.subject.as_str(), port.text("bus-info")), ("eth2", Some("0000:1a:00.0")));
    }
}
