//! Who is to blame if nothing moves, or if ranks do different things.

use std::io;
use std::time::Duration;

use super::board::Call;
use super::system::{self, Life};
use super::{SharedMemory, name};
use crate::{Fault, Port};

impl SharedMemory {
    /// Nothing has moved for the deadline. Goes from rank to rank by who waits for whom, to one that is dead, or else
    /// to the one that has shown no life for longest; to nobody while that is only because one is busy elsewhere.
    pub(super) fn blame(&mut self, on: &[Port]) -> Option<Fault> {
        let waited = self.stall.waited;
        let mut met: Vec<usize> = Vec::new();
        for port in on {
            if !met.contains(&port.peer.index()) {
                met.push(port.peer.index());
            }
        }
        let direct = met.len();
        let (mut silent, mut busy): (Option<(Duration, usize)>, bool) = (None, false);
        let mut next = 0;
        while let Some(rank) = met.get(next).copied() {
            next += 1;
            if rank == self.rank {
                continue;
            }
            if self.board.life(rank) == Life::Dead {
                let how = format!("its process {} has ended", self.board.process(rank));
                return Some(self.fail(Fault::Dead { rank: name(rank), how }));
            }
            let since = self.stall.watch.get(rank).map_or(waited, |(_, since)| *since);
            // Who waits as this one does shows life at every look.
            if waited.saturating_sub(since) >= self.deadline / 2 {
                if waited < self.patience && self.is_busy(rank) {
                    busy = true;
                } else if silent.is_none_or(|(before, _)| since < before) {
                    silent = Some((since, rank));
                }
                continue;
            }
            for other in self.board.waits(rank) {
                if !met.contains(&other) {
                    met.push(other);
                }
            }
        }
        let (rank, how) = match silent {
            None if busy => return None,
            Some((_, rank)) if met.iter().take(direct).any(|peer| *peer == rank) => (rank, self.doing(rank)),
            Some((_, rank)) => {
                (rank, format!("{}, and others wait for those that wait for it", self.doing(rank)))
            }
            None => {
                let first = met.first().copied().unwrap_or(self.rank);
                (first, "it lives, but all that this rank waits for wait themselves, in a circle".to_owned())
            }
        };
        Some(self.fail(Fault::Silent { rank: name(rank), waited, how }))
    }

    /// Whether the process of a rank that says nothing runs, as far as the system tells.
    pub(super) fn is_busy(&self, rank: usize) -> bool {
        match self.board.life(rank) {
            Life::Lives('T' | 't' | '?') | Life::Dead => false,
            Life::Lives(_) => true,
        }
    }

    /// What a silent rank does, as far as others can see.
    fn doing(&self, rank: usize) -> String {
        let process = self.board.process(rank);
        match system::life(process, self.board.start(rank)) {
            Life::Dead => format!("its process {process} has ended"),
            Life::Lives('T' | 't') => format!("its process {process} is stopped"),
            Life::Lives('D') => format!("its process {process} waits for a disk or the network"),
            Life::Lives('R') => format!("its process {process} lives, but is busy with something else"),
            Life::Lives(_) => match self.board.announced(rank, self.sequence) {
                Some(_) => format!("its process {process} sleeps within the call"),
                None => format!("its process {process} lives, but sleeps and has not begun the call"),
            },
        }
    }

    /// A peer's memory could not be read though it could at the beginning.
    pub(super) fn unreadable(&mut self, peer: usize, error: &io::Error) -> Fault {
        let process = self.board.process(peer);
        let fault = if self.board.life(peer) == Life::Dead {
            Fault::Dead { rank: name(peer), how: format!("its process {process} has ended") }
        } else {
            Fault::Unreachable {
                rank: name(peer),
                how: format!("reading from its process {process}: {error}"),
            }
        };
        self.fail(fault)
    }

    /// A peer does something else. Most ranks are right; of as many, those of the lowest rank, so that all name the
    /// same.
    pub(super) fn differs(&mut self, peer: usize) -> Fault {
        let calls = self.calls();
        let mut groups: Vec<(u64, Vec<usize>)> = Vec::new();
        for (rank, call) in calls.iter().enumerate() {
            let Some(call) = call else { continue };
            match groups.iter_mut().find(|(signature, _)| *signature == call.signature) {
                Some((_, ranks)) => ranks.push(rank),
                None => groups.push((call.signature, vec![rank])),
            }
        }
        let mut most: Option<&(u64, Vec<usize>)> = None;
        for group in &groups {
            if most.is_none_or(|most| group.1.len() > most.1.len()) {
                most = Some(group);
            }
        }
        let right = most.map_or(self.signature, |most| most.0);
        let call = |rank: usize| calls.get(rank).and_then(Option::as_ref);
        let odd = calls.iter().position(|call| call.as_ref().is_some_and(|call| call.signature != right));
        let odd = odd.unwrap_or(peer);
        let with = |call: Option<&Call>| call.map_or_else(String::new, |call| call.text.clone());
        let ours = with(calls.iter().flatten().find(|call| call.signature == right));
        let theirs = match call(odd) {
            Some(call) if call.signature == right => "the same, but not as many messages".to_owned(),
            Some(call) if call.text == ours => format!("the same by another plan ({:016x})", call.signature),
            Some(call) => call.text.clone(),
            None => "another call before or after it".to_owned(),
        };
        self.fail(Fault::Differs { rank: name(odd), what: "the call", theirs, ours })
    }

    /// What all ranks have announced as the present call; gives those that have not come so far a moment.
    fn calls(&self) -> Vec<Option<Call>> {
        let begun = system::now();
        let patience = (self.deadline / 4).min(Duration::from_secs(1));
        loop {
            let calls: Vec<_> =
                (0..self.ranks()).map(|rank| self.board.announced(rank, self.sequence)).collect();
            let waited = system::now() - begun;
            if calls.iter().all(Option::is_some) || waited > patience || self.board.fault().is_some() {
                return calls;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
