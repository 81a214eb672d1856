//! The chain of waits that made a job as long as it was.

use std::collections::BTreeMap;

use weft_base::{Bytes, Span, Time};

use crate::engine::ResourceId;
use crate::player::{Cause, Passage, Record};

/// Where the time of the slowest rank went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CriticalPath {
    /// The rank that was done last.
    pub rank: u32,
    /// From the beginning to its end.
    pub total: Span,
    /// The parts, longest first.
    pub parts: Vec<Part>,
}

/// What the chain waited for, added up over all its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// On what.
    pub on: On,
    /// How long.
    pub span: Span,
    /// Messages of the chain that waited so.
    pub messages: u32,
    /// What they carried.
    pub bytes: Bytes,
}

/// What a rank can wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum On {
    /// A saturated resource.
    Resource(ResourceId),
    /// The latency of the way, or a cap of the flow's own.
    Way,
    /// Its own computation, or the job's start.
    Itself,
}

/// The critical path of a job that began at `begun`; `None` where no step was recorded.
pub fn critical_path(record: &Record, begun: Time) -> Option<CriticalPath> {
    let (last, end) = (0..record.walkers())
        .filter_map(|walker| Some((walker, record.steps(walker).last()?.ended)))
        .max_by_key(|(walker, ended)| (*ended, std::cmp::Reverse(*walker)))?;
    let mut parts: BTreeMap<On, Part> = BTreeMap::new();
    let mut add = |on: On, span: Span, bytes: Option<Bytes>| {
        let part = parts.entry(on).or_insert(Part { on, span: Span::ZERO, messages: 0, bytes: Bytes::ZERO });
        part.span = part.span + span;
        part.messages += u32::from(bytes.is_some());
        part.bytes = part.bytes + bytes.unwrap_or(Bytes::ZERO);
    };
    let mut next = Some((last, record.steps(last).len() - 1));
    let mut until = end;
    while let Some((walker, index)) = next {
        let step = record.steps(walker)[index];
        // The rank computed, or waited for its start, between this step's end and what came after it.
        if step.ended < until {
            add(On::Itself, until - step.ended, None);
        }
        let (origin, passage) = match step.cause {
            Cause::Sent(passage) => ((walker, index), Some(passage)),
            Cause::Received { from, step, passage } => ((from, step as usize), Some(passage)),
            Cause::Local => ((walker, index), None),
        };
        let from = record.steps(origin.0).get(origin.1).map_or(step.begun, |step| step.begun);
        let on =
            passage.map_or(On::Itself, |passage: Passage| passage.bottleneck.map_or(On::Way, On::Resource));
        if step.ended > from {
            add(on, step.ended - from, passage.map(|passage| passage.bytes));
        }
        until = from;
        next = before(record, origin, from);
    }
    if until > begun {
        add(On::Itself, until - begun, None);
    }
    let mut parts: Vec<Part> = parts.into_values().collect();
    parts.sort_by_key(|part| (std::cmp::Reverse(part.span), part.on));
    Some(CriticalPath { rank: last / record.threads().max(1), total: end - begun, parts })
}

/// The step of the same rank that was over last when `from` came: its own thread's, else another one's.
fn before(record: &Record, (walker, index): (u32, usize), from: Time) -> Option<(u32, usize)> {
    if let Some(own) = index.checked_sub(1)
        && record.steps(walker)[own].ended == from
    {
        return Some((walker, own));
    }
    let threads = record.threads().max(1);
    let first = walker / threads * threads;
    (first..first + threads)
        .filter_map(|other| {
            let steps = record.steps(other);
            let count = steps.partition_point(|step| step.ended <= from);
            // A step that has just begun and ended at once is not before itself.
            let count = if other == walker { count.min(index) } else { count };
            let last = count.checked_sub(1)?;
            Some((other, last, steps[last].ended))
        })
        .filter(|(other, last, ended)| {
            *ended < from || *other == walker || record.steps(*other)[*last].begun < from
        })
        .max_by_key(|(other, _, ended)| (*ended, std::cmp::Reverse(*other)))
        .map(|(other, last, _)| (other, last))
}
