//! The engine as plainly as it can be written, as an oracle: at each time, all rates are found from scratch.
#![allow(dead_code, reason = "each test uses a part")]

use std::collections::BTreeSet;

use weft_base::{Bytes, Rate, Span, Time};

use weft_simulator::{Event, EventKind, PathId, ResourceId, Tag, Use};

/// A flow of the plain engine, by number.
pub type FlowId = usize;

struct Path {
    uses: Vec<Use>,
    latency: u64,
    cap: f64,
}

struct Flow {
    path: usize,
    tag: Tag,
    /// When its latency has passed.
    opens: u64,
    left: f64,
    rate: f64,
    limit: Option<ResourceId>,
}

/// Flows over shared resources in virtual time.
#[derive(Default)]
pub struct Plain {
    now: u64,
    capacities: Vec<f64>,
    carried: Vec<f64>,
    paths: Vec<Path>,
    flows: Vec<Option<Flow>>,
    timers: BTreeSet<(u64, u64, Tag)>,
    timers_made: u64,
    unsolved: bool,
}

#[expect(clippy::cast_precision_loss, reason = "spans between events are far below 2^53 ps")]
fn seconds(span: u64) -> f64 {
    span as f64 * 1e-12
}

#[expect(clippy::cast_precision_loss, reason = "rates stay far below 2^53 B/s")]
fn rate_f64(rate: Rate) -> f64 {
    rate.get() as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a saturating cast of what is not negative"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

impl Plain {
    /// An engine at time zero, with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a resource.
    pub fn add_resource(&mut self, capacity: Rate) -> ResourceId {
        self.add_resources(capacity, 1)
    }

    /// Adds `count` resources alike and gives the first; the others follow it.
    pub fn add_resources(&mut self, capacity: Rate, count: usize) -> ResourceId {
        let first = ResourceId::new(self.capacities.len());
        self.capacities.resize(first.index() + count, rate_f64(capacity));
        self.carried.resize(first.index() + count, 0.0);
        first
    }

    /// Adds a path. A resource that is named twice counts with the sum of its weights. `cap` bounds each flow alone.
    pub fn add_path(&mut self, uses: &[Use], latency: Span, cap: Option<Rate>) -> PathId {
        let cap = cap.map_or(f64::INFINITY, rate_f64);
        self.paths.push(Path { uses: uses.to_vec(), latency: latency.get(), cap });
        PathId::new(self.paths.len() - 1)
    }

    /// Starts a flow now: its latency passes first, in which it shares nothing, then its bytes move.
    pub fn start(&mut self, path: PathId, bytes: Bytes, tag: Tag) -> FlowId {
        let opens = self.now + self.paths[path.index()].latency;
        let flow = Flow { path: path.index(), tag, opens, left: bytes.as_f64(), rate: 0.0, limit: None };
        self.flows.push(Some(flow));
        self.unsolved = true;
        self.flows.len() - 1
    }

    /// Asks for an event at a time; at once if the time has passed.
    pub fn wake(&mut self, at: Time, tag: Tag) {
        self.timers.insert((at.get().max(self.now), self.timers_made, tag));
        self.timers_made += 1;
    }

    /// Ends a flow before its time and gives the bytes that had not moved; zero if it had ended.
    pub fn cancel(&mut self, flow: FlowId) -> Bytes {
        self.unsolved = true;
        let left = self.flows.get_mut(flow).and_then(Option::take).map_or(0.0, |flow| flow.left);
        Bytes::new(whole(left))
    }

    /// The rest of a flow goes another way from now on. Its latency does not begin again.
    pub fn reroute(&mut self, flow: FlowId, path: PathId) {
        self.unsolved = true;
        if let Some(Some(flow)) = self.flows.get_mut(flow) {
            flow.path = path.index();
        }
    }

    /// Changes a capacity from now on. At zero the flows that use it stall.
    pub fn set_capacity(&mut self, resource: ResourceId, capacity: Rate) {
        self.capacities[resource.index()] = rate_f64(capacity);
        self.unsolved = true;
    }

    /// The present time.
    pub fn now(&self) -> Time {
        Time::picoseconds(self.now)
    }

    /// Goes to the next time at which a flow ends or a timer wakes and gives all events of that time.
    /// False if no such time will come: nothing is left, or all that is left is stalled.
    pub fn advance(&mut self, events: &mut Vec<Event>) -> bool {
        self.advance_until(u64::MAX, events)
    }

    /// As `advance`, but not beyond `time`: if nothing happens up to then, it is `time` afterwards, and false.
    pub fn run_until(&mut self, time: Time, events: &mut Vec<Event>) -> bool {
        let found = self.advance_until(time.get(), events);
        if !found && time.get() > self.now {
            self.pass_to(time.get());
        }
        found
    }

    fn advance_until(&mut self, limit: u64, events: &mut Vec<Event>) -> bool {
        events.clear();
        loop {
            self.solve();
            let ends = self.flows.iter().flatten().filter_map(|flow| self.next(flow));
            let wakes = self.timers.first().map(|timer| timer.0);
            let Some(time) = ends.chain(wakes).min().filter(|time| *time <= limit) else { return false };
            let ended: Vec<usize> = (0..self.flows.len())
                .filter(|at| {
                    let flow = self.flows[*at].as_ref();
                    flow.is_some_and(|flow| {
                        flow.opens <= time && self.end(flow).is_some_and(|end| end <= time)
                    })
                })
                .collect();
            self.pass_to(time);
            for at in ended {
                let Some(flow) = self.flows[at].take() else { continue };
                self.carry(flow.path, flow.left);
                events.push(Event { tag: flow.tag, kind: EventKind::Ended { bottleneck: flow.limit } });
            }
            while self.timers.first().is_some_and(|timer| timer.0 <= time) {
                let timer = self.timers.pop_first();
                events.extend(timer.map(|timer| Event { tag: timer.2, kind: EventKind::Woke }));
            }
            self.unsolved = true;
            if !events.is_empty() {
                return true;
            }
        }
    }

    /// When something happens to this flow next.
    fn next(&self, flow: &Flow) -> Option<u64> {
        if flow.opens > self.now { Some(flow.opens) } else { self.end(flow) }
    }

    fn end(&self, flow: &Flow) -> Option<u64> {
        if flow.left <= 0.0 {
            return Some(flow.opens.max(self.now));
        }
        (flow.opens <= self.now && flow.rate > 0.0).then(|| self.now + whole(flow.left / flow.rate * 1e12))
    }

    fn carry(&mut self, path: usize, bytes: f64) {
        for part in &self.paths[path].uses {
            self.carried[part.resource.index()] += bytes * part.weight;
        }
    }

    fn pass_to(&mut self, time: u64) {
        self.solve();
        let passed = seconds(time - self.now);
        self.now = time;
        for at in 0..self.flows.len() {
            let Some(flow) = self.flows[at].as_mut() else { continue };
            let moved = (flow.rate * passed).min(flow.left);
            flow.left -= moved;
            let path = flow.path;
            self.carry(path, moved);
        }
        self.unsolved = true;
    }

    /// Progressive filling: the resource (or cap) that fills first fixes its flows, and so on.
    fn solve(&mut self) {
        if !std::mem::take(&mut self.unsolved) {
            return;
        }
        let mut rest = self.capacities.clone();
        let mut open: Vec<usize> = Vec::new();
        for (at, flow) in self.flows.iter_mut().enumerate() {
            let Some(flow) = flow else { continue };
            (flow.rate, flow.limit) = (0.0, None);
            if flow.opens <= self.now && flow.left > 0.0 {
                open.push(at);
            }
        }
        while !open.is_empty() {
            let (level, resource) = self.fullest(&rest, &open);
            let fixed: Vec<usize> = open
                .iter()
                .copied()
                .filter(|at| self.path_of(*at).is_some_and(|path| fixes(path, level, resource)))
                .collect();
            open.retain(|at| !fixed.contains(at));
            for at in fixed {
                let Some(flow) = self.flows[at].as_mut() else { continue };
                (flow.rate, flow.limit) = (level, resource);
                for part in &self.paths[flow.path].uses {
                    let left = &mut rest[part.resource.index()];
                    *left = (*left - level * part.weight).max(0.0);
                }
            }
        }
    }

    fn path_of(&self, at: usize) -> Option<&Path> {
        self.flows[at].as_ref().map(|flow| &self.paths[flow.path])
    }

    /// The lowest level at which a resource is full, or a cap reached; no resource if it is a cap.
    fn fullest(&self, rest: &[f64], open: &[usize]) -> (f64, Option<ResourceId>) {
        let mut weights = vec![0.0; rest.len()];
        let mut lowest = (f64::INFINITY, None);
        for path in open.iter().filter_map(|at| self.path_of(*at)) {
            if path.cap < lowest.0 {
                lowest = (path.cap, None);
            }
            for part in &path.uses {
                weights[part.resource.index()] += part.weight;
            }
        }
        for (index, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            if rest[index] / weight < lowest.0 {
                lowest = (rest[index] / weight, Some(ResourceId::new(index)));
            }
        }
        lowest
    }

    /// The bytes per second that a flow has now; zero within its latency, when stalled, and when it has ended.
    pub fn rate_bytes_per_s(&mut self, flow: FlowId) -> f64 {
        self.solve();
        self.flows.get(flow).and_then(Option::as_ref).map_or(0.0, |flow| flow.rate)
    }

    /// The rate that a flow has now, rounded.
    pub fn rate(&mut self, flow: FlowId) -> Rate {
        Rate::bytes_per_second(whole(self.rate_bytes_per_s(flow)))
    }

    /// The bytes that have not moved yet.
    pub fn remaining(&mut self, flow: FlowId) -> Bytes {
        Bytes::new(whole(self.flows.get(flow).and_then(Option::as_ref).map_or(0.0, |flow| flow.left)))
    }

    /// What of a resource is taken now, in bytes per second of its capacity.
    pub fn load_bytes_per_s(&mut self, resource: ResourceId) -> f64 {
        self.solve();
        let taken = |flow: &Flow| {
            let parts = self.paths[flow.path].uses.iter().filter(|part| part.resource == resource);
            parts.map(|part| part.weight * flow.rate).sum::<f64>()
        };
        self.flows.iter().flatten().map(taken).sum()
    }

    /// What of a resource is taken now, rounded.
    pub fn load(&mut self, resource: ResourceId) -> Rate {
        Rate::bytes_per_second(whole(self.load_bytes_per_s(resource)))
    }

    /// The bytes that each resource has carried so far, times their weights.
    pub fn carried_bytes(&mut self) -> Vec<f64> {
        self.carried.clone()
    }

    /// The full resource that limits a flow; none if that is its cap or its latency.
    pub fn bottleneck(&mut self, flow: FlowId) -> Option<ResourceId> {
        self.solve();
        self.flows.get(flow).and_then(Option::as_ref)?.limit
    }

    /// The tags of the flows that wait for capacity: their latency has passed, and they have no rate.
    pub fn stalled(&mut self) -> Vec<u64> {
        self.solve();
        let stalled = |flow: &&Flow| flow.opens <= self.now && flow.left > 0.0 && flow.rate <= 0.0;
        self.flows.iter().flatten().filter(stalled).map(|flow| flow.tag).collect()
    }
}

/// Whether this level fixes the flows of a path.
fn fixes(path: &Path, level: f64, resource: Option<ResourceId>) -> bool {
    match resource {
        Some(full) => path.uses.iter().any(|part| part.resource == full),
        None => path.cap <= level,
    }
}
