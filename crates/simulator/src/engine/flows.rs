//! The life of a flow: alone from its start to its end, or waiting for its latency and then sharing.

use super::Engine;
use super::numbers::whole;
use super::queue::{Entry, TIMER};

/// Nobody is on a pool.
pub(super) const FREE: u32 = 0;
/// One flow is, which has it to itself; the other bits say which. Without this bit: how many there are.
pub(super) const ALONE: u32 = 1 << 31;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum State {
    /// The record is of no flow.
    #[default]
    Free,
    /// Nobody else is on its pools; its end is in the queue.
    Alone,
    /// Its latency passes, and others are on its pools.
    Waiting,
    /// Its bytes move, and the solver knows it.
    Sharing,
}

#[derive(Default)]
pub(super) struct Flow {
    pub tag: u64,
    /// What it had to move when it took its path.
    pub bytes: f64,
    /// When its bytes begin to move.
    pub opens: u64,
    /// The time of its entry in the queue; others with its number are out of date.
    pub due: u64,
    pub path: u32,
    pub generation: u32,
    pub state: State,
}

impl Engine {
    /// A flow begins on a path.
    pub(super) fn begin(&mut self, slot: u32, path: usize, bytes: f64, tag: u64) {
        let sharing = &self.sharing;
        let record = self.paths.refreshed(path, self.stand, |pool| sharing.capacity(pool));
        let (per_byte, opens) = (record.per_byte, self.now.saturating_add(record.latency));
        let flow = &mut self.flows[slot as usize];
        (flow.tag, flow.bytes, flow.opens, flow.path) = (tag, bytes, opens, super::narrow(path));
        if bytes <= 0.0 {
            // It claims nothing; `end_alone` knows by its bytes.
            return self.set_due(slot, opens, State::Alone);
        }
        let record = self.paths.get(path);
        let pools = self.paths.pools(record);
        if per_byte < f64::INFINITY && pools.iter().all(|pool| self.claims[*pool as usize] == FREE) {
            for pool in pools {
                self.claims[*pool as usize] = ALONE | slot;
            }
            return self.set_due(slot, opens.saturating_add(whole(bytes * per_byte)), State::Alone);
        }
        self.claim_shared(path);
        self.open(slot);
    }

    /// What is left of a flow goes on, on another path.
    pub(super) fn go_on(&mut self, slot: u32, path: usize, left: f64) {
        let flow = &mut self.flows[slot as usize];
        (flow.bytes, flow.path) = (left, super::narrow(path));
        let opens = flow.opens.max(self.now);
        if left <= 0.0 || self.paths.pools(self.paths.get(path)).is_empty() {
            let sharing = &self.sharing;
            let per_byte = self.paths.refreshed(path, self.stand, |pool| sharing.capacity(pool)).per_byte;
            self.flows[slot as usize].opens = opens;
            return self.set_due(slot, opens.saturating_add(whole(left * per_byte)), State::Alone);
        }
        self.claim_shared(path);
        self.flows[slot as usize].opens = opens;
        self.open(slot);
    }

    fn set_due(&mut self, slot: u32, due: u64, state: State) {
        let flow = &mut self.flows[slot as usize];
        (flow.due, flow.state) = (due, state);
        self.queue.push(Entry { time: due, place: slot, generation: flow.generation });
    }

    /// The flow's bytes begin to move if its latency has passed; else it waits for that.
    pub(super) fn open(&mut self, slot: u32) {
        let flow = &self.flows[slot as usize];
        if flow.opens > self.now {
            return self.set_due(slot, flow.opens, State::Waiting);
        }
        self.arrive(slot, flow.bytes);
    }

    fn arrive(&mut self, slot: u32, left: f64) {
        let flow = &mut self.flows[slot as usize];
        flow.state = State::Sharing;
        let path = self.paths.get(flow.path as usize);
        self.sharing.arrive(slot, &mut self.paths.uses(path), path.cap, left);
    }

    /// All pools of a path count one flow more that shares.
    fn claim_shared(&mut self, path: usize) {
        for at in 0..self.paths.pools(self.paths.get(path)).len() {
            let pool = self.paths.pools(self.paths.get(path))[at];
            self.share(pool);
            self.claims[pool as usize] += 1;
        }
    }

    /// A flow that had this pool to itself does so no more.
    pub(super) fn share(&mut self, pool: u32) {
        let claim = self.claims[pool as usize];
        if claim & ALONE == 0 {
            return;
        }
        let slot = claim & !ALONE;
        let flow = &self.flows[slot as usize];
        let left = flow.bytes - self.moved_alone(flow);
        let path = self.paths.get(flow.path as usize);
        for pool in self.paths.pools(path) {
            self.claims[*pool as usize] = 1;
        }
        if flow.opens > self.now {
            self.set_due(slot, flow.opens, State::Waiting);
        } else {
            self.arrive(slot, left.max(0.0));
        }
    }

    /// What a flow that is alone has moved up to now.
    pub(super) fn moved_alone(&self, flow: &Flow) -> f64 {
        if self.now >= flow.due {
            return flow.bytes;
        }
        if self.now <= flow.opens {
            return 0.0;
        }
        flow.bytes * ratio(self.now - flow.opens, flow.due - flow.opens)
    }

    /// Takes a flow off its path; the bytes that it had left.
    pub(super) fn stop(&mut self, slot: u32) -> f64 {
        let flow = &self.flows[slot as usize];
        let left = match flow.state {
            State::Free => 0.0,
            State::Alone => flow.bytes - self.moved_alone(flow),
            State::Waiting => flow.bytes,
            State::Sharing => self.sharing.left(slot, self.now),
        };
        if flow.state == State::Sharing {
            self.sharing.remove(slot, self.now);
        }
        let moved = flow.bytes - left;
        self.leave_path(slot, moved);
        // Its entry in the queue is out of date.
        self.flows[slot as usize].due = u64::MAX;
        left
    }

    /// A flow that has moved so many bytes is on its path no more.
    pub(super) fn leave_path(&mut self, slot: u32, moved: f64) {
        let flow = &self.flows[slot as usize];
        let path = self.paths.get_mut(flow.path as usize);
        path.carried += moved;
        if flow.bytes <= 0.0 {
            return;
        }
        let path = self.paths.get(flow.path as usize);
        if flow.state == State::Alone {
            for pool in self.paths.pools(path) {
                self.claims[*pool as usize] = FREE;
            }
        } else {
            for pool in self.paths.pools(path) {
                self.claims[*pool as usize] -= 1;
            }
        }
    }

    /// The record of a flow can be another's.
    pub(super) fn set_free(&mut self, slot: u32) {
        let flow = &mut self.flows[slot as usize];
        flow.state = State::Free;
        flow.generation = (flow.generation + 1) % TIMER;
        self.free_flows.push(slot);
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share of a span")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}
