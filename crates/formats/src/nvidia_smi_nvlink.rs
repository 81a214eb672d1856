//! `nvidia-smi nvlink`: what it says of each link, under a line per GPU. `-s` has rates, `-e` errors, `-R` and
//! `-p` what is at the other end.

use weft_base::Rate;

use crate::block::{self, Block, BlockFormat, Own, Step, field_name, is_pci_address, is_prefix};
use crate::evidence::{Record, Value};
use crate::format::Line;
use crate::nvidia_smi_list::{self, GpuLine};

const MARKS: &[&str] =
    &["Link 0", "Link 1", "Link 2", "Link 3", "Link 4", "Link 5", "Link 6", "Link 7", "Link 8", "Link 9"];

/// `nvlink -s`.
pub(crate) const NVIDIA_SMI_NVLINK_STATUS: BlockFormat = BlockFormat {
    name: "nvidia-smi-nvlink-status",
    title: "rates of NVLinks, and which are down: nvidia-smi nvlink -s",
    command: Some("nvidia-smi nvlink -s"),
    marks: &[
        "Link 0",
        "Link 1",
        "Link 2",
        "Link 3",
        "Link 4",
        "Link 5",
        "Link 6",
        "Link 7",
        "Link 8",
        "Link 9",
        NONE_ACTIVE,
    ],
    starts: |lines, index| starts(lines, index, Kind::Status),
    step: |text, _| step(text, Kind::Status),
    records: status,
};

/// `nvlink -e`.
pub(crate) const NVIDIA_SMI_NVLINK_ERRORS: BlockFormat = BlockFormat {
    name: "nvidia-smi-nvlink-errors",
    title: "error counters of NVLinks: nvidia-smi nvlink -e",
    command: Some("nvidia-smi nvlink -e"),
    marks: MARKS,
    starts: |lines, index| starts(lines, index, Kind::Errors),
    step: |text, _| step(text, Kind::Errors),
    records: |block| details(block, Kind::Errors),
};

/// `nvlink -R` and `-p`.
pub(crate) const NVIDIA_SMI_NVLINK_REMOTE: BlockFormat = BlockFormat {
    name: "nvidia-smi-nvlink-remote",
    title: "the other ends of NVLinks: nvidia-smi nvlink -R",
    command: Some("nvidia-smi nvlink -R"),
    marks: MARKS,
    starts: |lines, index| starts(lines, index, Kind::Remote),
    step: |text, _| step(text, Kind::Remote),
    records: |block| details(block, Kind::Remote),
};

/// What `-s` prints where a GPU has no link that is up.
const NONE_ACTIVE: &str = "all links are inActive";
/// Lines between a GPU's own and its first link.
const AHEAD_MAX: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Status,
    Errors,
    Remote,
}

/// `Link 3: …` or `Link 3, …`.
struct LinkLine<'l> {
    number: u64,
    rest: &'l str,
}

fn link_line(text: &str) -> Option<LinkLine<'_>> {
    let text = text.trim().strip_prefix("Link ")?;
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let rest = text[end..].strip_prefix([':', ','])?;
    Some(LinkLine { number: block::number(&text[..end])?, rest: rest.trim() })
}

/// What a link's line is about; nothing for a line of another kind.
fn kind(text: &str) -> Option<Kind> {
    let rest = link_line(text)?.rest;
    if remote(rest).is_some() {
        return Some(Kind::Remote);
    }
    if rate(rest).is_some() || is_inactive(rest) {
        return Some(Kind::Status);
    }
    let (_, counted) = rest.rsplit_once(':')?;
    (rest.contains("rror") || rest.contains("BER") || block::number(counted.trim()).is_some())
        .then_some(Kind::Errors)
}

fn is_inactive(rest: &str) -> bool {
    rest.trim_matches(['<', '>']).eq_ignore_ascii_case("inactive")
}

fn rate(rest: &str) -> Option<Rate> {
    let figure = rest.strip_suffix("GB/s")?.trim();
    let gigabytes: f64 = figure.parse().ok()?;
    (gigabytes.is_finite() && (0.0..1e6).contains(&gigabytes)).then(|| Rate::from_gigabytes(gigabytes))
}

/// Address and link at the other end.
fn remote(rest: &str) -> Option<(&str, Option<u64>)> {
    let rest = rest.strip_prefix("Remote Device").map_or(rest, str::trim);
    let (address, link) = rest.split_once(": Link ").unwrap_or((rest, ""));
    is_pci_address(address.trim()).then(|| (address.trim(), block::number(link.trim())))
}

fn starts(lines: &[Line<'_>], index: usize, wanted: Kind) -> Option<usize> {
    let text: &str = &lines[index].text;
    if let Some(offset) = text.find("GPU ").filter(|offset| is_prefix(&text[..*offset])) {
        nvidia_smi_list::gpu_line(&text[offset..])?;
        let prefix = text[..offset].trim_end();
        let after = lines.iter().skip(index + 1).filter_map(|line| line.text.strip_prefix(prefix));
        let first = after.take(AHEAD_MAX).find(|line| !line.trim().is_empty())?;
        let is_wanted =
            kind(first) == Some(wanted) || (wanted == Kind::Status && first.contains(NONE_ACTIVE));
        return is_wanted.then_some(offset);
    }
    // An excerpt without the GPU's line.
    let offset = text.find("Link ").filter(|offset| is_prefix(&text[..*offset]))?;
    (kind(&text[offset..]) == Some(wanted)).then_some(offset)
}

fn step(text: &str, wanted: Kind) -> Step {
    if text.trim().is_empty() || nvidia_smi_list::gpu_line(text).is_some() {
        return Step::Perhaps;
    }
    let belongs = kind(text) == Some(wanted) || (wanted == Kind::Status && text.contains(NONE_ACTIVE));
    if belongs { Step::More } else { Step::End }
}

/// Calls `each` with every link line, the GPU that it is under, and marks lines as used.
fn links<'p>(block: &Block<'p>, mut each: impl FnMut(&Own<'p>, Option<&GpuLine<'p>>, Option<LinkLine<'p>>)) {
    let mut gpu = None;
    for line in &block.lines {
        if let Some(found) = nvidia_smi_list::gpu_line(line.text) {
            line.using();
            each(line, Some(&found), None);
            gpu = Some(found);
        } else if let Some(link) = link_line(line.text) {
            each(line, gpu.as_ref(), Some(link));
        } else if line.text.contains(NONE_ACTIVE) {
            line.using();
        }
    }
}

fn subject(gpu: Option<&GpuLine<'_>>) -> String {
    gpu.map_or_else(|| "GPU".to_owned(), |gpu| format!("GPU {}", gpu.number))
}

/// One record per GPU with how many of its links are up, then one per link.
fn status(block: &Block<'_>) -> Vec<Record> {
    let mut gpus: Vec<(Record, u64, u64)> = Vec::new();
    let mut records: Vec<Record> = Vec::new();
    links(block, |line, gpu, link| {
        let Some(link) = link else {
            gpus.extend(gpu.map(|gpu| (gpu.record(line.number), 0, 0)));
            return;
        };
        let rate = rate(link.rest);
        if rate.is_none() && !is_inactive(link.rest) {
            return;
        }
        line.using();
        if gpus.is_empty() {
            gpus.push((Record::new("gpu", subject(gpu), line.number), 0, 0));
        }
        if let Some((_, links, inactive)) = gpus.last_mut() {
            *links += 1;
            *inactive += u64::from(rate.is_none());
        }
        let mut record = Record::new("nvlink", format!("{} link {}", subject(gpu), link.number), line.number);
        record.push("active", Value::Flag(rate.is_some()), line.number);
        if let Some(rate) = rate {
            record.push("rate", Value::Rate(rate), line.number);
        }
        records.push(record);
    });
    let summed = gpus.into_iter().map(|(mut record, links, inactive)| {
        let line = record.line;
        record.push("links", Value::Count(links), line);
        record.push("inactive-links", Value::Count(inactive), line);
        record
    });
    summed.chain(records).collect()
}

/// One record per link with all that its lines say.
fn details(block: &Block<'_>, wanted: Kind) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    links(block, |line, gpu, link| {
        let Some(link) = link else { return };
        let subject = format!("{} link {}", subject(gpu), link.number);
        if records.last().is_none_or(|last| last.subject != subject) {
            records.push(Record::new("nvlink", subject, line.number));
        }
        let Some(record) = records.last_mut() else { return };
        if let (Kind::Remote, Some((address, far))) = (wanted, remote(link.rest)) {
            record.push("remote-device", Value::Text(address.to_owned()), line.number);
            if let Some(far) = far {
                record.push("remote-link", Value::Count(far), line.number);
            }
            line.using();
        } else if let Some((name, value)) = link.rest.rsplit_once(':').filter(|_| wanted == Kind::Errors) {
            record.push(field_name(name), block::value(value), line.number);
            line.using();
        }
    });
    records.retain(|record| !record.fields.is_empty());
    records
}

#[cfg(test)]
mod tests {
    use weft_catalogue::Catalogue;

    use super::*;
    use crate::evidence::{Evidence, Report};
    use crate::{Reading, Source};

    fn reports(text: &str) -> (Vec<Report>, Reading) {
        let reading = crate::read(&Source::file("t", text), Catalogue::embedded(), None);
        let each = reading.evidence.iter().filter_map(|found| {
            let Evidence::Report(report) = &found.value else { return None };
            Some((**report).clone())
        });
        (each.collect(), reading)
    }

    #[test]
    fn links_that_are_down_are_counted() {
        let text =
            "GPU 3: Tesla V100-SXM2-16GB (UUID: GPU-1)\n\t Link 0: 25.781 GB/s\n\t Link 1: <inactive>\n";
        let (reports, _) = reports(text);
        assert_eq!(reports[0].format, "nvidia-smi-nvlink-status");
        let [gpu, up, down] = &reports[0].records[..] else { panic!("{reports:?}") };
        assert_eq!((gpu.count("links"), gpu.count("inactive-links")), (Some(2), Some(1)));
        assert_eq!(up.subject, "GPU 3 link 0");
        assert_eq!(up.get("rate"), Some(&Value::Rate(Rate::from_gigabytes(25.781))));
        assert_eq!(down.get("active"), Some(&Value::Flag(false)));
    }

    #[test]
    fn a_gpu_without_any_link_up_says_so_in_one_line() {
        let text = "GPU 0: NVIDIA A40 (UUID: GPU-1)\nNVML: Unable to retrieve NVLink information as all links are inActive\n\
                    GPU 1: NVIDIA A40 (UUID: GPU-2)\nNVML: Unable to retrieve NVLink information as all links are inActive\n";
        let (reports, _) = reports(text);
        assert_eq!(reports.len(), 1);
        assert_eq!(
            reports[0].records.iter().map(|gpu| gpu.count("links")).collect::<Vec<_>>(),
            [Some(0), Some(0)]
        );
    }

    #[test]
    fn errors_and_other_ends_are_told_from_rates() {
        let text = "GPU 0: NVIDIA H100 PCIe (UUID: GPU-1)\n\t Link 0: Replay Errors: 3\n\t Link 0: CRC Errors: 0\n\n\
                    GPU 0: NVIDIA H100 PCIe (UUID: GPU-1)\n\t Link 4: Remote Device 00000000:D5:00.0: Link 6\n";
        let (reports, reading) = reports(text);
        assert_eq!(reports[0].records[0].count("replay-errors"), Some(3));
        assert_eq!(reports[1].records[0].text("remote-device"), Some("00000000:D5:00.0"));
        assert_eq!(reports[1].records[0].count("remote-link"), Some(6));
        assert!(reading.diagnostics.is_empty(), "{:?}", reading.diagnostics);
    }
}
