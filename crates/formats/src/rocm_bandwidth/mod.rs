//! `rocm_bandwidth_test`: matrices of rates and accesses between CPUs and AMD GPUs.

mod read;
#[cfg(test)]
mod tests;

use weft_catalogue::Catalogue;

use crate::format::{Claim, Format, Part, Read, Text};
use crate::measured_grid::{Unit, grid_line};
use crate::prefix::body;

/// The reader.
#[derive(Debug)]
pub struct RocmBandwidthTest;

impl Format for RocmBandwidthTest {
    fn name(&self) -> &'static str {
        "rocm-bandwidth-test"
    }

    fn title(&self) -> &'static str {
        "rates between CPUs and AMD GPUs, of rocm_bandwidth_test"
    }

    fn command(&self) -> Option<&'static str> {
        Some("rocm-bandwidth-test")
    }

    fn marks(&self) -> &'static [&'static str] {
        &["RocmBandwidthTest Version", "peak bandwidth GB/s"]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let mut indices = Vec::new();
        let (mut is_run, mut is_grid) = (false, false);
        for (index, line) in text.lines.iter().enumerate() {
            match Mark::of(&line.text) {
                Some(mark) if is_run || mark.begins() => {
                    (is_run, is_grid) = (true, mark.is_title());
                    indices.push(index);
                }
                None if is_grid && is_row(&line.text) => indices.push(index),
                Some(_) | None if line.is_blank() => {}
                Some(_) | None => (is_run, is_grid) = (false, false),
            }
        }
        if indices.is_empty() { Vec::new() } else { vec![Claim::lines(indices).piecemeal()] }
    }

    fn read(&self, part: &Part<'_>, _catalogue: &Catalogue) -> Read {
        read::read(part)
    }
}

/// Lines of the test that are no part of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark<'a> {
    /// The version, with which a run begins.
    Begin,
    /// A device; the text from its number on.
    Device(&'a str),
    /// Title of a matrix of rates or accesses.
    Title(Unit, &'a str),
    /// Title of a matrix that says whether data arrived as they were sent.
    Validation,
    /// Title of a matrix that carries no figures of links: weights of NUMA nodes.
    Other,
    /// The command.
    Note,
}

impl<'a> Mark<'a> {
    fn of(text: &'a str) -> Option<Self> {
        // `Device:` and the like look as a launcher's prefix does.
        let text = text.trim();
        let own = if text.starts_with("Device:") || text.starts_with("RocmBandwidthTest") {
            text
        } else {
            body(text).text.trim_end()
        };
        if let Some(device) = own.strip_prefix("Device:").or_else(|| own.strip_prefix("Device Index:")) {
            return (!own.contains("pciBusID")).then(|| Self::Device(device.trim()));
        }
        let is_rate = own.ends_with("peak bandwidth GB/s");
        if is_rate && (own.starts_with("Unidirectional") || own.starts_with("Bidirectional")) {
            return Some(Self::Title(Unit::Gigabytes, own));
        }
        match own {
            "Inter-Device Access" | "Device Access" => return Some(Self::Title(Unit::Access, own)),
            "Data Path Validation" => return Some(Self::Validation),
            "Inter-Device Numa Distance" => return Some(Self::Other),
            _ => {}
        }
        if text.contains("RocmBandwidthTest Version:") {
            return Some(Self::Begin);
        }
        own.starts_with("Launch Command is:").then_some(Self::Note)
    }

    fn begins(self) -> bool {
        matches!(self, Self::Begin | Self::Title(Unit::Gigabytes, _))
    }

    fn is_title(self) -> bool {
        matches!(self, Self::Title(..) | Self::Validation | Self::Other)
    }
}

fn is_row(text: &str) -> bool {
    grid_line(text, false).is_some() || verdicts(text).is_some()
}

/// The number of a row and its words: `PASS`, `FAIL`, `N/A`.
fn verdicts(text: &str) -> Option<(&str, Vec<&str>)> {
    let mut words = body(text).text.split_ascii_whitespace();
    let number = words.next().filter(|word| word.bytes().all(|byte| byte.is_ascii_digit()))?;
    let words: Vec<&str> = words.collect();
    let is_verdict = |word: &&str| matches!(*word, "PASS" | "FAIL" | "N/A");
    (!words.is_empty() && words.iter().all(is_verdict)).then_some((number, words))
}
