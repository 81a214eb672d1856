//! From turns to lanes: what waits for nothing hidden on the lane of the GPUs, all that is sent on that of the network.

use weft_workload::{Layout, Work};

use super::play::{Played, play};
use super::{Bar, Lane, Of, Passes, StepParts, Timeline, What};

/// Of a step, below which a difference is one of rounding.
const ROUNDING: f64 = 1e-9;

pub(super) fn timeline(layout: &Layout, parts: &StepParts) -> Timeline {
    let passes = Passes::new(layout, parts);
    let played = play(layout, &passes);
    let over = |turns: &Vec<Played>| turns.last().map_or(0.0, |turn| turn.over_s);
    let turns_end_s = played.iter().map(over).fold(0.0, f64::max);
    let mut lanes = Vec::new();
    for (stage, turns) in (0..).zip(&played) {
        let mut gpus = on_gpus(stage, turns, &passes);
        after(&mut gpus, (over(turns), turns_end_s), parts);
        let network = on_network(layout, stage, turns, parts);
        lanes.push(Lane { stage, of: Of::Gpus, bars: gpus });
        if !network.is_empty() {
            lanes.push(Lane { stage, of: Of::Network, bars: network });
        }
    }
    let total = |stage: &super::StageTime| stage.forward.total_s() + stage.backward.total_s();
    let is_last = total(&parts.last) > total(&parts.first);
    let slowest_stage = if is_last { layout.pipeline - 1 } else { 0 };
    let rest_s = rest(turns_end_s, parts);
    let seconds = parts.seconds - rest_s.min(0.0);
    Timeline { lanes, seconds, rest_s, turns_end_s, slowest_stage, passes }
}

fn on_gpus(stage: u32, turns: &[Played], passes: &Passes) -> Vec<Bar> {
    let mut bars = Vec::new();
    for played in turns {
        let pass = passes.of(stage, played.turn.work);
        push(&mut bars, What::Gather(played.turn), played.free_s, pass.gather_s);
        push(&mut bars, What::Turn(played.turn), played.begin_s, played.end_s - played.begin_s);
        push(&mut bars, What::Hop(played.turn), played.end_s, pass.hop_s);
        push(&mut bars, What::Scatter(played.turn), played.end_s + pass.hop_s, pass.scatter_s);
    }
    bars
}

/// What follows the last turn. All stages update together: the norm of all gradients is known then.
fn after(bars: &mut Vec<Bar>, (over_s, turns_end_s): (f64, f64), parts: &StepParts) {
    push(bars, What::Gradients, over_s, parts.open_sum_s);
    let mut at = turns_end_s + parts.open_sum_s;
    let steps = [
        (What::Optimizer, parts.optimizer_s),
        (What::Weights, parts.update_s),
        (What::Rest, rest(turns_end_s, parts)),
        (What::Straggler, parts.straggler_s),
    ];
    for (what, seconds) in steps {
        push(bars, what, at, seconds);
        at += seconds.max(0.0);
    }
}

/// What the step has more than its turns and what follows them.
fn rest(turns_end_s: f64, parts: &StepParts) -> f64 {
    let once = parts.open_sum_s + parts.optimizer_s + parts.update_s + parts.straggler_s;
    let rest = parts.seconds - turns_end_s - once;
    if rest.abs() < ROUNDING * parts.seconds { 0.0 } else { rest }
}

/// All that a stage sends besides what is inside its turns: one after another, each from when it can begin.
fn on_network(layout: &Layout, stage: u32, turns: &[Played], parts: &StepParts) -> Vec<Bar> {
    let mut bars: Vec<Bar> = Vec::new();
    let chunks = f64::from(layout.virtual_stages);
    let (gather_s, scatter_s) = (parts.gather_s / chunks, parts.scatter_s / chunks);
    for played in turns {
        let turn = played.turn;
        let sends = sends(layout, stage, played);
        if turn.work != Work::WeightGradients {
            lay(&mut bars, What::Gather(turn), played.begin_s - gather_s, played.begin_s);
        }
        if sends {
            lay(&mut bars, What::Hop(turn), played.end_s, played.end_s + parts.hop_s);
        }
        if turn.work == Work::Backward {
            lay(&mut bars, What::Scatter(turn), played.end_s, played.end_s + scatter_s);
        }
    }
    let over = turns.last().map_or(0.0, |turn| turn.over_s) + parts.open_sum_s;
    lay(&mut bars, What::Gradients, over - parts.sum_s, over);
    bars
}

/// Whether another stage waits for it.
fn sends(layout: &Layout, stage: u32, played: &Played) -> bool {
    let (last, top) = (layout.pipeline - 1, layout.virtual_stages - 1);
    layout.pipeline > 1
        && match played.turn.work {
            Work::Forward => stage < last || played.turn.chunk < top,
            Work::Backward => stage > 0 || played.turn.chunk > 0,
            Work::WeightGradients => false,
        }
}

fn push(bars: &mut Vec<Bar>, what: What, from_s: f64, seconds: f64) {
    if seconds > 0.0 {
        bars.push(Bar { what, from_s, to_s: from_s + seconds });
    }
}

/// A bar that begins when those before it are over; none, if it is over by then.
fn lay(bars: &mut Vec<Bar>, what: What, from_s: f64, to_s: f64) {
    let from_s = from_s.max(bars.last().map_or(0.0, |last| last.to_s));
    push(bars, what, from_s, to_s - from_s);
}
