//! How ranks are put into groups that do the same thing side by side.

use std::fmt;
use std::sync::Arc;

use crate::Rank;

/// Disjoint groups of ranks. Within a group ranks have positions from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// Position p of group (a, b) is rank `a * size * stride + p * stride + b`.
    Even {
        size: u32,
        stride: u32,
        ranks: u32,
    },
    /// One group of the largest power of two; each of the first positions stands for a pair.
    Folded {
        ranks: u32,
    },
    Listed(Arc<Listed>),
}

/// By how much `ranks` exceed the largest power of two in them.
fn excess(ranks: u32) -> u32 {
    ranks.checked_ilog2().map_or(0, |power| ranks - (1 << power))
}

#[derive(Debug, PartialEq, Eq)]
struct Listed {
    groups: Vec<Vec<Rank>>,
    /// The seat of each rank, `None` where it takes no part.
    seats: Vec<Option<Seat>>,
}

/// Where a rank sits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    /// Which group.
    pub group: u32,
    /// Which position in it.
    pub position: u32,
    /// How many ranks the group has.
    pub size: u32,
}

impl Groups {
    /// One group of all ranks, in order.
    pub fn all(ranks: u32) -> Self {
        Self::even(ranks, ranks, 1)
    }

    /// Groups of `size` ranks that lie `stride` apart: `(8, 1)` are the hosts of 8-GPU servers, `(hosts, 8)` the rails
    /// across them. Ranks beyond the last whole group take no part.
    pub fn even(ranks: u32, size: u32, stride: u32) -> Self {
        Self(Kind::Even { size: size.max(1), stride: stride.max(1), ranks })
    }

    /// One group of as many ranks as the largest power of two in `ranks`, which exceed it by e: the odd ones of the
    /// first 2e, and all after them.
    pub fn folded(ranks: u32) -> Self {
        Self(Kind::Folded { ranks })
    }

    /// Groups as listed; a rank that is listed twice sits where it is listed first.
    pub fn listed(ranks: u32, groups: Vec<Vec<Rank>>) -> Self {
        let mut seats = vec![None; ranks as usize];
        for (group, members) in (0..).zip(&groups) {
            let size = u32::try_from(members.len()).unwrap_or(u32::MAX);
            for (position, rank) in (0..).zip(members) {
                if let Some(seat @ None) = seats.get_mut(rank.index()) {
                    *seat = Some(Seat { group, position, size });
                }
            }
        }
        Self(Kind::Listed(Arc::new(Listed { groups, seats })))
    }

    /// How many groups.
    pub fn len(&self) -> u32 {
        match &self.0 {
            Kind::Even { size, stride, ranks } => ranks / (size * stride) * stride,
            Kind::Folded { ranks } => (*ranks).min(1),
            Kind::Listed(listed) => u32::try_from(listed.groups.len()).unwrap_or(u32::MAX),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where `rank` sits; `None` where it takes no part.
    pub fn seat(&self, rank: Rank) -> Option<Seat> {
        match &self.0 {
            Kind::Even { size, stride, ranks } => {
                let span = size * stride;
                let (block, within) = (rank.get() / span, rank.get() % span);
                let whole = rank.get() < *ranks && block < ranks / span;
                let (group, position) = (block * stride + within % stride, within / stride);
                whole.then_some(Seat { group, position, size: *size })
            }
            Kind::Folded { ranks } => {
                let (excess, number) = (excess(*ranks), rank.get());
                let position = match number.checked_sub(2 * excess) {
                    Some(beyond) => excess + beyond,
                    None => number / 2,
                };
                let sits = number < *ranks && (number >= 2 * excess || number % 2 == 1);
                sits.then_some(Seat { group: 0, position, size: ranks - excess })
            }
            Kind::Listed(listed) => listed.seats.get(rank.index()).copied().flatten(),
        }
    }

    /// Who sits there; `None` beyond the group's end.
    pub fn member(&self, group: u32, position: u32) -> Option<Rank> {
        match &self.0 {
            // One group of all, as most plans have, needs no division.
            Kind::Even { size, stride: 1, ranks } if *size == *ranks => {
                (group == 0 && position < *size).then(|| Rank::new(position))
            }
            Kind::Even { size, stride, .. } => {
                let first = group / stride * size * stride + group % stride;
                (position < *size && group < self.len()).then(|| Rank::new(first + position * stride))
            }
            Kind::Folded { ranks } => {
                let excess = excess(*ranks);
                let rank = if position < excess { 2 * position + 1 } else { position + excess };
                (group == 0 && rank < *ranks).then(|| Rank::new(rank))
            }
            Kind::Listed(listed) => listed.groups.get(group as usize)?.get(position as usize).copied(),
        }
    }

    /// The distance between neighbours, where it is the same in all groups.
    pub fn stride(&self) -> Option<u32> {
        match &self.0 {
            Kind::Even { stride, .. } => Some(*stride),
            Kind::Folded { .. } | Kind::Listed(_) => None,
        }
    }
}

impl fmt::Display for Groups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups = self.len();
        let plural = if groups == 1 { "" } else { "s" };
        match &self.0 {
            Kind::Even { size, stride: 1, ranks } if size == ranks => write!(f, "all {ranks} ranks"),
            Kind::Even { size, stride: 1, .. } => write!(f, "{groups} group{plural} of {size} neighbours"),
            Kind::Even { size, stride, .. } => {
                write!(f, "{groups} group{plural} of {size} ranks, {stride} apart")
            }
            Kind::Folded { ranks } => {
                let kept = ranks.checked_ilog2().map_or(0, |power| 1_u32 << power);
                write!(f, "{kept} of {ranks} ranks")
            }
            Kind::Listed(_) => write!(f, "{groups} group{plural} as listed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_rails_of_four_servers_of_two() {
        let hosts = Groups::even(8, 2, 1);
        assert_eq!(hosts.len(), 4);
        assert_eq!(hosts.seat(Rank::new(5)), Some(Seat { group: 2, position: 1, size: 2 }));
        assert_eq!(hosts.member(2, 1), Some(Rank::new(5)));
        let rails = Groups::even(8, 4, 2);
        assert_eq!(rails.len(), 2);
        assert_eq!(rails.seat(Rank::new(5)), Some(Seat { group: 1, position: 2, size: 4 }));
        assert_eq!(rails.member(1, 2), Some(Rank::new(5)));
        assert_eq!(rails.member(1, 4), None);
        let words = [&hosts, &rails, &Groups::all(8), &Groups::folded(11)].map(Groups::to_string);
        assert_eq!(
            words,
            ["4 groups of 2 neighbours", "2 groups of 4 ranks, 2 apart", "all 8 ranks", "8 of 11 ranks"]
        );
    }

    #[test]
    fn eleven_ranks_fold_to_eight() {
        // 11 - 8 = 3 pairs, of which 1, 3, 5 stay; then 6 to 10.
        let folded = Groups::folded(11);
        let members: Vec<_> =
            (0..9).filter_map(|position| folded.member(0, position)).map(Rank::get).collect();
        assert_eq!(members, [1, 3, 5, 6, 7, 8, 9, 10]);
        for (position, member) in (0..).zip(members) {
            assert_eq!(folded.seat(Rank::new(member)), Some(Seat { group: 0, position, size: 8 }));
        }
        assert_eq!(folded.seat(Rank::new(4)), None);
        assert_eq!(folded.seat(Rank::new(11)), None);
        assert_eq!(Groups::folded(8).seat(Rank::new(5)), Groups::all(8).seat(Rank::new(5)));
    }

    #[test]
    fn ranks_beyond_whole_groups_and_unlisted_ones_take_no_part() {
        assert_eq!(Groups::even(7, 2, 1).seat(Rank::new(6)), None);
        let listed = Groups::listed(4, vec![vec![Rank::new(3), Rank::new(1)]]);
        assert_eq!(listed.seat(Rank::new(1)), Some(Seat { group: 0, position: 1, size: 2 }));
        assert_eq!(listed.seat(Rank::new(0)), None);
        assert_eq!(listed.member(0, 0), Some(Rank::new(3)));
    }
}
