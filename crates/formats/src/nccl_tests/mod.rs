//! Tables of nccl-tests and rccl-tests in the logs of jobs: of all versions, behind the prefixes of launchers,
//! with lines of NCCL between the rows, cut where a job hung.

mod check;
mod line;
mod row;
mod run;
#[cfg(test)]
mod tests;

use weft_catalogue::Catalogue;

use crate::evidence::Evidence;
use crate::format::{Claim, Format, Located, Part, Read, Text};
use crate::ranges;
use line::{Kind, kind};

/// The reader.
#[derive(Debug)]
pub struct NcclTests;

impl Format for NcclTests {
    fn name(&self) -> &'static str {
        "nccl-tests"
    }

    fn title(&self) -> &'static str {
        "tables of nccl-tests and rccl-tests"
    }

    fn command(&self) -> Option<&'static str> {
        Some("all_reduce_perf -b 8 -e 8G -f 2 -g 8")
    }

    fn marks(&self) -> &'static [&'static str] {
        &[
            "busbw",
            "Avg bus bandwidth",
            "Using devices",
            "nThread",
            " float ",
            " half ",
            "bfloat16",
            "  double ",
        ]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let mut indices: Vec<usize> = Vec::new();
        // Lines that are ours only beside others: a lone `#`, the name of a program, the tail of a torn row.
        let mut waiting: Vec<usize> = Vec::new();
        let (mut is_ours, mut is_torn) = (false, false);
        for (index, line) in text.lines.iter().enumerate() {
            let Some((_, kind)) = kind(&line.text) else { continue };
            match kind {
                Kind::Bare if indices.last().is_some_and(|last| last + 1 == index) => indices.push(index),
                Kind::Bare => waiting = vec![index],
                Kind::Tail(_) if is_torn => indices.push(index),
                Kind::Tail(_) => {}
                Kind::Program(_) | Kind::Remark | Kind::Units | Kind::Halves(_) | Kind::Using => {
                    indices.push(index);
                }
                Kind::Row(_)
                | Kind::Header(_)
                | Kind::Rank(_)
                | Kind::Parameters
                | Kind::Version(_)
                | Kind::Starting(_)
                | Kind::Concluded(_)
                | Kind::Average(_)
                | Kind::OutOfBounds(_) => {
                    is_ours = true;
                    if let Kind::Row(row) = &kind {
                        is_torn = row.is_torn;
                    }
                    indices.extend(waiting.drain(..).filter(|waiting| waiting + 1 == index));
                    indices.push(index);
                }
            }
        }
        // Logs of NCCL stand between the rows, and sometimes in one line with them.
        if is_ours { vec![Claim::lines(indices).piecemeal()] } else { Vec::new() }
    }

    fn read(&self, part: &Part<'_>, _catalogue: &Catalogue) -> Read {
        let (runs, used) = run::runs(part);
        let mut runs = run::joined(runs);
        let mut diagnostics = check::all(&mut runs, part);
        ranges::sort(&mut diagnostics);
        let evidence = runs.into_iter().map(|run| {
            let place = check::at_line(part, run.table.line);
            Located { value: Evidence::Benchmark(Box::new(run.table)), place }
        });
        Read { evidence: evidence.collect(), diagnostics, unused: ranges::unused(&part.lines, &used) }
    }
}
