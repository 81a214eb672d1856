//! `nvidia-smi -q`, whole or a part of it: a tree by indentation, `Key : Value`. One record per GPU; a field is
//! named by the headings above it and its key. Lane counts (`16x`) are numbers.

use crate::block::{self, Block, BlockFormat, Step, behind_prefix, field_name, is_pci_address, is_prefix};
use crate::evidence::{Record, Value};
use crate::format::Line;

/// The reader.
pub(crate) const NVIDIA_SMI_Q: BlockFormat = BlockFormat {
    name: "nvidia-smi-q",
    title: "what the driver says of each GPU: nvidia-smi -q",
    command: Some("nvidia-smi -q"),
    marks: &[
        "NVSMI LOG",
        "GPU 0000",
        "Product Name  ",
        "Driver Version  ",
        "Attached GPUs",
        "CliqueId",
        "ClusterUUID",
        "Fabric",
        "PCIe Generation",
        "GPU Link Info",
        "Link Width",
        "Replays Since Reset",
        "Clocks Throttle Reasons",
        "Clocks Event Reasons",
        "Remapped Rows",
        "Retired Pages",
        "BAR1 Memory Usage",
        "FB Memory Usage",
        "Persistence Mode  ",
        "MIG Mode",
        "ECC Mode",
        "Ecc Mode",
        "ECC Errors",
        "Addressing Mode  ",
        "GPU Virtualization Mode",
        "GPU UUID  ",
        "Performance State  ",
    ],
    starts,
    step,
    records,
};

/// Headings and keys with which excerpts begin.
const SECTIONS: &[&str] = &[
    "Fabric",
    "PCI",
    "GPU Link Info",
    "PCIe Generation",
    "Link Width",
    "Clocks Throttle Reasons",
    "Clocks Event Reasons",
    "Remapped Rows",
    "Retired Pages",
    "BAR1 Memory Usage",
    "FB Memory Usage",
    "MIG Mode",
    "Ecc Mode",
    "ECC Mode",
    "ECC Errors",
    "GPU Virtualization Mode",
];
const KEYS: &[&str] = &[
    "Product Name",
    "Driver Version",
    "CUDA Version",
    "Attached GPUs",
    "Persistence Mode",
    "Addressing Mode",
    "GPU UUID",
    "Bus Id",
    "Performance State",
    "Replays Since Reset",
];
/// What is said of the driver, not of a GPU.
const OF_DRIVER: &[&str] = &["timestamp", "driver-version", "cuda-version", "attached-gpus"];

fn starts(lines: &[Line<'_>], index: usize) -> Option<usize> {
    let text: &str = &lines[index].text;
    if text.contains("NVSMI LOG") {
        return behind_prefix(text, "==");
    }
    if let Some(offset) = text.find("GPU 0").filter(|offset| is_prefix(&text[..*offset])) {
        return gpu_heading(&text[offset..]).and(Some(offset));
    }
    let next = lines.get(index + 1).map_or("", |line| &line.text);
    // An excerpt is indented as in the whole, so that the indentation is no prefix.
    if let Some(key) = SECTIONS.iter().find(|name| text.trim_end().ends_with(**name)) {
        let offset = behind_prefix(text, key)?;
        let prefix = text[..offset].trim_end();
        let own = next.get(prefix.len()..)?;
        let deeper = own.len() - own.trim_start().len() > offset - prefix.len();
        return (next.starts_with(prefix) && deeper && entry(own).is_some()).then_some(prefix.len());
    }
    let key = KEYS.iter().find(|key| text.contains(**key))?;
    let offset = behind_prefix(text, key)?;
    let (found, _) = entry(&text[offset..])?;
    let padded = text.contains("  :") || text.contains(" : ");
    (found == *key && padded).then_some(text[..offset].trim_end().len())
}

fn step(text: &str, last: &str) -> Step {
    let trimmed = text.trim();
    if trimmed.contains("NVSMI LOG") {
        return Step::End;
    }
    if trimmed.is_empty() {
        return Step::Perhaps;
    }
    if gpu_heading(trimmed).is_some() || entry(text).is_some() {
        return Step::More;
    }
    let heading = trimmed.len() < 50
        && trimmed.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, ' ' | '(' | ')' | '-' | '/'))
        && trimmed.starts_with(|c: char| c.is_ascii_uppercase());
    let blank = last.is_empty();
    if heading && !blank { Step::Perhaps } else { Step::End }
}

/// The address of `GPU 00000000:1B:00.0`.
fn gpu_heading(text: &str) -> Option<&str> {
    let address = text.trim().strip_prefix("GPU ")?.trim();
    is_pci_address(address).then_some(address)
}

/// Key and value of `Key      : Value`; the colon stands behind a blank.
fn entry(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once(" : ").or_else(|| Some((text.trim_end().strip_suffix(" :")?, "")))?;
    let key = key.trim();
    let plain = key.chars().all(|c| c.is_ascii_alphanumeric() || " ()-/._".contains(c));
    (plain && !key.is_empty() && key.len() < 60).then(|| (key, value.trim()))
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let mut driver: Option<Record> = None;
    let mut gpus: Vec<Record> = Vec::new();
    let mut path: Vec<(usize, String)> = Vec::new();
    let mut headings = Vec::new();
    for line in &block.lines {
        let indent = line.indent();
        if line.text.contains("NVSMI LOG") {
            line.using();
        } else if let Some(address) = gpu_heading(line.text) {
            line.using();
            path.clear();
            gpus.push(Record::new("gpu", format!("GPU {address}"), line.number));
        } else if let Some((key, text)) = entry(line.text) {
            path.retain(|(depth, _)| *depth < indent);
            let mut name: String = path.iter().flat_map(|(_, heading)| [heading.as_str(), "-"]).collect();
            name.push_str(&field_name(key));
            if text.is_empty() {
                continue;
            }
            line.using();
            let record = if OF_DRIVER.contains(&name.as_str()) {
                driver.get_or_insert_with(|| Record::new("setting", "driver", line.number))
            } else {
                last_gpu(&mut gpus, line.number)
            };
            let value = typed(&name, text);
            record.push(name, value, line.number);
        } else if !line.text.trim().is_empty() {
            path.retain(|(depth, _)| *depth < indent);
            path.push((indent, field_name(line.text)));
            headings.push(line);
        }
    }
    let mut records: Vec<Record> = driver.into_iter().chain(gpus).collect();
    records.retain(|record| !record.fields.is_empty() || record.kind == "gpu");
    if !records.is_empty() {
        for line in headings {
            line.using();
        }
    }
    records
}

/// The GPU that is spoken of; an excerpt need not say which.
fn last_gpu(gpus: &mut Vec<Record>, line: u32) -> &mut Record {
    if gpus.is_empty() {
        gpus.push(Record::new("gpu", "GPU", line));
    }
    let last = gpus.len() - 1;
    &mut gpus[last]
}

fn typed(name: &str, text: &str) -> Value {
    let is_name =
        ["serial", "uuid", "part-number", "version", "image"].iter().any(|word| name.contains(word));
    if is_name {
        return Value::Text(text.to_owned());
    }
    if name.contains("link-width") {
        if let Some(lanes) = text.strip_suffix('x').and_then(block::number) {
            return Value::Count(lanes);
        }
    }
    block::value(text)
}

#[cfg(test)]
mod tests {
    use weft_catalogue::Catalogue;

    use super::*;
    use crate::evidence::{Evidence, Report};
    use crate::{Reading, Source};

    fn reading(text: &str) -> Reading {
        crate::read(&Source::file("t", text), Catalogue::embedded(), None)
    }

    fn reports(reading: &Reading) -> Vec<&Report> {
        let report = |evidence: &Evidence| matches!(evidence, Evidence::Report(_));
        assert!(reading.evidence.iter().all(|found| report(&found.value)), "{reading:?}");
        let each = reading.evidence.iter().filter_map(|found| {
            let Evidence::Report(report) = &found.value else { return None };
            Some(&**report)
        });
        each.collect()
    }

    const WHOLE: &str = "
==============NVSMI LOG==============

Timestamp                                 : Tue Mar 12 10:00:00 2024
Driver Version                            : 535.104.05
CUDA Version                              : 12.2

Attached GPUs                             : 1
GPU 00000000:1B:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Serial Number                         : 1650000000001
    MIG Mode
        Current                           : Disabled
        Pending                           : Disabled
    PCI
        Bus                               : 0x1B
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 4
            Link Width
                Max                       : 16x
                Current                   : 8x
        Replays Since Reset               : 7
    Clocks Event Reasons
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Active
";

    #[test]
    fn fields_are_named_by_their_path() {
        let found = reading(WHOLE);
        let reports = reports(&found);
        let [driver, gpu] = &reports[0].records[..] else { panic!("{reports:?}") };
        assert_eq!(driver.text("driver-version"), Some("535.104.05"));
        assert_eq!(gpu.subject, "GPU 00000000:1B:00.0");
        assert_eq!(gpu.text("serial-number"), Some("1650000000001"));
        assert_eq!(gpu.get("mig-mode-current"), Some(&Value::Flag(false)));
        assert_eq!(gpu.count("pci-gpu-link-info-pcie-generation-current"), Some(4));
        assert_eq!(gpu.count("pci-gpu-link-info-link-width-current"), Some(8));
        assert_eq!(gpu.count("pci-replays-since-reset"), Some(7));
        assert_eq!(gpu.get("clocks-event-reasons-hw-thermal-slowdown"), Some(&Value::Flag(true)));
        assert!(found.diagnostics.is_empty(), "{:?}", found.diagnostics);
    }

    #[test]
    fn an_excerpt_between_prose_is_found_and_the_prose_is_not_claimed() {
        let text = "our tray says\n    Fabric\n        State                  : In Progress\n        \
                    CliqueId               : 32766\n\nany idea?\n";
        let found = reading(text);
        let gpu = &reports(&found)[0].records[0];
        assert_eq!(
            (gpu.text("fabric-state"), gpu.count("fabric-cliqueid")),
            (Some("In Progress"), Some(32766))
        );
        let lines: Vec<u32> =
            found.diagnostics.iter().filter_map(|finding| finding.place.as_ref()).map(|p| p.line).collect();
        assert_eq!(lines, [1, 6]);
    }

    #[test]
    fn hosts_in_each_other_are_told_by_their_prefix() {
        let text = "a1: GPU 00000000:1B:00.0\nb2: GPU 00000000:1C:00.0\n\
                    a1:     Product Name      : NVIDIA A40\nb2:     Product Name      : NVIDIA A10\n";
        let found = reading(text);
        let reports = reports(&found);
        assert_eq!(
            reports.iter().map(|report| report.host.as_deref()).collect::<Vec<_>>(),
            [Some("a1"), Some("b2")]
        );
        assert_eq!(reports[0].records[0].text("product-name"), Some("NVIDIA A40"));
        assert_eq!(reports[1].records[0].text("product-name"), Some("NVIDIA A10"));
    }
}
