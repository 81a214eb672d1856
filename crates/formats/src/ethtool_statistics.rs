//! `ethtool -S DEV`: counters of an Ethernet port. Counters of single queues and counters at zero that tell of no
//! fault are counted, not recorded.

use crate::block::{
    self, Block, BlockFormat, Step, asked, asked_start, field_name, is_prefix, last_word, pair,
};
use crate::evidence::{Record, Value};
use crate::format::Line;

/// The reader.
pub(crate) const ETHTOOL_STATISTICS: BlockFormat = BlockFormat {
    name: "ethtool-statistics",
    title: "counters of an Ethernet port: ethtool -S DEV",
    command: Some("ethtool -S DEV"),
    marks: &["NIC statistics:", "rx_discards_phy", "rx_prio", "tx_prio", "rx_out_of_buffer"],
    starts: |lines: &[Line<'_>], index| asked_start(lines, index, "ethtool", head),
    step,
    records,
};

/// Words in the names of counters that tell of a fault, or of flow control.
const TELLING: &[&str] = &[
    "pause",
    "discard",
    "drop",
    "err",
    "symbol",
    "crc",
    "out_of_",
    "ecn",
    "cnp",
    "timeout",
    "link_down",
    "fec",
    "corrected",
    "congest",
    "missed",
    "fault",
    "recover",
];

fn head(text: &str) -> Option<usize> {
    if let Some(offset) = text.find("NIC statistics:") {
        return is_prefix(&text[..offset]).then_some(offset);
    }
    // `ethtool -S eth0 | grep prio` has no head.
    let offset = text.len() - text.trim_start().len();
    let (name, _) = counter(text)?;
    ["rx_prio", "tx_prio", "rx_discards_phy", "rx_out_of_buffer"]
        .iter()
        .any(|known| name.starts_with(known))
        .then_some(offset)
}

/// Name and value of `     rx_prio3_pause: 12`.
fn counter(text: &str) -> Option<(&str, u64)> {
    let (name, count) = pair(text)?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.[]: ".contains(&byte);
    name.bytes().all(plain).then(|| block::number(count).map(|count| (name, count)))?
}

fn step(text: &str, last: &str) -> Step {
    let is_head = text.trim() == "NIC statistics:" && last.contains("ethtool");
    if counter(text).is_some() || is_head { Step::More } else { Step::End }
}

/// `rx12_packets`, `ch3_events`: a counter of one queue.
fn is_of_queue(name: &str) -> bool {
    let rest = ["rx", "tx", "ch", "xdp"].iter().find_map(|prefix| name.strip_prefix(prefix));
    let rest = rest.map(|rest| rest.trim_start_matches(['-', '_', '[']).trim_start_matches("queue_"));
    rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let Some(first) = block.lines.first() else { return Vec::new() };
    let port = asked(first.text, "ethtool").and_then(last_word).unwrap_or("port");
    let mut record = Record::new("counter", port, first.number);
    let (mut left, mut any) = (0, false);
    for line in &block.lines {
        if let Some((name, count)) = counter(line.text) {
            line.using();
            any = true;
            let tells = count > 0 || TELLING.iter().any(|word| name.contains(word));
            if tells && !is_of_queue(name) {
                record.push(field_name(name), Value::Count(count), line.number);
            } else {
                left += 1;
            }
        } else if line.text.contains("NIC statistics:") || asked(line.text, "ethtool").is_some() {
            line.using();
        }
    }
    if left > 0 {
        record.push("other-counters", Value::Count(left), first.number);
    }
    if any { vec![record] } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use crate::{Evidence, Source};

    #[test]
    fn counters_that_tell_something_are_kept() {
        let text = "# ethtool -S eth2\nNIC statistics:\n     rx_packets: 12\n     rx_prio3_pause: 7\n     rx0_packets: 3\n     tx_errors_phy: 0\n     rx_csum: 0\n";
        let reading = crate::read(&Source::file("t", text), weft_catalogue::Catalogue::embedded(), None);
        let Evidence::Report(report) = &reading.evidence[0].value else { panic!("{reading:?}") };
        let counters = &report.records[0];
        assert_eq!(counters.subject, "eth2");
        assert_eq!((counters.count("rx-packets"), counters.count("rx-prio3-pause")), (Some(12), Some(7)));
        assert_eq!((counters.count("tx-errors-phy"), counters.count("rx0-packets")), (Some(0), None));
        assert_eq!(counters.count("other-counters"), Some(2));
        assert!(reading.diagnostics.is_empty());
    }
}
