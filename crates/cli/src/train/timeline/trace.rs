//! A step for Perfetto and Chrome, in the Trace Event Format: a process for each stage, a thread for its GPUs and one for
//! its network.

use serde_json::{Value, json};
use weft_predictor::train::{Bar, Lane, Of, Timeline, What};

use super::{kind, parts};

/// Events that are written; of more, bars in the middle of each lane are left out, and the document says so.
const MOST_EVENTS: usize = 300_000;

/// The document.
pub fn trace(timeline: &Timeline, title: &str) -> Value {
    let mut events = Vec::new();
    let each = MOST_EVENTS / timeline.lanes.len().max(1) / 4;
    let mut left_out = 0;
    for lane in &timeline.lanes {
        let (name, thread) = match lane.of {
            Of::Gpus => ("each GPU", 0),
            Of::Network => ("network", 1),
        };
        events.push(named("process_name", lane.stage, thread, &format!("stage {}", lane.stage + 1)));
        events.push(named("thread_name", lane.stage, thread, name));
        let many = lane.bars.len() > each;
        let (head, tail) =
            if many { (each / 2, lane.bars.len() - each / 2) } else { (lane.bars.len(), lane.bars.len()) };
        left_out += tail - head;
        for bar in lane.bars[..head].iter().chain(&lane.bars[tail..]) {
            events.push(event(lane, *bar, thread));
            inside(&mut events, timeline, lane, *bar);
        }
    }
    json!({
        "displayTimeUnit": "ms",
        "otherData": { "title": title, "seconds": timeline.seconds, "bars_left_out": left_out },
        "traceEvents": events,
    })
}

fn named(what: &str, process: u32, thread: u32, name: &str) -> Value {
    json!({"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}})
}

fn event(lane: &Lane, bar: Bar, thread: u32) -> Value {
    let (class, word) = kind(bar.what);
    let (name, arguments) = match bar.what {
        What::Turn(turn) | What::Hop(turn) | What::Gather(turn) | What::Scatter(turn) => (
            format!("{word} {}", turn.micro_batch + 1),
            json!({"micro_batch": turn.micro_batch + 1, "chunk": turn.chunk + 1}),
        ),
        What::Gradients | What::Optimizer | What::Weights | What::Rest | What::Straggler => {
            (word.to_owned(), json!({}))
        }
    };
    complete(&name, class, (lane.stage, thread), (bar.from_s, bar.to_s), &arguments)
}

/// What nothing hides within a turn: below it, at its end, although it comes layer by layer.
fn inside(events: &mut Vec<Value>, timeline: &Timeline, lane: &Lane, bar: Bar) {
    let What::Turn(turn) = bar.what else { return };
    let mut end = bar.to_s;
    for (class, word, seconds) in parts(timeline.pass(lane.stage, turn.work)) {
        if seconds > 0.0 {
            events.push(complete(word, class, (lane.stage, 0), (end - seconds, end), &json!({})));
            end -= seconds;
        }
    }
}

fn complete(
    name: &str,
    category: &str,
    (process, thread): (u32, u32),
    (from_s, to_s): (f64, f64),
    arguments: &Value,
) -> Value {
    json!({
        "name": name,
        "cat": category,
        "ph": "X",
        "ts": from_s * 1e6,
        "dur": (to_s - from_s) * 1e6,
        "pid": process,
        "tid": thread,
        "args": arguments,
    })
}
