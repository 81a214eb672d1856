//! A timeline for Perfetto and Chrome, in the Trace Event Format: a process for each job, a thread for each rank.

use serde_json::{Value, json};
use weft_base::Span;
use weft_simulator::{Cause, Record};

use super::report::Report;

/// The document.
pub fn trace(report: &Report) -> Value {
    let mut events = Vec::new();
    for (process, (job, record)) in report.jobs.iter().zip(&report.records).enumerate() {
        events.push(named("process_name", process, 0, &job.name));
        let Some(record) = record else { continue };
        for walker in 0..record.walkers() {
            let (rank, thread) = (walker / record.threads().max(1), walker % record.threads().max(1));
            events.push(named("thread_name", process, walker, &format!("rank {rank} thread {thread}")));
            steps(record, process, walker, &mut events);
        }
    }
    for (at, what) in &report.happened {
        events
            .push(json!({"name": what, "ph": "i", "s": "g", "ts": at.as_microseconds(), "pid": 0, "tid": 0}));
    }
    json!({"displayTimeUnit": "ns", "traceEvents": events})
}

fn named(what: &str, process: usize, thread: u32, name: &str) -> Value {
    json!({"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}})
}

fn steps(record: &Record, process: usize, walker: u32, events: &mut Vec<Value>) {
    for (number, step) in record.steps(walker).iter().enumerate() {
        let took: Span = step.ended - step.begun;
        if took == Span::ZERO {
            continue;
        }
        let waited = match step.cause {
            Cause::Sent(passage) => json!({"for": "its own message", "bytes": passage.bytes.get()}),
            Cause::Received { from, passage, .. } => {
                json!({"for": format!("rank {}", from / record.threads().max(1)), "bytes": passage.bytes.get()})
            }
            Cause::Local => json!({"for": "itself"}),
        };
        events.push(json!({
            "name": format!("step {number}"),
            "ph": "X",
            "ts": step.begun.as_microseconds(),
            "dur": took.as_microseconds(),
            "pid": process,
            "tid": walker,
            "args": {"waited": waited},
        }));
    }
}
