//! Many flows that come and go together. As long as they do there are no lines: a solution is a few passes over all
//! flows, each of which reads the list of its path, and what is counted of a pool is small enough to stay near.
//! Lines are formed once flows come or go one by one.

use super::{Ended, NONE, PENDING, Sharing, narrow};

/// Whether so many flows have come or gone that a solution from scratch is the shorter way.
pub(super) fn is_bulk(changes: usize, alive: usize) -> bool {
    changes > 32 && changes * 4 > alive
}

/// So often all flows are looked through for those that have ended before lines are formed.
const LOOKS: u32 = 8;

#[derive(Default)]
pub(super) struct Crowd {
    /// Whether there are no lines.
    pub gathered: bool,
    /// All flows that share, if there are no lines.
    pub flows: Vec<u32>,
    /// By pool, all zero between solutions.
    pub tallies: Vec<Tally>,
    /// The pools that are full at the level at hand, by rank.
    tied: Vec<Tied>,
    /// What each pool had served to its flows before the solution at hand.
    served: Vec<f64>,
    looks: u32,
}

/// What is counted of a pool in a pass over flows.
#[derive(Clone, Copy)]
pub(super) struct Tally {
    /// The flows that nothing limits yet: their weights together, and how many they are.
    pub weight: f64,
    pub count: u32,
    /// Its place among those that are looked for.
    pub rank: u32,
}

pub(super) const NOTHING: Tally = Tally { weight: 0.0, count: 0, rank: NONE };

/// A pool that is looked for, with the flows that it limits.
struct Tied {
    pool: u32,
    count: u32,
    weight: f64,
    /// The least of their targets.
    least: f64,
}

impl Sharing {
    /// All flows that have arrived and still live are in the crowd.
    pub(super) fn welcome(&mut self) {
        for flow in self.arrivals.drain(..) {
            let head = &mut self.heads[flow as usize];
            // One that has gone and come again is listed twice.
            if head.limit == PENDING {
                head.limit = NONE;
                self.crowd.flows.push(flow);
            }
        }
    }

    /// All flows are limited by nothing, and know the bytes that they have left; pools know nothing.
    pub(super) fn unlimit(&mut self, now: u64) {
        self.crowd.looks = 0;
        self.crowd.tallies.resize(self.pools.len(), NOTHING);
        self.crowd.served.resize(self.pools.len(), 0.0);
        for pool in std::mem::take(&mut self.listed) {
            let at = pool as usize;
            self.touch(at);
            let (line, record, facts) = (&mut self.lines[at], &mut self.pools[at], &mut self.facts[at]);
            line.settle(record.level, now);
            self.crowd.served[at] = line.served;
            (line.here, line.served) = (0, 0.0);
            (record.taken, record.level, record.highest) = (0.0, f64::INFINITY, 0.0);
            (facts.weight, facts.total, facts.members, facts.listed) = (0.0, 0.0, 0, false);
            self.arm(at);
        }
        self.count(now);
    }

    /// Counts the flows of each pool.
    fn count(&mut self, now: u64) {
        let (served, tallies) = (self.crowd.served.as_slice(), self.crowd.tallies.as_mut_slice());
        for flow in &self.crowd.flows {
            let head = &mut self.heads[*flow as usize];
            if head.limit != NONE {
                head.target = (head.target - served[head.limit as usize]).max(0.0);
                head.limit = NONE;
            }
            for (pool, weight) in self.lists.weighted(head.base) {
                let tally = &mut tallies[pool as usize];
                if tally.count == 0 {
                    self.listed.push(pool);
                }
                tally.count += 1;
                tally.weight += weight;
            }
        }
        for at in 0..self.listed.len() {
            let pool = self.listed[at] as usize;
            self.touch(pool);
            self.lines[pool].since = now;
            let (tally, facts) = (self.crowd.tallies[pool], &mut self.facts[pool]);
            (facts.weight, facts.open, facts.listed) = (tally.weight, tally.count, true);
            (facts.total, facts.members) = (tally.weight, tally.count);
        }
    }

    /// The pools that are full first, if most flows are theirs: they have ranks, and the level is given at which all
    /// these are full. `keys` are the levels of all pools as bits.
    pub(super) fn tie(&mut self, keys: &[(u64, u32)], floor: f64, open: usize) -> bool {
        self.crowd.tied.clear();
        let bound = floor.to_bits();
        let tied = keys.iter().filter(|key| key.0 <= bound);
        let reached: usize = tied.clone().map(|key| self.facts[key.1 as usize].open as usize).sum();
        if reached * 2 < open {
            return false;
        }
        let mut tied: Vec<(u64, u32)> = tied.copied().collect();
        tied.sort_unstable();
        for (rank, (_, pool)) in tied.iter().enumerate() {
            self.crowd.tallies[*pool as usize].rank = narrow(rank);
            self.crowd.tied.push(Tied { pool: *pool, count: 0, weight: 0.0, least: f64::INFINITY });
        }
        true
    }

    /// Fixes those of these flows that use a pool with a rank, and lists the others.
    pub(super) fn fix_tied(&mut self, flows: &[u32], level: f64) -> Vec<u32> {
        let mut others = Vec::new();
        let Crowd { tallies, tied, .. } = &mut self.crowd;
        for flow in flows {
            let head = &mut self.heads[*flow as usize];
            let ranks = self.lists.of(head.base).iter().map(|pool| tallies[*pool as usize].rank);
            let Some(limit) = tied.get_mut(ranks.min().unwrap_or(NONE) as usize) else {
                others.push(*flow);
                continue;
            };
            head.limit = limit.pool;
            limit.count += 1;
            limit.least = limit.least.min(head.target);
            for (pool, weight) in self.lists.weighted(head.base) {
                let tally = &mut tallies[pool as usize];
                tally.count -= 1;
                tally.weight -= weight;
                if pool == limit.pool {
                    limit.weight += weight;
                }
            }
        }
        self.settle_tied(level);
        others
    }

    /// All pools know what has been fixed.
    fn settle_tied(&mut self, level: f64) {
        let Crowd { tallies, tied, .. } = &mut self.crowd;
        for pool in &self.listed {
            let (tally, facts) = (&mut tallies[*pool as usize], &mut self.facts[*pool as usize]);
            if facts.open == tally.count {
                continue;
            }
            let own = tied.get(tally.rank as usize);
            let (count, weight) = own.map_or((0, 0.0), |own| (own.count, own.weight));
            if facts.open - tally.count > count {
                let record = &mut self.pools[*pool as usize];
                record.taken += (facts.weight - tally.weight - weight) * level;
                record.highest = level;
            }
            if tally.count == 0 {
                tally.weight = 0.0;
            }
            (facts.open, facts.weight) = (tally.count, tally.weight);
        }
        for limit in tied.iter() {
            let at = limit.pool as usize;
            tallies[at].rank = NONE;
            if limit.count > 0 {
                self.pools[at].level = level;
                self.facts[at].weight = limit.weight;
                (self.lines[at].here, self.lines[at].least) = (limit.count as usize, limit.least);
            }
        }
    }

    /// Whether more flows than not are limited by pools that have changed.
    pub(super) fn is_moved(&self) -> bool {
        let here = |entry: &std::cmp::Reverse<(u64, u32)>| self.lines[entry.0.1 as usize].here;
        let moved: usize = self.marked.iter().map(here).sum();
        self.crowd.gathered && moved > 32 && moved * 4 > self.alive
    }

    /// Takes out the flows of these pools that have ended, and lists them with what limited them. False if lines are
    /// to be formed for that.
    pub(super) fn collect_crowd(&mut self, due: &[u32], now: u64, ended: &mut Vec<Ended>) -> bool {
        self.crowd.looks += 1;
        if !self.crowd.gathered || self.crowd.looks > LOOKS {
            return false;
        }
        self.look(due, now, ended);
        let heads = &self.heads;
        let key = |end: &Ended| (end.limit, heads[end.flow as usize].target.to_bits(), end.flow);
        if !ended.is_sorted_by_key(key) {
            ended.sort_unstable_by_key(key);
        }
        self.bulk = is_bulk(ended.len(), self.alive);
        if !self.bulk {
            self.subtract(ended, now);
        }
        for end in ended.iter_mut() {
            self.heads[end.flow as usize].limit = NONE;
            self.spare(self.heads[end.flow as usize].base);
            if self.facts[end.limit as usize].of_cap {
                end.limit = NONE;
            }
        }
        self.alive -= ended.len();
        for pool in due {
            let next = self.next_end(*pool as usize);
            self.dues.set(*pool as usize, next);
        }
        true
    }

    /// Moves flows that have ended out of the crowd.
    fn look(&mut self, due: &[u32], now: u64, ended: &mut Vec<Ended>) {
        // Of each pool the highest target that is known to be reached, and the lowest that is not.
        let mut bounds = Vec::with_capacity(due.len());
        for (rank, pool) in due.iter().enumerate() {
            self.crowd.tallies[*pool as usize].rank = narrow(rank);
            bounds.push((self.lines[*pool as usize].least, f64::INFINITY));
        }
        self.crowd.flows.retain(|flow| {
            let head = &self.heads[*flow as usize];
            let rank = self.crowd.tallies[head.limit as usize].rank;
            let Some((reached, least)) = bounds.get_mut(rank as usize) else { return true };
            if head.target > *reached {
                let (line, pool) = (&self.lines[head.limit as usize], &self.pools[head.limit as usize]);
                if line.end(head.target, pool.level) > now {
                    *least = least.min(head.target);
                    return true;
                }
                *reached = head.target;
            }
            ended.push(Ended { flow: *flow, limit: head.limit });
            false
        });
        for (pool, (_, least)) in due.iter().zip(bounds) {
            self.crowd.tallies[*pool as usize].rank = NONE;
            self.lines[*pool as usize].least = least;
        }
    }

    /// Pools know that these flows are no more; those that limit others are marked.
    fn subtract(&mut self, ended: &[Ended], now: u64) {
        for end in ended {
            let limit = end.limit as usize;
            let level = self.pools[limit].level;
            self.lines[limit].settle(level, now);
            self.lines[limit].here -= 1;
            for (pool, weight) in self.lists.weighted(self.heads[end.flow as usize].base) {
                let (record, facts) = (&mut self.pools[pool as usize], &mut self.facts[pool as usize]);
                facts.members -= 1;
                facts.total -= weight;
                if pool == end.limit {
                    facts.weight -= weight;
                } else {
                    record.taken -= weight * level;
                }
            }
        }
        for end in ended {
            let list = self.heads[end.flow as usize].base;
            for used in 0..self.lists.of(list).len() {
                self.note_gone(self.lists.of(list)[used]);
            }
        }
    }

    fn note_gone(&mut self, pool: u32) {
        let at = pool as usize;
        let (record, facts) = (&mut self.pools[at], &mut self.facts[at]);
        let here = self.lines[at].here;
        if facts.members as usize == here {
            (record.taken, record.highest) = (0.0, 0.0);
        }
        if here > 0 {
            return self.mark_surely(pool);
        }
        (facts.weight, record.level) = (0.0, f64::INFINITY);
        if facts.members == 0 {
            facts.total = 0.0;
        }
        self.arm(at);
    }

    /// What a flow had for itself can be another's.
    pub(super) fn spare(&mut self, list: u32) {
        let own = self.lists.of(list).last().filter(|pool| self.facts[**pool as usize].of_cap);
        if let Some(pool) = own {
            self.spare_caps.push(*pool);
            self.lists.release(list);
        }
    }
}
