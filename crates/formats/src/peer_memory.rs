//! `/sys/kernel/mm/memory_peers`: which drivers have registered the memory of their devices with RDMA. The folder is
//! there where the RDMA stack of a vendor's OFED takes such drivers; nv_mem in it is NVIDIA's.

use crate::block::{Block, BlockFormat, Step};
use crate::evidence::{Record, Value};
use crate::format::Line;

/// The reader.
pub(crate) const PEER_MEMORY: BlockFormat = BlockFormat {
    name: "peer-memory",
    title: "drivers that register device memory with RDMA: ls /sys/kernel/mm/memory_peers",
    command: Some("ls /sys/kernel/mm/memory_peers/"),
    marks: &[FOLDER],
    starts,
    step,
    records,
};

const FOLDER: &str = "/sys/kernel/mm/memory_peers";
/// What the folder's entry of NVIDIA's driver is called, by its age.
const NVIDIA: &[&str] = &["nv_mem", "nv_mem_nc"];

fn starts(lines: &[Line<'_>], index: usize) -> Option<usize> {
    let text = &lines[index].text;
    let before = &text[..text.find(FOLDER)?];
    // A command behind a prompt, an error in front of a path, or a path by itself as `grep` and `tail` print it.
    let asks = ["ls ", "cat ", "ls: ", "cat: ", "==> "].iter().any(|word| before.contains(word));
    (asks || before.trim().is_empty()).then_some(0)
}

/// Entries and their version stand below: words without a blank.
fn step(_: &str, text: &str) -> Step {
    let text = text.trim();
    let is_entry = |word: &str| {
        NVIDIA.contains(&word) || ["version", "num_mrs", "num_dereg_mrs"].contains(&word) || is_version(word)
    };
    if text.is_empty() {
        Step::Perhaps
    } else if text.contains(FOLDER) || text.split_whitespace().all(is_entry) {
        Step::More
    } else {
        Step::End
    }
}

/// `nv_mem` below an `ls`, or the whole path as `ls -d` prints it.
fn names_entry(text: &str) -> bool {
    let below = text.strip_prefix(FOLDER).map(|rest| rest.split('/').any(|part| NVIDIA.contains(&part)));
    below.unwrap_or_else(|| text.split_whitespace().all(|word| NVIDIA.contains(&word)))
}

/// `1.3-0`, `1.0-3`, `2.0`.
fn is_version(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
        && word.contains('.')
        && word.len() < 16
        && word.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-'))
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let Some(first) = block.lines.first().filter(|line| line.text.contains(FOLDER)) else {
        return Vec::new();
    };
    let mut record = Record::new("peer-memory", "memory_peers", first.number);
    for line in &block.lines {
        let text = line.text.trim();
        line.using();
        if text.contains("No such file or directory") {
            record.push("registered", Value::Flag(false), line.number);
        } else if names_entry(text) {
            record.push("registered", Value::Flag(true), line.number);
        } else if is_version(text) {
            record.push("registered", Value::Flag(true), line.number);
            record.push("version", Value::Text(text.to_owned()), line.number);
        }
    }
    if record.fields.is_empty() { Vec::new() } else { vec![record] }
}

#[cfg(test)]
mod tests {
    use crate::evidence::{Record, Value};
    use crate::{Evidence, Source, read};
    use weft_catalogue::Catalogue;

    fn records(text: &str) -> Vec<Record> {
        let reading = read(&Source::file("t", text), Catalogue::embedded(), None);
        let mut found = Vec::new();
        for located in reading.evidence {
            if let Evidence::Report(report) = located.value
                && report.format == "peer-memory"
            {
                found.extend(report.records);
            }
        }
        found
    }

    #[test]
    fn a_driver_that_is_not_registered_is_told_from_one_that_is() {
        let absent = "$ ls /sys/kernel/mm/memory_peers/\n\
            ls: cannot access '/sys/kernel/mm/memory_peers/': No such file or directory\n";
        assert_eq!(records(absent)[0].get("registered"), Some(&Value::Flag(false)));
        let there = "# ls /sys/kernel/mm/memory_peers/\nnv_mem\n\
            # cat /sys/kernel/mm/memory_peers/nv_mem/version\n1.3-0\n";
        let found = records(there);
        assert_eq!((found.len(), found[0].text("version")), (1, Some("1.3-0")));
        assert_eq!(found[0].get("registered"), Some(&Value::Flag(true)));
        let path = records("/sys/kernel/mm/memory_peers/nv_mem_nc\n");
        assert_eq!(path[0].get("registered"), Some(&Value::Flag(true)));
        // A script that names the folder says nothing of a machine.
        assert!(records("echo see /sys/kernel/mm/memory_peers for more\nnv_mem\n").is_empty());
    }
}
