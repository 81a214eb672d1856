//! `p2pBandwidthLatencyTest` of the CUDA samples: matrices of rates and latencies between GPUs, with and without
//! direct access.

mod read;
#[cfg(test)]
mod tests;

use weft_catalogue::Catalogue;

use crate::format::{Claim, Format, Part, Read, Text};
use crate::measured_grid::grid_line;

/// The reader.
#[derive(Debug)]
pub struct P2pBandwidthLatencyTest;

impl Format for P2pBandwidthLatencyTest {
    fn name(&self) -> &'static str {
        "p2p-bandwidth-latency-test"
    }

    fn title(&self) -> &'static str {
        "rates and latencies between GPUs, of the CUDA samples"
    }

    fn command(&self) -> Option<&'static str> {
        Some("p2pBandwidthLatencyTest")
    }

    fn marks(&self) -> &'static [&'static str] {
        &["P2P=", "P2P Connectivity Matrix", "Access Peer Device", "GPU Bandwidth Latency Test"]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let mut indices = Vec::new();
        let mut has_result = false;
        let mut inside = false;
        for (index, line) in text.lines.iter().enumerate() {
            match Mark::of(&line.text) {
                Some(mark) => {
                    inside = mark.is_title();
                    has_result |= inside || matches!(mark, Mark::Access(_));
                    indices.push(index);
                }
                None if inside && grid_line(&line.text, false).is_some() => indices.push(index),
                // A blank line stands before the second half of the latencies.
                None => inside &= line.is_blank(),
            }
        }
        if has_result { vec![Claim::lines(indices).piecemeal()] } else { Vec::new() }
    }

    fn read(&self, part: &Part<'_>, _catalogue: &Catalogue) -> Read {
        read::read(part)
    }
}

/// Lines of the test that are no part of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark<'a> {
    /// The name of the test, with which a run begins.
    Begin,
    /// A device; the text from its number on.
    Device(&'a str),
    /// Who may access whom; the text behind the first `Device=`.
    Access(&'a str),
    /// Title of the matrix of accesses.
    Connectivity(&'a str),
    /// Title of rates or latencies.
    Title(&'a str),
    /// Advice that the test prints.
    Note,
}

impl<'a> Mark<'a> {
    fn of(text: &'a str) -> Option<Self> {
        // All marks have one of these letters' pairs; most lines of a log have none.
        if !text.contains("P2P") && !text.contains("Device") && !text.contains("NOTE") {
            // The first version of the test had no latencies.
            return text.contains("So you can see lesser Bandwidth").then_some(Self::Note);
        }
        let from = |mark: &str| text.find(mark).map(|at| text[at..].trim_end());
        if text.contains("GPU Bandwidth Latency Test") {
            return Some(Self::Begin);
        }
        if text.contains("pciBusID") {
            return from("Device: ").map(|text| Self::Device(&text["Device: ".len()..]));
        }
        if text.contains("Access Peer Device=") {
            return from("Device=").map(|text| Self::Access(&text["Device=".len()..]));
        }
        if let Some(title) = from("P2P Connectivity Matrix") {
            return Some(Self::Connectivity(title));
        }
        if text.contains("P2P=") && (text.contains("Bandwidth") || text.contains("Latency")) {
            let start = ["Unidirectional P2P=", "Bidirectional P2P=", "P2P="].into_iter().find_map(from)?;
            return (start.contains("GB/s") || start.contains("(us)")).then_some(Self::Title(start));
        }
        let is_note =
            text.contains("have P2P access to other one") || text.contains("NOTE: The CUDA Samples are not");
        is_note.then_some(Self::Note)
    }

    fn is_title(self) -> bool {
        matches!(self, Self::Connectivity(_) | Self::Title(_))
    }
}
