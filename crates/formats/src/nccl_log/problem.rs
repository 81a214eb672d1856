//! Warnings and errors.

use super::line::{number_after, word_after};
use super::tally::Tally;
use crate::evidence::Problem;

/// Different problems that are kept.
const PROBLEMS_MAX: usize = 256;

/// What went wrong.
#[derive(Debug)]
pub(super) struct Problems<'a> {
    all: Tally<(&'a str, Option<&'a str>)>,
    /// The host that first said each.
    hosts: Vec<Option<usize>>,
}

impl<'a> Problems<'a> {
    pub fn new() -> Self {
        Self { all: Tally::new(PROBLEMS_MAX), hosts: Vec::new() }
    }

    pub fn take(&mut self, text: &'a str, source: Option<&'a str>, host: Option<usize>, line: u32) {
        if self.all.add((text, source), line) == Some(self.hosts.len()) {
            self.hosts.push(host);
        }
    }

    /// The problems, and how many lines name others.
    pub fn finish(self) -> (Vec<Problem>, u32) {
        let left = self.all.left;
        let mut hosts = self.hosts.into_iter();
        let problems = self.all.map(|(text, source), times| problem(text, source, times.count, times.line));
        let with_host = |mut problem: Problem| {
            problem.host = hosts.next().flatten();
            problem
        };
        (problems.into_iter().map(with_host).collect(), left)
    }
}

/// `Got completion with error 12, opcode 1, len 0, vendor err 129`; newer: `Got completion from peer
/// 10.0.0.1<4711> with status=12 opcode=1 len=0 vendor err 129`.
fn problem(text: &str, source: Option<&str>, count: u32, line: u32) -> Problem {
    let completion = text.contains("ompletion");
    let status = number_after(text, "status=")
        .or_else(|| number_after(text, "with error "))
        .or_else(|| number_after(text, "with status "))
        .filter(|_| completion);
    let peer = word_after(text, "from peer ").map(|peer| peer.split('<').next().unwrap_or(peer).to_owned());
    Problem {
        text: text.to_owned(),
        source: source.map(str::to_owned),
        host: None,
        status,
        vendor_error: number_after(text, "vendor err"),
        peer: peer.filter(|_| completion),
        count,
        line,
    }
}
