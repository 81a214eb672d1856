//! `numactl -H`: NUMA nodes with their CPUs, memory and distances.

use crate::block::{self, Block, BlockFormat, Step, field_name, is_prefix};
use crate::evidence::{Record, Value};
use crate::format::Line;

/// The reader.
pub(crate) const NUMACTL_HARDWARE: BlockFormat = BlockFormat {
    name: "numactl-hardware",
    title: "NUMA nodes: numactl -H",
    command: Some("numactl -H"),
    marks: &["available: ", "node distances:", "node 0 cpus:"],
    starts,
    step,
    records,
};

fn starts(lines: &[Line<'_>], index: usize) -> Option<usize> {
    let text: &str = &lines[index].text;
    let available = text.find("available: ").filter(|offset| text[*offset..].contains(" nodes ("));
    let offset = available.or_else(|| text.find("node distances:")).or_else(|| text.find("node 0 cpus:"))?;
    is_prefix(&text[..offset]).then_some(offset)
}

/// Node, what is said, and the value, of `node 0 size: 515000 MB`.
fn statement(text: &str) -> Option<(u64, &str, &str)> {
    let (head, value) = text.trim().strip_prefix("node ")?.split_once(':')?;
    let (node, name) = head.trim().split_once(' ')?;
    Some((block::number(node)?, name.trim(), value.trim()))
}

/// Node and distances of `  0:  10  21`.
fn distances(text: &str) -> Option<(u64, Vec<u64>)> {
    let (node, rest) = text.trim().split_once(':')?;
    let list: Option<Vec<u64>> = rest.split_whitespace().map(block::number).collect();
    Some((block::number(node.trim())?, list.filter(|list| !list.is_empty())?))
}

/// `node   0   1`, the head of the distances.
fn is_head(text: &str) -> bool {
    let text = text.trim();
    text == "node distances:"
        || text
            .strip_prefix("node ")
            .is_some_and(|rest| rest.split_whitespace().all(|word| block::number(word).is_some()))
}

fn step(text: &str, _: &str) -> Step {
    if text.trim().is_empty() {
        return Step::Perhaps;
    }
    if statement(text).is_some() || distances(text).is_some() || is_head(text) {
        Step::More
    } else {
        Step::End
    }
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let mut records: Vec<(u64, Record)> = Vec::new();
    let mut heads = Vec::new();
    let mut columns: Vec<u64> = Vec::new();
    for line in &block.lines {
        if let Some((node, name, value)) = statement(line.text) {
            line.using();
            let value = block::number(value)
                .filter(|_| name != "cpus")
                .map_or_else(|| Value::Text(value.to_owned()), Value::Count);
            of_node(&mut records, node, line.number).push(field_name(name), value, line.number);
        } else if let Some((node, list)) = distances(line.text) {
            line.using();
            let record = of_node(&mut records, node, line.number);
            for (at, distance) in list.iter().enumerate() {
                let to = columns.get(at).copied().unwrap_or(at as u64);
                record.push(format!("distance-to-{to}"), Value::Count(*distance), line.number);
            }
        } else if !line.text.trim().is_empty() {
            columns = line.text.split_whitespace().filter_map(block::number).collect();
            heads.push(line);
        }
    }
    if !records.is_empty() {
        for line in heads {
            line.using();
        }
    }
    records.into_iter().map(|(_, record)| record).collect()
}

fn of_node(records: &mut Vec<(u64, Record)>, node: u64, line: u32) -> &mut Record {
    let at = records.iter().position(|(number, _)| *number == node).unwrap_or_else(|| {
        records.push((node, Record::new("numa-node", format!("node {node}"), line)));
        records.len() - 1
    });
    &mut records[at].1
}

#[cfg(test)]
mod tests {
    use crate::{Evidence, Source};

    #[test]
    fn nodes_have_cpus_memory_and_distances() {
        let text = "available: 2 nodes (0,8)\nnode 0 cpus: 0 1 2\nnode 0 size: 515000 MB\nnode 8 cpus:\nnode 8 size: 0 MB\n\
                    node distances:\nnode   0   8 \n  0:  10  40 \n  8:  40  10 \n";
        let reading = crate::read(&Source::file("t", text), weft_catalogue::Catalogue::embedded(), None);
        let Evidence::Report(report) = &reading.evidence[0].value else { panic!("{reading:?}") };
        let [first, second] = &report.records[..] else { panic!("{report:?}") };
        assert_eq!(
            (first.text("cpus"), first.text("size"), first.count("distance-to-8")),
            (Some("0 1 2"), Some("515000 MB"), Some(40))
        );
        assert_eq!((second.subject.as_str(), second.count("distance-to-0")), ("node 8", Some(40)));
        assert!(reading.diagnostics.is_empty(), "{:?}", reading.diagnostics);
    }
}
