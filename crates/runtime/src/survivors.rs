//! How a group goes on after a fault.

use std::time::Duration;

use weft_collective::Rank;

use crate::agreement::{Loss, Lost};
use crate::{Fault, Transport};

/// A rank that a group has lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absent {
    /// Its number in the group as it was.
    pub rank: Rank,
    /// Whether it may come back, and find itself left out.
    pub loss: Loss,
    /// How that is known.
    pub how: String,
}

/// The group as it goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survivors {
    /// This rank's number from now on.
    pub rank: Rank,
    /// The former number of each rank, by its new one.
    pub former: Vec<Rank>,
    /// Who is missing, by former number.
    pub lost: Vec<Absent>,
}

impl Survivors {
    /// How many go on.
    pub fn ranks(&self) -> u32 {
        u32::try_from(self.former.len()).unwrap_or(u32::MAX)
    }

    /// Those who are left of so many ranks, this one among them.
    pub(crate) fn new(me: Rank, ranks: u32, lost: &Lost, how: impl Fn(Rank, Loss) -> String) -> Self {
        let former: Vec<Rank> = (0..ranks).map(Rank::new).filter(|rank| !lost.contains_key(rank)).collect();
        let before = former.iter().take_while(|rank| **rank < me).count();
        let absent =
            |(rank, loss): (&Rank, &Loss)| Absent { rank: *rank, loss: *loss, how: how(*rank, *loss) };
        let lost = lost.iter().map(absent).collect();
        Self { rank: Rank::new(u32::try_from(before).unwrap_or(u32::MAX)), former, lost }
    }
}

/// A transport whose group can go on without some of its ranks.
pub trait Shrink: Transport {
    /// Agrees with all ranks that are still there who that is, and from then on connects those and no others, under
    /// new numbers in the old order. Whatever was under way is forgotten on all of them.
    ///
    /// A rank is left out if its process has ended, or if it does not come by the `deadline`: because it is stopped or
    /// its network is cut. One that is known to live and to be busy elsewhere is waited for as long as in a collective.
    /// If more ranks are lost meanwhile, each may take the deadline once more. Fails with [`Fault::LeftOut`] where the
    /// others go on without this rank, or where too few are left; then this transport is of no more use.
    fn shrink(&mut self, deadline: Duration) -> Result<Survivors, Fault>;
}
