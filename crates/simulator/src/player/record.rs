//! What each step waited for: the material of the critical path and of the timeline.

use weft_base::{Bytes, Time};

use crate::engine::ResourceId;

use super::walker::WalkerId;

/// What ended a step: the operation that was over last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Its own message arrived.
    Sent(Passage),
    /// A message of another walker arrived.
    Received {
        /// Whose.
        from: WalkerId,
        /// The step in which it was sent.
        step: u32,
        /// How it came.
        passage: Passage,
    },
    /// Work within the rank, or another thread of it.
    Local,
}

/// A message on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    /// How much.
    pub bytes: Bytes,
    /// The resource that was narrow when it ended; `None` where latency or a cap of its own ruled.
    pub bottleneck: Option<ResourceId>,
}

/// One step of a walker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepRecord {
    /// When it began.
    pub begun: Time,
    /// When it ended; its beginning, while it has not.
    pub ended: Time,
    /// What ended it; steps that end at once have [`Cause::Local`].
    pub cause: Cause,
}

/// All steps of all walkers of a job.
#[derive(Debug, Clone, Default)]
pub struct Record {
    threads: u32,
    steps: Vec<Vec<StepRecord>>,
}

impl Record {
    pub(super) fn new(walkers: usize, threads: u32) -> Self {
        Self { threads, steps: vec![Vec::new(); walkers] }
    }

    pub(super) fn begin(&mut self, walker: WalkerId, now: Time) {
        self.steps[walker as usize].push(StepRecord { begun: now, ended: now, cause: Cause::Local });
    }

    pub(super) fn end(&mut self, walker: WalkerId, now: Time, cause: Cause) {
        if let Some(step) = self.steps[walker as usize].last_mut() {
            (step.ended, step.cause) = (now, cause);
        }
    }

    /// The steps of a walker (`rank * threads + thread`), in order, of all stages.
    pub fn steps(&self, walker: WalkerId) -> &[StepRecord] {
        self.steps.get(walker as usize).map_or(&[], Vec::as_slice)
    }

    /// How many walkers: ranks times threads.
    pub fn walkers(&self) -> u32 {
        u32::try_from(self.steps.len()).unwrap_or(u32::MAX)
    }

    /// Threads of each rank.
    pub fn threads(&self) -> u32 {
        self.threads
    }
}
