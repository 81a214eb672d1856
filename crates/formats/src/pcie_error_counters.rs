//! `/sys/bus/pci/devices/*/aer_dev_correctable` and its like: how often a PCIe link reported which error.

use crate::block::{Block, BlockFormat, Step, is_pci_address, is_prefix, number};
use crate::evidence::{Record, Value};
use crate::format::Line;
use crate::port_report::camel;

/// The reader.
pub(crate) const PCIE_ERROR_COUNTERS: BlockFormat = BlockFormat {
    name: "pcie-error-counters",
    title: "errors that PCIe devices reported, by sysfs",
    command: Some("tail -n +1 /sys/bus/pci/devices/*/aer_dev_*"),
    marks: &["RxErr ", "aer_dev_", "Undefined "],
    starts,
    step,
    records,
};

/// The counters that the kernel prints; the first of each file begins it.
const COUNTERS: [&str; 34] = [
    "RxErr",
    "Undefined",
    "BadTLP",
    "BadDLLP",
    "Rollover",
    "Timeout",
    "NonFatalErr",
    "CorrIntErr",
    "HeaderOF",
    "DLP",
    "SDES",
    "TLP",
    "FCP",
    "CmpltTO",
    "CmpltAbrt",
    "UnxCmplt",
    "RxOF",
    "MalfTLP",
    "ECRC",
    "UnsupReq",
    "ACSViol",
    "UncorrIntErr",
    "BlockedTLP",
    "AtomicOpBlocked",
    "TLPBlockedErr",
    "PoisonTLPBlocked",
    "DMWrReqBlocked",
    "IDECheck",
    "MisIDETLP",
    "PCRC_CHECK",
    "TLPXlatBlocked",
    "TOTAL_ERR_COR",
    "TOTAL_ERR_FATAL",
    "TOTAL_ERR_NONFATAL",
];

/// Name and count of `RxErr 812233`, and the file before it where `grep` names that on each line.
fn counter(text: &str) -> Option<(Option<&str>, &str, u64)> {
    let (front, count) = text.trim().rsplit_once(' ')?;
    let (file, name) = match front.rsplit_once(':') {
        Some((file, name)) if file.contains("aer_dev_") => (Some(file), name),
        Some(_) => return None,
        None => (None, front),
    };
    COUNTERS.contains(&name).then_some(())?;
    Some((file, name, number(count)?))
}

/// The path of a file of counters: behind `==>`, alone, or in the command that shows it.
fn path(text: &str) -> Option<&str> {
    let words = text.split(|c: char| c.is_ascii_whitespace() || matches!(c, ';' | '"' | '\''));
    words.into_iter().find(|word| word.contains("aer_dev_"))
}

/// The device of `/sys/bus/pci/devices/0000:41:00.0/aer_dev_correctable`.
fn device(path: &str) -> Option<&str> {
    path.split('/').find(|part| is_pci_address(part))
}

/// `correctable`, `fatal`, `nonfatal`.
fn severity(path: &str) -> Option<&str> {
    let name = path.rsplit_once("aer_dev_")?.1.trim_end_matches([':', '*']);
    (!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase())).then_some(name)
}

/// `10:02:11` alone, or what `date` prints.
fn is_time(text: &str) -> bool {
    let word = |word: &str| {
        word.matches(':').count() == 2 && word.as_bytes().first().is_some_and(u8::is_ascii_digit)
    };
    text.split_whitespace().take(6).any(word)
}

fn starts(lines: &[Line<'_>], index: usize) -> Option<usize> {
    let text: &str = &lines[index].text;
    if path(text).is_some() {
        if counter(text).is_some() {
            return Some(0);
        }
        let mut below = lines.iter().skip(index + 1).filter(|line| !line.is_blank()).take(2);
        let first = below.next()?;
        let is_begun = counter(&first.text).is_some()
            || is_time(&first.text) && below.next().is_some_and(|line| counter(&line.text).is_some());
        return is_begun.then_some(0);
    }
    let offset = ["RxErr ", "Undefined "].into_iter().find_map(|mark| text.find(mark))?;
    let is_first = counter(text.get(offset..)?).is_some() && is_prefix(&text[..offset]);
    let next = lines.get(index + 1)?.text.get(offset..)?;
    (is_first && counter(next).is_some()).then_some(offset)
}

fn step(text: &str, _: &str) -> Step {
    if counter(text).is_some() || path(text).is_some() {
        Step::More
    } else if text.trim().is_empty() || is_time(text) {
        Step::Perhaps
    } else {
        Step::End
    }
}

fn records(block: &Block<'_>) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    let (mut file, mut time) = (None, None);
    let mut is_open = false;
    for line in &block.lines {
        if let Some((own, name, count)) = counter(line.text) {
            line.using();
            let changed = own.is_some() && own != file;
            file = own.or(file);
            let begins = !is_open || changed || matches!(name, "RxErr" | "Undefined");
            if begins {
                let subject = file.and_then(device).unwrap_or("PCI device");
                let mut record = Record::new("counter", subject, line.number);
                let of = file.and_then(severity).map(str::to_owned);
                let of = of.or((name == "RxErr").then(|| "correctable".to_owned()));
                if let Some(of) = of {
                    record.push("severity", Value::Text(of), line.number);
                }
                if let Some(time) = time.take() {
                    record.push("time", Value::Text(time), line.number);
                }
                records.push(record);
            }
            is_open = !name.starts_with("TOTAL");
            if let Some(record) = records.last_mut() {
                record.push(camel(name), Value::Count(count), line.number);
            }
        } else if let Some(path) = path(line.text) {
            line.using();
            (file, is_open) = (Some(path), false);
        } else if is_time(line.text) {
            line.using();
            (time, is_open) = (Some(line.text.trim().to_owned()), false);
        }
    }
    records
}

#[cfg(test)]
mod tests {
    use weft_catalogue::Catalogue;

    use crate::evidence::{Evidence, Record};
    use crate::format::Source;

    fn records(text: &str) -> Vec<Record> {
        let reading = crate::read(&Source::file("t", text), Catalogue::embedded(), None);
        assert!(reading.diagnostics.is_empty(), "{:?}", reading.diagnostics);
        let of = |evidence: &Evidence| {
            let Evidence::Report(report) = evidence else { panic!("a report") };
            report.records.clone()
        };
        reading.evidence.iter().flat_map(|located| of(&located.value)).collect()
    }

    #[test]
    fn files_of_devices_are_told_apart() {
        let found = records(include_str!("../../../examples/formats/pcie-error-counters/two-devices.txt"));
        let brief: Vec<_> = found
            .iter()
            .map(|it| (it.subject.as_str(), it.text("severity").unwrap_or(""), it.count("bad-dllp")))
            .collect();
        assert_eq!(
            brief,
            [
                ("0000:41:00.0", "correctable", Some(203)),
                ("0000:41:00.0", "fatal", None),
                ("0000:42:00.0", "correctable", Some(0)),
            ]
        );
        assert_eq!(found[0].count("total-err-cor"), Some(1015));
        assert_eq!(found[1].count("dlp"), Some(1));
    }

    #[test]
    fn one_file_read_again_keeps_its_times() {
        let found = records(include_str!("../../../examples/formats/pcie-error-counters/again.txt"));
        let brief: Vec<_> = found.iter().map(|it| (it.text("time"), it.count("rx-err"))).collect();
        assert_eq!(brief, [(Some("10:02:11"), Some(812)), (Some("10:03:11"), Some(822))]);
        assert_eq!(found[0].subject, "0007:01:00.0");
    }

    #[test]
    fn grep_names_the_file_on_each_line() {
        let path = "/sys/bus/pci/devices/0000:0a:00.0/aer_dev_correctable";
        let found = records(&format!("{path}:RxErr 3\n{path}:BadTLP 4\n{path}:TOTAL_ERR_COR 7\n"));
        assert_eq!(
            (found.len(), found[0].subject.as_str(), found[0].count("bad-tlp")),
            (1, "0000:0a:00.0", Some(4))
        );
    }
}
