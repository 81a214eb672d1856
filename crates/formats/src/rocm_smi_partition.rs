//! `rocm-smi --showcomputepartition`, `--showmemorypartition`: how the dies of AMD GPUs are cut into devices.

use crate::block::{Block, BlockFormat, Step, is_prefix};
use crate::evidence::{Record, Value};
use crate::format::Line;

/// The reader.
pub(crate) const ROCM_SMI_PARTITION: BlockFormat = BlockFormat {
    name: "rocm-smi-partition",
    title: "how AMD GPUs are cut into devices: rocm-smi --showcomputepartition",
    command: Some("rocm-smi --showcomputepartition --showmemorypartition"),
    marks: &["Compute Partition", "Memory Partition"],
    starts,
    step,
    records,
};

/// `===== Current Compute Partition =====`.
fn is_title(text: &str) -> bool {
    let inner = text.trim().trim_matches('=').trim();
    text.contains("==") && matches!(inner, "Current Compute Partition" | "Current Memory Partition")
}

/// What stands above and below all outputs of the tool, and bars.
fn is_frame(text: &str) -> bool {
    let inner = text.trim().trim_matches('=').trim();
    text.contains("==")
        && (inner.is_empty() || inner.starts_with("ROCm System Management") || inner == "End of ROCm SMI Log")
}

/// Number, what and value of `GPU[0] : Compute Partition: CPX`.
fn partition(text: &str) -> Option<(&str, &'static str, &str)> {
    let rest = text.trim().strip_prefix("GPU[")?;
    let (number, rest) = rest.split_once(']')?;
    let (what, value) = rest.trim_start().strip_prefix(':')?.split_once(':')?;
    let field = match what.trim() {
        "Compute Partition" => "compute-partition",
        "Memory Partition" => "memory-partition",
        _ => return None,
    };
    number.parse::<u16>().is_ok().then_some((number, field, value.trim()))
}

fn starts(lines: &[Line<'_>], index: usize) -> Option<usize> {
    let text: &str = &lines[index].text;
    let offset = text.find("GPU[").or_else(|| text.find("=="))?;
    let own = text.get(offset..)?;
    let below = || lines.iter().skip(index + 1).find(|line| !line.is_blank());
    let begins = partition(own).is_some()
        || is_title(own)
        || is_frame(own) && below().is_some_and(|line| is_title(&line.text));
    (begins && is_prefix(&text[..offset])).then_some(offset)
}

fn step(text: &str, _: &str) -> Step {
    if partition(text).is_some() || is_title(text) {
        Step::More
    } else if text.trim().is_empty() {
        Step::Perhaps
    } else if is_frame(text) {
        Step::More
    } else {
        Step::End
    }
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    for line in &block.lines {
        if let Some((number, field, value)) = partition(line.text) {
            line.using();
            let subject = format!("GPU {number}");
            let at = records.iter().position(|record| record.subject == subject).unwrap_or_else(|| {
                records.push(Record::new("gpu", subject, line.number));
                records.len() - 1
            });
            records[at].push(field, Value::Text(value.to_owned()), line.number);
        } else if is_title(line.text) || is_frame(line.text) {
            line.using();
        }
    }
    records
}

#[cfg(test)]
mod tests {
    use weft_catalogue::Catalogue;

    use crate::evidence::Evidence;
    use crate::format::Source;

    #[test]
    fn partitions_are_read_for_each_gpu() {
        let text = include_str!("../../../examples/formats/rocm-smi-partition/cpx.txt");
        let reading = crate::read(&Source::file("t", text), Catalogue::embedded(), None);
        assert!(reading.diagnostics.is_empty(), "{:?}", reading.diagnostics);
        let Evidence::Report(report) = &reading.evidence[0].value else { panic!("a report") };
        let of = |record: &crate::Record, field| record.text(field).map(str::to_owned);
        let found: Vec<_> = report
            .records
            .iter()
            .map(|gpu| (gpu.subject.as_str(), of(gpu, "compute-partition"), of(gpu, "memory-partition")))
            .collect();
        let both = (Some("CPX".to_owned()), Some("NPS4".to_owned()));
        assert_eq!(found, [("GPU 0", both.0.clone(), both.1.clone()), ("GPU 1", both.0, both.1)]);
    }
}
