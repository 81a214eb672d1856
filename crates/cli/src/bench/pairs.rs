//! All pairs of ranks, and which host or pair is slow.

use weft_base::{Diagnostic, Rate};
use weft_predictor::pairs::{PairRate, PairRates, SlowHost, SlowPair, Verdict, judge, rounds};
use weft_runtime::measure::{PairSeries, PairsMeasured, pairs};
use weft_runtime::{Communicator, Either, Fault, Place};

use super::Task;
use crate::codes::{SLOW_HOST, SLOW_PAIR};

pub use super::matrix::{csv, text};

/// Bytes of a name that ranks tell each other.
const NAME_BYTES: usize = 64;

/// What was measured, and what stands out.
#[derive(Debug)]
pub struct PairsReport {
    /// What was asked for; its series has one size.
    pub task: Task,
    /// Over what.
    pub transport: String,
    /// What each rank is called in the matrix.
    pub names: Vec<String>,
    /// All pairs.
    pub measured: PairsMeasured,
    /// What stands out.
    pub verdict: Verdict,
}

/// Measures all pairs as one of the ranks that meet at a place; `name` is what its host is called.
pub fn take_part(task: &Task, name: &str, rank: u32, place: Place) -> Result<PairsReport, Fault> {
    let mut group = task.join(rank, place)?;
    let names = names(&mut group, name)?;
    let bytes = task.series.sizes.first().copied().unwrap_or_default();
    let series = PairSeries { bytes, repeats: task.series.repeats };
    let measured = pairs(&mut group, &rounds(task.ranks), &series)?;
    let rates = PairRates::new(names.clone(), |from, to| {
        let seen = measured.get(from, to)?;
        let rate = |bytes_per_s: f64| Rate::from_gigabytes(bytes_per_s / 1e9);
        Some(PairRate { median: rate(seen.bytes_per_s), best: rate(seen.range_bytes_per_s.1) })
    });
    let (transport, verdict) = (group.transport().describe(), judge(&rates));
    Ok(PairsReport { task: task.clone(), transport, names, measured, verdict })
}

/// What all ranks are called: by their host, with a number where a host has several; by rank where all are on one.
fn names(group: &mut Communicator<Either>, own: &str) -> Result<Vec<String>, Fault> {
    let mut told = [0_u8; NAME_BYTES];
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let own: String = own.chars().take(NAME_BYTES - 8).map(plain).collect();
    told[..own.len()].copy_from_slice(own.as_bytes());
    let mut all = vec![0; NAME_BYTES * group.ranks() as usize];
    group.all_gather(&told, &mut all)?;
    // Names are of interest at rank 0 only, which has them in the order of ranks.
    let hosts: Vec<String> = all
        .chunks(NAME_BYTES)
        .map(|told| String::from_utf8_lossy(told).trim_end_matches('\0').to_owned())
        .collect();
    Ok(labels(&hosts))
}

fn labels(hosts: &[String]) -> Vec<String> {
    let count = |name: &String, among: &[String]| among.iter().filter(|other| *other == name).count();
    let label = |(rank, name): (usize, &String)| {
        let alike = count(name, hosts);
        if alike == hosts.len() && alike > 1 || name.is_empty() {
            format!("rank{rank}")
        } else if alike > 1 {
            format!("{name}:{}", count(name, &hosts[..rank]))
        } else {
            name.clone()
        }
    };
    hosts.iter().enumerate().map(label).collect()
}

impl PairsReport {
    /// How many of the bytes that were checked came otherwise than they were sent.
    pub fn wrong_count(&self) -> u64 {
        let ranks = self.names.len();
        let cells = (0..ranks * ranks).filter_map(|at| self.measured.get(at / ranks, at % ranks));
        cells.map(|seen| seen.wrong_count).sum()
    }

    /// What a rank is called.
    pub fn name(&self, rank: usize) -> &str {
        self.names.get(rank).map_or("", String::as_str)
    }

    /// What stands out, as findings.
    pub fn findings(&self) -> Vec<Diagnostic> {
        let hosts = self.verdict.hosts.iter().map(|host| Diagnostic::warning(SLOW_HOST, self.host(host)));
        let pairs = self.verdict.pairs.iter().map(|pair| Diagnostic::warning(SLOW_PAIR, self.pair(pair)));
        hosts.chain(pairs).collect()
    }

    fn host(&self, slow: &SlowHost) -> String {
        let share = |rate: Rate| {
            let typical = self.verdict.typical.map_or(1.0, Rate::as_gigabytes);
            format!("{rate}, {:.0} % of what is typical", 100.0 * rate.as_gigabytes() / typical.max(1e-9))
        };
        let name = self.name(slow.host);
        match (slow.sends, slow.receives) {
            (Some(sends), Some(receives)) => {
                format!(
                    "{name} is slow with all others: sends {}; receives {}",
                    share(sends),
                    share(receives)
                )
            }
            (Some(sends), None) => {
                format!("{name} sends slowly to all others, and receives well: {}", share(sends))
            }
            (None, Some(receives)) => {
                format!("{name} receives slowly from all others, and sends well: {}", share(receives))
            }
            (None, None) => format!("{name} is not slow"),
        }
    }

    fn pair(&self, slow: &SlowPair) -> String {
        let (from, to) = (self.name(slow.from), self.name(slow.to));
        let expected = format!("both reach {} with others", slow.expected);
        match slow.back {
            Some(back) => {
                format!(
                    "{from} and {to} are slow with each other: {} there, {back} back; {expected}",
                    slow.rate
                )
            }
            None => format!("{from} to {to} is slow in this direction only: {}; {expected}", slow.rate),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_called_by_their_hosts() {
        let of = |names: &[&str]| labels(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["a", "b"]), ["a", "b"]);
        assert_eq!(of(&["a", "a", "b", "b"]), ["a:0", "a:1", "b:0", "b:1"]);
        assert_eq!(of(&["a", "a", "a"]), ["rank0", "rank1", "rank2"]);
        assert_eq!(of(&["a", ""]), ["a", "rank1"]);
    }
}
