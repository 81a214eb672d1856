//! The solution from scratch, by progressive filling: the pool that is full at the lowest level fixes its flows, and
//! so on. It costs each use once, so it is the way to go when many flows come or go at once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::super::types::narrow;
use super::{NONE, Sharing, TOLERANCE};

impl Sharing {
    /// Finds all levels, and what limits each flow.
    pub(super) fn fill(&mut self, now: u64) {
        self.rouse_all();
        while let Some(Reverse((_, pool))) = self.marked.pop() {
            self.facts[pool as usize].marked = false;
            self.arm(pool as usize);
            self.touch(pool as usize);
        }
        self.updates = 0;
        self.unlimit(now);
        let mut keys = Vec::with_capacity(self.listed.len());
        for pool in &self.listed {
            let at = *pool as usize;
            self.facts[at].open = narrow(self.lines[at].members.len());
            keys.push(Reverse((self.tentative(at).to_bits(), *pool)));
        }
        let mut keys = BinaryHeap::from(keys);
        let mut lowest = 0.0_f64;
        while let Some(Reverse((bits, pool))) = keys.pop() {
            let at = pool as usize;
            if self.facts[at].open == 0 {
                continue;
            }
            let (level, key) = (self.tentative(at), f64::from_bits(bits));
            if level > key * (1.0 + STEP) {
                keys.push(Reverse((level.to_bits(), pool)));
                continue;
            }
            // What is the same but for rounding ends at the same time.
            if level > lowest * (1.0 + TOLERANCE) {
                lowest = level;
            }
            self.fix(at, lowest);
        }
    }

    /// All flows are limited by nothing, and know the bytes that they have left.
    fn unlimit(&mut self, now: u64) {
        let mut listed = std::mem::take(&mut self.listed);
        for pool in &listed {
            let at = *pool as usize;
            self.touch(at);
            self.lines[at].settle(self.pools[at].level, now);
            let line = &mut self.lines[at];
            for member in &line.members[..line.here] {
                let head = &mut self.heads[member.flow as usize];
                head.target = (head.target - line.served).max(0.0);
                head.limit = NONE;
            }
            (line.here, line.served) = (0, 0.0);
            line.ends.clear();
            let pool = &mut self.pools[at];
            (pool.taken, pool.level, pool.highest) = (0.0, f64::INFINITY, 0.0);
            self.facts[at].weight = self.facts[at].total;
            self.arm(at);
        }
        listed.retain(|pool| {
            let listed = !self.lines[*pool as usize].members.is_empty();
            self.facts[*pool as usize].listed = listed;
            listed
        });
        self.listed = listed;
    }

    /// Fixes the open flows of a pool at this level.
    fn fix(&mut self, at: usize, level: f64) {
        let mut ends = std::mem::take(&mut self.lines[at].ends).into_vec();
        ends.reserve(self.facts[at].open as usize);
        let mut weight = 0.0;
        for position in 0..self.lines[at].members.len() {
            let member = self.lines[at].members[position];
            let head = &mut self.heads[member.flow as usize];
            if head.limit != NONE {
                continue;
            }
            head.limit = narrow(at);
            ends.push(Reverse((head.target.to_bits(), member.flow)));
            let mut use_at = head.base as usize;
            loop {
                let (item, own) = (self.blocks.items[use_at], self.blocks.weight(use_at));
                let (pool, facts) = (&mut self.pools[item.pool()], &mut self.facts[item.pool()]);
                if item.pool() == at {
                    weight += own;
                } else {
                    pool.taken += own * level;
                    facts.weight -= own;
                    pool.highest = level;
                    facts.open -= 1;
                    if facts.open == 0 {
                        facts.weight = 0.0;
                    }
                }
                if item.is_last() {
                    break;
                }
                use_at += 1;
            }
            let here = self.lines[at].here;
            self.swap(at, position, here);
            self.lines[at].here += 1;
        }
        self.pools[at].level = level;
        let facts = &mut self.facts[at];
        (facts.weight, facts.open) = (weight, 0);
        self.arm(at);
        self.lines[at].ends = BinaryHeap::from(ends);
    }
}

/// A key that has risen by less than this is still the lowest.
const STEP: f64 = 1e-13;
