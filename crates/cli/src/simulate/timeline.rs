//! A timeline as SVG: a row for each rank, a bar for each step, shaded by what it waited for.

use weft_base::Time;
use weft_simulator::{Cause, Record, StepRecord};

use super::report::Report;
use crate::picture::{Anchor, Area, Picture};

/// Rows of a job that are drawn; of more ranks every n-th is.
const MOST_ROWS: u32 = 64;
/// Bars of a row: steps that would be narrower are joined.
const MOST_BARS: usize = 400;
const WIDTH: f64 = 960.0;
const LEFT: f64 = 90.0;
const ROW: f64 = 12.0;

const LEGEND: [(&str, &str); 3] =
    [("forward", "waited for its own message"), ("other", "waited for another rank's"), ("host", "itself")];

/// The picture.
pub fn svg(report: &Report) -> String {
    let end = report.end.as_seconds().max(1e-12);
    let mut picture = Picture::default();
    let mut top = 30.0;
    for (job, record) in report.jobs.iter().zip(&report.records) {
        picture.text("strong", (8.0, top + 2.0), Anchor::Start, &job.name);
        top += 10.0;
        if let Some(record) = record {
            top = rows(record, end, top, &mut picture);
        } else {
            picture.text("", (LEFT, top + 8.0), Anchor::Start, "too many steps to draw");
            top += ROW;
        }
        top += 18.0;
    }
    for (at, what) in &report.happened {
        let x = LEFT + at.as_seconds() / end * WIDTH;
        picture.line("change", (x, 20.0), (x, top));
        picture.text("change", (x + 2.0, 18.0), Anchor::Start, what);
    }
    axis(report.end, end, top, &mut picture);
    picture.legend((LEFT, top + 34.0), WIDTH, &LEGEND);
    picture.finish(LEFT + WIDTH + 20.0, top + 60.0, "What ranks waited for")
}

fn rows(record: &Record, end: f64, mut top: f64, picture: &mut Picture) -> f64 {
    let threads = record.threads().max(1);
    let ranks = record.walkers() / threads;
    let every = ranks.div_ceil(MOST_ROWS).max(1);
    for rank in (0..ranks).step_by(every as usize) {
        picture.text("", (LEFT - 6.0, top + 8.5), Anchor::End, &format!("rank {rank}"));
        let height = (ROW - 2.0) / f64::from(threads);
        for thread in 0..threads {
            let y = top + height * f64::from(thread);
            bars(record.steps(rank * threads + thread), end, (y, height), picture);
        }
        top += ROW;
    }
    top
}

/// The steps of one thread; neighbours of the same kind that are too narrow become one bar.
fn bars(steps: &[StepRecord], end: f64, (y, height): (f64, f64), picture: &mut Picture) {
    let bars = steps.iter().filter(|step| step.ended > step.begun);
    let mut drawn: Vec<(f64, f64, &str, usize)> = Vec::new();
    let narrow = end / f64::from(u32::try_from(MOST_BARS).unwrap_or(1));
    for step in bars {
        let class = match step.cause {
            Cause::Sent(_) => "forward",
            Cause::Received { .. } => "other",
            Cause::Local => "host",
        };
        let (from, to) = (step.begun.as_seconds(), step.ended.as_seconds());
        match drawn.last_mut() {
            Some((begun, ended, last, count))
                if *last == class && from - *ended < narrow / 4.0 && to - *begun < narrow =>
            {
                (*ended, *count) = (to, *count + 1);
            }
            _ => drawn.push((from, to, class, 1)),
        }
    }
    for (from, to, class, count) in drawn {
        let (x, width) = (LEFT + from / end * WIDTH, ((to - from) / end * WIDTH - 0.3).max(0.3));
        let title = format!("{count} {}", if count == 1 { "step" } else { "steps" });
        picture.area(class, Area { x, y, width, height }, &title);
    }
}

fn axis(last: Time, end: f64, y: f64, picture: &mut Picture) {
    picture.line("", (LEFT, y), (LEFT + WIDTH, y));
    for tenth in 0..=10u32 {
        let x = LEFT + WIDTH * f64::from(tenth) / 10.0;
        let at = weft_base::Span::from_microseconds(end * 1e6 * f64::from(tenth) / 10.0).min(last);
        picture.line("", (x, y), (x, y + 4.0));
        picture.text("", (x, y + 16.0), Anchor::Middle, &at.to_string());
    }
}
