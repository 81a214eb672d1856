//! A step as a picture: a row for each stage, a thin one below it for what its network carries meanwhile.

use weft_predictor::train::{Bar, Lane, Of, Timeline, What};
use weft_workload::Work;

use super::folds::{FOLD_WIDTH, Scale};
use super::{kind, parts};
use crate::picture::{Anchor, Area, Picture, text_width, ticks};
use crate::train::text::span;

const WIDTH: f64 = 1160.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 16.0;
const ROW: f64 = 20.0;
const NETWORK: f64 = 5.0;
const GAP: f64 = 5.0;
/// Stages of which all are drawn; of more the first and the last half of as many.
const MOST_STAGES: u32 = 16;
/// Boxes that are narrower are not drawn for themselves, or have no words.
const LEAST: f64 = 0.7;
const LEAST_TITLED: f64 = 3.0;

/// A picture's words.
#[derive(Debug, Clone, Copy)]
pub struct Drawing<'a> {
    /// In large letters; empty for none.
    pub title: &'a str,
    /// Below it.
    pub subtitle: &'a str,
    /// Stages of the pipeline.
    pub stages: u32,
    /// Chunks of layers of each.
    pub chunks: u32,
}

/// The picture.
pub fn svg(timeline: &Timeline, drawing: &Drawing<'_>) -> String {
    let mut picture = Picture::default();
    let mut top = 14.0;
    if !drawing.title.is_empty() {
        picture.text("title", (16.0, 28.0), Anchor::Start, drawing.title);
        picture.text("", (16.0, 47.0), Anchor::Start, drawing.subtitle);
        top = 64.0;
    }
    let scale = Scale::new(timeline, LEFT, WIDTH - LEFT - RIGHT);
    if !scale.folds.is_empty() {
        top += 18.0;
    }
    let bottom = rows(&mut picture, timeline, drawing, &scale, top);
    folded(&mut picture, &scale, (top, bottom));
    axis(&mut picture, &scale, timeline.seconds, bottom + 4.0);
    let legend = legend(timeline, drawing);
    let height = picture.legend((LEFT, bottom + 46.0), WIDTH - LEFT - RIGHT, &legend);
    let title = if drawing.title.is_empty() { "Timeline of one step" } else { drawing.title };
    picture.finish(WIDTH, bottom + 46.0 + height + 8.0, title)
}

/// All rows; gives where they end.
fn rows(
    picture: &mut Picture,
    timeline: &Timeline,
    drawing: &Drawing<'_>,
    scale: &Scale,
    mut top: f64,
) -> f64 {
    let many = drawing.stages > MOST_STAGES;
    let half = MOST_STAGES / 2;
    for stage in 0..drawing.stages {
        if many && stage == half {
            let text = format!("… {} more stages alike", drawing.stages - MOST_STAGES);
            picture.text("ink", (LEFT, top + 11.0), Anchor::Start, &text);
            top += 22.0;
        }
        if many && (half..drawing.stages - half).contains(&stage) {
            continue;
        }
        let label = if drawing.stages == 1 { "each GPU".to_owned() } else { format!("stage {}", stage + 1) };
        picture.text("ink", (LEFT - 8.0, top + 14.0), Anchor::End, &label);
        for (x, width) in scale.pieces(0.0, timeline.seconds) {
            picture.area("lane", Area { x, y: top, width, height: ROW }, "");
        }
        let lanes: Vec<&Lane> = timeline.lanes.iter().filter(|lane| lane.stage == stage).collect();
        for lane in &lanes {
            let (y, height) = match lane.of {
                Of::Gpus => (top, ROW),
                Of::Network => (top + ROW + 1.0, NETWORK),
            };
            for bar in &lane.bars {
                one(picture, timeline, drawing, scale, lane, *bar, (y, height));
            }
        }
        top += ROW + GAP + if lanes.len() > 1 { NETWORK + 1.0 } else { 0.0 };
    }
    top
}

fn one(
    picture: &mut Picture,
    timeline: &Timeline,
    drawing: &Drawing<'_>,
    scale: &Scale,
    lane: &Lane,
    bar: Bar,
    (y, height): (f64, f64),
) {
    let (class, word) = kind(bar.what);
    for (x, width) in scale.pieces(bar.from_s, bar.to_s) {
        if width < LEAST / 2.0 {
            continue;
        }
        let title = match bar.what {
            _ if width < LEAST_TITLED => String::new(),
            What::Turn(_) => turn_words(timeline, lane, bar, drawing),
            What::Hop(_) | What::Gather(_) | What::Scatter(_) => {
                format!("{word}: {}", span(bar.to_s - bar.from_s))
            }
            What::Gradients | What::Optimizer | What::Weights | What::Rest | What::Straggler => {
                format!("{word}: {}", span(bar.to_s - bar.from_s))
            }
        };
        // A hair between two bars; narrow ones keep what they have.
        let drawn = if width > 4.0 { width - 0.6 } else { width };
        let shade = shade(bar.what, drawing.chunks);
        picture.faded(class, Area { x, y, width: drawn, height }, shade, &title);
        let What::Turn(turn) = bar.what else { continue };
        let pass = timeline.pass(lane.stage, turn.work);
        let part_of = |seconds: f64| seconds / (bar.to_s - bar.from_s) * drawn;
        let mut end = x + drawn;
        for (class, _, seconds) in parts(pass) {
            let width = part_of(seconds);
            if width >= LEAST {
                end -= width;
                picture.area(class, Area { x: end, y: y + height * 0.5, width, height: height * 0.5 }, "");
            }
        }
        let number = (turn.micro_batch + 1).to_string();
        if text_width(&number, 10.0) + 3.0 < drawn {
            let class = if shade < 0.8 { "ink" } else { "mark" };
            picture.text(class, (x + 2.5, y + 9.0), Anchor::Start, &number);
        }
    }
}

/// Chunks of a stage are told apart by their shade.
fn shade(what: What, chunks: u32) -> f64 {
    match what {
        What::Turn(turn) if chunks > 1 => 1.0 - 0.55 * f64::from(turn.chunk) / f64::from(chunks - 1).max(1.0),
        What::Turn(_) | What::Hop(_) | What::Gather(_) | What::Scatter(_) | What::Gradients => 1.0,
        What::Optimizer | What::Weights | What::Rest | What::Straggler => 1.0,
    }
}

/// `forward of micro-batch 3, chunk 2: 23.1 ms, of which tensor parallelism 2 ms`.
fn turn_words(timeline: &Timeline, lane: &Lane, bar: Bar, drawing: &Drawing<'_>) -> String {
    let What::Turn(turn) = bar.what else { return String::new() };
    let chunk = if drawing.chunks > 1 { format!(", chunk {}", turn.chunk + 1) } else { String::new() };
    let pass = timeline.pass(lane.stage, turn.work);
    let inside: Vec<String> = parts(pass)
        .into_iter()
        .filter(|(_, _, seconds)| *seconds > 0.0)
        .map(|(_, word, seconds)| format!("{word} {}", span(seconds)))
        .collect();
    let inside = if inside.is_empty() { String::new() } else { format!(", of which {}", inside.join(", ")) };
    let (word, took) = (kind(bar.what).1, span(bar.to_s - bar.from_s));
    format!("{word} of micro-batch {}{chunk}: {took}{inside}", turn.micro_batch + 1)
}

/// What is left out, said above the rows.
fn folded(picture: &mut Picture, scale: &Scale, (top, bottom): (f64, f64)) {
    for fold in &scale.folds {
        let x = scale.x(fold.from_s);
        let area = Area { x, y: top - 6.0, width: FOLD_WIDTH, height: bottom - top + 8.0 };
        picture.area("fold", area, "");
        for edge in [x + 4.0, x + FOLD_WIDTH - 4.0] {
            picture.line("fold", (edge, top - 6.0), (edge, bottom));
        }
        let text = format!("… {} more micro-batches, {}", fold.micro_batches, span(fold.to_s - fold.from_s));
        let half = text_width(&text, 11.0) / 2.0;
        let middle = (x + FOLD_WIDTH / 2.0).clamp(LEFT + half, WIDTH - RIGHT - half);
        picture.text("ink", (middle, top - 11.0), Anchor::Middle, &text);
    }
}

/// Round times, and the end of the step; those that would stand over each other are left out.
fn axis(picture: &mut Picture, scale: &Scale, end_s: f64, y: f64) {
    for (x, width) in scale.pieces(0.0, end_s) {
        picture.line("", (x, y), (x + width, y));
    }
    let last = scale.x(end_s);
    // As dense as what is drawn allows, over the whole of the step.
    let about = (10.0 * end_s / scale.shown_s().max(1e-12)).min(400.0);
    let step = ticks(end_s, count(about));
    let mut before = f64::MIN;
    let end = span(end_s);
    let room = last - text_width(&end, 11.0) - 8.0;
    for at in step.into_iter().filter(|at| scale.shows(*at)) {
        let (x, label) = (scale.x(at), if at > 0.0 { span(at) } else { "0".to_owned() });
        let half = text_width(&label, 11.0) / 2.0;
        if x - half < before + 8.0 || x + half > room {
            continue;
        }
        picture.line("", (x, y), (x, y + 5.0));
        picture.text("", (x, y + 18.0), Anchor::Middle, &label);
        before = x + half;
    }
    picture.line("", (last, y), (last, y + 5.0));
    picture.text("strong", (last, y + 18.0), Anchor::End, &end);
}

fn count(number: f64) -> u32 {
    (1..=400).find(|whole| f64::from(*whole) >= number).unwrap_or(400)
}

/// What occurs, in the order in which it is read.
fn legend(timeline: &Timeline, drawing: &Drawing<'_>) -> Vec<(&'static str, &'static str)> {
    let forward = if drawing.chunks > 1 { "forward, lighter by later chunk of layers" } else { "forward" };
    let mut entries = vec![("forward", forward), ("backward", "backward")];
    let has =
        |what: fn(What) -> bool| timeline.lanes.iter().any(|lane| lane.bars.iter().any(|bar| what(bar.what)));
    let own = |what| matches!(what, What::Turn(turn) if turn.work == Work::WeightGradients);
    let mut add = |is_there: bool, class, word| entries.extend(is_there.then_some((class, word)));
    add(has(own), "own", "gradients of weights");
    for (class, word, _) in parts(timeline.pass(0, Work::Forward)) {
        let seconds = |work| {
            let of =
                |stage| parts(timeline.pass(stage, work)).into_iter().find(|(known, ..)| *known == class);
            [0, drawing.stages - 1].into_iter().filter_map(of).map(|(.., seconds)| seconds).sum::<f64>()
        };
        add(seconds(Work::Forward) + seconds(Work::Backward) > 0.0, class, word);
    }
    add(has(|what| matches!(what, What::Hop(_))), "hop", "between stages");
    let data = |what| matches!(what, What::Gather(_) | What::Scatter(_) | What::Gradients | What::Weights);
    add(has(data), "data", "gradients and weights between copies");
    add(has(|what| what == What::Optimizer), "optimizer", "optimizer");
    add(has(|what| what == What::Rest), "rest", "allowance of the formula");
    add(has(|what| what == What::Straggler), "straggler", "slowest of many GPUs");
    add(drawing.stages > 1, "lane", "idle");
    entries
}
