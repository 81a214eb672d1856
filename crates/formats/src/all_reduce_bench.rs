//! What `all_reduce_bench.py` of the BigScience project prints: every rank its own figures, trial by trial,
//! in gigabits per second.

use std::collections::BTreeSet;

use weft_base::{Bytes, Rate, Span};
use weft_catalogue::Catalogue;

use crate::evidence::{Benchmark, BenchmarkRow, Evidence};
use crate::format::{Claim, Format, Located, Part, Read, Text};
use crate::ranges;

/// The reader.
#[derive(Debug)]
pub struct AllReduceBench;

/// A line of the script's.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Said {
    /// `0 data size: 4.0 GB`.
    Size(u32, f64),
    /// `0:` above its figures.
    Rank(u32),
    /// ` duration: 0.0481 sec`.
    Duration(f64),
    /// ` algo throughput: 1329424219906.1 bps, 1329.4242 Gbps`: twice the bytes by the time.
    Throughput(f64),
    /// ` busbw: 997.0682  Gbps`.
    BusBandwidth(f64),
    /// `ignore me 124`: keeps the result alive.
    Filler,
}

impl Format for AllReduceBench {
    fn name(&self) -> &'static str {
        "all-reduce-bench"
    }

    fn title(&self) -> &'static str {
        "figures of all_reduce_bench.py"
    }

    fn command(&self) -> Option<&'static str> {
        None
    }

    fn marks(&self) -> &'static [&'static str] {
        &[" algo throughput: ", " busbw: "]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        let mut found = Vec::new();
        let mut any = false;
        let mut lines = text.lines.iter().enumerate().peekable();
        while let Some((index, line)) = lines.next() {
            let Some(said) = said(&line.text) else { continue };
            // A number with a colon is the script's only above a duration.
            let below = lines.peek().is_some_and(|(_, next)| next.text.contains("duration: "));
            if matches!(said, Said::Rank(_)) && !below {
                continue;
            }
            any |= matches!(said, Said::BusBandwidth(_));
            found.push(index);
        }
        if any { vec![Claim::lines(found).piecemeal()] } else { Vec::new() }
    }

    fn read(&self, part: &Part<'_>, _: &Catalogue) -> Read {
        let mut table = Benchmark {
            tool: "all-reduce-bench",
            collective: Some("all-reduce".to_owned()),
            ..Benchmark::default()
        };
        let mut ranks: BTreeSet<u32> = BTreeSet::new();
        let mut used = Vec::new();
        let (mut bytes, mut row) = (Bytes::ZERO, BenchmarkRow::default());
        for (index, line) in part.lines.iter().enumerate() {
            let Some(said) = said(&line.text) else { continue };
            used.push(index);
            match said {
                Said::Size(rank, gigabytes) => {
                    ranks.insert(rank);
                    bytes = Bytes::new(Rate::from_gigabytes(gigabytes).get());
                }
                Said::Rank(rank) => {
                    ranks.insert(rank);
                    row = BenchmarkRow::default();
                }
                Said::Duration(seconds) => row.time = Some(Span::from_microseconds(seconds * 1e6)),
                // Twice the bytes in bits: a sixteenth of it is bytes by time.
                Said::Throughput(gigabits) => row.algbw = Some(Rate::from_gigabytes(gigabits / 16.0)),
                Said::BusBandwidth(gigabits) => {
                    let busbw = Some(Rate::from_gigabytes(gigabits / 8.0));
                    let dtype = Some("float".to_owned());
                    let redop = Some("sum".to_owned());
                    let own = std::mem::take(&mut row);
                    table.rows.push(BenchmarkRow {
                        bytes,
                        busbw,
                        dtype,
                        redop,
                        in_place: true,
                        line: line.number,
                        ..own
                    });
                }
                Said::Filler => {}
            }
        }
        let unused = ranges::unused(&part.lines, &used);
        let Some(first) = used.first().filter(|_| !table.rows.is_empty()) else {
            return Read { unused, ..Read::default() };
        };
        table.rank_count = (!ranks.is_empty()).then_some(ranks.len());
        table.line = part.lines[*first].number;
        let place = part.start_at(*first);
        Read {
            evidence: vec![Located { value: Evidence::Benchmark(Box::new(table)), place }],
            unused,
            ..Read::default()
        }
    }
}

fn said(line: &str) -> Option<Said> {
    // Most lines of a job log end here.
    let text = line.trim();
    if line.len() > 128 {
        return None;
    }
    if let Some(rank) = text.strip_suffix(':') {
        return rank.parse().ok().map(Said::Rank);
    }
    let number = |text: &str, unit: &str| -> Option<f64> { text.strip_suffix(unit)?.trim().parse().ok() };
    if let Some(rest) = after(text, "duration: ") {
        return number(rest, "sec").map(Said::Duration);
    }
    if let Some(rest) = after(text, "algo throughput: ") {
        return number(rest.split_once(", ")?.1, "Gbps").map(Said::Throughput);
    }
    if let Some(rest) = after(text, "busbw: ") {
        return number(rest, "Gbps").map(Said::BusBandwidth);
    }
    if let Some((before, rest)) = text.split_once(" data size: ") {
        let rank = before.rsplit([' ', ':', '>']).next()?.parse().ok()?;
        return Some(Said::Size(rank, number(rest, "GB")?));
    }
    after(text, "ignore me ")?.trim().parse::<f64>().ok().map(|_| Said::Filler)
}

/// What follows `mark`, before which nothing stands but what a launcher puts there.
fn after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    let (before, rest) = text.split_once(mark)?;
    let before = before.trim_end();
    (before.is_empty() || before.ends_with([':', '>', ']'])).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Source;
    use crate::read;

    #[test]
    fn each_trial_of_each_rank_is_a_row() {
        let text = include_str!("../../../examples/formats/all-reduce-bench/two-ranks.txt");
        let reading = read(&Source::file("t", text), Catalogue::embedded(), None);
        let table = reading.evidence.into_iter().find_map(|evidence| {
            let Evidence::Benchmark(table) = evidence.value else { return None };
            Some(table)
        });
        let table = table.unwrap();
        assert_eq!((table.rank_count, table.rows.len()), (Some(2), 3));
        let row = &table.rows[0];
        assert_eq!(
            (row.bytes, row.time),
            (Bytes::new(4_000_000_000), Some(Span::from_microseconds(80_000.0)))
        );
        // 4 GB in 0.08 s are 50 GB/s; with two ranks the bus carries as much.
        assert_eq!(row.algbw, Some(Rate::from_gigabytes(50.0)));
        assert_eq!(row.busbw, Some(Rate::from_gigabytes(50.0)));
    }
}
