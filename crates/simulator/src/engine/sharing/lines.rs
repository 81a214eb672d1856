//! How lines are formed of a crowd of flows, and dissolved into one; and which of a line have ended.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::members::{FEW, Member};
use super::{Ended, NONE, Sharing, narrow};

/// From so many ends at once on, a heap is gone through as a list.
const SEVERAL: usize = 16;

impl Sharing {
    /// All flows stand in the lines of their pools, if they are a crowd.
    pub(super) fn form_lines(&mut self) {
        if !std::mem::take(&mut self.crowd.gathered) {
            return;
        }
        let flows = std::mem::take(&mut self.crowd.flows);
        for pool in &self.listed {
            let (facts, line) = (&self.facts[*pool as usize], &mut self.lines[*pool as usize]);
            line.members.reserve(facts.members as usize);
        }
        // Those that a pool limits stand first in its line.
        for flow in &flows {
            self.store(*flow);
            let limit = self.heads[*flow as usize].limit as usize;
            self.stand_where(*flow, |pool| pool == limit);
        }
        for flow in &flows {
            let limit = self.heads[*flow as usize].limit as usize;
            self.stand_where(*flow, |pool| pool != limit);
        }
        for pool in &self.listed {
            let line = &mut self.lines[*pool as usize];
            let target = |member: &Member| {
                let target = self.heads[member.flow as usize].target;
                Reverse((target.to_bits(), member.flow))
            };
            let ends: Vec<_> = line.members[..line.here].iter().map(target).collect();
            line.ends = BinaryHeap::from(ends);
        }
        self.crowd.flows = flows;
        self.crowd.flows.clear();
    }

    /// The flow takes its places, last in all its lines.
    pub(super) fn stand_in_lines(&mut self, flow: u32) {
        self.store(flow);
        self.stand_where(flow, |_| true);
    }

    /// The flow has a block in place of its list.
    fn store(&mut self, flow: u32) {
        let head = &mut self.heads[flow as usize];
        if self.list_of.len() <= flow as usize {
            self.list_of.resize(flow as usize + 1, 0);
        }
        self.list_of[flow as usize] = head.base;
        head.base = self.blocks.store(self.lists.weighted(head.base));
    }

    /// The flow takes the last place in those lines of its pools that are meant.
    fn stand_where(&mut self, flow: u32, is_meant: impl Fn(usize) -> bool) {
        let base = self.heads[flow as usize].base;
        let awake = self.blocks.awake(base, &self.facts);
        for at in base as usize.. {
            let item = &mut self.blocks.items[at];
            if is_meant(item.pool()) {
                let others = awake.as_ref().map_or([NONE; FEW], |awake| awake.without(item.pool()));
                let members = &mut self.lines[item.pool()].members;
                item.set_position(members.len());
                members.push(Member { flow, item: narrow(at), others });
            }
            if item.is_last() {
                return;
            }
        }
    }

    /// All flows are a crowd, if they stand in lines.
    pub(super) fn dissolve_lines(&mut self) {
        if std::mem::replace(&mut self.crowd.gathered, true) {
            return;
        }
        for pool in &self.listed {
            let line = &mut self.lines[*pool as usize];
            self.crowd.flows.extend(line.members[..line.here].iter().map(|member| member.flow));
            line.members.clear();
            line.ends.clear();
        }
        for flow in &self.crowd.flows {
            self.heads[*flow as usize].base = self.list_of[*flow as usize];
        }
        self.crowd.flows.sort_unstable();
        self.blocks.clear();
    }

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
}
