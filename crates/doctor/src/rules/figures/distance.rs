//! Lines so long that what is under way at once bounds the bandwidth.

use weft_base::{Bytes, Place, Span};
use weft_formats::Benchmark;
use weft_predictor::compare::Verdict;

use crate::cause::{Cause, Effect, Nature};
use crate::chart::{Chart, Run};
use crate::finding::{Confidence, Finding};
use crate::rules::Rule;

/// Bandwidth times delay.
pub const LONG_DISTANCE: Cause = Cause {
    code: "D086",
    word: "long-distance",
    title: "the line between the hosts is long: bandwidth x delay exceeds what is under way",
    nature: Nature::Limit,
    effect: Effect::Bandwidth,
    explanation: "A sender may have only so many bytes under way before an answer comes: NCCL's buffers per channel, the queue pair's \
        outstanding requests, a TCP window. On a line of round-trip time T the bandwidth is at most those bytes by T; inside a \
        machine room T is some microseconds and this never shows, between sites of some ten kilometres T is hundreds of \
        microseconds, and half the bandwidth is lost. To fill 25 GB/s over 500 us, 12.5 MB must be under way. More channels and \
        larger buffers help (NCCL_BUFFSIZE=16777216, NCCL_IB_QPS_PER_CONNECTION=4, NCCL_MIN_NCHANNELS=16), and so do collectives \
        that cross the long line once. Look at the times of the smallest messages, `ib_write_lat` and `ping`. Asked in \
        NVIDIA/nccl-tests#241.",
};

/// Within a machine room no message takes so long: light goes 20 km in it.
const LONG: Span = Span::picoseconds(100_000_000);
/// Small messages show the delay alone.
const SMALL: Bytes = Bytes::new(4096);

/// The rule.
#[derive(Debug)]
pub struct Distance;

impl Rule for Distance {
    fn causes(&self) -> &'static [&'static Cause] {
        &[&LONG_DISTANCE]
    }

    fn check(&self, chart: &Chart<'_>) -> Vec<Finding> {
        let measured = chart.runs.iter().find_map(one_way);
        let slow = chart.runs.iter().find_map(collective);
        let (delay, place, confidence) = match (measured, slow) {
            (Some((delay, place)), _) => (delay, place, Confidence::Likely),
            (None, Some((delay, place))) => (delay, place, Confidence::Possible),
            (None, None) => return Vec::new(),
        };
        let what = format!(
            "{delay} pass before a small message has arrived: the hosts are far apart, or the network queues"
        );
        let finding = Finding::new(&LONG_DISTANCE, confidence, what)
            .at(place, format!("{delay} for a small message"))
            .costs(0.4, "bytes under way by the round-trip time are the most that a connection carries")
            .fix("more under way: NCCL_BUFFSIZE=16777216 NCCL_IB_QPS_PER_CONNECTION=4 NCCL_MIN_NCHANNELS=16 (for this job)")
            .check("busbw rises with each doubling of NCCL_BUFFSIZE until the line is full")
            .settle("ping -c 5 <other host>, and ib_write_lat between the two");
        vec![finding]
    }
}

/// The time of small messages of a test between two hosts.
fn one_way(run: &Run<'_>) -> Option<(Span, Place)> {
    let is_latency =
        run.benchmark.tool == "perftest" && run.benchmark.operation.as_deref()?.contains("latency");
    let row = run.benchmark.rows.iter().find(|row| row.bytes <= SMALL && row.time.is_some())?;
    let time = row.time.filter(|time| is_latency && *time > LONG)?;
    Some((time, run.at(row.line)))
}

/// A collective between hosts whose smallest sizes take many times what is expected, and whose largest is low: a delay,
/// and not a slow link alone.
fn collective(run: &Run<'_>) -> Option<(Span, Place)> {
    let comparison = run.comparison.as_ref().filter(|it| it.prediction.nodes > 1)?;
    let first = comparison.points.first().filter(|first| first.bytes <= SMALL)?;
    let last = comparison.points.last()?;
    let is_slow = comparison
        .points
        .iter()
        .filter(|point| point.bytes <= SMALL)
        .all(|point| point.time > LONG && point.ratio < 0.2);
    let steady = is_steady(run.benchmark);
    (is_slow && steady && last.verdict == Verdict::Low).then(|| (first.time, run.at(first.line)))
}

/// Whether small messages all take about as long: a line is as long each time, queues are not.
fn is_steady(benchmark: &Benchmark) -> bool {
    let mut times: Vec<Span> = benchmark
        .rows
        .iter()
        .filter(|row| row.bytes <= SMALL && row.bytes > Bytes::ZERO)
        .filter_map(|row| row.time)
        .collect();
    times.sort_unstable();
    let (Some(least), Some(most)) = (times.first(), times.last()) else { return false };
    times.len() >= 4 && most.as_seconds() < 1.5 * least.as_seconds()
}
