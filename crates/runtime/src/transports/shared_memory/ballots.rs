//! Where the ranks of a region decide who goes on after a fault.
//!
//! Each that has come may propose a group, and the memory of a region for it. The first proposal of an attempt is the
//! one that all take, and the first word on whether that group has come together is the one that counts. So all have
//! the same group, whoever dies meanwhile.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::board::Board;
use super::layout::{PAGE, RANKS_MOST};

/// So many groups are tried at most: each that does not come together has lost a rank while it tried.
pub(super) const ATTEMPTS: usize = 16;
/// In the common page, for each attempt: the rank, plus one, whose proposal it is, and what became of it.
const ATTEMPT_BYTES: usize = 16;
const OUTCOME: usize = 8;
const FORMED: u32 = 1;
const FAILED: u32 = 2;
/// In a rank's page: the attempt, plus one, for which it has come; then its proposals.
const COME: usize = 0;
const PROPOSALS: usize = 64;
const PROPOSAL_BYTES: usize = 192;
/// In a proposal: a bit for each rank, then where the region is.
const WORDS: usize = RANKS_MOST / 64;
const PROCESS: usize = WORDS * 8;
const DESCRIPTOR: usize = PROCESS + 4;

/// A group that is to come together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Proposal {
    pub(super) ranks: Vec<usize>,
    /// Where its region is: process and descriptor.
    pub(super) place: (u32, u32),
}

impl Board {
    fn attempt(&self, attempt: usize) -> usize {
        self.layout.ballots() + attempt.min(ATTEMPTS - 1) * ATTEMPT_BYTES
    }

    fn ballot(&self, rank: usize) -> usize {
        self.layout.ballots() + PAGE * (1 + rank)
    }

    fn proposal(&self, rank: usize, attempt: usize) -> usize {
        self.ballot(rank) + PROPOSALS + attempt.min(ATTEMPTS - 1) * PROPOSAL_BYTES
    }

    /// Says that a rank has come for an attempt.
    pub(super) fn come(&self, rank: usize, attempt: usize) {
        let number = u32::try_from(attempt).unwrap_or(0) + 1;
        self.memory.half(self.ballot(rank) + COME).store(number, Release);
    }

    pub(super) fn has_come(&self, rank: usize, attempt: usize) -> bool {
        self.memory.half(self.ballot(rank) + COME).load(Acquire) as usize > attempt
    }

    /// Proposes a group; of several proposals the first is taken. Whether it was this one.
    pub(super) fn propose(&self, rank: usize, attempt: usize, proposal: &Proposal) -> bool {
        let at = self.proposal(rank, attempt);
        for word in 0..WORDS {
            let here = proposal.ranks.iter().filter(|member| **member / 64 == word);
            let bits = here.fold(0, |bits, member| bits | 1_u64 << (member % 64));
            self.memory.word(at + word * 8).store(bits, Relaxed);
        }
        self.memory.half(at + PROCESS).store(proposal.place.0, Relaxed);
        self.memory.half(at + DESCRIPTOR).store(proposal.place.1, Relaxed);
        let mine = u32::try_from(rank).unwrap_or(0) + 1;
        self.memory.half(self.attempt(attempt)).compare_exchange(0, mine, AcqRel, Acquire).is_ok()
    }

    /// The proposal that was taken.
    pub(super) fn taken(&self, attempt: usize) -> Option<Proposal> {
        let winner = self.memory.half(self.attempt(attempt)).load(Acquire).checked_sub(1)? as usize;
        let at = self.proposal(winner.min(self.layout.ranks - 1), attempt);
        let has = |rank: &usize| self.memory.word(at + rank / 64 * 8).load(Relaxed) >> (rank % 64) & 1 == 1;
        let half = |offset| self.memory.half(at + offset).load(Relaxed);
        let ranks = (0..self.layout.ranks).filter(has).collect();
        Some(Proposal { ranks, place: (half(PROCESS), half(DESCRIPTOR)) })
    }

    /// Says whether the group of an attempt has come together, as a rank found; gives what counts, which is what was
    /// said first.
    pub(super) fn settle(&self, attempt: usize, formed: bool) -> bool {
        let outcome = self.memory.half(self.attempt(attempt) + OUTCOME);
        let found = if formed { FORMED } else { FAILED };
        match outcome.compare_exchange(0, found, AcqRel, Acquire) {
            Ok(_) => formed,
            Err(first) => first == FORMED,
        }
    }

    /// Whether the group of an attempt is known not to come together.
    pub(super) fn has_failed(&self, attempt: usize) -> bool {
        self.memory.half(self.attempt(attempt) + OUTCOME).load(Acquire) == FAILED
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::Layout;
    use super::super::mapping::Mapping;
    use super::*;

    #[test]
    fn the_first_proposal_and_the_first_outcome_count() {
        let layout = Layout { ranks: 70, ring: 4096 };
        let file = rustix::fs::memfd_create("test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::fs::ftruncate(&file, layout.blocks() as u64).unwrap();
        let board = Board::new(Mapping::new(&file, 0, layout.blocks(), false).unwrap(), layout);
        assert!(!board.has_come(3, 0) && board.taken(0).is_none());
        board.come(3, 1);
        assert!(board.has_come(3, 0) && board.has_come(3, 1) && !board.has_come(3, 2));
        let first = Proposal { ranks: vec![0, 3, 64, 69], place: (77, 5) };
        assert!(board.propose(69, 1, &first));
        assert!(!board.propose(3, 1, &Proposal { ranks: vec![3], place: (1, 1) }));
        assert_eq!((board.taken(0), board.taken(1)), (None, Some(first)));
        assert!(!board.settle(1, false) && !board.settle(1, true) && board.has_failed(1));
        assert!(board.settle(2, true) && board.settle(2, false) && !board.has_failed(2));
        const { assert!(PROPOSALS + ATTEMPTS * PROPOSAL_BYTES <= PAGE && DESCRIPTOR + 4 <= PROPOSAL_BYTES) };
    }
}
