//! `NCCL_DEBUG=INFO` and `WARN`: what NCCL (2.4 to 2.30) and RCCL say while they start. The lines stand among
//! those of launchers, benchmarks and the application; each is told by its mark, not by its place.

mod channel;
mod collect;
mod communicator;
mod line;
mod network;
mod problem;
mod system;
mod tally;
#[cfg(test)]
mod tests;
mod tuning;

use weft_base::Diagnostic;
use weft_catalogue::Catalogue;

use crate::codes;
use crate::evidence::{Evidence, Gdr, NcclLog, Said};
use crate::format::{Claim, Format, Line, Located, Part, Read, Text};
use crate::ranges;

use self::collect::{Collector, NO_LINK_SPEED, RING_GDR};
use self::line::{Level, Spoken, continues_matrix, continues_version, parse};
use self::tally::Times;

/// The reader.
#[derive(Debug)]
pub struct NcclDebugLog;

impl Format for NcclDebugLog {
    fn name(&self) -> &'static str {
        "nccl-log"
    }

    fn title(&self) -> &'static str {
        "log of NCCL or RCCL with NCCL_DEBUG=INFO"
    }

    fn command(&self) -> Option<&'static str> {
        None
    }

    fn marks(&self) -> &'static [&'static str] {
        &[
            "NCCL INFO",
            "NCCL WARN",
            "NCCL TRACE",
            "NCCL CALL",
            "NCCL version",
            "RCCL version",
            "WorkNCCL(",
            "NCCL error",
        ]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let mut reader = Reader::default();
        let mine = |(index, line): (usize, &Line<'_>)| reader.next(&line.text).is_some().then_some(index);
        let lines: Vec<usize> = text.lines.iter().enumerate().filter_map(mine).collect();
        if lines.is_empty() { Vec::new() } else { vec![Claim::lines(lines).piecemeal()] }
    }

    fn read(&self, part: &Part<'_>, _: &Catalogue) -> Read {
        let mut reader = Reader::default();
        let mut collector = Collector::new();
        let mut unused = Vec::new();
        let mut any = false;
        for (index, line) in part.lines.iter().enumerate() {
            match reader.next(&line.text) {
                Some(Words::Spoken(spoken)) => collector.take(&spoken, line.number),
                Some(Words::Rest(text)) => collector.take_rest(text, line.number),
                None => {
                    unused.push(index);
                    continue;
                }
            }
            any = true;
        }
        let unused = lines_at(&part.lines, &unused);
        if !any {
            return Read { unused, ..Read::default() };
        }
        let log = collector.finish();
        let mut diagnostics = traps(&log, part);
        ranges::sort(&mut diagnostics);
        let evidence = vec![Located { value: Evidence::Log(Box::new(log)), place: part.start() }];
        Read { evidence, diagnostics, unused }
    }
}

/// A line that is the library's: marked, or going on with one that is.
enum Words<'a> {
    Spoken(Spoken<'a>),
    Rest(&'a str),
}

/// What the line before was, as far as it matters.
#[derive(Debug, Default, PartialEq, Eq)]
enum Before {
    RcclVersion,
    Matrix,
    #[default]
    Other,
}

#[derive(Debug, Default)]
struct Reader {
    before: Before,
}

impl Reader {
    fn next<'a>(&mut self, text: &'a str) -> Option<Words<'a>> {
        if let Some(spoken) = parse(text) {
            self.before = match spoken.level {
                Level::RcclVersion => Before::RcclVersion,
                Level::Info if spoken.message.ends_with("Matrix:") => Before::Matrix,
                Level::Info | Level::Warn | Level::Trace | Level::NcclVersion | Level::Framework => {
                    Before::Other
                }
            };
            return Some(Words::Spoken(spoken));
        }
        let goes_on = match self.before {
            Before::RcclVersion => continues_version(text),
            Before::Matrix => continues_matrix(text),
            Before::Other => return None,
        };
        if !goes_on {
            self.before = Before::Other;
            return None;
        }
        Some(Words::Rest(text))
    }
}

/// The ranges of the lines at `indices`.
fn lines_at(lines: &[Line<'_>], indices: &[usize]) -> Vec<crate::format::LineRange> {
    let mut unused = indices.iter().copied().peekable();
    let used: Vec<usize> = (0..lines.len()).filter(|index| unused.next_if_eq(index).is_none()).collect();
    ranges::unused(lines, &used)
}

fn said(text: &str, times: Times) -> Said {
    Said { text: text.to_owned(), count: times.count, line: times.line }
}

/// Lines that are often misread.
fn traps(log: &NcclLog, part: &Part<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let place = |number: u32| {
        let index = part.lines.partition_point(|line| line.number < number);
        part.start_at(index)
    };
    let remark = |mark: &str| log.remarks.iter().find(|said| said.text.contains(mark));
    let gdr = log.gdr_in_use();
    let hint = log.remarks.iter().find(|said| said.text.contains(RING_GDR) && said.text.contains("GDR 1"));
    if let (Some(said), Gdr::No | Gdr::Unknown) = (hint, gdr) {
        let message = "`GDR 1` at the end of this line does not prove that GPUDirect RDMA is used";
        let hint = "only connections with `/GDRDMA` in their name use it, and this log has none";
        found.push(Diagnostic::note(codes::GDR_UNPROVEN, message).hint(hint).at(place(said.line)));
    }
    if let Some((having, lacking)) = log.one_sided().first() {
        let (having, lacking) = (log.connections[*having], log.connections[*lacking]);
        let (end, other) = if having.sends > 0 { ("sending", "receiving") } else { ("receiving", "sending") };
        let message = format!(
            "rank {} to rank {}: the {end} side uses GPUDirect RDMA, the {other} side does not",
            lacking.from, lacking.to
        );
        let hint =
            "compare the two hosts: kernel modules, NCCL_NET_GDR_LEVEL, and how near GPU and adapter are";
        found.push(Diagnostic::warning(codes::GDR_ONE_SIDED, message).hint(hint).at(place(lacking.line)));
    }
    if let Some(said) = remark(NO_LINK_SPEED) {
        let message = "the speed of a PCIe link could not be read, so that NCCL assumes a default";
        let hint = "virtual machines hide it; give NCCL a topology file (NCCL_TOPO_FILE) that states it";
        found.push(Diagnostic::warning(codes::LINK_SPEED_HIDDEN, message).hint(hint).at(place(said.line)));
    }
    found
}
