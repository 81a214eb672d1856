//! Scripts written by hand, to measure with.

use super::sent_on::mark_sent_on;
use super::{Action, Extent, Kind, Run, Script, Thread};
use crate::Port;

/// A script of one thread while it is written; both buffers have as many bytes.
#[derive(Debug)]
pub(crate) struct Writing(Script);

impl Writing {
    pub fn new(bytes: usize) -> Self {
        let thread = Thread { first: 0, ends: Vec::new() };
        Self(Script {
            threads: vec![thread],
            actions: Vec::new(),
            extents: Vec::new(),
            earlier: Vec::new(),
            input_bytes: bytes,
            output_bytes: bytes,
            scratch_bytes: Vec::new(),
        })
    }

    pub fn send(&mut self, port: Port, from: Extent) {
        let from = self.run(from);
        self.push(Kind::Send { port, from });
    }

    pub fn receive(&mut self, port: Port, into: Extent) {
        let into = self.run(into);
        self.push(Kind::Receive { port, into });
    }

    pub fn combine(&mut self, port: Port, local: Extent, into: Extent) {
        let (local, into) = (self.run(local), self.run(into));
        self.push(Kind::ReceiveReduce { port, local, into });
    }

    /// A copy within the rank, or a sum.
    pub fn local(&mut self, from: Extent, into: Extent, combines: bool) {
        let (from, into) = (self.run(from), self.run(into));
        self.push(if combines { Kind::Reduce { from, into } } else { Kind::Copy { from, into } });
    }

    /// Ends a step.
    pub fn step(&mut self) {
        let end = count(self.0.actions.len());
        self.0.threads.iter_mut().for_each(|thread| thread.ends.push(end));
    }

    /// It says what is passed on, or keeps that for itself.
    pub fn script(mut self, passes_on: bool) -> Script {
        if passes_on {
            mark_sent_on(&mut self.0.actions, &self.0.extents);
        }
        self.0
    }

    fn run(&mut self, extent: Extent) -> Run {
        self.0.extents.push(extent);
        Run { first: count(self.0.extents.len() - 1), count: 1 }
    }

    /// Nothing that is sent is written, so that only messages of the same stream wait for each other.
    fn push(&mut self, kind: Kind) {
        let same = |action: &Action| action.kind.port() == kind.port() && action.kind.sends() == kind.sends();
        let before = self.0.actions.iter().rposition(same).filter(|_| kind.port().is_some());
        let first = count(self.0.earlier.len());
        self.0.earlier.extend(before.map(count));
        let after = Run { first, count: count(self.0.earlier.len()) - first };
        self.0.actions.push(Action { kind, after, sent_on: false });
    }
}

fn count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
