//! The cluster over time under each policy: what jobs have, what waits, what is split.

use weft_scheduler::world::Sample;

use super::Comparison;
use crate::picture::{Anchor, Picture, Pixels, text_width, ticks};

const WIDTH: Pixels = 1000.0;
const LEFT: Pixels = 64.0;
const RIGHT: Pixels = 20.0;
const PLOT: Pixels = 150.0;
const GAP: Pixels = 46.0;
/// Colours of policies; more than these are drawn again in dashes.
const COLOURS: [&str; 8] = ["forward", "tensor", "data", "expert", "hop", "optimizer", "backward", "host"];

struct Plot {
    title: &'static str,
    of: fn(&Sample) -> f64,
    unit: &'static str,
}

#[expect(clippy::cast_precision_loss, reason = "no cluster has 2^53 GPUs")]
const PLOTS: [Plot; 3] = [
    Plot {
        title: "GPUs that jobs have, of those that are well",
        of: |sample| share(sample.allocated_milli as f64, sample.healthy_milli as f64),
        unit: " %",
    },
    Plot {
        title: "GPUs that waiting jobs ask for",
        of: |sample| sample.queued_milli as f64 / 1000.0,
        unit: "",
    },
    Plot {
        title: "Free GPUs on nodes where others have some",
        of: |sample| (sample.free_milli - sample.free_node_milli.min(sample.free_milli)) as f64 / 1000.0,
        unit: "",
    },
];

fn share(part: f64, all: f64) -> f64 {
    if all > 0.0 { 100.0 * part / all } else { 0.0 }
}

/// The picture.
pub fn svg(comparison: &Comparison<'_>) -> String {
    drawn(comparison, &comparison.scenario.title)
}

/// The same with another title, or none.
pub fn drawn(comparison: &Comparison<'_>, title: &str) -> String {
    let mut picture = Picture::default();
    let mut top = 8.0;
    if !title.is_empty() {
        picture.text("title", (LEFT, top + 16.0), Anchor::Start, title);
        top += 30.0;
    }
    let names: Vec<(&str, &str)> = comparison
        .runs
        .iter()
        .enumerate()
        .map(|(number, run)| (COLOURS[number % COLOURS.len()], run.strategy.name))
        .collect();
    top += picture.legend((LEFT, top), WIDTH - LEFT - RIGHT, &names) + 10.0;
    let end = comparison.runs.iter().map(|run| run.record.ended.as_hours()).fold(0.0, f64::max);
    for plot in &PLOTS {
        draw(&mut picture, comparison, plot, (top, end));
        top += PLOT + GAP;
    }
    picture.finish(WIDTH, top, if title.is_empty() { "Policies over time" } else { title })
}

fn draw(picture: &mut Picture, comparison: &Comparison<'_>, plot: &Plot, (top, end_value): (f64, f64)) {
    let samples = || comparison.runs.iter().flat_map(|run| &run.record.samples);
    let most = samples().map(plot.of).fold(0.0, f64::max).max(1.0);
    let (base, wide) = (top + 18.0 + PLOT - 18.0, WIDTH - LEFT - RIGHT);
    let high = PLOT - 18.0;
    let x = |hours: f64| LEFT + wide * if end_value > 0.0 { hours / end_value } else { 0.0 };
    let y = |value: f64| base - high * value / most;
    picture.text("ink", (LEFT, top + 11.0), Anchor::Start, plot.title);
    for tick in ticks(most, 4) {
        picture.line("", (LEFT, y(tick)), (LEFT + wide, y(tick)));
        picture.text("", (LEFT - 6.0, y(tick) + 4.0), Anchor::End, &format!("{tick}{}", plot.unit));
    }
    let (unit, length) = if end_value < 2.0 {
        ("min", 60.0)
    } else if end_value > 96.0 {
        ("d", 1.0 / 24.0)
    } else {
        ("h", 1.0)
    };
    for tick in ticks(end_value * length, 10) {
        let at = x(tick / length);
        picture.line("", (at, base), (at, base + 4.0));
        let label = format!("{tick} {unit}");
        let anchor = if at + text_width(&label, 11.0) / 2.0 > WIDTH { Anchor::End } else { Anchor::Middle };
        picture.text("", (at, base + 16.0), anchor, &label);
    }
    for (number, run) in comparison.runs.iter().enumerate() {
        let points: Vec<(f64, f64)> =
            run.record.samples.iter().map(|sample| (x(sample.at.as_hours()), y((plot.of)(sample)))).collect();
        picture.steps(
            COLOURS[number % COLOURS.len()],
            number >= COLOURS.len(),
            &points,
            x(run.record.ended.as_hours()),
        );
    }
}
