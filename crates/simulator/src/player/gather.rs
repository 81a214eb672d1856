//! Sums that switches make, and copies that they make.

use std::collections::{BTreeMap, VecDeque};

use weft_base::Bytes;
use weft_collective::Ranks;

use super::connection::Ends;
use super::walker::WalkerId;

/// What ranks give to sums, and which sums are asked for.
#[derive(Debug, Default)]
pub(super) struct Gathers {
    by_root: BTreeMap<(u32, u16), u32>,
    all: Vec<Gather>,
    copies: BTreeMap<u32, Vec<(u32, u32)>>,
    next_copies: u32,
}

/// The sums of one root on one channel, in the order in which it asks for them.
#[derive(Debug, Default)]
struct Gather {
    /// Who has given to each sum that is not over, the oldest first.
    rounds: VecDeque<Vec<WalkerId>>,
    /// To how many sums each walker has given; counted from the oldest that is not over.
    given: BTreeMap<WalkerId, usize>,
    asked: VecDeque<(WalkerId, Ranks, Bytes)>,
    /// Sums that have begun and are not over: always the oldest ones.
    begun: usize,
}

impl Gathers {
    /// The sums of a root.
    pub fn of(&mut self, root: Ends) -> u32 {
        let next = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        let found = *self.by_root.entry((root.to, root.channel)).or_insert(next);
        if found == next {
            self.all.push(Gather::default());
        }
        found
    }

    /// A walker gives to the next sum to which it has not given.
    pub fn give(&mut self, gather: u32, walker: WalkerId) {
        let state = &mut self.all[gather as usize];
        let round = state.given.entry(walker).or_default();
        if state.rounds.len() <= *round {
            state.rounds.resize(*round + 1, Vec::new());
        }
        state.rounds[*round].push(walker);
        *round += 1;
    }

    /// The root asks for its next sum.
    pub fn ask(&mut self, gather: u32, walker: WalkerId, of: Ranks, bytes: Bytes) {
        self.all[gather as usize].asked.push_back((walker, of, bytes));
    }

    /// The oldest sum that has not begun, if it is asked for and all others have given; it counts as begun then.
    pub fn whole(&mut self, gather: u32) -> Option<(WalkerId, Ranks, Bytes)> {
        let state = &mut self.all[gather as usize];
        let (walker, of, bytes) = *state.asked.front()?;
        let others = of.count.saturating_sub(1) as usize;
        let given = state.rounds.get(state.begun).map_or(0, Vec::len);
        if given < others {
            return None;
        }
        state.asked.pop_front();
        state.begun += 1;
        Some((walker, of, bytes))
    }

    /// The oldest sum that has begun is over: who gave to it.
    pub fn end(&mut self, gather: u32) -> Vec<WalkerId> {
        let state = &mut self.all[gather as usize];
        state.begun = state.begun.saturating_sub(1);
        let givers = state.rounds.pop_front().unwrap_or_default();
        for giver in &givers {
            if let Some(given) = state.given.get_mut(giver) {
                *given -= 1;
            }
        }
        givers
    }

    /// Keeps the connections and message numbers of a multicast until it ends.
    pub fn keep_copies(&mut self, copies: Vec<(u32, u32)>) -> u32 {
        let group = self.next_copies;
        self.next_copies = self.next_copies.wrapping_add(1);
        self.copies.insert(group, copies);
        group
    }

    /// The connections and message numbers of a multicast that has ended.
    pub fn copies(&mut self, group: u32) -> Vec<(u32, u32)> {
        self.copies.remove(&group).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use weft_collective::Rank;

    use super::*;

    #[test]
    fn a_sum_begins_when_the_last_has_come_and_rounds_do_not_mix() {
        let mut gathers = Gathers::default();
        let root = gathers.of(Ends { from: 0, to: 0, channel: 0 });
        let of = Ranks { first: Rank::new(0), stride: 1, count: 3 };
        gathers.ask(root, 0, of, Bytes::new(8));
        gathers.give(root, 1);
        // Rank 1 is one sum ahead of rank 2.
        gathers.give(root, 1);
        assert_eq!(gathers.whole(root), None);
        gathers.give(root, 2);
        assert_eq!(gathers.whole(root), Some((0, of, Bytes::new(8))));
        assert_eq!(gathers.whole(root), None);
        assert_eq!(gathers.end(root), [1, 2]);
        gathers.give(root, 2);
        gathers.ask(root, 0, of, Bytes::new(4));
        assert_eq!(gathers.whole(root), Some((0, of, Bytes::new(4))));
    }
}
