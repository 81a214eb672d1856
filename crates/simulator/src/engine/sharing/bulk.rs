//! Many flows that come or go at once, before all is solved from scratch: lines are gone through once from end to end,
//! where one flow after the other would touch each line in as many places as it has flows.

use super::{Ended, Line, NONE, PENDING, Sharing, narrow};

/// Whether so many flows have come or gone that a solution from scratch is the shorter way.
pub(super) fn is_bulk(changes: usize, alive: usize) -> bool {
    changes > 32 && changes * 4 > alive
}

/// From so many ends at once on, a heap is gone through as a list.
const SEVERAL: usize = 16;

impl Sharing {
    /// Lists the flows of a pool that have ended by `now_ps`, the earliest first, and gives when the next one ends.
    pub(super) fn take_ends(&mut self, pool: u32, now_ps: u64, ended: &mut Vec<Ended>) -> u64 {
        let limit = if self.facts[pool as usize].of_cap { NONE } else { pool };
        for _ in 0..SEVERAL {
            let next = self.next_end(pool as usize);
            if next > now_ps {
                return next;
            }
            let flow = self.lines[pool as usize].ends.pop();
            ended.extend(flow.map(|entry| Ended { flow: entry.0.1, limit }));
        }
        let ends = std::mem::take(&mut self.lines[pool as usize].ends).into_vec();
        let (line, level) = (&self.lines[pool as usize], self.pools[pool as usize].level);
        let is_due = |target: f64| line.end(target, level) <= now_ps;
        let (mut due, later): (Vec<_>, Vec<_>) =
            ends.into_iter().partition(|entry| is_due(f64::from_bits(entry.0.0)));
        due.sort_unstable_by_key(|entry| entry.0);
        let holds = |entry: &(u64, u32)| {
            let head = &self.heads[entry.1 as usize];
            head.limit == pool && head.target.to_bits() == entry.0
        };
        ended
            .extend(due.iter().filter(|entry| holds(&entry.0)).map(|entry| Ended { flow: entry.0.1, limit }));
        self.lines[pool as usize].ends = later.into();
        self.next_end(pool as usize)
    }

    /// Takes many flows out at once.
    pub(super) fn remove_many(&mut self, gone: &[Ended]) {
        self.bulk = true;
        for Ended { flow, .. } in gone {
            let head = &mut self.heads[*flow as usize];
            if std::mem::replace(&mut head.limit, NONE) == NONE {
                continue;
            }
            for item in self.blocks.of(head.base).iter().filter(|item| self.facts[item.pool()].of_cap) {
                self.spare_caps.push(narrow(item.pool()));
            }
            self.blocks.release(head.base);
            (self.changes, self.alive) = (self.changes + 1, self.alive - 1);
        }
        let listed = std::mem::take(&mut self.listed);
        for pool in &listed {
            self.drop_gone(*pool as usize);
        }
        self.listed = listed;
    }

    /// Only flows that some pool limits stay in the line of this one.
    fn drop_gone(&mut self, at: usize) {
        let Line { members, here, .. } = &mut self.lines[at];
        let (mut kept, mut limited, mut total) = (0, 0, 0.0);
        for position in 0..members.len() {
            let member = members[position];
            if self.heads[member.flow as usize].limit == NONE {
                continue;
            }
            if kept != position {
                members[kept] = member;
                self.blocks.set_position(member.item as usize, kept);
            }
            total += self.blocks.weight(member.item as usize);
            limited += usize::from(position < *here);
            kept += 1;
        }
        members.truncate(kept);
        *here = limited;
        self.facts[at].total = total;
    }

    /// Makes room in the lines for all flows that are about to join them.
    pub(super) fn make_room(&mut self) {
        let heads = self.arrivals.iter().map(|flow| self.heads[*flow as usize]);
        let bases = heads.filter(|head| head.limit == PENDING).map(|head| head.base);
        // The counts of open flows are free for this until all is solved.
        for base in bases.clone() {
            for item in self.blocks.of(base) {
                self.facts[item.pool()].open += 1;
            }
        }
        for base in bases {
            for item in self.blocks.of(base) {
                let count = std::mem::take(&mut self.facts[item.pool()].open);
                self.lines[item.pool()].members.reserve(count as usize);
            }
        }
    }
}
