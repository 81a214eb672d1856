//! How those who are left go on: in a region of their own, so that nobody else can write to what they read.

use std::os::fd::AsRawFd;
use std::time::Duration;

use super::ballots::{ATTEMPTS, Proposal};
use super::board::State;
use super::system::{self, Life};
use super::{Region, Settings, SharedMemory, name};
use crate::agreement::{Loss, Lost};
use crate::{Fault, Shrink, Survivors};

/// Who waits looks around so often.
const LOOKS: Duration = Duration::from_millis(1);

impl Shrink for SharedMemory {
    fn shrink(&mut self, deadline: Duration) -> Result<Survivors, Fault> {
        if let Some(fault @ Fault::LeftOut { .. }) = &self.fault {
            return Err(fault.clone());
        }
        if self.fault.is_none() {
            let reason = "it has asked the others to go on as a new group".to_owned();
            self.fail(Fault::Abandoned { rank: self.rank(), reason });
        }
        self.try_groups(deadline).inspect_err(|fault| {
            self.fault = Some(fault.clone());
            // Nobody waits for it.
            self.board.enter(self.rank, State::Left);
        })
    }
}

impl SharedMemory {
    fn try_groups(&mut self, deadline: Duration) -> Result<Survivors, Fault> {
        let mut candidates: Vec<usize> = (0..self.ranks()).collect();
        for attempt in 0..ATTEMPTS {
            self.board.come(self.rank, attempt);
            let (group, own) = self.decide(attempt, &candidates, deadline)?;
            let Some(number) = group.ranks.iter().position(|rank| *rank == self.rank) else {
                let how = "it did not come in time, and the others have gone on without it".to_owned();
                return Err(Fault::LeftOut { rank: self.rank(), how });
            };
            let joined = self.come_together(attempt, (&group, own), number, deadline);
            if self.board.settle(attempt, joined.is_ok()) {
                let new = joined?;
                let survivors = self.survivors(&group.ranks);
                // What is replaced leaves the old region.
                *self = new;
                return Ok(survivors);
            }
            drop(joined);
            candidates = group.ranks;
        }
        let how =
            format!("{ATTEMPTS} groups did not come together, each of which lost a rank while it tried");
        Err(Fault::Lacking { what: "a group to go on with", how })
    }

    /// The group of an attempt, and its region if it is this rank's.
    fn decide(
        &self,
        attempt: usize,
        candidates: &[usize],
        deadline: Duration,
    ) -> Result<(Proposal, Option<Region>), Fault> {
        let begun = system::now();
        loop {
            if let Some(group) = self.board.taken(attempt) {
                return Ok((group, None));
            }
            let waited = system::now() - begun;
            let there: Vec<usize> = candidates.iter().copied().filter(|rank| !self.is_gone(*rank)).collect();
            let late = |rank: &usize| !self.board.has_come(*rank, attempt);
            let awaited = |rank: &usize| {
                late(rank) && (waited < deadline || waited < self.patience && self.is_busy(*rank))
            };
            if there.iter().any(awaited) {
                std::thread::sleep(LOOKS);
                continue;
            }
            let ranks: Vec<usize> = there.into_iter().filter(|rank| !late(rank)).collect();
            let settings = Settings { ring_bytes: self.region.layout.ring, ..self.settings };
            let region = Region::create(ranks.len(), &settings)?;
            let descriptor = u32::try_from(region.file.as_raw_fd()).unwrap_or(0);
            let proposal = Proposal { ranks, place: (std::process::id(), descriptor) };
            if self.board.propose(self.rank, attempt, &proposal) {
                return Ok((proposal, Some(region)));
            }
        }
    }

    /// Joins the region of a group, once all of it do.
    fn come_together(
        &self,
        attempt: usize,
        (group, own): (&Proposal, Option<Region>),
        number: usize,
        deadline: Duration,
    ) -> Result<Self, Fault> {
        let (process, descriptor) = group.place;
        let region = own.map_or_else(|| Region::open(&format!("{process}/{descriptor}")), Ok)?;
        // A number of a descriptor may by now be another file's.
        if region.ranks() != group.ranks.len() || self.board.has_failed(attempt) {
            let how = "the region of the new group is gone".to_owned();
            return Err(Fault::Lacking { what: "shared memory", how });
        }
        let mut new = Self::join(&region, name(number), deadline, &self.settings)?;
        (new.deadline, new.patience) = (self.deadline, self.patience);
        Ok(new)
    }

    /// Whether a rank will not come any more.
    fn is_gone(&self, rank: usize) -> bool {
        rank != self.rank && (self.board.state(rank) == State::Left || self.board.life(rank) == Life::Dead)
    }

    fn survivors(&self, group: &[usize]) -> Survivors {
        let loss = |rank: usize| if self.is_gone(rank) { Loss::Gone } else { Loss::Silent };
        let missing = (0..self.ranks()).filter(|rank| !group.contains(rank));
        let lost: Lost = missing.map(|rank| (name(rank), loss(rank))).collect();
        let ranks = u32::try_from(self.ranks()).unwrap_or(u32::MAX);
        Survivors::new(self.rank(), ranks, &lost, |rank, _| {
            let (rank, process) = (rank.index(), self.board.process(rank.index()));
            match self.board.life(rank) {
                Life::Dead => format!("its process {process} has ended"),
                Life::Lives(_) if self.board.state(rank) == State::Left => {
                    format!("its process {process} has left the group")
                }
                Life::Lives('T' | 't') => format!("its process {process} is stopped"),
                Life::Lives(_) => format!("its process {process} did not come"),
            }
        })
    }
}
