//! `nvidia-smi --query-gpu=… --format=csv`: a header of the fields that were asked for, then a row per GPU.

use crate::block::{self, Block, BlockFormat, Step, field_name, is_prefix};
use crate::evidence::{Record, Value};
use crate::find::position;
use crate::format::Line;

/// The reader.
pub(crate) const NVIDIA_SMI_QUERY: BlockFormat = BlockFormat {
    name: "nvidia-smi-query",
    title: "fields of each GPU as CSV: nvidia-smi --query-gpu",
    command: Some("nvidia-smi --query-gpu=index,name,pci.bus_id,driver_version --format=csv"),
    marks: FIELDS,
    starts,
    step,
    records,
};

/// How the names of fields begin.
const FIELDS: &[&str] = &[
    "index",
    "name",
    "uuid",
    "gpu_",
    "serial",
    "count",
    "timestamp",
    "driver_version",
    "driver_model",
    "vbios_version",
    "inforom",
    "pci.",
    "pcie.",
    "memory.",
    "utilization.",
    "temperature.",
    "clocks",
    "ecc.",
    "power.",
    "enforced.power",
    "retired_pages",
    "remapped_rows",
    "mig.mode",
    "compute_",
    "persistence_mode",
    "pstate",
    "fan.speed",
    "fabric.",
    "display_",
    "gom.",
    "addressing_mode",
    "gsp.mode",
    "encoder.",
    "accounting.",
    "protected_memory.",
    "platform.",
    "module_id",
];

fn is_header(text: &str) -> bool {
    if !text.contains(", ") || text.len() > 4096 {
        return false;
    }
    let known = |field: &str| {
        let name = field.trim().split(" [").next().unwrap_or_default();
        FIELDS.iter().any(|known| name.starts_with(known))
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_'))
    };
    text.trim().split(',').all(known)
}

fn starts(lines: &[Line<'_>], index: usize) -> Option<usize> {
    let text: &str = &lines[index].text;
    let first = position(text, ", ", 0)?;
    let before = text.get(..first)?;
    let offset = before.rfind([' ', ':', '>', '\t']).map_or(0, |end| end + 1);
    // `memory.total [MiB], …` has a blank of its own.
    let offset =
        if before.ends_with(']') { before.find(|c: char| !c.is_whitespace()).unwrap_or(0) } else { offset };
    let (prefix, own) = (text.get(..offset)?, text.get(offset..)?);
    let next = lines.get(index + 1)?.text.get(offset..)?;
    let is_row = columns(next) == columns(own) && !next.trim().is_empty();
    (is_prefix(prefix) && is_header(own) && is_row).then_some(offset)
}

fn columns(text: &str) -> usize {
    text.split(',').count()
}

fn step(text: &str, last: &str) -> Step {
    let is_row = columns(text) == columns(last) && !text.trim().is_empty();
    if is_row && !is_header(text) { Step::More } else { Step::End }
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let mut lines = block.lines.iter();
    let Some(header) = lines.by_ref().find(|line| is_header(line.text)) else { return Vec::new() };
    let fields: Vec<(String, &str)> = header.text.split(',').map(field).collect();
    let mut records = Vec::new();
    for (line, row) in lines.zip(0u32..) {
        let cells: Vec<&str> = line.text.split(',').map(str::trim).collect();
        if cells.len() != fields.len() {
            continue;
        }
        line.using();
        let find = |name: &str| fields.iter().position(|(field, _)| field == name).map(|at| cells[at]);
        let subject = find("index").map_or_else(
            || find("pci-bus-id").map_or(format!("row {row}"), str::to_owned),
            |index| format!("GPU {index}"),
        );
        let mut record = Record::new("gpu", subject, line.number);
        for ((name, unit), cell) in fields.iter().zip(&cells) {
            record.push(name.as_str(), typed(name, cell, unit), line.number);
        }
        records.push(record);
    }
    if !records.is_empty() {
        header.using();
    }
    records
}

/// Name and unit of `memory.total [MiB]`.
fn field(text: &str) -> (String, &str) {
    let (name, unit) = text.split_once('[').unwrap_or((text, ""));
    let name = field_name(name);
    (if name == "gpu-name" { "name".to_owned() } else { name }, unit.trim().trim_end_matches(']'))
}

/// A value; where `nounits` was asked for, the header's unit stands behind it again.
fn typed(name: &str, cell: &str, unit: &str) -> Value {
    if ["serial", "uuid", "version"].iter().any(|word| name.contains(word)) {
        return Value::Text(cell.to_owned());
    }
    let bare = cell.parse::<f64>().is_ok();
    if bare && !unit.is_empty() { Value::Text(format!("{cell} {unit}")) } else { block::value(cell) }
}

#[cfg(test)]
mod tests {
    use weft_catalogue::Catalogue;

    use super::*;
    use crate::Source;
    use crate::evidence::Evidence;

    #[test]
    fn rows_are_named_by_the_header() {
        let text = "index, name, memory.total [MiB], pcie.link.width.current\n\
                    0, NVIDIA L40S, 46068, 16\n1, NVIDIA L40S, 46068 MiB, 8\n";
        let reading = crate::read(&Source::file("t", text), Catalogue::embedded(), None);
        let [found] = &reading.evidence[..] else { panic!("{reading:?}") };
        let Evidence::Report(report) = &found.value else { panic!("{found:?}") };
        let [first, second] = &report.records[..] else { panic!("{report:?}") };
        assert_eq!((first.subject.as_str(), first.text("name")), ("GPU 0", Some("NVIDIA L40S")));
        assert_eq!(
            (first.text("memory-total"), second.text("memory-total")),
            (Some("46068 MiB"), Some("46068 MiB"))
        );
        assert_eq!(second.count("pcie-link-width-current"), Some(8));
    }

    #[test]
    fn prose_with_commas_is_no_header() {
        assert!(!is_header("name, rank and serial number"));
        assert!(!is_header("index"));
        assert!(is_header("memory.total [MiB], name"));
    }
}
