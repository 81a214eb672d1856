//! The solution from scratch, by progressive filling: the pool that is full at the lowest level fixes its flows, and
//! so on. It costs each use a few times, so it is the way to go when many flows come or go at once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::super::types::narrow;
use super::bulk::NOTHING;
use super::{NONE, Sharing, TOLERANCE};

impl Sharing {
    /// Finds all levels, and what limits each flow. There are no lines afterwards.
    pub(super) fn fill(&mut self, now: u64) {
        self.rouse_all();
        while let Some(Reverse((_, pool))) = self.marked.pop() {
            self.facts[pool as usize].marked = false;
            self.arm(pool as usize);
            self.touch(pool as usize);
        }
        self.updates = 0;
        self.dissolve_lines();
        self.welcome();
        self.unlimit(now);
        let flows = std::mem::take(&mut self.crowd.flows);
        self.fill_in_turn(&flows);
        self.crowd.flows = flows;
        for at in 0..self.listed.len() {
            let pool = self.listed[at] as usize;
            self.crowd.tallies[pool] = NOTHING;
            self.arm(pool);
        }
    }

    /// As long as pools that are full first have most flows, these are found by going through all; then pool by pool.
    fn fill_in_turn(&mut self, flows: &[u32]) {
        let (mut level, mut others) = (0.0, None);
        loop {
            let open: &[u32] = others.as_deref().unwrap_or(flows);
            if open.is_empty() {
                return;
            }
            let filling = self.listed.iter().filter(|pool| self.facts[**pool as usize].open > 0);
            let keys: Vec<(u64, u32)> =
                filling.map(|pool| (self.tentative(*pool as usize).to_bits(), *pool)).collect();
            let lowest = keys.iter().map(|key| f64::from_bits(key.0)).fold(f64::INFINITY, f64::min);
            // What is the same but for rounding ends at the same time.
            let next = if lowest > level * (1.0 + TOLERANCE) { lowest } else { level };
            if !self.tie(&keys, next * (1.0 + TOLERANCE), open.len()) {
                return self.fill_by_pool(open, keys, level);
            }
            level = next;
            others = Some(self.fix_tied(open, level));
        }
    }

    /// The pool with the lowest level next, where levels are many.
    fn fill_by_pool(&mut self, flows: &[u32], keys: Vec<(u64, u32)>, mut lowest: f64) {
        let rolls = self.call(flows);
        let mut keys: BinaryHeap<_> = keys.into_iter().map(Reverse).collect();
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
            if level > lowest * (1.0 + TOLERANCE) {
                lowest = level;
            }
            let tally = self.crowd.tallies[at];
            self.fix(at, lowest, &rolls[(tally.rank - tally.count) as usize..tally.rank as usize]);
        }
    }

    /// These flows, listed pool after pool; the rank of a pool is where its part ends.
    fn call(&mut self, flows: &[u32]) -> Vec<u32> {
        let tallies = &mut self.crowd.tallies;
        let mut places = 0;
        for pool in &self.listed {
            let tally = &mut tallies[*pool as usize];
            tally.rank = places;
            places += tally.count;
        }
        let mut rolls = vec![0; places as usize];
        for flow in flows {
            for pool in self.lists.of(self.heads[*flow as usize].base) {
                let place = &mut tallies[*pool as usize].rank;
                rolls[*place as usize] = *flow;
                *place += 1;
            }
        }
        rolls
    }

    /// Fixes those of the flows of a pool that are open at this level.
    fn fix(&mut self, at: usize, level: f64, flows: &[u32]) {
        let (mut own, mut count, mut least) = (0.0, 0, f64::INFINITY);
        for flow in flows {
            let head = &mut self.heads[*flow as usize];
            if head.limit != NONE {
                continue;
            }
            head.limit = narrow(at);
            least = least.min(head.target);
            count += 1;
            for (pool, weight) in self.lists.weighted(head.base) {
                if pool as usize == at {
                    own += weight;
                    continue;
                }
                let (pool, facts) = (&mut self.pools[pool as usize], &mut self.facts[pool as usize]);
                pool.taken += weight * level;
                pool.highest = level;
                facts.weight -= weight;
                facts.open -= 1;
                if facts.open == 0 {
                    facts.weight = 0.0;
                }
            }
        }
        self.pools[at].level = level;
        let facts = &mut self.facts[at];
        (facts.weight, facts.open) = (own, 0);
        (self.lines[at].here, self.lines[at].least) = (count, least);
    }
}

/// A key that has risen by less than this is still the lowest.
const STEP: f64 = 1e-13;
