//! Where outputs of `ibnetdiscover` and net files stand in a text.

use std::ops::Range;

use super::record::{Record, glance, record};
use crate::format::Line;

/// One output or one net file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Region {
    /// Its lines, blank ones and comments between them included.
    pub runs: Vec<Range<usize>>,
    /// Whether it has what only net files have.
    pub is_net_file: bool,
    /// Headers and ports.
    statements: usize,
}

impl Region {
    /// Takes line `index`, and all from `since` on, which are blank or comments.
    fn take(&mut self, since: usize, index: usize) {
        match self.runs.last_mut() {
            Some(run) if run.end == since => run.end = index + 1,
            Some(_) | None => self.runs.push(since..index + 1),
        }
    }
}

/// All of them, in order.
pub(crate) fn regions(lines: &[Line<'_>]) -> Vec<Region> {
    let mut found = Vec::new();
    let mut open = Region::default();
    // Where blank lines and comments that may belong to the next line of ours begin.
    let mut since = 0;
    for (index, line) in lines.iter().enumerate() {
        // Nearly all lines of a large subnet are ports.
        let port = line.text.starts_with('[').then(|| glance(&line.text)).flatten();
        if let Some(is_net_file) = port {
            open.take(since, index);
            since = index + 1;
            open.statements += 1;
            open.is_net_file |= is_net_file;
            continue;
        }
        let (counts, is_net_file) = match record(&line.text) {
            Record::Blank => continue,
            Record::Comment { begins: false } => continue,
            Record::Comment { begins: true } => {
                if open.statements > 0 {
                    found.push(std::mem::take(&mut open));
                }
                (0, false)
            }
            Record::Other => {
                since = index + 1;
                continue;
            }
            Record::Identity(_) | Record::Section => (0, false),
            Record::Module(_) => (0, true),
            Record::Header(header) => (1, header.is_net_file),
            Record::Port(port) => (1, matches!(port.far, super::record::Id::Name(_))),
        };
        open.take(since, index);
        since = index + 1;
        open.statements += counts;
        open.is_net_file |= is_net_file;
    }
    found.push(open);
    found.retain(|region| region.statements > 0);
    for region in &mut found {
        // Blank lines above the first comment are no one's.
        if let Some(first) = region.runs.first_mut() {
            first.start += lines[first.clone()].iter().take_while(|line| line.is_blank()).count();
        }
    }
    found
}
