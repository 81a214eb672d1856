//! A table of a benchmark beside what is predicted of its sizes.

use std::rc::Rc;

use weft_base::{Bytes, Rate, Span};
use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_formats::{Benchmark, BenchmarkRow};
use weft_topology::Topology;

use super::asked::Asked;
use super::causes::{self, Cause};
use super::shape::{self, Shape};
use super::verdict::{Expectation, Verdict};
use crate::validate::Kind;
use crate::{KnownMachine, PredictError, Prediction, Request, Row};

/// A measured size beside the expected one.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Message size.
    pub bytes: Bytes,
    /// Measured time of one operation, out of place where both ran.
    pub time: Span,
    /// Measured, as nccl-tests counts it.
    pub busbw: Rate,
    /// What is expected.
    pub expected: Row,
    /// Measured bus bandwidth by expected.
    pub ratio: f64,
    /// What to think of it.
    pub verdict: Verdict,
    /// Line of the table, from 1.
    pub line: u32,
}

/// Sizes that the same things limit, together.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    /// Which sizes.
    pub kind: Kind,
    /// How many were measured.
    pub point_count: usize,
    /// Measured bus bandwidth by expected, the median.
    pub ratio: f64,
    /// The verdict of most of its sizes; that of the larger ones where there are as many.
    pub verdict: Verdict,
    /// What limits the largest of its sizes, in words.
    pub bound_by: String,
    /// What a bandwidth that is too good by so much often is, in words.
    pub doubt: Option<&'static str>,
}

/// A table beside what is predicted.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// What ran.
    pub collective: Collective,
    /// How many ranks.
    pub ranks: usize,
    /// Line of the table's header, from 1.
    pub line: u32,
    /// By size.
    pub points: Vec<Point>,
    /// By size: latency, between, bandwidth; those of which something was measured.
    pub bands: Vec<Band>,
    /// What is predicted of the same sizes.
    pub prediction: Rc<Prediction>,
    /// What no run can exceed, whatever its algorithm and its way: the bound of the prediction, or the limit of all
    /// links together where that is higher.
    pub most: Rate,
    /// What would explain the sizes that are low, those first that explain the most.
    pub causes: Vec<Cause>,
    /// What stands out over all sizes.
    pub shape: Option<Shape>,
    /// Rows without a size or a time.
    pub left_out: usize,
}

/// Compares a table of the collective that `request` names over its GPUs; sizes are those of the table.
pub fn compare(
    benchmark: &Benchmark,
    topology: &Topology,
    catalogue: &Catalogue,
    request: &Request,
) -> Result<Comparison, PredictError> {
    compare_with(benchmark, &Asked::new(KnownMachine::new(topology.clone(), catalogue), request.clone()))
}

/// The same with a machine that may be known already.
pub(super) fn compare_with(benchmark: &Benchmark, asked: &Asked<'_>) -> Result<Comparison, PredictError> {
    let mut rows: Vec<&BenchmarkRow> = Vec::new();
    for row in benchmark.rows.iter().filter(|row| row.bytes > Bytes::ZERO) {
        match rows.iter_mut().find(|kept| kept.bytes == row.bytes) {
            // Out of place counts where both ran, and of several runs the first.
            Some(kept) if kept.in_place && !row.in_place => *kept = row,
            Some(_) => {}
            None => rows.push(row),
        }
    }
    let sizes: Vec<Bytes> = rows.iter().map(|row| row.bytes).collect();
    let prediction = asked.instead(|request| request.sizes = sizes)?;
    let most = prediction.limit.as_ref().map_or(Rate::ZERO, |limit| limit.busbw).max(prediction.bound.busbw);
    let collective = asked.request().collective;
    let bus_factor = collective.bus_factor(prediction.ranks);
    let mut points = Vec::new();
    for (row, expected) in rows.iter().zip(&prediction.rows) {
        if let Some(time_s) = time_s(row, bus_factor) {
            points.push(point(row, time_s, expected, bus_factor, most));
        }
    }
    let left_out =
        benchmark.rows.iter().filter(|row| row.bytes == Bytes::ZERO).count() + rows.len() - points.len();
    points.sort_by_key(|point| point.bytes);
    let bands = bands(&points, bus_factor);
    let causes = causes::of(&points, asked)?;
    let shape = shape::of(&points);
    let (ranks, line) = (prediction.ranks, benchmark.line);
    Ok(Comparison { collective, ranks, line, points, bands, prediction, most, causes, shape, left_out })
}

/// The time of one operation, from the bandwidth where only that is given.
fn time_s(row: &BenchmarkRow, bus_factor: f64) -> Option<f64> {
    let of = |rate: Rate, factor: f64| {
        (rate > Rate::ZERO).then(|| factor * row.bytes.as_f64() / (rate.as_gigabytes() * 1e9))
    };
    let time = row.time.filter(|time| *time > Span::ZERO).map(Span::as_seconds);
    time.or_else(|| of(row.algbw?, 1.0)).or_else(|| of(row.busbw?, bus_factor))
}

fn point(row: &BenchmarkRow, time_s: f64, expected: &Row, bus_factor: f64, most: Rate) -> Point {
    let busbw = Rate::from_gigabytes(row.bytes.as_f64() / time_s / 1e9 * bus_factor);
    let least_s = (most > Rate::ZERO).then(|| row.bytes.as_f64() * bus_factor / (most.as_gigabytes() * 1e9));
    let known = Expectation {
        time_s: expected.time.as_seconds(),
        interval_s: (expected.low.as_seconds(), expected.high.as_seconds()),
        least_s,
    };
    let of = |span: Option<Span>| span.map_or(time_s, Span::as_seconds);
    let verdict = known.judge(time_s, (of(row.fastest).min(time_s), of(row.slowest).max(time_s)));
    Point {
        bytes: row.bytes,
        time: Span::from_microseconds(time_s * 1e6),
        busbw,
        ratio: expected.time.as_seconds() / time_s,
        verdict,
        line: row.line,
        expected: expected.clone(),
    }
}

fn bands(points: &[Point], bus_factor: f64) -> Vec<Band> {
    let kinds = [Kind::Latency, Kind::Between, Kind::Bandwidth];
    let band = |kind: Kind| {
        let own: Vec<&Point> = points.iter().filter(|point| Kind::of(Some(point.bytes)) == kind).collect();
        let last = own.last()?;
        let mut ratios: Vec<f64> = own.iter().map(|point| point.ratio).collect();
        ratios.sort_by(f64::total_cmp);
        let ratio = ratios[ratios.len() / 2];
        let count = |verdict: Verdict| own.iter().filter(|point| point.verdict == verdict).count();
        // Of as many, the last one wins: that of the larger sizes.
        let verdict = own.iter().map(|point| point.verdict).max_by_key(|verdict| count(*verdict));
        let verdict = verdict.unwrap_or(last.verdict);
        Some(Band {
            kind,
            point_count: own.len(),
            ratio,
            verdict,
            bound_by: last.expected.bound_by.clone(),
            doubt: (verdict == Verdict::TooGood).then(|| doubt(ratio, bus_factor)),
        })
    };
    kinds.into_iter().filter_map(band).collect()
}

/// What makes a bandwidth too high by such a factor.
fn doubt(ratio: f64, bus_factor: f64) -> &'static str {
    let is_near = |factor: f64| (ratio / factor - 1.0).abs() < 0.25;
    if is_near(8.0) {
        "eight times what is expected: bits taken for bytes?"
    } else if bus_factor > 1.5 && is_near(bus_factor) {
        "as much too high as busbw is above algbw: was the factor applied twice?"
    } else if is_near(2.0) {
        "twice what is expected: both directions added up?"
    } else {
        "is it of this machine, these links and as many ranks?"
    }
}
