//! What can be asked of the engine between two times.

use weft_base::{Bytes, Rate, Span};

use super::Engine;
use super::flows::{ALONE, Flow, State};
use super::numbers::{SECOND, whole};
use super::sharing::NONE;
use super::types::{FlowId, PathId, ResourceId, Tag, Use};

impl Engine {
    /// The bytes per second that a flow has now; zero within its latency, when stalled, and when it has ended.
    pub fn rate_bytes_per_s(&mut self, flow: FlowId) -> f64 {
        self.sharing.solve(self.now);
        let Some(slot) = self.living(flow) else { return 0.0 };
        let record = &self.flows[slot as usize];
        match record.state() {
            State::Free | State::Waiting => 0.0,
            State::Alone => self.rate_alone(record),
            State::Sharing => self.sharing.rate(slot),
        }
    }

    fn rate_alone(&self, flow: &Flow) -> f64 {
        let moves = self.opens(flow) <= self.now && flow.bytes > 0.0;
        if moves { SECOND / self.paths.get(flow.path as usize).per_byte } else { 0.0 }
    }

    /// The rate that a flow has now, rounded.
    pub fn rate(&mut self, flow: FlowId) -> Rate {
        Rate::bytes_per_second(whole(self.rate_bytes_per_s(flow)))
    }

    /// The bytes of a flow that have not moved yet, rounded.
    pub fn remaining(&self, flow: FlowId) -> Bytes {
        Bytes::new(whole(self.living(flow).map_or(0.0, |slot| self.left(slot))))
    }

    fn left(&self, slot: u32) -> f64 {
        let flow = &self.flows[slot as usize];
        match flow.state() {
            State::Free => 0.0,
            State::Alone => flow.bytes - self.moved_alone(flow),
            State::Waiting => flow.bytes,
            State::Sharing => self.sharing.left(slot, self.now),
        }
    }

    /// What of a resource is taken now, in bytes per second of its capacity.
    pub fn load_bytes_per_s(&mut self, resource: ResourceId) -> f64 {
        self.sharing.solve(self.now);
        let pool = self.pool_of[resource.index()];
        let claim = self.claims[pool as usize];
        if claim & ALONE == 0 {
            return self.sharing.load(pool);
        }
        let flow = &self.flows[(claim & !ALONE) as usize];
        let path = self.paths.get(flow.path as usize);
        let weight =
            self.sharing.lists.weighted(path.list).find(|part| part.0 == pool).map_or(0.0, |part| part.1);
        weight * self.rate_alone(flow)
    }

    /// What of a resource is taken now, rounded.
    pub fn load(&mut self, resource: ResourceId) -> Rate {
        Rate::bytes_per_second(whole(self.load_bytes_per_s(resource)))
    }

    /// The bytes that each resource has carried so far, times the weights of their uses. Costs time in proportion to
    /// all paths and flows: it is for the end, or for samples.
    pub fn carried_bytes(&self) -> Vec<f64> {
        let mut carried = vec![0.0; self.pool_of.len()];
        let mut add = |path: usize, bytes: f64| {
            let path = self.paths.get(path);
            for (pool, weight) in self.sharing.lists.weighted(path.list) {
                carried[self.resource_of[pool as usize] as usize] += bytes * weight;
            }
        };
        for (at, path) in self.paths.all().iter().enumerate() {
            if path.carried > 0.0 {
                add(at, path.carried);
            }
        }
        for (slot, flow) in (0..).zip(&self.flows).filter(|(_, flow)| flow.state() != State::Free) {
            add(flow.path as usize, flow.bytes - self.left(slot));
        }
        carried
    }

    /// The full resource that limits a flow; none if that is its cap or its latency.
    pub fn bottleneck(&mut self, flow: FlowId) -> Option<ResourceId> {
        self.sharing.solve(self.now);
        let slot = self.living(flow)?;
        let flow = &self.flows[slot as usize];
        let pool = match flow.state() {
            State::Free | State::Waiting => None,
            State::Alone => self.narrowest(flow),
            State::Sharing => self.sharing.limit(slot),
        };
        pool.map(|pool| ResourceId::new(self.resource_of[pool as usize] as usize))
    }

    /// The pool that limits a flow that is alone.
    fn narrowest(&self, flow: &Flow) -> Option<u32> {
        let narrowest = self.paths.get(flow.path as usize).narrowest;
        (self.rate_alone(flow) > 0.0 && narrowest != NONE).then_some(narrowest)
    }

    /// What a resource carries, used or not.
    pub fn capacity(&self, resource: ResourceId) -> Rate {
        Rate::bytes_per_second(whole(self.sharing.capacity(self.pool_of[resource.index()])))
    }

    /// What a path uses, each resource once.
    pub fn uses(&self, path: PathId) -> Vec<Use> {
        let path = self.paths.get(path.index());
        let resource = |pool: u32| ResourceId::new(self.resource_of[pool as usize] as usize);
        self.sharing
            .lists
            .weighted(path.list)
            .map(|(pool, weight)| Use { resource: resource(pool), weight })
            .collect()
    }

    /// How long a flow takes on a path that it shares with no other; `None` where that carries nothing.
    pub fn alone(&self, path: PathId, bytes: Bytes) -> Option<Span> {
        let path = self.paths.get(path.index());
        let uses = self.sharing.lists.weighted(path.list);
        let shares = uses.map(|(pool, weight)| self.sharing.capacity(pool) / weight);
        let terms = self.paths.terms(path);
        let rate = shares.fold(terms.cap, f64::min);
        let moving = bytes.as_f64() * (SECOND / rate);
        (rate > 0.0).then(|| Span::picoseconds(terms.latency.saturating_add(whole(moving))))
    }

    /// The tags of the flows that wait for capacity: their latency has passed, and they have no rate.
    pub fn stalled(&mut self) -> Vec<Tag> {
        self.sharing.solve(self.now);
        let sharing = (0..).zip(&self.flows).filter(|(_, flow)| flow.state() == State::Sharing);
        let stalled = sharing.filter(|(slot, _)| self.sharing.rate(*slot) <= 0.0);
        stalled.map(|(_, flow)| flow.tag).collect()
    }
}
