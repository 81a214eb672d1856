//! Bits taken for bytes, and both directions added.

use weft_base::Rate;
use weft_formats::{Benchmark, BenchmarkRow};
use weft_predictor::compare::{Comparison, Verdict};

use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, Run};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;

/// Another unit.
pub const UNITS: Cause = Cause {
    code: "D077",
    word: "units-confused",
    title: "bits are taken for bytes, or both directions are added",
    nature: Nature::Misreading,
    effect: Effect::Bandwidth,
    explanation: "Networks are sold in bits (400 Gb/s), benchmarks print bytes (50 GB/s), perftest prints bits unless told otherwise \
        (--report_gbits), and tests of copies in both directions print the sum. A figure eight times too high for its size and \
        time was in bits; one twice of what the wires allow was of both directions. Gb, GB and GiB differ by 8 and by 7 %: \
        write the unit, and say of how many directions it is.",
};

const BITS: f64 = 8.0;
/// How near a factor must be.
const NEAR: f64 = 0.05;

/// The rule.
#[derive(Debug)]
pub struct Units;

impl Rule for Units {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&UNITS]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let found = chart.runs.iter().find_map(|run| of_times(run).or_else(|| of_wires(run)));
        found.into_iter().collect()
    }
}

/// Rates eight times what size and time give, in all rows that have both.
fn of_times(run: &Run<'_>) -> Option<Finding> {
    let rows = timed(run.benchmark);
    let is_bits = |(_, rate, factor): &(&BenchmarkRow, Rate, f64)| {
        *rate > Rate::ZERO && (factor / BITS - 1.0).abs() < NEAR
    };
    let telling: Vec<_> = rows.into_iter().filter(|(_, rate, _)| rate.as_gigabytes() > 0.1).collect();
    if telling.len() < 2 || !telling.iter().all(is_bits) {
        return None;
    }
    let (row, rate, _) = telling.last()?;
    let true_rate = Rate::from_gigabytes(rate.as_gigabytes() / BITS);
    let what = format!(
        "the rates are in bits: {} in {} are {true_rate}, and {rate} stands there",
        row.bytes, row.time?
    );
    let finding = Finding::new(&UNITS, Confidence::Certain, what)
        .at(run.at(row.line), format!("{} in {}: {rate}", row.bytes, row.time?))
        .figures("rate by size and time", true_rate, rate)
        .fix("divide by 8, or write Gb/s over the column");
    Some(finding)
}

/// Rows with the rate that stands there and its factor above size by time.
fn timed(benchmark: &Benchmark) -> Vec<(&BenchmarkRow, Rate, f64)> {
    let of = |row| -> Option<(&BenchmarkRow, Rate, f64)> {
        let row: &BenchmarkRow = row;
        let seconds = row.time?.as_seconds();
        let rate = row.algbw?;
        let plain = row.bytes.as_f64() / seconds / 1e9;
        (seconds > 0.0 && plain > 0.0).then(|| (row, rate, rate.as_gigabytes() / plain))
    };
    benchmark.rows.iter().filter_map(of).collect()
}

/// Rates that someone wrote down and no wire of the machine allows. (What nccl-tests prints has its unit above it.)
fn of_wires(run: &Run<'_>) -> Option<Finding> {
    let comparison: &Comparison = run.comparison.as_ref()?;
    let is_own = matches!(run.benchmark.tool, "nccl-tests" | "rccl-tests") || run.assumed.is_some();
    let last = comparison.points.last().filter(|last| last.verdict == Verdict::TooGood && !is_own)?;
    let is_near = |factor: f64| (last.ratio / factor - 1.0).abs() < 0.25;
    let (factor, why) = if is_near(BITS) {
        (BITS, "bits taken for bytes")
    } else if is_near(2.0) {
        (2.0, "both directions added")
    } else {
        return None;
    };
    let told = Rate::from_gigabytes(last.busbw.as_gigabytes() / factor);
    let what = format!(
        "{} is more than the {} that the wires allow, and about {factor} times what is expected: {why}? Then it is {told}",
        last.busbw, comparison.most
    );
    let finding = Finding::new(&UNITS, Confidence::Possible, what)
        .at(run.at(last.line), format!("{} at {}", last.busbw, last.bytes))
        .figures(&format!("busbw at {}", last.bytes), last.expected.busbw, last.busbw)
        .fix("write the unit and the directions over the column, and compare again")
        .settle("the output of the tool itself, with the line that names its units");
    Some(finding)
}
