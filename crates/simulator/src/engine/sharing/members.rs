//! Who shares what: flows join and leave the lines of pools, and pass from one limit to another.

use std::cmp::Reverse;

use super::super::types::narrow;
use super::super::weights::Weights;
use super::{Facts, Head, NONE, PENDING, SINKS, Sharing};

/// Marks the last use of a flow.
const LAST: u32 = 1 << 31;

/// A flow among those of a pool.
#[derive(Clone, Copy)]
pub(super) struct Member {
    pub flow: u32,
    /// Where its use of this pool is.
    pub item: u32,
    /// Its other pools that are awake, filled up with sinks, if they are few and all weights are one; else `NONE`.
    pub others: [u32; FEW],
}

/// Other pools of a flow that fit into a member: those of a path over a leaf, a spine and a leaf.
pub(super) const FEW: usize = 3;

/// One use of a flow.
#[derive(Clone, Copy)]
pub(super) struct Item {
    marked_pool: u32,
    /// Where the flow stands in the line of the pool.
    position: u32,
}

impl Item {
    pub fn pool(self) -> usize {
        (self.marked_pool & !LAST) as usize
    }
    pub fn position(self) -> usize {
        self.position as usize
    }
    pub fn set_position(&mut self, position: usize) {
        self.position = narrow(position);
    }
    pub fn is_last(self) -> bool {
        self.marked_pool & LAST != 0
    }
}

/// The uses of all flows, each flow's side by side.
#[derive(Default)]
pub(super) struct Blocks {
    pub items: Vec<Item>,
    weights: Weights,
    /// Free blocks by the power of two of their length.
    free: [Vec<u32>; 32],
}

impl Blocks {
    /// Stores the uses of a flow and gives where they begin.
    pub fn store(&mut self, uses: impl ExactSizeIterator<Item = (u32, f64)>) -> u32 {
        let room = uses.len().next_power_of_two();
        let base = self.free[room.trailing_zeros() as usize].pop().unwrap_or_else(|| {
            let base = narrow(self.items.len());
            self.items.resize(self.items.len() + room, Item { marked_pool: LAST, position: 0 });
            base
        });
        let (mut at, count) = (base as usize, uses.len());
        for (pool, weight) in uses {
            self.items[at] = Item { marked_pool: pool, position: 0 };
            self.weights.set(at, weight);
            at += 1;
        }
        self.items[base as usize + count - 1].marked_pool |= LAST;
        base
    }

    /// The weight of the use at this place.
    pub fn weight(&self, at: usize) -> f64 {
        self.weights.get(at)
    }

    /// The uses that begin at `base`.
    pub fn of(&self, base: u32) -> &[Item] {
        let uses = &self.items[base as usize..];
        let last = uses.iter().position(|item| item.is_last()).unwrap_or(0);
        &uses[..=last]
    }

    /// The uses that begin at `base`, with their weights.
    pub fn weighted(&self, base: u32) -> impl Iterator<Item = (Item, f64)> {
        (base as usize..).zip(self.of(base)).map(|(at, item)| (*item, self.weight(at)))
    }

    /// The pools of these uses but one and those asleep, as a member holds them.
    pub fn others(&self, base: u32, pool: usize, facts: &[Facts]) -> [u32; FEW] {
        self.awake(base, facts).map_or([NONE; FEW], |awake| awake.without(pool))
    }

    /// The pools of these uses that are awake; `None` if a member cannot hold them.
    pub fn awake(&self, base: u32, facts: &[Facts]) -> Option<Awake> {
        let uses = self.of(base);
        if uses.len() > FEW + 1 || !self.weights.are_one(base as usize..base as usize + uses.len()) {
            return None;
        }
        let mut awake = Awake { pools: [NONE; FEW + 1], count: 0 };
        for pool in uses.iter().map(|item| item.pool()).filter(|pool| !facts[*pool].asleep) {
            awake.pools[awake.count] = narrow(pool);
            awake.count += 1;
        }
        Some(awake)
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.items.clear();
        self.free.iter_mut().for_each(Vec::clear);
    }

    pub fn release(&mut self, base: u32) {
        let room = self.of(base).len().next_power_of_two();
        self.free[room.trailing_zeros() as usize].push(base);
    }
}

/// The pools of a flow that are awake.
pub(super) struct Awake {
    pools: [u32; FEW + 1],
    count: usize,
}

impl Awake {
    pub fn without(&self, pool: usize) -> [u32; FEW] {
        let mut others = SINKS;
        let awake = self.pools[..self.count].iter().filter(|other| **other as usize != pool);
        for (other, place) in awake.zip(&mut others) {
            *place = *other;
        }
        others
    }
}

impl Sharing {
    /// A flow has come whose bytes begin to move now, on a list of at least one pool.
    pub fn arrive(&mut self, flow: u32, list: u32, cap_bytes_per_s: f64, bytes: f64) {
        let mut base = list;
        if cap_bytes_per_s.is_finite() {
            let pool = self.cap_pool(cap_bytes_per_s);
            base = self.lists.with(list, pool);
        }
        if self.heads.len() <= flow as usize {
            self.heads.resize(flow as usize + 1, Head { base: 0, limit: NONE, target: 0.0 });
        }
        self.heads[flow as usize] = Head { base, limit: PENDING, target: bytes };
        self.arrivals.push(flow);
        self.changes += 1;
        self.alive += 1;
    }

    fn cap_pool(&mut self, cap: f64) -> u32 {
        let Some(pool) = self.spare_caps.pop() else { return self.add_pool(cap, true) };
        self.facts[pool as usize].capacity = cap;
        self.arm(pool as usize);
        pool
    }

    /// Flows that have arrived get their places, one after the other.
    pub(super) fn join_arrivals(&mut self, now: u64) {
        let mut arrivals = std::mem::take(&mut self.arrivals);
        for flow in arrivals.drain(..) {
            if self.heads[flow as usize].limit == PENDING {
                self.join(flow, now);
            }
        }
        self.arrivals = arrivals;
    }

    /// A flow that has arrived gets its places and a first guess of what limits it.
    fn join(&mut self, flow: u32, now: u64) {
        self.stand_in_lines(flow);
        let head = self.heads[flow as usize];
        let mut best = (f64::INFINITY, head.base as usize);
        for at in head.base as usize.. {
            let (item, weight) = (self.blocks.items[at], self.blocks.weight(at));
            let pool = &mut self.facts[item.pool()];
            pool.total += weight;
            if !std::mem::replace(&mut pool.listed, true) {
                self.listed.push(narrow(item.pool()));
            }
            if !pool.asleep {
                let share = (pool.capacity - self.pools[item.pool()].taken) / (pool.weight + weight);
                if share < best.0 {
                    best = (share, at);
                }
            }
            if item.is_last() {
                break;
            }
        }
        self.heads[flow as usize].limit = NONE;
        let item = self.blocks.items[best.1];
        let limit = item.pool();
        if self.facts[limit].asleep {
            // So are all others; which one is in the way will show.
            self.sleep.rousing.push(narrow(limit));
            self.rouse();
        }
        self.lines[limit].settle(self.pools[limit].level, now);
        if self.lines[limit].here == 0 {
            self.pools[limit].level = 0.0;
            self.facts[limit].told = 0.0;
            self.arm(limit);
        }
        let level = self.pools[limit].level;
        self.come_under(best.1, head.target);
        self.facts[limit].weight += self.blocks.weight(best.1);
        self.take_elsewhere(head.base, limit, level, self.facts[limit].told);
        self.mark(narrow(limit));
    }

    /// The flow takes so much more of all its pools but one; those asleep are told another figure.
    pub(super) fn take_elsewhere(&mut self, base: u32, limit: usize, more: f64, told: f64) {
        let mut at = base as usize;
        loop {
            let item = self.blocks.items[at];
            if item.pool() != limit {
                let asleep = self.facts[item.pool()].asleep;
                let pool = &mut self.pools[item.pool()];
                pool.taken += self.blocks.weight(at) * if asleep { told } else { more };
                pool.highest = pool.highest.max(more);
                self.mark(narrow(item.pool()));
            }
            if item.is_last() {
                return;
            }
            at += 1;
        }
    }

    /// The flow whose use is at `item` is limited by the pool of that use from now on, with so many bytes left.
    pub(super) fn come_under(&mut self, item: usize, left: f64) {
        let pool = self.blocks.items[item].pool();
        let (position, here) = (self.blocks.items[item].position as usize, self.lines[pool].here);
        self.swap(pool, position, here);
        let line = &mut self.lines[pool];
        line.here += 1;
        let flow = line.members[here].flow;
        let target = line.served + left;
        let head = &mut self.heads[flow as usize];
        (head.limit, head.target) = (narrow(pool), target);
        line.ends.push(Reverse((target.to_bits(), flow)));
        if line.ends.len() > 2 * line.here + 32 {
            let heads = &self.heads;
            line.ends.retain(|Reverse((target, flow))| {
                let head = &heads[*flow as usize];
                head.limit as usize == pool && head.target.to_bits() == *target
            });
        }
    }

    /// The flow whose use is at `item` is not limited by the pool of that use any more; the bytes it has left.
    pub(super) fn go_from_under(&mut self, item: usize) -> f64 {
        let pool = self.blocks.items[item].pool();
        let line = &mut self.lines[pool];
        line.here -= 1;
        let here = line.here;
        let position = self.blocks.items[item].position as usize;
        let left = self.heads[line.members[position].flow as usize].target - line.served;
        self.swap(pool, position, here);
        self.facts[pool].weight -= self.blocks.weight(item);
        if here == 0 {
            self.facts[pool].weight = 0.0;
        }
        left.max(0.0)
    }

    pub(super) fn swap(&mut self, pool: usize, a: usize, b: usize) {
        if a == b {
            return;
        }
        let members = &mut self.lines[pool].members;
        members.swap(a, b);
        self.blocks.items[members[a].item as usize].position = narrow(a);
        self.blocks.items[members[b].item as usize].position = narrow(b);
    }

    /// A flow goes, ended or not.
    pub fn remove(&mut self, flow: u32, now_ps: u64) {
        let head = self.heads[flow as usize];
        if head.limit == NONE {
            return;
        }
        (self.changes, self.alive) = (self.changes + 1, self.alive - 1);
        if head.limit == PENDING {
            self.heads[flow as usize].limit = NONE;
            return self.spare(head.base);
        }
        self.form_lines();
        let head = self.heads[flow as usize];
        self.heads[flow as usize].limit = NONE;
        let limit = head.limit as usize;
        let (rate, told) = (self.pools[limit].level, self.facts[limit].told);
        for at in head.base as usize.. {
            let item = self.blocks.items[at];
            self.leave(at, limit, if self.facts[item.pool()].asleep { told } else { rate }, now_ps);
            if item.is_last() {
                break;
            }
        }
        self.blocks.release(head.base);
        self.spare(self.list_of[flow as usize]);
    }

    /// One use of a flow ends, of which the pool knows this limit and rate.
    fn leave(&mut self, at: usize, limit: usize, rate: f64, now: u64) {
        let (pool, weight) = (self.blocks.items[at].pool(), self.blocks.weight(at));
        if pool == limit {
            self.lines[pool].settle(self.pools[pool].level, now);
            self.go_from_under(at);
        } else {
            self.pools[pool].taken -= weight * rate;
        }
        let last = self.lines[pool].members.len() - 1;
        self.swap(pool, self.blocks.items[at].position as usize, last);
        let line = &mut self.lines[pool];
        line.members.pop();
        if line.members.len() == line.here {
            (self.pools[pool].taken, self.pools[pool].highest) = (0.0, 0.0);
        }
        let rest = self.facts[pool].total - weight;
        self.facts[pool].total = if line.members.is_empty() { 0.0 } else { rest };
        if pool == limit {
            self.mark_surely(narrow(pool));
        } else {
            self.mark(narrow(pool));
        }
    }
}
