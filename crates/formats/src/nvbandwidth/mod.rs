//! `nvbandwidth`: matrices of copies between CPUs and GPUs, as text of all versions and as JSON.

mod json;
mod read;
#[cfg(test)]
mod tests;

use std::ops::Range;

use weft_catalogue::Catalogue;

use crate::document;
use crate::format::{Claim, Format, Line, Part, Read, Text};
use crate::measured_grid::{Unit, grid_line};
use crate::prefix::body;

/// The reader.
#[derive(Debug)]
pub struct NvBandwidth;

impl Format for NvBandwidth {
    fn name(&self) -> &'static str {
        "nvbandwidth"
    }

    fn title(&self) -> &'static str {
        "copies between CPUs and GPUs, of nvbandwidth"
    }

    fn command(&self) -> Option<&'static str> {
        Some("nvbandwidth")
    }

    fn marks(&self) -> &'static [&'static str] {
        &["nvbandwidth", "(row)", "GPU(column)", "_memcpy_", "_latency_"]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let documents = documents(text);
        let mut indices = Vec::new();
        let (mut has_result, mut inside) = (false, false);
        let mut open = documents.iter().peekable();
        for (index, line) in text.lines.iter().enumerate() {
            while open.next_if(|document| document.end <= index).is_some() {}
            if open.peek().is_some_and(|document| document.contains(&index)) {
                continue;
            }
            match Mark::of(&line.text) {
                Some(mark) => {
                    inside = matches!(mark, Mark::Title(_));
                    has_result |= matches!(mark, Mark::Title(_) | Mark::Running(_) | Mark::Version(_));
                    indices.push(index);
                }
                None if inside && grid_line(&line.text, true).is_some() => indices.push(index),
                None if host_above(text.lines, index).is_some() => indices.push(index),
                None => inside = false,
            }
        }
        let mut claims: Vec<Claim> = documents.into_iter().map(Claim::yes).collect();
        if has_result {
            claims.push(Claim::lines(indices).piecemeal());
        }
        claims
    }

    fn read(&self, part: &Part<'_>, _catalogue: &Catalogue) -> Read {
        let first = part.lines.iter().find(|line| !line.is_blank());
        if first.is_some_and(|line| line.text.trim_start().starts_with('{')) {
            json::read(part)
        } else {
            read::read(part)
        }
    }
}

/// Documents that `nvbandwidth -j` printed.
fn documents(text: &Text<'_>) -> Vec<Range<usize>> {
    if !text.lines.iter().any(|line| line.text.contains("\"nvbandwidth\"")) {
        return Vec::new();
    }
    let mut found = document::json(text.lines);
    found.retain(|run| {
        text.lines[run.clone()].iter().take(3).any(|line| line.text.contains("\"nvbandwidth\""))
    });
    found
}

/// Lines of the tool that are no part of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark<'a> {
    /// `nvbandwidth Version: v0.6`, with which a run begins.
    Version(&'a str),
    /// A device; the text behind `Device ` or `device `, and the host where several take part.
    Device(&'a str, Option<&'a str>),
    /// The name of the test that begins.
    Running(&'a str),
    /// Title of a matrix.
    Title(&'a str),
    /// The name of a test and the sum of its matrix.
    Sum(&'a str, &'a str),
    /// A test that was left out.
    Waived,
    /// The tool stopped; what it says.
    Failed(&'a str),
    /// Versions and advice.
    Note,
}

impl<'a> Mark<'a> {
    fn of(whole: &'a str) -> Option<Self> {
        let text = whole.trim();
        // What the tool prints begins with one of few letters; a prefix is looked for only where it can matter.
        match text.as_bytes().first()? {
            b'n' | b'B' | b'C' | b'D' | b'R' | b'm' | b'S' | b'W' | b'A' | b'I' | b'N' | b'P' | b'M'
            | b'[' | b'd' => Self::bare(text).or_else(|| Self::bare(body(whole).text.trim_end())),
            b'0'..=b'9' => Self::bare(body(whole).text.trim_end()),
            _ => None,
        }
    }

    fn bare(text: &'a str) -> Option<Self> {
        let behind = |mark: &str| text.strip_prefix(mark).map(str::trim);
        if let Some(version) = behind("nvbandwidth Version:") {
            return Some(Self::Version(version));
        }
        if let Some(test) = behind("Running ")
            .filter(|test| test.contains("_memcpy") || test.contains("latency") || test.contains("_sm"))
        {
            return Some(Self::Running(test.trim_end_matches('.')));
        }
        if (text.contains("(row)") || text.contains("(column)")) && Unit::in_title(text).is_some() {
            return Some(Self::Title(text));
        }
        if let Some((test, sum)) = behind("SUM ").and_then(|rest| rest.rsplit_once(' ')) {
            return Some(Self::Sum(test.trim(), sum));
        }
        if let Some(device) = behind("Device ").filter(|device| is_device(device)) {
            return Some(Self::Device(device, None));
        }
        if let Some((host, device)) = behind("Process ").and_then(|rest| rest.split_once(": device ")) {
            let host = host.split_once('(').map(|(_, host)| host.trim_end_matches(')'));
            return is_device(device).then_some(Self::Device(device, host));
        }
        if text.starts_with("Waived") {
            return Some(Self::Waived);
        }
        let is_failure = text.starts_with("ASSERT in expression")
            || text.starts_with("Invalid value when checking the pattern")
            || text.starts_with("[CUDA_ERROR")
            || text.starts_with("[NVML_ERROR");
        if is_failure {
            return Some(Self::Failed(text));
        }
        let notes = [
            "Built from Git version:",
            "CUDA Runtime Version:",
            "CUDA Driver Version:",
            "Driver Version:",
            "Current offset :",
            "NOTE: The reported results",
            "NOTE: This tool reports current measured",
            "Additional system-specific tuning",
            "Performance can vary with software drivers",
            "MPI version:",
        ];
        notes.iter().any(|note| text.starts_with(note)).then_some(Self::Note)
    }
}

/// The name of the host, which stands alone above the list of its devices.
fn host_above<'l>(lines: &'l [Line<'_>], index: usize) -> Option<&'l str> {
    let name = body(&lines.get(index)?.text).text.trim_end();
    let is_name =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    let above = || matches!(Mark::of(&lines.get(index + 1)?.text)?, Mark::Device(_, None)).then_some(name);
    if is_name { above() } else { None }
}

/// `0: NVIDIA GH200 480GB (00000009:01:00)`.
fn is_device(text: &str) -> bool {
    let number = text.split_once(':').map_or("", |(number, _)| number);
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}
