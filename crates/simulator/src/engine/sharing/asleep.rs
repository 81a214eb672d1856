//! Pools that sleep: they limit nobody, and need not be told each change of a level, since what their flows take at
//! most is known to fit. Each level is rounded up for them, and they are told only when it leaves that range. In an
//! all-to-all that is most writes: nearly all links between switches sleep.

use super::super::types::narrow;
use super::members::Item;
use super::{NONE, PENDING, Sharing};

/// By how much a level is rounded up for pools that sleep, relatively.
const MARGIN: f64 = 0.03;
/// A pool of which no more than this share is taken may sleep; with the margin it is well below all.
const DROWSY: f64 = 0.93;

#[derive(Default)]
pub(super) struct Sleep {
    /// How many pools sleep.
    count: usize,
    /// Pools that are to wake.
    pub rousing: Vec<u32>,
    /// When, in updates, pools are sent to sleep again; what that count was the last time, and changes since.
    next: usize,
    last: usize,
    changes: usize,
}

/// What pools that sleep take this level for.
pub(super) fn told(level: f64) -> f64 {
    level * (1.0 + MARGIN)
}

impl Sharing {
    /// Tells pools that sleep of the level of this one, if it has left the range that they know.
    pub(super) fn tell_asleep(&mut self, at: usize) {
        let (level, known) = (self.pools[at].level, self.facts[at].told);
        if self.sleep.count == 0 || (level <= known && level * (1.0 + 3.0 * MARGIN) >= known) {
            return;
        }
        let here = self.lines[at].here;
        self.facts[at].told = told(level);
        self.updates += here;
        for member in &self.lines[at].members[..here] {
            let asleep = |used: &(Item, f64)| self.facts[used.0.pool()].asleep;
            for (item, weight) in self.blocks.weighted(self.heads[member.flow as usize].base).filter(asleep) {
                let pool = &mut self.pools[item.pool()];
                pool.taken += weight * (told(level) - known);
                if pool.taken > pool.trigger {
                    pool.trigger = f64::INFINITY;
                    self.sleep.rousing.push(narrow(item.pool()));
                }
            }
        }
    }

    /// What flows limited elsewhere take of a pool, and the fastest of them.
    pub(super) fn summed(&self, at: usize) -> (f64, f64) {
        let line = &self.lines[at];
        let rates = line.members[line.here..].iter().map(|member| {
            let limit = self.heads[member.flow as usize].limit;
            let rate = if limit < PENDING { self.pools[limit as usize].level } else { 0.0 };
            (rate * self.blocks.weight(member.item as usize), rate)
        });
        rates.fold((0.0, 0.0), |(sum, highest), (taken, rate)| (sum + taken, f64::max(highest, rate)))
    }

    /// Wakes the pools that are to wake. Only between two changes, when all levels hold for all their flows.
    pub(super) fn rouse(&mut self) {
        while let Some(pool) = self.sleep.rousing.pop() {
            let at = pool as usize;
            if !std::mem::replace(&mut self.facts[at].asleep, false) {
                continue;
            }
            self.sleep.count -= 1;
            let (taken, highest) = self.summed(at);
            (self.pools[at].taken, self.pools[at].highest) = (taken, highest);
            self.arm(at);
            self.introduce(at);
            self.mark(pool);
        }
    }

    /// Wakes all, of which nothing else is asked: their sums are not right, nor what flows note in their lines.
    pub(super) fn rouse_all(&mut self) {
        self.sleep.rousing.clear();
        (self.sleep.next, self.sleep.last, self.sleep.changes) = (4 * self.alive, 0, 0);
        if self.sleep.count == 0 {
            return;
        }
        self.sleep.count = 0;
        for facts in &mut self.facts {
            facts.asleep = false;
        }
    }

    /// Sends pools to sleep that need not be told much, once enough has been told since the last time.
    pub(super) fn doze(&mut self) {
        self.sleep.changes += self.changes;
        if self.updates < self.sleep.next {
            return;
        }
        // Where a change reaches few flows it changes their rates much, and the range would be left each time.
        let reached = self.updates - self.sleep.last;
        let far = reached * 4 > self.sleep.changes * self.alive;
        (self.sleep.next, self.sleep.changes) = (self.updates + 16 * (self.alive + 64), 0);
        self.sleep.last = self.updates;
        if !far {
            return;
        }
        if self.sleep.count == 0 {
            for (facts, pool) in
                self.facts.iter_mut().zip(&self.pools).filter(|(_, pool)| pool.level < f64::INFINITY)
            {
                facts.told = told(pool.level);
            }
        }
        for listed in 0..self.listed.len() {
            let at = self.listed[listed] as usize;
            let (line, facts) = (&self.lines[at], &self.facts[at]);
            let idle =
                line.here == 0 && !facts.marked && !facts.of_cap && self.pools[at].level == f64::INFINITY;
            if facts.asleep
                || !idle
                || self.pools[at].taken > DROWSY * facts.capacity
                || line.members.is_empty()
            {
                continue;
            }
            let known = |member: &super::Member| {
                let limit = self.heads[member.flow as usize].limit as usize;
                self.facts[limit].told * self.blocks.weight(member.item as usize)
            };
            let taken = line.members.iter().map(known).sum();
            if taken <= facts.capacity {
                (self.pools[at].taken, self.facts[at].asleep) = (taken, true);
                self.sleep.count += 1;
                self.introduce(at);
            }
        }
    }

    /// A pool has woken or gone to sleep: its flows note that in their places elsewhere.
    fn introduce(&mut self, at: usize) {
        self.updates += self.lines[at].members.len();
        for position in 0..self.lines[at].members.len() {
            let base = self.heads[self.lines[at].members[position].flow as usize].base;
            for offset in 0..self.blocks.of(base).len() {
                let item = self.blocks.items[base as usize + offset];
                let place = &mut self.lines[item.pool()].members[item.position()];
                if place.others[0] != NONE {
                    place.others = self.blocks.others(base, item.pool(), &self.facts);
                }
            }
        }
    }
}
