//! The solution after few changes: levels are found again from the lowest that changed upwards, and only where a
//! neighbour's change reaches. A flow that comes or goes changes no rate below its own.

use std::cmp::Reverse;

use super::super::types::narrow;
use super::asleep;
use super::members::Item;
use super::{NONE, SINKS, Sharing, TOLERANCE};

/// A level that moves by less, relatively, is left as it is; nothing adds up, since sums are compared anew each time.
const STILL: f64 = 1e-13;

impl Sharing {
    /// The level of this pool is to be found again, if that can change anything.
    pub(super) fn mark(&mut self, pool: u32) {
        let record = &self.pools[pool as usize];
        if record.taken > record.trigger {
            self.alarm(pool);
        }
    }

    /// More is taken of a pool than it bears as far as it knows: it is marked, or wakes to know more.
    fn alarm(&mut self, pool: u32) {
        if self.facts[pool as usize].asleep {
            self.pools[pool as usize].trigger = f64::INFINITY;
            self.sleep.rousing.push(pool);
        } else {
            self.mark_surely(pool);
        }
    }

    pub(super) fn mark_surely(&mut self, pool: u32) {
        let at = pool as usize;
        if !std::mem::replace(&mut self.facts[at].marked, true) {
            let key = self.pools[at].level.min(self.tentative(at));
            self.pools[at].trigger = f64::INFINITY;
            self.marked.push(Reverse((key.to_bits(), pool)));
        }
    }

    /// Finds the levels of marked pools, and of those that are marked on the way. False if filling from scratch is
    /// the shorter way.
    pub(super) fn relax(&mut self, now: u64) -> bool {
        let enough = self.updates + 16 * self.alive + 1024;
        while let Some(Reverse((_, pool))) = self.next_marked() {
            let at = pool as usize;
            if !self.facts[at].marked {
                continue;
            }
            self.lines[at].settle(self.pools[at].level, now);
            self.touch(at);
            self.find_level(at, now);
            self.facts[at].marked = false;
            self.arm(at);
            self.updates += 1;
            if self.updates > enough {
                return false;
            }
        }
        true
    }

    fn next_marked(&mut self) -> Option<Reverse<(u64, u32)>> {
        self.rouse();
        self.marked.pop()
    }

    fn find_level(&mut self, at: usize, now: u64) {
        loop {
            let before = self.lines[at].here;
            if before == 0 && !self.full(at) {
                self.pools[at].level = f64::INFINITY;
                return;
            }
            let mut level = self.tentative(at);
            let elsewhere = self.lines[at].members.len() > before;
            if elsewhere && (before == 0 || level < self.pools[at].highest * (1.0 - TOLERANCE)) {
                level = self.pull(at, now);
            }
            let old = self.pools[at].level;
            // Of flows that were pulled, all is up to date.
            if before == 0 {
                self.pools[at].level = level;
                return;
            }
            if (level - old).abs() <= STILL * old {
                return;
            }
            self.pools[at].level = level;
            self.push(at, before, old, level);
            self.tell_asleep(at);
            if self.scratch.crossing.is_empty() {
                return;
            }
            self.cross(at, level, now);
        }
    }

    /// The level of a pool has moved for the first `count` flows of its line: their other pools are told.
    fn push(&mut self, at: usize, count: usize, old: f64, level: f64) {
        let (delta, threshold) = (level - old, level * (1.0 - TOLERANCE));
        self.scratch.crossing.clear();
        self.scratch.triggered.clear();
        self.updates += count;
        // This is where the time goes when everything shares with everything: no indirection, and one branch a use.
        let pools = self.pools.as_mut_slice();
        let triggered = &mut self.scratch.triggered;
        let mut tell = |other: u32, more: f64| {
            let pool = &mut pools[other as usize];
            pool.taken += more;
            pool.highest = if level > pool.highest { level } else { pool.highest };
            if pool.taken > pool.trigger {
                pool.trigger = f64::INFINITY;
                triggered.push(other);
            }
            pool.level < threshold
        };
        for member in &self.lines[at].members[..count] {
            let mut crosses = false;
            if member.others[1] == SINKS[1] {
                crosses = tell(member.others[0], delta);
            } else if member.others[0] != NONE {
                for other in member.others {
                    crosses |= tell(other, delta);
                }
            } else {
                let (facts, heads) = (&self.facts, &self.heads);
                let awake = |used: &(Item, f64)| used.0.pool() != at && !facts[used.0.pool()].asleep;
                for (item, weight) in self.blocks.weighted(heads[member.flow as usize].base).filter(awake) {
                    crosses |= tell(narrow(item.pool()), weight * delta);
                }
            }
            if crosses {
                self.scratch.crossing.push(member.flow);
            }
        }
        let triggered = std::mem::take(&mut self.scratch.triggered);
        for pool in &triggered {
            self.mark_surely(*pool);
        }
        self.scratch.triggered = triggered;
    }

    /// Flows that have risen above the level of another of their pools are limited by that one.
    fn cross(&mut self, at: usize, level: f64, now: u64) {
        let crossing = std::mem::take(&mut self.scratch.crossing);
        for flow in &crossing {
            let base = self.heads[*flow as usize].base;
            let (mut own, mut lowest) = (base as usize, (f64::INFINITY, base as usize));
            for (offset, item) in self.blocks.of(base).iter().enumerate() {
                let other = self.pools[item.pool()].level;
                if item.pool() == at {
                    own = base as usize + offset;
                } else if other < lowest.0 {
                    lowest = (other, base as usize + offset);
                }
            }
            self.pass(own, lowest.1, level, lowest.0, now);
        }
        self.scratch.crossing = crossing;
    }

    /// A flow passes from the pool of one of its uses to that of another, and from one rate to another.
    fn pass(&mut self, from: usize, to: usize, old: f64, new: f64, now: u64) {
        let (giver, taker) = (self.blocks.items[from], self.blocks.items[to]);
        let (given, takes) = (self.blocks.weight(from), self.blocks.weight(to));
        for pool in [giver.pool(), taker.pool()] {
            self.lines[pool].settle(self.pools[pool].level, now);
        }
        let flow = self.lines[giver.pool()].members[giver.position()].flow;
        let told = self.facts[taker.pool()].told - self.facts[giver.pool()].told;
        self.take_elsewhere(self.heads[flow as usize].base, taker.pool(), new - old, told);
        // The giver has counted it among those it limits, the taker among the others.
        let left = self.go_from_under(from);
        self.pools[giver.pool()].taken += given * old;
        self.come_under(to, left);
        self.facts[taker.pool()].weight += takes;
        let (line, pool) = (&self.lines[taker.pool()], &mut self.pools[taker.pool()]);
        pool.taken -= takes * old;
        if line.here == line.members.len() {
            (pool.taken, pool.highest) = (0.0, 0.0);
        }
        let pool = &mut self.pools[giver.pool()];
        pool.highest = pool.highest.max(new);
        self.mark_surely(narrow(taker.pool()));
    }

    /// Takes flows that are faster than the pool can bear under its own limit, the fastest first; its level then.
    fn pull(&mut self, at: usize, now: u64) -> f64 {
        let mut faster = std::mem::take(&mut self.scratch.faster);
        let (mut taken, mut highest) = (0.0, 0.0_f64);
        let line = &self.lines[at];
        let floor = if line.here == 0 { 0.0 } else { self.tentative(at) * (1.0 + TOLERANCE) };
        for member in &line.members[line.here..] {
            let rate = self.pools[self.heads[member.flow as usize].limit as usize].level;
            taken += rate * self.blocks.weight(member.item as usize);
            if rate > floor {
                faster.push((rate, *member));
            } else {
                highest = highest.max(rate);
            }
        }
        self.updates += line.members.len() - line.here;
        // Summed anew, since all are read anyway.
        faster.sort_by(|a, b| b.0.total_cmp(&a.0));
        let (mut weight, mut pulled) = (self.facts[at].weight, 0);
        let capacity = self.facts[at].capacity;
        let mut level = if weight > 0.0 { ((capacity - taken) / weight).max(0.0) } else { 0.0 };
        for (rate, member) in &faster {
            if weight > 0.0 && *rate <= level * (1.0 + TOLERANCE) {
                highest = highest.max(*rate);
                break;
            }
            let own = self.blocks.weight(member.item as usize);
            taken -= own * rate;
            weight += own;
            level = ((capacity - taken) / weight).max(0.0);
            pulled += 1;
        }
        let record = &mut self.pools[at];
        (record.taken, record.highest) = (taken, highest);
        if line.here + pulled == line.members.len() {
            record.taken = 0.0;
            level = capacity / weight;
        }
        if self.lines[at].here == 0 {
            self.facts[at].told = asleep::told(level);
        }
        for (rate, member) in faster.drain(..).take(pulled) {
            self.pull_one(at, member.flow, member.item as usize, rate, level, now);
        }
        self.facts[at].weight = weight;
        self.scratch.faster = faster;
        level
    }

    /// Takes a flow under the limit of this pool, whose sums know it already.
    fn pull_one(&mut self, at: usize, flow: u32, to: usize, old: f64, new: f64, now: u64) {
        let head = self.heads[flow as usize];
        let giver = head.limit as usize;
        self.lines[giver].settle(self.pools[giver].level, now);
        let uses = self.blocks.of(head.base);
        let from = head.base as usize + uses.iter().position(|item| item.pool() == giver).unwrap_or(0);
        let told = self.facts[at].told - self.facts[giver].told;
        self.take_elsewhere(head.base, at, new - old, told);
        let left = self.go_from_under(from);
        let weight = self.blocks.weight(from);
        let pool = &mut self.pools[giver];
        pool.taken += weight * old;
        pool.highest = pool.highest.max(new);
        self.come_under(to, left);
        self.mark_surely(narrow(giver));
    }
}
