//! The life of a flow: alone from its start to its end, or waiting for its latency and then sharing.

use super::Engine;
use super::numbers::whole;
use super::queue::Entry;
use super::sharing::NONE;
use super::types::narrow;

/// Nobody is on a pool.
pub(super) const FREE: u32 = 0;
/// One flow is, which has it to itself; the other bits say which. Without this bit: how many there are.
pub(super) const ALONE: u32 = 1 << 31;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The record is of no flow.
    Free = 0,
    /// Nobody else is on its pools; its end is in the queue.
    Alone = 1,
    /// Its latency passes, and others are on its pools.
    Waiting = 2,
    /// Its bytes move, and the solver knows it.
    Sharing = 3,
}

/// Kept small, since there may be many.
pub(super) struct Flow {
    pub tag: u64,
    /// What it had to move when it took its path.
    pub bytes: f64,
    /// When it ends, if it is alone; else when its bytes begin to move. Entries of the queue with another time are out
    /// of date.
    pub time: u64,
    /// Of a record that is free: one more than the number of the next one that is.
    pub path: u32,
    /// Its state in two bits, and above them which flow of this record it is.
    mark: u32,
}

/// The bits of a mark that are the state.
const STATE: u32 = 3;

impl Flow {
    /// The first flow of a record, which has no path yet.
    pub fn new() -> Self {
        Self { tag: 0, bytes: 0.0, time: 0, path: NONE, mark: 0 }
    }

    pub fn state(&self) -> State {
        match self.mark & STATE {
            0 => State::Free,
            1 => State::Alone,
            2 => State::Waiting,
            _ => State::Sharing,
        }
    }

    pub(super) fn set_state(&mut self, state: State) {
        self.mark = (self.mark & !STATE) | state as u32;
    }

    pub fn generation(&self) -> u32 {
        self.mark >> 2
    }
}

impl Engine {
    /// A record for a flow that is about to begin.
    pub(super) fn free_record(&mut self) -> u32 {
        if self.free_flow == 0 {
            self.flows.push(Flow::new());
            return narrow(self.flows.len() - 1);
        }
        let slot = self.free_flow - 1;
        self.free_flow = self.flows[slot as usize].path;
        slot
    }

    /// The record of a flow can be another's.
    pub(super) fn set_free(&mut self, slot: u32) {
        let flow = &mut self.flows[slot as usize];
        flow.mark = (flow.mark | STATE).wrapping_add(1);
        flow.path = self.free_flow;
        self.free_flow = slot + 1;
    }

    /// A flow begins on a path.
    pub(super) fn begin(&mut self, slot: u32, path: usize, bytes: f64, tag: u64) {
        let record = self.paths.get(path);
        let opens = self.now.saturating_add(self.paths.terms(record).latency);
        let flow = &mut self.flows[slot as usize];
        (flow.tag, flow.bytes, flow.time, flow.path) = (tag, bytes, opens, narrow(path));
        if bytes <= 0.0 {
            // It claims nothing; `leave_path` knows by its bytes.
            return self.expect(slot, State::Alone);
        }
        let pools = self.sharing.lists.of(record.list);
        if pools.iter().all(|pool| self.claims[*pool as usize] == FREE) {
            let per_byte = self.paths.refreshed(path, self.stand, &self.sharing).per_byte;
            let end = opens.saturating_add(whole(bytes * per_byte));
            // What ends beyond all time could not tell when it began.
            if end < u64::MAX {
                for pool in pools {
                    self.claims[*pool as usize] = ALONE | slot;
                }
                flow.time = end;
                return self.expect(slot, State::Alone);
            }
        }
        self.claim_shared(path);
        self.open(slot);
    }

    /// What is left of a flow goes on, on another path.
    pub(super) fn go_on(&mut self, slot: u32, path: usize, left: f64) {
        let opens = self.opens(&self.flows[slot as usize]).max(self.now);
        let list = self.paths.get(path).list;
        let flow = &mut self.flows[slot as usize];
        (flow.bytes, flow.time, flow.path) = (left, opens, narrow(path));
        if left <= 0.0 || self.sharing.lists.of(list).is_empty() {
            let per_byte = self.paths.refreshed(path, self.stand, &self.sharing).per_byte;
            flow.time = opens.saturating_add(whole(left * per_byte));
            return self.expect(slot, State::Alone);
        }
        self.claim_shared(path);
        self.open(slot);
    }

    /// The queue has an entry for the flow.
    fn expect(&mut self, slot: u32, state: State) {
        let flow = &mut self.flows[slot as usize];
        flow.set_state(state);
        self.queue.push(Entry { time: flow.time, place: slot, count: 1 });
    }

    /// When the bytes of a flow begin to move.
    pub(super) fn opens(&self, flow: &Flow) -> u64 {
        match flow.state() {
            State::Alone if flow.bytes > 0.0 => {
                let per_byte = self.paths.get(flow.path as usize).per_byte;
                flow.time.saturating_sub(whole(flow.bytes * per_byte))
            }
            State::Alone | State::Free | State::Waiting | State::Sharing => flow.time,
        }
    }

    /// The flow's bytes begin to move if its latency has passed; else it waits for that.
    pub(super) fn open(&mut self, slot: u32) {
        let flow = &self.flows[slot as usize];
        if flow.time > self.now {
            return self.expect(slot, State::Waiting);
        }
        self.arrive(slot, flow.bytes);
    }

    fn arrive(&mut self, slot: u32, left: f64) {
        let flow = &mut self.flows[slot as usize];
        flow.set_state(State::Sharing);
        let path = self.paths.get(flow.path as usize);
        self.sharing.arrive(slot, path.list, self.paths.terms(path).cap, left);
    }

    /// All pools of a path count one flow more that shares.
    fn claim_shared(&mut self, path: usize) {
        let list = self.paths.get(path).list;
        let pools = self.sharing.lists.of(list);
        if pools.iter().any(|pool| self.claims[*pool as usize] & ALONE != 0) {
            for at in 0..pools.len() {
                self.share(self.sharing.lists.of(list)[at]);
            }
        }
        for pool in self.sharing.lists.of(list) {
            self.claims[*pool as usize] += 1;
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
        let (opens, left) = (self.opens(flow), flow.bytes - self.moved_alone(flow));
        let path = self.paths.get(flow.path as usize);
        for pool in self.sharing.lists.of(path.list) {
            self.claims[*pool as usize] = 1;
        }
        self.flows[slot as usize].time = opens;
        if opens > self.now {
            self.expect(slot, State::Waiting);
        } else {
            self.arrive(slot, left.max(0.0));
        }
    }

    /// What a flow that is alone has moved up to now.
    pub(super) fn moved_alone(&self, flow: &Flow) -> f64 {
        if self.now >= flow.time {
            return flow.bytes;
        }
        let opens = self.opens(flow);
        if self.now <= opens {
            return 0.0;
        }
        flow.bytes * ratio(self.now - opens, flow.time - opens)
    }

    /// Takes a flow off its path; the bytes that it had left.
    pub(super) fn stop(&mut self, slot: u32) -> f64 {
        let flow = &self.flows[slot as usize];
        let left = match flow.state() {
            State::Free => 0.0,
            State::Alone => flow.bytes - self.moved_alone(flow),
            State::Waiting => flow.bytes,
            State::Sharing => self.sharing.left(slot, self.now),
        };
        if flow.state() == State::Sharing {
            self.sharing.remove(slot, self.now);
        }
        let moved = flow.bytes - left;
        self.leave_path(slot, moved);
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
        let alone = flow.state() == State::Alone;
        for pool in self.sharing.lists.of(path.list) {
            let claim = &mut self.claims[*pool as usize];
            *claim = if alone { FREE } else { *claim - 1 };
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share of a span")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}
