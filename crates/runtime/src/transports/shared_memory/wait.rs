//! Waiting: spin, then yield, then sleep, and look from time to time whether there is still something to wait for.

use std::time::{Duration, Instant};

use super::board::State;
use super::system::{self, Life};
use super::{SharedMemory, name};
use crate::{Fault, Port};

/// From this time on who waits sleeps: about what going to sleep and being woken costs others at worst.
const YIELDS: Duration = Duration::from_micros(300);
/// The round of a wait in which it is looked whether who is waited for can run: a few microseconds, within which most
/// messages come.
pub(super) const LOOKS_BESIDE: u32 = 50;
/// A sleeper looks around so often at least.
const LOOKS: Duration = Duration::from_millis(50);

/// For how long nothing has moved.
#[derive(Debug, Default)]
pub(super) struct Stall {
    /// The round of the last wait that was long.
    rounds: u32,
    /// When it was last looked at the clock; nothing while things move.
    last: Option<Instant>,
    /// Time in which this rank itself ran: if it was stopped, the others are not to blame for that.
    pub(super) waited: Duration,
    /// Of it, when it was last looked around.
    looked: Duration,
    /// At which time a rank that is waited for was first seen to be gone.
    gone: Option<Duration>,
    /// Of each rank: its beats, and when they were first seen so.
    pub(super) watch: Vec<(u64, Duration)>,
}

impl Stall {
    /// Something has moved.
    #[inline]
    pub(super) fn end(&mut self) {
        self.last = None;
    }
}

impl SharedMemory {
    /// Waits a little where others may need the processor.
    #[cold]
    pub(super) fn wait_long(&mut self, rounds: u32, on: &[Port]) -> Result<(), Fault> {
        if let Some(fault) = self.fault.clone().or_else(|| self.board.fault()) {
            return Err(self.fail(fault));
        }
        if rounds <= self.stall.rounds {
            self.stall.end();
        }
        self.stall.rounds = rounds;
        self.count_time();
        if self.stall.waited < YIELDS {
            if self.spins_most > 0 {
                self.look_beside(on);
            }
            rustix::thread::sched_yield();
            return Ok(());
        }
        if self.stall.watch.is_empty() {
            // Only now, as reading them disturbs those that write them.
            let ranks = 0..self.ranks();
            self.stall.watch.extend(ranks.map(|rank| (self.board.beats(rank), self.stall.waited)));
        }
        self.beat();
        self.board.set_waits(self.rank, on.iter().map(|port| port.peer.index()));
        self.board.sleep(self.rank, self.interval(), || self.is_ready(on));
        self.count_time();
        self.look_around(on)
    }

    /// Tells on which processor this rank is, and stops spinning where one that it waits for is on the same: the system
    /// does not part them while others use all processors, and while one spins the other cannot run.
    #[cold]
    pub(super) fn look_beside(&mut self, on: &[Port]) {
        let here = system::processor();
        if here != self.processor {
            self.processor = here;
            self.board.set_processor(self.rank, here);
        }
        let beside = on.iter().any(|port| self.board.processor(port.peer.index()) == Some(here));
        self.spins = if beside { 0 } else { self.spins_most };
    }

    /// How long a sleep is at most.
    fn interval(&self) -> Duration {
        LOOKS.min(self.deadline / 8)
    }

    fn count_time(&mut self) {
        let (now, most) = (system::now(), self.interval() * 2);
        if let Some(last) = self.stall.last {
            self.stall.waited += (now - last).min(most);
        } else {
            self.stall.watch.clear();
            (self.stall.waited, self.stall.looked, self.stall.gone) = (Duration::ZERO, Duration::ZERO, None);
        }
        self.stall.last = Some(now);
    }

    /// Whether anything that is waited for has come.
    fn is_ready(&self, on: &[Port]) -> bool {
        on.iter().any(|port| {
            let index = self.index(*port);
            let inbound = self.inbound.get(index).and_then(Option::as_ref);
            let outbound = self.outbound.get(index).and_then(Option::as_ref);
            inbound.is_some_and(|stream| stream.is_ready())
                || outbound.is_some_and(|stream| stream.is_ready())
        })
    }

    /// Whether those that are waited for still live, do the same, and move.
    fn look_around(&mut self, on: &[Port]) -> Result<(), Fault> {
        for (rank, (beats, since)) in self.stall.watch.iter_mut().enumerate() {
            let present = self.board.beats(rank);
            if *beats != present {
                (*beats, *since) = (present, self.stall.waited);
            }
        }
        let due = self.stall.waited.saturating_sub(self.stall.looked) >= self.interval();
        if due {
            self.stall.looked = self.stall.waited;
        }
        for port in on {
            let peer = port.peer.index();
            let left = self.board.state(peer) == State::Left;
            if left || due && self.board.life(peer) == Life::Dead {
                // What it sent before its end is still taken; things move then, which ends the stall.
                let since = *self.stall.gone.get_or_insert(self.stall.waited);
                let takes = self.is_ready(on) && self.stall.waited.saturating_sub(since) < self.deadline;
                return if takes { Ok(()) } else { Err(self.dead(peer)) };
            }
            let theirs = if due { self.board.announced(peer, self.sequence) } else { None };
            if theirs.is_some_and(|call| call.signature != self.signature) {
                return Err(self.differs(peer));
            }
        }
        if due && self.stall.waited >= self.deadline && !self.is_ready(on) {
            return self.blame(on).map_or(Ok(()), Err);
        }
        Ok(())
    }

    fn dead(&mut self, peer: usize) -> Fault {
        if let Some(fault) = self.board.fault() {
            return self.fail(fault);
        }
        let process = self.board.process(peer);
        let how = if self.board.state(peer) == State::Left {
            format!("its process {process} has left the group while others waited for it")
        } else {
            format!("its process {process} has ended")
        };
        self.fail(Fault::Dead { rank: name(peer), how })
    }
}
