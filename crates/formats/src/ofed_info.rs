//! `ofed_info -s`: which RDMA stack of NVIDIA's is installed in place of the kernel's own.

use crate::block::{Block, BlockFormat, Step};
use crate::evidence::{Record, Value};
use crate::format::Line;

/// The reader.
pub(crate) const OFED_INFO: BlockFormat = BlockFormat {
    name: "ofed-info",
    title: "the RDMA stack that is installed: ofed_info -s",
    command: Some("ofed_info -s"),
    marks: NAMES,
    starts,
    step,
    records,
};

/// How the line begins, by the package.
const NAMES: &[&str] = &["MLNX_OFED_LINUX-", "OFED-internal-", "OFED.internal-", "DOCA_OFED-"];

fn starts(lines: &[Line<'_>], index: usize) -> Option<usize> {
    let text = lines[index].text.trim_end();
    let at = NAMES.iter().find_map(|name| text.find(name))?;
    let version = text.get(at..)?.strip_suffix(':')?;
    (!version.contains(char::is_whitespace)).then_some(at)
}

fn step(_: &str, _: &str) -> Step {
    Step::End
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let version = |text: &str| {
        let text = text.trim().trim_end_matches(':');
        NAMES.iter().find_map(|name| text.strip_prefix(name)).map(str::to_owned)
    };
    let one = |line: &crate::block::Own<'_>| {
        let version = version(line.text)?;
        line.using();
        let mut record = Record::new("software", "OFED", line.number);
        record.push("version", Value::Text(version), line.number);
        Some(record)
    };
    block.lines.iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use crate::{Evidence, Source, read};
    use weft_catalogue::Catalogue;

    #[test]
    fn the_version_is_told_and_a_file_name_is_none() {
        let text = "node7: MLNX_OFED_LINUX-24.10-2.1.8.0:\ntar xf MLNX_OFED_LINUX-5.8-1.0.1.1-x86_64.tgz\n";
        let reading = read(&Source::file("t", text), Catalogue::embedded(), None);
        let [located] = &reading.evidence[..] else { panic!("{:?}", reading.evidence) };
        let Evidence::Report(report) = &located.value else { panic!("{located:?}") };
        assert_eq!(report.records.len(), 1);
        assert_eq!(report.records[0].text("version"), Some("24.10-2.1.8.0"));
    }
}
