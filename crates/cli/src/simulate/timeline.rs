//! A timeline as SVG: a row for each rank, a bar for each step, shaded by what it waited for.

use std::fmt::Write as _;

use weft_base::Time;
use weft_simulator::{Cause, Record, StepRecord};

use super::report::Report;

/// Rows of a job that are drawn; of more ranks every n-th is.
const MOST_ROWS: u32 = 64;
/// Bars of a row: steps that would be narrower are joined.
const MOST_BARS: usize = 400;
const WIDTH: f64 = 960.0;
const LEFT: f64 = 90.0;
const ROW: f64 = 12.0;

/// The picture.
pub fn svg(report: &Report) -> String {
    let end = report.end.as_seconds().max(1e-12);
    let mut body = String::new();
    let mut top = 30.0;
    for (job, record) in report.jobs.iter().zip(&report.records) {
        let _ = writeln!(
            body,
            "<text class=\"job\" x=\"8\" y=\"{:.0}\">{}</text>",
            top + 2.0,
            escaped(&job.name)
        );
        top += 10.0;
        if let Some(record) = record {
            top = rows(record, end, top, &mut body);
        } else {
            let _ = writeln!(body, "<text x=\"{LEFT}\" y=\"{:.0}\">too many steps to draw</text>", top + 8.0);
            top += ROW;
        }
        top += 18.0;
    }
    for (at, what) in &report.happened {
        let x = LEFT + at.as_seconds() / end * WIDTH;
        let _ =
            writeln!(body, "<line class=\"change\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"20\" y2=\"{top:.0}\"/>");
        let _ =
            writeln!(body, "<text class=\"change\" x=\"{:.1}\" y=\"18\">{}</text>", x + 2.0, escaped(what));
    }
    let axis = axis(report.end, end, top);
    let (width, height) = (LEFT + WIDTH + 20.0, top + 60.0);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\">\n\
         <style>text{{font:10px sans-serif;fill:#334}}.job{{font-weight:bold}}.own{{fill:#4a78b5}}.other{{fill:#e0a13c}}\
         .self{{fill:#9aa4b1}}.change{{stroke:#b33;fill:#b33;stroke-width:.8}}text.change{{stroke:none}}.axis{{stroke:#889}}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{body}{axis}{}</svg>\n",
        legend(top + 44.0)
    )
}

fn rows(record: &Record, end: f64, mut top: f64, body: &mut String) -> f64 {
    let threads = record.threads().max(1);
    let ranks = record.walkers() / threads;
    let every = ranks.div_ceil(MOST_ROWS).max(1);
    for rank in (0..ranks).step_by(every as usize) {
        let _ = writeln!(
            body,
            "<text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">rank {rank}</text>",
            LEFT - 6.0,
            top + 8.5
        );
        let height = (ROW - 2.0) / f64::from(threads);
        for thread in 0..threads {
            let y = top + height * f64::from(thread);
            bars(record.steps(rank * threads + thread), end, (y, height), body);
        }
        top += ROW;
    }
    top
}

/// The steps of one thread; neighbours of the same kind that are too narrow become one bar.
fn bars(steps: &[StepRecord], end: f64, (y, height): (f64, f64), body: &mut String) {
    let bars = steps.iter().filter(|step| step.ended > step.begun);
    let mut drawn: Vec<(f64, f64, &str, usize)> = Vec::new();
    let narrow = end / f64::from(u32::try_from(MOST_BARS).unwrap_or(1));
    for step in bars {
        let class = match step.cause {
            Cause::Sent(_) => "own",
            Cause::Received { .. } => "other",
            Cause::Local => "self",
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
        let _ = writeln!(
            body,
            "<rect class=\"{class}\" x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height:.2}\"><title>{count} {}</title></rect>",
            if count == 1 { "step" } else { "steps" }
        );
    }
}

fn axis(last: Time, end: f64, y: f64) -> String {
    let mut text = format!(
        "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{:.0}\" y1=\"{y:.0}\" y2=\"{y:.0}\"/>\n",
        LEFT + WIDTH
    );
    for tenth in 0..=10u32 {
        let x = LEFT + WIDTH * f64::from(tenth) / 10.0;
        let at = weft_base::Span::from_microseconds(end * 1e6 * f64::from(tenth) / 10.0).min(last);
        let _ = writeln!(
            text,
            "<line class=\"axis\" x1=\"{x:.0}\" x2=\"{x:.0}\" y1=\"{y:.0}\" y2=\"{:.0}\"/>",
            y + 4.0
        );
        let _ = writeln!(text, "<text x=\"{x:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{at}</text>", y + 16.0);
    }
    text
}

fn legend(y: f64) -> String {
    let entries =
        [("own", "waited for its own message"), ("other", "waited for another rank's"), ("self", "itself")];
    let mut text = String::new();
    for ((class, label), place) in entries.into_iter().zip(0u32..) {
        let x = LEFT + 200.0 * f64::from(place);
        let _ = writeln!(
            text,
            "<rect class=\"{class}\" x=\"{x:.0}\" y=\"{:.0}\" width=\"10\" height=\"10\"/>",
            y - 9.0
        );
        let _ = writeln!(text, "<text x=\"{:.0}\" y=\"{y:.0}\">{label}</text>", x + 14.0);
    }
    text
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
