//! The engine: flows over shared resources in virtual time, in picoseconds. It knows neither plans nor topologies.
//!
//! A flow waits for the latency of its path, then shares the resources of the path with all others, max-min fair:
//! no flow can get more without taking from one that has no more than it. A flow that finds all its resources free
//! has its end at once, which holds until another flow comes to one of them; all others are solved together.

mod asked;
mod dues;
mod events;
mod flows;
mod lists;
mod numbers;
mod paths;
mod queue;
mod sharing;
mod types;
mod weights;

use weft_base::{Bytes, Rate, Span, Time};

use flows::{Flow, State};
use numbers::rate_f64;
use paths::Paths;
use queue::{Entry, Queue, TIMER};
use sharing::{Ended, Sharing};
use types::narrow;
pub use types::{Event, EventKind, FlowId, PathId, ResourceId, Tag, Use};

/// Flows over shared resources in virtual time.
#[derive(Default)]
pub struct Engine {
    now: u64,
    /// The solver's number of each resource.
    pool_of: Vec<u32>,
    /// The resource of each of the solver's pools; pools for caps have none.
    resource_of: Vec<u32>,
    /// Who is on each pool: nobody, one flow alone, or so many that share.
    claims: Vec<u32>,
    paths: Paths,
    /// Changes with each change of a capacity.
    stand: u32,
    flows: Vec<Flow>,
    /// One more than the number of the record that was freed last; zero if none is free.
    free_flow: u32,
    timers: Vec<Tag>,
    free_timers: Vec<u32>,
    queue: Queue,
    sharing: Sharing,
    entries: Vec<Entry>,
    ended: Vec<Ended>,
}

impl Engine {
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
        let first = ResourceId::new(self.pool_of.len());
        for _ in 0..count {
            let pool = self.sharing.add_pool(rate_f64(capacity), false);
            self.resource_of.resize(pool as usize, flows::FREE);
            self.resource_of.push(narrow(self.pool_of.len()));
            self.claims.resize(pool as usize + 1, flows::FREE);
            self.pool_of.push(pool);
        }
        first
    }

    /// Adds a path. A resource that is named twice counts with the sum of its weights, and one of weight zero not at
    /// all. `cap` bounds each flow by itself.
    pub fn add_path(&mut self, uses: &[Use], latency: Span, cap: Option<Rate>) -> PathId {
        PathId::new(self.paths.add(uses, &self.pool_of, &mut self.sharing.lists, latency, cap))
    }

    /// How many resources there are.
    pub fn resources(&self) -> usize {
        self.pool_of.len()
    }

    /// How many paths there are.
    pub fn paths(&self) -> usize {
        self.paths.all().len()
    }

    /// Starts a flow now: its latency passes first, in which it shares nothing, then its bytes move. `tag` comes back
    /// with the event of its end.
    pub fn start(&mut self, path: PathId, bytes: Bytes, tag: Tag) -> FlowId {
        let slot = self.free_record();
        self.begin(slot, path.index(), bytes.as_f64(), tag);
        FlowId::new(slot, self.flows[slot as usize].generation())
    }

    /// Asks for an event at a time; at once if the time has passed.
    pub fn wake(&mut self, at: Time, tag: Tag) {
        let place = self.free_timers.pop().unwrap_or_else(|| {
            self.timers.push(0);
            narrow(self.timers.len() - 1)
        });
        self.timers[place as usize] = tag;
        self.queue.push(Entry { time: at.get().max(self.now), place, count: TIMER });
    }

    /// Ends a flow before its time and gives the bytes that had not moved; zero if it had ended.
    pub fn cancel(&mut self, flow: FlowId) -> Bytes {
        let Some(slot) = self.living(flow) else { return Bytes::ZERO };
        let left = self.stop(slot);
        self.set_free(slot);
        Bytes::new(numbers::whole(left))
    }

    /// The rest of a flow goes another way from now on. Its latency does not begin again. Nothing happens if the flow
    /// has ended.
    pub fn reroute(&mut self, flow: FlowId, path: PathId) {
        let Some(slot) = self.living(flow) else { return };
        if self.flows[slot as usize].path as usize == path.index() {
            return;
        }
        let left = self.stop(slot);
        self.go_on(slot, path.index(), left);
    }

    /// Changes a capacity from now on. At zero the flows that use it stall, without an event.
    pub fn set_capacity(&mut self, resource: ResourceId, capacity: Rate) {
        let pool = self.pool_of[resource.index()];
        self.stand += 1;
        if self.stand == paths::NEVER {
            self.paths.forget();
            self.stand = 0;
        }
        self.share(pool);
        self.sharing.set_capacity(pool, rate_f64(capacity));
    }

    /// The present time.
    pub fn now(&self) -> Time {
        Time::picoseconds(self.now)
    }

    fn living(&self, flow: FlowId) -> Option<u32> {
        let record = self.flows.get(flow.index())?;
        let lives = record.generation() == flow.generation() && record.state() != State::Free;
        lives.then(|| flow.slot())
    }
}
