//! One rank's walk through one thread of a plan.

use weft_base::Bytes;

/// Position in the player's table: `rank * threads + thread`.
pub(super) type WalkerId = u32;

/// Where a rank is on a thread. The steps that are left stand apart: each message touches this at both of its ends,
/// and the less memory that is, the better.
#[derive(Debug)]
pub(super) struct Walker {
    /// Operations of the current step that are not over.
    pub open: u32,
    /// Steps of the stage that are over.
    pub finished: u32,
    /// Steps of all stages before it.
    pub before: u32,
    /// The stage.
    pub stage: u32,
    /// Steps to come that are as the last one: a message out of so many bytes, and one in, over the same connections.
    pub alike: u32,
    /// The bytes of that message.
    pub bytes: Bytes,
    /// The connection over which it sent last.
    pub sends: Last,
    /// The connection from which it received last.
    pub receives: Last,
}

/// The connection used last, so that a ring need not look up the same one in every step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Last {
    pub peer: u32,
    pub channel: u16,
    pub connection: u32,
}

impl Last {
    const NONE: Self = Self { peer: u32::MAX, channel: 0, connection: 0 };
}

impl Walker {
    pub fn new() -> Self {
        let (sends, receives) = (Last::NONE, Last::NONE);
        Self { open: 0, finished: 0, before: 0, stage: 0, alike: 0, bytes: Bytes::ZERO, sends, receives }
    }

    /// Stands before the first step of a stage.
    pub fn begin(&mut self, stage: u32) {
        self.before += self.finished;
        (self.finished, self.stage) = (0, stage);
    }

    /// The number of the current step, counted over all stages.
    pub fn step(&self) -> u32 {
        self.before + self.finished
    }
}
