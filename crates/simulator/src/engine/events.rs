//! How time passes.

use weft_base::Time;

use super::Engine;
use super::flows::State;
use super::queue::TIMER;
use super::sharing::{Ended, NONE};
use super::types::{Event, EventKind, ResourceId};

impl Engine {
    /// Goes to the next time at which a flow ends or a timer wakes, clears `events` and fills it with all events of
    /// that time. False if no such time will come: nothing is left, or all that is left is stalled.
    pub fn advance(&mut self, events: &mut Vec<Event>) -> bool {
        self.advance_until(u64::MAX - 1, events)
    }

    /// As `advance`, but not beyond `time`: if nothing happens up to then, it is `time` afterwards, and false.
    pub fn run_until(&mut self, time: Time, events: &mut Vec<Event>) -> bool {
        let found = self.advance_until(time.get().min(u64::MAX - 1), events);
        if !found {
            self.now = self.now.max(time.get());
        }
        found
    }

    fn advance_until(&mut self, limit: u64, events: &mut Vec<Event>) -> bool {
        events.clear();
        loop {
            self.sharing.solve(self.now);
            let (queued, shared) = (self.queue.earliest(), self.sharing.earliest());
            let time = queued.min(shared);
            if time > limit {
                return false;
            }
            self.now = time;
            if queued == time {
                self.take_queued(events);
            }
            if shared == time {
                self.take_shared(events);
            }
            if !events.is_empty() {
                return true;
            }
        }
    }

    fn take_queued(&mut self, events: &mut Vec<Event>) {
        let mut entries = std::mem::take(&mut self.entries);
        self.queue.take(&mut entries);
        for entry in &entries {
            if entry.count == TIMER {
                events.push(Event { tag: self.timers[entry.place as usize], kind: EventKind::Woke });
                self.free_timers.push(entry.place);
                continue;
            }
            for slot in entry.place..entry.place + entry.count {
                self.take_flow(slot, entry.time, events);
            }
        }
        self.entries = entries;
    }

    fn take_flow(&mut self, slot: u32, time: u64, events: &mut Vec<Event>) {
        let flow = &self.flows[slot as usize];
        match flow.state() {
            State::Alone if flow.time == time => {
                let narrowest = self.paths.get(flow.path as usize).narrowest;
                let limits = flow.bytes > 0.0 && narrowest != NONE;
                self.end(slot, limits.then_some(narrowest), events);
            }
            State::Waiting if flow.time == time => self.open(slot),
            // What the entry announced is out of date.
            State::Free | State::Sharing | State::Alone | State::Waiting => {}
        }
    }

    fn take_shared(&mut self, events: &mut Vec<Event>) {
        let mut ended = std::mem::take(&mut self.ended);
        self.sharing.collect(self.now, &mut ended);
        events.reserve(ended.len());
        for Ended { flow, limit } in &ended {
            if self.flows[*flow as usize].state() == State::Sharing {
                self.end(*flow, (*limit != NONE).then_some(*limit), events);
            }
        }
        self.ended = ended;
    }

    /// All bytes of a flow have moved.
    fn end(&mut self, slot: u32, limit: Option<u32>, events: &mut Vec<Event>) {
        let flow = &self.flows[slot as usize];
        let bottleneck = limit.map(|pool| ResourceId::new(self.resource_of[pool as usize] as usize));
        events.push(Event { tag: flow.tag, kind: EventKind::Ended { bottleneck } });
        self.leave_path(slot, flow.bytes);
        self.set_free(slot);
    }
}
