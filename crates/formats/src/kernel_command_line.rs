//! `/proc/cmdline`: what the kernel was started with.

use crate::block::{self, Block, BlockFormat, Step, field_name};
use crate::evidence::{Record, Value};
use crate::format::Line;

/// The reader.
pub(crate) const KERNEL_COMMAND_LINE: BlockFormat = BlockFormat {
    name: "kernel-command-line",
    title: "what the kernel was started with: /proc/cmdline",
    command: Some("cat /proc/cmdline"),
    marks: &["BOOT_IMAGE=", "root=", "initrd="],
    starts,
    step: |_, _| Step::End,
    records,
};

fn starts(lines: &[Line<'_>], index: usize) -> Option<usize> {
    let text: &str = &lines[index].text;
    if let Some(offset) = text.find("BOOT_IMAGE=") {
        // In the kernel's log it follows a time and a few words.
        let before = text.get(..offset)?.trim_end();
        let is_ours = before.is_empty() || before.ends_with(':');
        return (is_ours && !text[offset..].trim().is_empty()).then_some(offset);
    }
    let has = |name: &str| text.split_whitespace().any(|word| word.starts_with(name));
    let parameters = text.split_whitespace().count();
    let plain = !text.contains(": ") && !text.contains(['"', ';', '|']);
    ((has("root=") || has("initrd="))
        && (has("ro") || has("rw") || has("console="))
        && parameters >= 3
        && plain)
        .then_some(0)
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let Some(line) = block.lines.iter().find(|line| line.text.contains('=')) else { return Vec::new() };
    line.using();
    let mut record = Record::new("setting", "kernel command line", line.number);
    for word in line.text.split_whitespace() {
        match word.split_once('=') {
            Some((key, value)) => record.push(name(key), typed(value), line.number),
            None => record.push(name(word), Value::Flag(true), line.number),
        }
    }
    vec![record]
}

/// Dots and underscores of a parameter become dashes.
fn name(key: &str) -> String {
    field_name(key)
}

fn typed(value: &str) -> Value {
    block::number(value).map_or_else(|| Value::Text(value.to_owned()), Value::Count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;

    fn record(text: &str) -> Option<Record> {
        let reading = crate::read(&Source::file("t", text), weft_catalogue::Catalogue::embedded(), None);
        reading.evidence.into_iter().find_map(|found| {
            let crate::Evidence::Report(report) = found.value else { return None };
            report.records.into_iter().next()
        })
    }

    #[test]
    fn parameters_and_flags_are_read_with_and_without_a_boot_image() {
        let found =
            record("BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet iommu=pt intel_iommu=on pci=realloc=off\n")
                .unwrap();
        assert_eq!(
            (found.text("iommu"), found.text("intel-iommu"), found.text("pci")),
            (Some("pt"), Some("on"), Some("realloc=off"))
        );
        assert_eq!(found.get("quiet"), Some(&Value::Flag(true)));
        let found = record("[    0.0] Command line: BOOT_IMAGE=/vmlinuz amd_iommu=off\n").unwrap();
        assert_eq!(found.text("amd-iommu"), Some("off"));
        assert!(record("root=/dev/sda1 ro console=ttyS0\n").is_some());
        assert!(record("the root=x cause: rotten\n").is_none());
    }
}
