//! How those who are left go on: over the connections beside the data, which stay; those for data are opened anew.
#![expect(clippy::disallowed_methods, reason = "who says nothing is waited for until a deadline")]

use std::time::{Duration, Instant};

use rustix::event::PollFd;
use weft_collective::Rank;

use super::Tcp;
use super::notes::Note;
use super::stream::CallId;
use super::watch::{Peer, Stall};
use crate::agreement::{Agreement, Loss, Lost, Outcome, Word, may_go_on};
use crate::frames::{readable, wait_for};
use crate::{Fault, Shrink, Survivors};

/// Who waits looks around so often at least.
const LOOKS: Duration = Duration::from_millis(50);

/// What is found out while the ranks agree.
struct Parley {
    agreement: Agreement,
    /// Since when nothing has changed.
    since: Instant,
    lost: Lost,
    /// How it is known of each that it is lost.
    how: Vec<Option<String>>,
    /// Who has told whom it misses; what it tells besides after that belongs to the group to come.
    spoke: Vec<bool>,
    later: Vec<(usize, Note)>,
}

impl Shrink for Tcp {
    fn shrink(&mut self, deadline: Duration) -> Result<Survivors, Fault> {
        if let Some(fault @ Fault::LeftOut { .. }) = &self.fault {
            return Err(fault.clone());
        }
        let reason = "it has asked the others to go on as a new group".to_owned();
        self.give_up(Fault::Abandoned { rank: self.rank, reason });
        let mut parley = self.parley();
        let outcome = loop {
            self.tell_all(&mut parley.agreement);
            if let Some(outcome) = parley.agreement.outcome() {
                break outcome.clone();
            }
            let mut fds: Vec<PollFd<'_>> =
                self.peers.iter().filter_map(|peer| peer.control.as_ref()).map(readable).collect();
            wait_for(&mut fds, LOOKS.min(deadline / 8).max(Duration::from_millis(1)));
            (0..self.peers.len()).for_each(|index| self.hear_of(index, &mut parley));
            self.miss(&mut parley, deadline);
        };
        self.flush();
        let how = match outcome {
            Outcome::LeftOut(by) => {
                format!("rank {by} has taken it to be lost, and the others go on without it")
            }
            Outcome::GoesOn(lost) if may_go_on(self.ranks(), &lost) => return Ok(self.renew(parley, lost)),
            Outcome::GoesOn(lost) => format!(
                "{} of {} ranks are left here, and the others may only be cut off; if they go on, they are the group",
                self.peers.len() - lost.len(),
                self.peers.len()
            ),
        };
        let fault = Fault::LeftOut { rank: self.rank, how };
        self.fault = Some(fault.clone());
        self.pulse = None;
        // The others see at once that nothing comes from here.
        self.peers.iter_mut().for_each(|peer| *peer = Peer::new(std::mem::take(&mut peer.label)));
        Err(fault)
    }
}

impl Tcp {
    fn parley(&mut self) -> Parley {
        let ranks = self.peers.len();
        let mut parley = Parley {
            agreement: Agreement::new(self.rank, self.ranks()),
            since: Instant::now(),
            lost: Lost::new(),
            how: vec![None; ranks],
            spoke: vec![false; ranks],
            later: Vec::new(),
        };
        for (index, peer) in self.peers.iter_mut().enumerate() {
            let rank = name(index);
            for word in std::mem::take(&mut peer.standing) {
                parley.hear(rank, &word);
            }
            if peer.control.is_none() && rank != self.rank {
                let (closed, how) = peer.end.clone().unwrap_or((true, "it has no connection".to_owned()));
                parley.lose(rank, if closed { Loss::Gone } else { Loss::Silent }, how);
            }
        }
        parley
    }

    fn tell_all(&mut self, agreement: &mut Agreement) {
        let (generation, me) = (self.generation, self.rank);
        for (to, word) in agreement.take() {
            if let Some(control) = self.peers.get_mut(to.index()).and_then(|peer| peer.control.as_mut()) {
                Note::Standing { generation, word }.send(control, me);
            }
        }
    }

    /// Reads what a peer has told.
    fn hear_of(&mut self, index: usize, parley: &mut Parley) {
        let (generation, rank) = (self.generation, name(index));
        let Some(peer) = self.peers.get_mut(index) else { return };
        let Some(control) = &mut peer.control else { return };
        control.flush();
        control.fill();
        while let Some((kind, body)) = control.next() {
            match Note::read(kind, &body) {
                Some(Note::Standing { generation: theirs, word }) if theirs == generation => {
                    parley.hear(rank, &word);
                }
                Some(Note::Pulse) => peer.pulse = Some(Instant::now()),
                Some(note) if parley.spoke.get(index) == Some(&true) => parley.later.push((index, note)),
                Some(_) | None => {}
            }
        }
        if let Some(how) = control.ended().map(str::to_owned) {
            let loss = if control.closed() { Loss::Gone } else { Loss::Silent };
            peer.control = None;
            parley.lose(rank, loss, how);
        }
    }

    /// Takes those to be lost who have said nothing for too long.
    fn miss(&self, parley: &mut Parley, deadline: Duration) {
        if *parley.agreement.lost() != parley.lost {
            parley.lost.clone_from(parley.agreement.lost());
            parley.since = Instant::now();
        }
        let waited = parley.since.elapsed();
        if waited < deadline || parley.agreement.outcome().is_some() {
            return;
        }
        let excused = |rank: &Rank| {
            let peer = self.peers.get(rank.index());
            waited < self.settings.patience && peer.is_some_and(|peer| peer.lives(self.beat()))
        };
        let late: Vec<Rank> = parley.agreement.awaited().filter(|rank| !excused(rank)).collect();
        for rank in late {
            let how = format!("it has said nothing for {:.1} s", waited.as_secs_f64());
            parley.lose(rank, Loss::Silent, how);
        }
    }

    /// Becomes the transport of the group that is left.
    fn renew(&mut self, parley: Parley, lost: Lost) -> Survivors {
        let how = |rank: Rank, _| {
            let known = parley.how.get(rank.index()).cloned().flatten();
            let label = self.peers.get(rank.index()).map_or("", |peer| &peer.label);
            format!("{} ({label})", known.unwrap_or_else(|| "as the other ranks say".to_owned()))
        };
        let survivors = Survivors::new(self.rank, self.ranks(), &lost, how);
        self.pulse = None;
        let mut old: Vec<Option<Peer>> = std::mem::take(&mut self.peers).into_iter().map(Some).collect();
        let mut dead = None;
        for (number, former) in (0..).map(Rank::new).zip(&survivors.former) {
            let Some(peer) = old.get_mut(former.index()).and_then(Option::take) else { continue };
            let Peer { control, way, label, end, .. } = peer;
            if control.is_none() && number != survivors.rank {
                let how = end.map_or_else(|| "its connection has ended".to_owned(), |(_, how)| how);
                dead = Some(Fault::Dead { rank: number, how: format!("{how} ({label})") });
            }
            let mut peer = Peer::new(label);
            (peer.control, peer.way) = (control, way);
            self.peers.push(peer);
        }
        // Connections for data, and those to who is lost, end here.
        drop(old);
        self.reasons = renumbered(&self.reasons, &survivors.former);
        self.id = next_id(self.id, &lost);
        self.rank = survivors.rank;
        self.generation = self.generation.wrapping_add(1);
        self.last_lost = lost;
        self.call = CallId::default();
        self.calls.clear();
        self.stall = Stall::default();
        self.fault = None;
        self.start_pulse();
        // What somebody told who was quicker. A fault of the new group ends its first call.
        let numbers: Vec<(usize, usize)> =
            survivors.former.iter().enumerate().map(|(new, former)| (former.index(), new)).collect();
        for (former, note) in parley.later {
            let new = numbers.iter().find(|(old, _)| *old == former);
            if let Some(Err(fault)) = new.map(|(_, new)| self.note(*new, note)) {
                self.give_up(fault);
            }
        }
        if let Some(dead) = dead {
            self.give_up(dead);
        }
        survivors
    }
}

impl Parley {
    fn hear(&mut self, from: Rank, word: &Word) {
        if let Some(spoke) = self.spoke.get_mut(from.index()) {
            *spoke = true;
        }
        self.agreement.hear(from, word);
    }

    fn lose(&mut self, rank: Rank, loss: Loss, how: String) {
        if let Some(known) = self.how.get_mut(rank.index()) {
            known.get_or_insert(how);
        }
        self.agreement.lose(rank, loss);
    }
}

fn name(index: usize) -> Rank {
    Rank::new(u32::try_from(index).unwrap_or(u32::MAX))
}

/// By which connections of the new group are known from those of the old one.
fn next_id(id: u64, lost: &Lost) -> u64 {
    let ranks = lost.keys().map(|rank| u64::from(rank.get()) + 1);
    ranks.fold(id ^ 0x9e37_79b9_7f4a_7c15, |id, rank| {
        (id ^ rank).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23)
    })
}

/// The lines of those who are left, each with its new number; a line begins with `rank N`.
fn renumbered(reasons: &[String], former: &[Rank]) -> Vec<String> {
    let line = |(new, old): (usize, &Rank)| {
        let start = format!("rank {old} ");
        let rest = reasons.iter().find_map(|line| line.strip_prefix(&start))?;
        Some(format!("rank {new} {rest}"))
    };
    former.iter().enumerate().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_get_the_new_numbers() {
        let reasons = ["rank 0 (host a) over x", "rank 2 (host b) came from y"].map(str::to_owned);
        // Of the ranks 0 to 3, this one is 3 and 1 was lost before, so that there is no line of it.
        assert_eq!(renumbered(&reasons, &[Rank::new(2), Rank::new(3)]), ["rank 0 (host b) came from y"]);
    }
}
