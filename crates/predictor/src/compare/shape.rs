//! What the shape of a run's bandwidth over sizes says, beside what is expected: a cliff, a dip, a late start.

use weft_base::{Bytes, Span};

use super::measured::Point;
use super::verdict::Verdict;

/// What stands out over all sizes.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// From a size on, all are slower by as much, where those before are as expected.
    Cliff {
        /// The first size that is slow.
        at: Bytes,
        /// Measured by expected before and behind, the medians.
        ratios: (f64, f64),
    },
    /// Sizes in the middle are slow, those on both sides are not.
    Dip {
        /// The first.
        from: Bytes,
        /// The last.
        to: Bytes,
        /// Measured by expected there, the median.
        ratio: f64,
    },
    /// Every small message takes longer by as much, and large ones are as expected.
    LateStart {
        /// The largest of them.
        to: Bytes,
        /// By how much.
        added: Span,
    },
}

impl Shape {
    /// As a sentence without a full stop.
    pub fn text(&self) -> String {
        match self {
            Self::Cliff { at, ratios: (before, behind) } => {
                format!("From {at} on it reaches {behind:.2} of what is expected, below {before:.2}")
            }
            Self::Dip { from, to, ratio } => {
                format!(
                    "Between {from} and {to} it reaches {ratio:.2} of what is expected; smaller and larger sizes are as expected"
                )
            }
            Self::LateStart { to, added } => {
                format!(
                    "Up to {to} each operation takes {added} more than expected; larger sizes are as expected"
                )
            }
        }
    }

    /// What shows the reason, in words.
    pub fn look(&self) -> &'static str {
        match self {
            Self::Cliff { .. } => {
                "what begins at that size: another algorithm or protocol (NCCL_ALGO, NCCL_PROTO, a tuner plugin), buffers of \
                 switches that overflow (pauses and losses in the ports' counters), memory that is registered anew"
            }
            Self::Dip { .. } => {
                "a choice that suits no size between: NCCL_ALGO, NCCL_PROTO, NCCL_BUFFSIZE, a tuner plugin"
            }
            Self::LateStart { .. } => {
                "who starts the kernels (`--launch`), the host's clock and C-states, cores that are shared, a barrier for \
                 each operation"
            }
        }
    }

    /// The word for it in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Cliff { .. } => "cliff",
            Self::Dip { .. } => "dip",
            Self::LateStart { .. } => "late-start",
        }
    }
}

/// So many sizes on each side make a shape.
const SIDE: usize = 3;
/// A cliff is a fall to less than this share within one step of size.
const FALL: f64 = 0.6;
/// Within so many times the median added time, all do add as much.
const ALIKE: f64 = 2.0;

/// The shape of points in the order of their sizes; `None` where nothing stands out.
pub(super) fn of(points: &[Point]) -> Option<Shape> {
    let first = points.iter().position(|point| point.verdict == Verdict::Low)?;
    let last = points.iter().rposition(|point| point.verdict == Verdict::Low)?;
    let low = &points[first..=last];
    let (before, behind) = (&points[..first], &points[last + 1..]);
    // Single sizes in between that come out right are chance.
    let is_run = 4 * low.iter().filter(|point| point.verdict == Verdict::Low).count() >= 3 * low.len();
    if !is_run || low.len() < SIDE.min(2) {
        return None;
    }
    let late = late_start(low).filter(|_| before.is_empty() && behind.len() >= SIDE);
    let dip = (before.len() >= SIDE && behind.len() >= SIDE).then(|| Shape::Dip {
        from: low[0].bytes,
        to: low[low.len() - 1].bytes,
        ratio: median(low),
    });
    late.or(dip).or_else(|| cliff(before, low).filter(|_| behind.is_empty()))
}

fn median(points: &[Point]) -> f64 {
    let mut ratios: Vec<f64> = points.iter().map(|point| point.ratio).collect();
    ratios.sort_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}

fn cliff(before: &[Point], low: &[Point]) -> Option<Shape> {
    let near = before.get(before.len().checked_sub(SIDE)?..)?;
    let (above, below) = (median(near), median(low));
    let falls = low[0].ratio < FALL * near[near.len() - 1].ratio;
    falls.then(|| Shape::Cliff { at: low[0].bytes, ratios: (above, below) })
}

/// Where all take longer by as much, whatever their size.
fn late_start(low: &[Point]) -> Option<Shape> {
    let mut added: Vec<f64> =
        low.iter().map(|point| (point.time.as_seconds() - point.expected.time.as_seconds()) * 1e6).collect();
    added.sort_by(f64::total_cmp);
    let median_us = added[added.len() / 2];
    let alike = added.iter().all(|one| (median_us / ALIKE..=median_us * ALIKE).contains(one));
    let to = low[low.len() - 1].bytes;
    (low.len() >= SIDE && alike).then(|| Shape::LateStart { to, added: Span::from_microseconds(median_us) })
}
