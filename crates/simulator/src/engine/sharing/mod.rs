//! Flows that share: which resource limits which flow, at what level, and which flow ends next.
//!
//! All flows that a resource limits have one rate, its level. So a level is all that changes when capacity is shared
//! anew: a resource keeps what it has served to each flow that it limits (the integral of its level), and a flow keeps
//! at which value of that it has got all its bytes. A flow is touched only if what limits it changes.

mod asleep;
mod bulk;
mod fill;
mod lines;
mod members;
mod relax;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::dues::{Dues, NEVER};
use super::lists::Lists;
use super::numbers::{SECOND, seconds, whole};
use super::types::narrow;
use asleep::Sleep;
use bulk::{Crowd, is_bulk};
use members::{Blocks, FEW, Member};

/// What is the same but for rounding; everything is solved to this.
const TOLERANCE: f64 = 1e-12;
/// No resource, no flow.
pub(super) const NONE: u32 = u32::MAX;
/// Pools that are none, into which the inner loop writes what need not be written; several, since a write waits for the
/// one before it in the same place.
const SINKS: [u32; FEW] = [0, 1, 2];
/// Limited by nothing yet, since it is to be inserted at the next solution.
const PENDING: u32 = u32::MAX - 1;

/// A resource as the solver sees it: what the inner loop reads and writes.
#[repr(align(32))]
struct Pool {
    /// What flows that are limited elsewhere take of it.
    taken: f64,
    /// No flow that is limited elsewhere is faster than this.
    highest: f64,
    /// The rate of the flows that it limits; infinite if there are none.
    level: f64,
    /// Its level is to be found again, or it wakes, once more than this is taken of it.
    trigger: f64,
}

/// The rest of a resource.
struct Facts {
    capacity: f64,
    /// The weights of the flows that it limits, together.
    weight: f64,
    /// The weights of all its flows together.
    total: f64,
    /// What pools that sleep take its level for; no lower than that, and set only while some sleep.
    told: f64,
    /// How many of its flows nothing limits yet, while filling.
    open: u32,
    /// How many flows use it; right only while there are no lines.
    members: u32,
    asleep: bool,
    marked: bool,
    touched: bool,
    listed: bool,
    /// Made for the cap of a single flow.
    of_cap: bool,
}

/// The flows of a pool.
#[derive(Default)]
struct Line {
    /// What each flow that it limits has got since an arbitrary moment, in bytes.
    served: f64,
    /// Up to when `served` counts, in picoseconds.
    since: u64,
    /// First those that it limits, then those that are limited elsewhere.
    members: Vec<Member>,
    /// How many it limits.
    here: usize,
    /// The least target of these, while there are no lines.
    least: f64,
    /// Targets (as bits, which sort as the numbers do) of the flows that it limits; some entries are out of date.
    ends: BinaryHeap<Reverse<(u64, u32)>>,
}

/// A flow as the solver sees it.
#[derive(Clone, Copy)]
struct Head {
    /// Where its uses begin once it is in lines, until then its list.
    base: u32,
    /// The pool that limits it.
    limit: u32,
    /// At which `served` of that pool it has all its bytes; before it has joined: its bytes.
    target: f64,
}

/// A flow all of whose bytes have moved.
#[derive(Clone, Copy)]
pub(super) struct Ended {
    pub flow: u32,
    /// The pool that limited it; `NONE` if that was its own cap.
    pub limit: u32,
}

/// All flows that share, and all pools.
#[derive(Default)]
pub(super) struct Sharing {
    pools: Vec<Pool>,
    facts: Vec<Facts>,
    lines: Vec<Line>,
    heads: Vec<Head>,
    pub lists: Lists,
    crowd: Crowd,
    blocks: Blocks,
    /// The list of each flow that is in lines.
    list_of: Vec<u32>,
    /// Pools with members; some have none any more.
    listed: Vec<u32>,
    /// Pools made for caps, free to be used again.
    spare_caps: Vec<u32>,
    arrivals: Vec<u32>,
    /// Flows that came or went since the last solution.
    changes: usize,
    /// So many have gone at once that sums are out of date: the next solution is from scratch.
    bulk: bool,
    alive: usize,
    /// Updates of `taken` since the last filling from scratch; bounds what rounding can add up to.
    updates: usize,
    marked: BinaryHeap<Reverse<(u64, u32)>>,
    sleep: Sleep,
    touched: Vec<u32>,
    dues: Dues,
    scratch: Scratch,
}

/// Lists that are kept for their memory.
#[derive(Default)]
struct Scratch {
    crossing: Vec<u32>,
    faster: Vec<(f64, Member)>,
    due: Vec<u32>,
    triggered: Vec<u32>,
}

impl Sharing {
    pub fn add_pool(&mut self, capacity: f64, of_cap: bool) -> u32 {
        if self.pools.is_empty() {
            for _ in SINKS {
                self.push_pool(f64::INFINITY, false);
            }
        }
        self.push_pool(capacity, of_cap);
        narrow(self.pools.len() - 1)
    }

    fn push_pool(&mut self, capacity: f64, of_cap: bool) {
        let trigger = capacity * (1.0 + TOLERANCE);
        self.pools.push(Pool { taken: 0.0, highest: 0.0, level: f64::INFINITY, trigger });
        self.facts.push(Facts {
            capacity,
            weight: 0.0,
            total: 0.0,
            told: 0.0,
            open: 0,
            members: 0,
            asleep: false,
            marked: false,
            touched: false,
            listed: false,
            of_cap,
        });
        self.lines.push(Line::default());
    }

    pub fn capacity(&self, pool: u32) -> f64 {
        self.facts[pool as usize].capacity
    }

    pub fn set_capacity(&mut self, pool: u32, capacity: f64) {
        self.facts[pool as usize].capacity = capacity;
        if self.facts[pool as usize].asleep {
            return self.sleep.rousing.push(pool);
        }
        self.arm(pool as usize);
        self.mark(pool);
    }

    /// When the next flow ends; right only after `solve`.
    pub fn earliest(&self) -> u64 {
        self.dues.earliest()
    }

    /// Finds all rates again, if something has come, gone or changed.
    pub fn solve(&mut self, now_ps: u64) {
        let bulk = std::mem::take(&mut self.bulk);
        if !bulk && self.marked.is_empty() && self.arrivals.is_empty() && self.sleep.rousing.is_empty() {
            self.changes = 0;
            return;
        }
        self.dues.grow(self.pools.len());
        // Rounding adds up slowly: a thousand updates of each sum are harmless, and make filling anew cheap.
        let stale = self.updates > 1000 * (self.alive + 64);
        if bulk || stale || is_bulk(self.changes, self.alive) || self.is_moved() {
            self.fill(now_ps);
        } else {
            self.form_lines();
            self.join_arrivals(now_ps);
            if !self.relax(now_ps) {
                self.fill(now_ps);
            }
        }
        self.doze();
        self.changes = 0;
        self.set_dues();
    }

    fn set_dues(&mut self) {
        let mut touched = std::mem::take(&mut self.touched);
        for pool in touched.drain(..) {
            self.facts[pool as usize].touched = false;
            let due = self.next_end(pool as usize);
            self.dues.set(pool as usize, due);
        }
        self.touched = touched;
    }

    fn touch(&mut self, pool: usize) {
        if !std::mem::replace(&mut self.facts[pool].touched, true) {
            self.touched.push(narrow(pool));
        }
    }

    /// When the next of the flows that this pool limits ends.
    fn next_end(&mut self, pool: usize) -> u64 {
        let line = &mut self.lines[pool];
        if self.crowd.gathered {
            return if line.here > 0 { line.end(line.least, self.pools[pool].level) } else { NEVER };
        }
        while let Some(Reverse((target, flow))) = line.ends.peek() {
            let head = &self.heads[*flow as usize];
            if head.limit as usize == pool && head.target.to_bits() == *target {
                return line.end(head.target, self.pools[pool].level);
            }
            line.ends.pop();
        }
        NEVER
    }

    /// Takes out all flows that have ended by `now_ps`, and lists them with what limited them.
    pub fn collect(&mut self, now_ps: u64, ended: &mut Vec<Ended>) {
        ended.clear();
        let mut due = std::mem::take(&mut self.scratch.due);
        self.dues.due(now_ps, &mut due);
        let done = self.collect_crowd(&due, now_ps, ended);
        if !done {
            self.form_lines();
            for pool in due.drain(..) {
                let next = self.take_ends(pool, now_ps, ended);
                self.dues.set(pool as usize, next);
            }
        }
        self.scratch.due = due;
        if done {
            return;
        }
        // A flow can be listed twice, if it came back to a pool with the target it had left with.
        for end in &*ended {
            self.remove(end.flow, now_ps);
        }
    }

    /// The bytes per second that a flow has now.
    pub fn rate(&self, flow: u32) -> f64 {
        let limit = self.heads[flow as usize].limit;
        if limit == PENDING { 0.0 } else { self.pools[limit as usize].level }
    }

    /// The pool that limits a flow, unless it is the flow's own cap.
    pub fn limit(&self, flow: u32) -> Option<u32> {
        let limit = self.heads[flow as usize].limit;
        (limit != PENDING && !self.facts[limit as usize].of_cap).then_some(limit)
    }

    /// The bytes of a flow that have not moved.
    pub fn left(&self, flow: u32, now_ps: u64) -> f64 {
        let head = &self.heads[flow as usize];
        if head.limit == PENDING {
            return head.target;
        }
        let (line, pool) = (&self.lines[head.limit as usize], &self.pools[head.limit as usize]);
        (head.target - line.served - pool.level * seconds(now_ps - line.since)).max(0.0)
    }

    /// What is taken of a pool now, in bytes per second.
    pub fn load(&self, pool: u32) -> f64 {
        let (at, record) = (pool as usize, &self.pools[pool as usize]);
        if self.facts[at].asleep {
            return self.summed(at).0;
        }
        record.taken + if self.lines[at].here > 0 { self.facts[at].weight * record.level } else { 0.0 }
    }

    /// The level at which a pool is full, as far as is known.
    fn tentative(&self, at: usize) -> f64 {
        let (pool, facts) = (&self.pools[at], &self.facts[at]);
        if facts.weight > 0.0 {
            ((facts.capacity - pool.taken) / facts.weight).max(0.0)
        } else if self.full(at) {
            pool.highest * (facts.capacity / pool.taken)
        } else {
            f64::INFINITY
        }
    }

    /// Whether a pool is full, or more, of flows that are limited elsewhere.
    fn full(&self, at: usize) -> bool {
        self.pools[at].taken > self.facts[at].capacity * (1.0 + TOLERANCE)
    }

    /// Sets what makes a pool be looked at: any change if it limits flows, too much if not; nothing if it will be anyway.
    fn arm(&mut self, at: usize) {
        let (pool, facts) = (&mut self.pools[at], &self.facts[at]);
        pool.trigger = if facts.marked {
            f64::INFINITY
        } else if pool.level < f64::INFINITY {
            f64::NEG_INFINITY
        } else {
            facts.capacity * (1.0 + TOLERANCE)
        };
    }
}

impl Line {
    /// Counts what was served up to now.
    fn settle(&mut self, level: f64, now: u64) {
        if self.here > 0 {
            self.served += level * seconds(now - self.since);
        } else {
            self.served = 0.0;
            self.ends.clear();
        }
        self.since = now;
    }

    /// When a flow with this target ends.
    fn end(&self, target: f64, level: f64) -> u64 {
        if target <= self.served {
            return self.since;
        }
        let span = (target - self.served) / level * SECOND;
        // A level of zero gives an infinite span.
        if span < 9e18 { self.since.saturating_add(whole(span)) } else { NEVER }
    }
}
