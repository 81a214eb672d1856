//! Why a collective ended before its time, and whose fault it is.

use std::time::Duration;

use thiserror::Error;
use weft_collective::Rank;

/// What ended it. Whatever one rank finds out, all others learn within their deadline.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    /// A rank's process has ended, or its host has closed the connection.
    #[error("rank {rank} is dead: {how}")]
    Dead {
        /// Whose.
        rank: Rank,
        /// How that is known.
        how: String,
    },
    /// A rank lives, as far as is known, and does nothing: it was stopped, it hangs, or its network is cut.
    #[error("rank {rank} has not moved for {:.1} s: {how}", waited.as_secs_f64())]
    Silent {
        /// Whose.
        rank: Rank,
        /// For how long others waited.
        waited: Duration,
        /// What it was waited for.
        how: String,
    },
    /// A rank was started differently from the others.
    #[error("rank {rank} differs in {what}: it has {theirs}, the others {ours}")]
    Differs {
        /// Whose.
        rank: Rank,
        /// In what: the version, the number of ranks, the call.
        what: &'static str,
        /// What it has.
        theirs: String,
        /// What most have.
        ours: String,
    },
    /// A rank cannot be reached.
    #[error("rank {rank} cannot be reached: {how}")]
    Unreachable {
        /// Whose.
        rank: Rank,
        /// What was tried, and what came of it.
        how: String,
    },
    /// This machine has not what is needed.
    #[error("{what}: {how}")]
    Lacking {
        /// Of what.
        what: &'static str,
        /// What the system said, and what helps.
        how: String,
    },
    /// Another rank has given up, for the reason that it gives.
    #[error("rank {rank} gave up: {reason}")]
    Abandoned {
        /// Whose.
        rank: Rank,
        /// As it says.
        reason: String,
    },
    /// The others have gone on without a rank, which is this one.
    #[error("rank {rank} is left out: {how}")]
    LeftOut {
        /// Its number in the group that has gone on.
        rank: Rank,
        /// Why.
        how: String,
    },
}

impl Fault {
    /// The rank that is to blame, where it is one.
    pub fn rank(&self) -> Option<Rank> {
        match self {
            Self::Dead { rank, .. }
            | Self::Silent { rank, .. }
            | Self::Differs { rank, .. }
            | Self::Unreachable { rank, .. }
            | Self::Abandoned { rank, .. }
            | Self::LeftOut { rank, .. } => Some(*rank),
            Self::Lacking { .. } => None,
        }
    }
}
