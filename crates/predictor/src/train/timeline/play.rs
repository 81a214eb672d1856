//! Plays the turns of all stages: each begins when its stage is free and its micro-batch has come.

use weft_workload::{Layout, Turn, Work, turns};

use super::Passes;

/// A turn with its times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Played {
    pub turn: Turn,
    /// When the stage was free for it.
    pub free_s: f64,
    /// When its first kernel began: later, if weights are gathered or the micro-batch was not there yet.
    pub begin_s: f64,
    /// When its last layer was done.
    pub end_s: f64,
    /// When the stage was free for the next one.
    pub over_s: f64,
}

/// When the output of which turn of a stage is with the stage that waits for it.
struct Arrivals {
    layout: Layout,
    seconds: Vec<f64>,
}

impl Arrivals {
    fn new(layout: &Layout) -> Self {
        let turns = 2 * index(layout.pipeline) * index(layout.micro_batches()) * index(layout.virtual_stages);
        Self { layout: layout.clone(), seconds: vec![f64::NAN; turns] }
    }

    fn place(&self, stage: u32, turn: Turn) -> usize {
        let stage = 2 * index(stage) + usize::from(turn.work != Work::Forward);
        (stage * index(self.layout.virtual_stages) + index(turn.chunk)) * index(self.layout.micro_batches())
            + index(turn.micro_batch)
    }

    /// When what `turn` needs is there: at once where nothing is sent; `None` if it is not on its way yet.
    fn of(&self, stage: u32, turn: Turn) -> Option<f64> {
        let Some((other, before)) = turn.after(&self.layout, stage) else { return Some(0.0) };
        let seconds = self.seconds[self.place(other, before)];
        (!seconds.is_nan()).then_some(seconds)
    }
}

/// The turns of each stage.
pub(super) fn play(layout: &Layout, passes: &Passes) -> Vec<Vec<Played>> {
    let waiting: Vec<Vec<Turn>> = (0..layout.pipeline).map(|stage| turns(layout, stage)).collect();
    let last = waiting.first().and_then(|turns| turns.iter().rfind(|turn| turn.work == Work::Backward));
    let last = last.copied();
    let mut played: Vec<Vec<Played>> = vec![Vec::new(); waiting.len()];
    let mut arrivals = Arrivals::new(layout);
    let mut moved = true;
    while moved {
        moved = false;
        for ((stage, turns), played) in (0..).zip(&waiting).zip(&mut played) {
            while let Some(turn) = turns.get(played.len()).copied() {
                let Some(come_s) = arrivals.of(stage, turn) else { break };
                let next = one(passes, stage, turn, played.last().map_or(0.0, |last| last.over_s), come_s);
                if turn.work != Work::WeightGradients {
                    // The first way forward and the last one back are hidden by nothing.
                    let is_end = Some(turn) == last || turn == FIRST;
                    let hop_s = if is_end { passes.hop_s } else { passes.of(stage, turn.work).hop_s };
                    let place = arrivals.place(stage, turn);
                    arrivals.seconds[place] = next.end_s + hop_s;
                }
                played.push(next);
                moved = true;
            }
        }
    }
    played
}

const FIRST: Turn = Turn { work: Work::Forward, micro_batch: 0, chunk: 0 };

fn one(passes: &Passes, stage: u32, turn: Turn, free_s: f64, come_s: f64) -> Played {
    let pass = passes.of(stage, turn.work);
    // Weights are gathered while the stage waits.
    let begin_s = come_s.max(free_s + pass.gather_s);
    let end_s = begin_s + pass.inside_s();
    Played { turn, free_s, begin_s, end_s, over_s: end_s + pass.hop_s + pass.scatter_s }
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
