//! What of a long step is left out of a picture: micro-batches in the middle, which are like those beside them.

use crate::picture::Pixels;
use weft_predictor::train::{Lane, Of, Timeline, What};
use weft_workload::{Turn, Work};

/// Turns of a stage that are drawn without leaving any out.
const MOST_TURNS: usize = 96;
/// Of a step, what must be saved for a picture to be cut.
const LEAST_SHARE: f64 = 0.15;
/// Pixels of a cut.
pub const FOLD_WIDTH: f64 = 26.0;

/// A time that is left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fold {
    pub from_s: f64,
    pub to_s: f64,
    /// Micro-batches of which no turn of the first stage is drawn there.
    pub micro_batches: usize,
}

/// From seconds to pixels.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    pub folds: Vec<Fold>,
    left: f64,
    per_second: f64,
    end_s: f64,
}

impl Scale {
    pub fn new(timeline: &Timeline, left: Pixels, width: Pixels) -> Self {
        let folds = folds(timeline);
        let hidden: f64 = folds.iter().map(|fold| fold.to_s - fold.from_s).sum();
        let cuts = FOLD_WIDTH * f64::from(u32::try_from(folds.len()).unwrap_or(0));
        let per_second = (width - cuts) / (timeline.seconds - hidden).max(1e-12);
        Self { folds, left, per_second, end_s: timeline.seconds }
    }

    /// Where a moment is drawn; one that is left out at the begin of its cut.
    pub fn x(&self, at_s: f64) -> f64 {
        let mut x = self.left + at_s.min(self.end_s) * self.per_second;
        for fold in &self.folds {
            if at_s > fold.from_s {
                x -= (at_s.min(fold.to_s) - fold.from_s) * self.per_second;
            }
            if at_s >= fold.to_s {
                x += FOLD_WIDTH;
            }
        }
        x
    }

    /// Pieces of a bar that are drawn: x and width.
    pub fn pieces(&self, from_s: f64, to_s: f64) -> Vec<(f64, f64)> {
        let mut begin = from_s;
        let mut pieces = Vec::new();
        for fold in &self.folds {
            if begin < fold.from_s && to_s > fold.from_s {
                pieces.push((begin, fold.from_s));
            }
            if begin < fold.to_s && to_s > fold.from_s {
                begin = fold.to_s;
            }
        }
        if begin < to_s {
            pieces.push((begin, to_s));
        }
        pieces.into_iter().map(|(from, to)| (self.x(from), (to - from) * self.per_second)).collect()
    }

    /// Whether a moment is drawn.
    pub fn shows(&self, at_s: f64) -> bool {
        !self.folds.iter().any(|fold| at_s > fold.from_s && at_s < fold.to_s)
    }

    /// Seconds that are drawn.
    pub fn shown_s(&self) -> f64 {
        self.end_s - self.folds.iter().map(|fold| fold.to_s - fold.from_s).sum::<f64>()
    }
}

/// The middle of each run of turns that is alike: of all of them, or of those forward and those backward where a stage
/// does all of one first.
fn folds(timeline: &Timeline) -> Vec<Fold> {
    let Some(first) = timeline.lanes.iter().find(|lane| lane.of == Of::Gpus) else { return Vec::new() };
    let turns = turns(first);
    if turns.len() <= MOST_TURNS {
        return Vec::new();
    }
    let ahead = turns.iter().take_while(|(turn, _)| turn.work == Work::Forward).count();
    let runs = if 2 * ahead >= turns.len() {
        vec![(0..ahead, 16), (ahead..turns.len(), 16)]
    } else {
        vec![(0..turns.len(), (ahead + 10).max(24))]
    };
    runs.into_iter()
        .filter(|(run, edge)| run.len() > 2 * edge)
        .map(|(run, edge)| fold(&turns[run.start + edge..run.end - edge]))
        .filter(|fold| fold.to_s - fold.from_s > LEAST_SHARE * timeline.seconds)
        .collect()
}

fn turns(lane: &Lane) -> Vec<(Turn, (f64, f64))> {
    let turn = |bar: &weft_predictor::train::Bar| match bar.what {
        What::Turn(turn) => Some((turn, (bar.from_s, bar.to_s))),
        What::Hop(_) | What::Gather(_) | What::Scatter(_) | What::Gradients | What::Optimizer => None,
        What::Weights | What::Rest | What::Straggler => None,
    };
    lane.bars.iter().filter_map(turn).collect()
}

fn fold(turns: &[(Turn, (f64, f64))]) -> Fold {
    let from_s = turns.first().map_or(0.0, |(_, (from, _))| *from);
    let to_s = turns.last().map_or(0.0, |(_, (_, to))| *to);
    let count = |work| turns.iter().filter(|(turn, _)| turn.work == work && turn.chunk == 0).count();
    Fold { from_s, to_s, micro_batches: count(Work::Forward).max(count(Work::Backward)) }
}
