//! Going on after a fault.

use std::time::Duration;

use weft_collective::Terrain;

use super::Communicator;
use crate::{Fault, Shrink, Survivors};

impl<T: Shrink> Communicator<T> {
    /// Goes on with those who are left, after a collective has ended in a [`Fault`] (or without one: then the others'
    /// collectives end with [`Fault::Abandoned`]). All of them call it; they agree who they are and get new numbers
    /// without gaps, in the old order.
    ///
    /// What is lost: the collective that was under way. Its buffers hold anything, and on some ranks it, or even the
    /// one after it, may have ended well. So ranks that must be alike afterwards first make themselves alike, for
    /// example by a [`Communicator::broadcast`] of what they train from rank 0, which is there in every group.
    /// Algorithms are chosen as before; ranks of several hosts are taken to be of one. Registered buffers of the old
    /// group can be used as before, but are copied.
    ///
    /// A rank that is stopped is left out after the `deadline`. When it wakes, its calls fail, and so does its
    /// `shrink`, with [`Fault::LeftOut`]: nothing that it still sends or reads reaches the new group. The same happens
    /// to the smaller part of a group whose network is cut in two.
    pub fn shrink(&mut self, deadline: Duration) -> Result<Survivors, Fault> {
        let survivors = self.transport.shrink(deadline).inspect_err(|fault| {
            self.broken = Some(fault.clone());
        })?;
        self.rank = survivors.rank;
        self.terrain = Terrain::flat(survivors.ranks());
        let former = survivors.former.iter();
        self.hosts = former.filter_map(|rank| self.hosts.get(rank.index()).copied()).collect();
        self.prepared.clear();
        // Of the old group, whose memory the new one does not map.
        self.scratch.clear();
        self.last = 0;
        self.broken = None;
        Ok(survivors)
    }
}
