//! Which of several ranks is the odd one.

use weft_collective::Rank;

/// A rank that has something else than most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Odd<T> {
    pub rank: Rank,
    pub theirs: T,
    pub ours: T,
}

/// The lowest rank that has not what most have. Where two groups are equally large, the one with the lowest rank is
/// taken to be right, so that all who ask find the same one.
pub(crate) fn odd_one<T: Clone + PartialEq>(votes: &[(Rank, T)]) -> Option<Odd<T>> {
    let mut votes: Vec<&(Rank, T)> = votes.iter().collect();
    votes.sort_by_key(|(rank, _)| *rank);
    let count = |value: &T| votes.iter().filter(|(_, other)| other == value).count();
    let mut right = &votes.first()?.1;
    for (_, value) in votes.iter().copied() {
        if count(value) > count(right) {
            right = value;
        }
    }
    let (rank, theirs) = votes.iter().copied().find(|(_, value)| value != right)?;
    Some(Odd { rank: *rank, theirs: theirs.clone(), ours: right.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn odd(votes: &[(u32, char)]) -> Option<(u32, char, char)> {
        let votes: Vec<_> = votes.iter().map(|(rank, value)| (Rank::new(*rank), *value)).collect();
        odd_one(&votes).map(|odd| (odd.rank.get(), odd.theirs, odd.ours))
    }

    #[test]
    fn most_are_right_and_of_equals_the_lowest() {
        assert_eq!(odd(&[]), None);
        assert_eq!(odd(&[(0, 'a'), (1, 'a')]), None);
        assert_eq!(odd(&[(2, 'a'), (0, 'b'), (1, 'a')]), Some((0, 'b', 'a')));
        assert_eq!(odd(&[(1, 'b'), (0, 'a')]), Some((1, 'b', 'a')));
        assert_eq!(odd(&[(0, 'a'), (1, 'b'), (2, 'c'), (3, 'c')]), Some((0, 'a', 'c')));
    }
}
