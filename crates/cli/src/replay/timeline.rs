//! The timeline of a replay: a row for each rank, a thin one below it for what it sends; and for Perfetto.

use serde_json::{Value, json};
use weft_predictor::replay::{ReplayBar, ReplayLane};

use super::Shown;
use crate::picture::{Anchor, Area, Picture, text_width, ticks};
use crate::train::span;

const WIDTH: f64 = 1160.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 16.0;
const ROW: f64 = 20.0;
const NETWORK: f64 = 8.0;
const GAP: f64 = 5.0;
/// Ranks that are drawn.
const MOST_RANKS: usize = 16;
/// Bars that are narrower are not drawn, or have no words.
const LEAST: f64 = 0.35;
const LEAST_TITLED: f64 = 3.0;
/// Events that are written; of more, those at the end are left out, and the document says so.
const MOST_EVENTS: usize = 300_000;

/// How a bar is drawn, and what it stands for.
fn kind(bar: &ReplayBar) -> (&'static str, &'static str) {
    match (bar.lane, bar.operation) {
        (ReplayLane::Compute, _) => ("forward", "computing"),
        (ReplayLane::Memory, _) => ("own", "memory"),
        (ReplayLane::Host, _) => ("host", "host"),
        (ReplayLane::Communication, Some("all-reduce")) => ("data", "all-reduce"),
        (ReplayLane::Communication, Some("all-gather")) => ("tensor", "all-gather"),
        (ReplayLane::Communication, Some("reduce-scatter")) => ("context", "reduce-scatter"),
        (ReplayLane::Communication, Some("all-to-all")) => ("expert", "all-to-all"),
        (ReplayLane::Communication, Some("send")) => ("hop", "messages"),
        (ReplayLane::Communication, _) => ("other", "other collectives"),
    }
}

/// The picture.
pub fn svg(shown: &Shown<'_>) -> String {
    let replayed = shown.replayed;
    let mut picture = Picture::default();
    let title = format!("One step of {} ranks: {}", replayed.ranks.len(), span(replayed.step_s));
    picture.text("title", (16.0, 28.0), Anchor::Start, &title);
    picture.text("", (16.0, 47.0), Anchor::Start, &format!("on {}", shown.machine));
    let per_second = (WIDTH - LEFT - RIGHT) / replayed.step_s.max(1e-12);
    let mut top = 64.0;
    for rank in replayed.ranks.iter().take(MOST_RANKS) {
        let label = format!("rank {}", rank.rank);
        picture.text("ink", (LEFT - 8.0, top + 14.0), Anchor::End, &label);
        picture.area("lane", Area { x: LEFT, y: top, width: WIDTH - LEFT - RIGHT, height: ROW }, "");
        for bar in replayed.bars.iter().filter(|bar| bar.rank == rank.rank) {
            one(&mut picture, bar, per_second, top);
        }
        top += ROW + NETWORK + 1.0 + GAP;
    }
    if let Some(more) = replayed.ranks.len().checked_sub(MOST_RANKS).filter(|more| *more > 0) {
        picture.text("ink", (LEFT, top + 11.0), Anchor::Start, &format!("… {more} more ranks"));
        top += 22.0;
    }
    axis(&mut picture, replayed.step_s, per_second, top + 4.0);
    let mut legend: Vec<(&str, &str)> = Vec::new();
    for entry in replayed.bars.iter().map(kind) {
        if !legend.contains(&entry) {
            legend.push(entry);
        }
    }
    let height = picture.legend((LEFT, top + 46.0), WIDTH - LEFT - RIGHT, &legend);
    picture.finish(WIDTH, top + 46.0 + height + 8.0, &title)
}

fn one(picture: &mut Picture, bar: &ReplayBar, per_second: f64, top: f64) {
    let width = (bar.to_s - bar.from_s) * per_second;
    if width < LEAST {
        return;
    }
    let (y, height) = match bar.lane {
        ReplayLane::Compute | ReplayLane::Memory | ReplayLane::Host => (top, ROW),
        ReplayLane::Communication => (top + ROW + 1.0, NETWORK),
    };
    let (class, word) = kind(bar);
    let title = if width < LEAST_TITLED {
        String::new()
    } else {
        format!("{word}, node {} {}: {}", bar.node_number, bar.name, span(bar.to_s - bar.from_s))
    };
    // A hair between two bars; narrow ones keep what they have.
    let drawn = if width > 4.0 { width - 0.6 } else { width };
    picture.area(class, Area { x: LEFT + bar.from_s * per_second, y, width: drawn, height }, &title);
}

fn axis(picture: &mut Picture, end_s: f64, per_second: f64, y: f64) {
    let last = LEFT + end_s * per_second;
    picture.line("", (LEFT, y), (last, y));
    let end = span(end_s);
    let room = last - text_width(&end, 11.0) - 8.0;
    for at in ticks(end_s, 10) {
        let (x, label) = (LEFT + at * per_second, if at > 0.0 { span(at) } else { "0".to_owned() });
        if x + text_width(&label, 11.0) / 2.0 <= room {
            picture.line("", (x, y), (x, y + 5.0));
            picture.text("", (x, y + 18.0), Anchor::Middle, &label);
        }
    }
    picture.line("", (last, y), (last, y + 5.0));
    picture.text("strong", (last, y + 18.0), Anchor::End, &end);
}

/// The document for Perfetto and Chrome: a process for each rank, a thread for each of its streams.
pub fn trace(shown: &Shown<'_>) -> Value {
    let replayed = shown.replayed;
    let mut events = Vec::new();
    for rank in &replayed.ranks {
        events.push(named("process_name", rank.rank, 0, &format!("rank {}", rank.rank)));
        for (thread, name) in (0..).zip(["computing", "network", "memory", "host"]) {
            events.push(named("thread_name", rank.rank, thread, name));
        }
    }
    let room = MOST_EVENTS.saturating_sub(events.len());
    events.extend(replayed.bars.iter().take(room).map(event));
    let left_out = replayed.bars.len().saturating_sub(room);
    json!({
        "displayTimeUnit": "ms",
        "otherData": { "title": shown.machine, "seconds": replayed.step_s, "bars_left_out": left_out },
        "traceEvents": events,
    })
}

fn named(what: &str, process: u32, thread: u32, name: &str) -> Value {
    json!({"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}})
}

fn event(bar: &ReplayBar) -> Value {
    let thread = match bar.lane {
        ReplayLane::Compute => 0,
        ReplayLane::Communication => 1,
        ReplayLane::Memory => 2,
        ReplayLane::Host => 3,
    };
    json!({
        "name": bar.name,
        "cat": kind(bar).1,
        "ph": "X",
        "ts": bar.from_s * 1e6,
        "dur": (bar.to_s - bar.from_s) * 1e6,
        "pid": bar.rank,
        "tid": thread,
        "args": {"node": bar.node_number},
    })
}
