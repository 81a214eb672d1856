//! How a rank waits, and what it finds out meanwhile about the others.
//!
//! Each beat a waiting rank tells those for whom it waits, and those who wait for it, that it lives and whom it takes to
//! be the cause. So a chain of waiting ranks ends at the one that says nothing, and who waits for that one names it.
#![expect(clippy::disallowed_methods, reason = "waits have a deadline")]

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use weft_collective::Rank;

use super::Tcp;
use super::notes::Note;
use super::stream::{CallId, Stream};
use crate::agreement::Word;
use crate::frames::{Frames, readable, wait_for};
use crate::{Fault, Port};

/// The longest time between two beats.
const BEAT: Duration = Duration::from_secs(1);
/// In that many beats, less than the deadline, two ranks that wait hear of each other even if one is slow.
const FRESH_BEATS: u32 = 4;
/// Calls of a peer that are remembered.
const REMEMBERED: usize = 16;
/// The clock and the system's scheduler are asked once in so many rounds.
const ROUNDS: u32 = 8;

/// Another rank, as far as this one knows it.
#[derive(Debug)]
pub(super) struct Peer {
    pub control: Option<Frames>,
    /// Where it is reached; `None` where its part is to connect.
    pub way: Option<(SocketAddr, Option<IpAddr>)>,
    pub label: String,
    streams: Vec<Option<Stream>>,
    report: Option<Report>,
    /// It has said that it waits for this rank.
    watches: bool,
    /// It has said goodbye.
    pub left: bool,
    pub said: Vec<(CallId, String)>,
    /// Empty messages that it sent before there was a stream for them.
    early: Vec<(u16, CallId)>,
    /// Those that this rank sent so: channel, number of the call, how many.
    sent_early: Vec<(u16, u32, u16)>,
    /// The number of a call for which it has asked before this rank had begun it.
    asked: Option<u32>,
    /// When its process has last shown that it lives though it has no time for the group.
    pub pulse: Option<Instant>,
    /// What it has told of who is left, before this rank wanted to know.
    pub standing: Vec<Word>,
    /// How its connection has ended, and whether it has ended it itself.
    pub end: Option<(bool, String)>,
}

/// What a peer has said of itself last.
#[derive(Debug, Clone, Copy)]
struct Report {
    at: Instant,
    root: Option<Rank>,
    stalled: Duration,
}

/// Since when nothing has moved.
#[derive(Debug, Default)]
pub(super) struct Stall {
    rounds: u32,
    since: Option<Instant>,
    next_beat: Option<Instant>,
    pub calls: u32,
    /// The number of a call in which some rank was seen to make another one.
    pub suspect: Option<u32>,
    /// Whether a peer has asked for a call that this rank had not begun.
    asked: bool,
}

impl Peer {
    pub(super) fn new(label: String) -> Self {
        Self {
            control: None,
            way: None,
            label,
            streams: Vec::new(),
            report: None,
            watches: false,
            left: false,
            said: Vec::new(),
            early: Vec::new(),
            sent_early: Vec::new(),
            asked: None,
            pulse: None,
            standing: Vec::new(),
            end: None,
        }
    }

    /// Whether its process is known to live.
    pub(super) fn lives(&self, beat: Duration) -> bool {
        self.pulse.is_some_and(|pulse| pulse.elapsed() < beat * FRESH_BEATS)
    }

    /// Whether it lives, but is not in the group's calls.
    fn is_elsewhere(&self, beat: Duration) -> bool {
        self.fresh(beat).is_none() && self.lives(beat)
    }

    pub(super) fn stream(&self, channel: u16) -> Option<&Stream> {
        self.streams.get(usize::from(channel))?.as_ref()
    }

    pub(super) fn stream_mut(&mut self, channel: u16) -> Option<&mut Stream> {
        self.streams.get_mut(usize::from(channel))?.as_mut()
    }

    pub(super) fn streams(&self) -> impl Iterator<Item = &Stream> {
        self.streams.iter().flatten()
    }

    /// Sends what small things its streams still owe. An error is found again where the stream is used.
    pub(super) fn settle(&mut self) {
        self.streams.iter_mut().flatten().for_each(|stream| drop(stream.settle()));
    }

    pub(super) fn install(&mut self, channel: u16, mut stream: Stream) {
        if let Some((_, number, count)) = self.sent_early.iter().find(|(early, ..)| *early == channel) {
            stream.early_sent = (*number, *count);
        }
        let index = usize::from(channel);
        if self.streams.len() <= index {
            self.streams.resize_with(index + 1, || None);
        }
        if let Some(seat) = self.streams.get_mut(index) {
            *seat = Some(stream);
        }
    }

    /// Takes an empty message that came before the stream.
    pub(super) fn take_early(&mut self, channel: u16, call: CallId) -> bool {
        let found = self.early.iter().position(|early| *early == (channel, call));
        let taken = found.map(|at| self.early.remove(at)).is_some();
        if let (true, Some(stream)) = (taken, self.stream_mut(channel)) {
            stream.take_early(call);
        }
        taken
    }

    /// Notes that an empty message was sent before the stream.
    pub(super) fn count_early(&mut self, channel: u16, call: CallId) {
        self.sent_early.retain(|(_, number, _)| *number == call.number);
        match self.sent_early.iter_mut().find(|(early, ..)| *early == channel) {
            Some((_, _, count)) => *count += 1,
            None => self.sent_early.push((channel, call.number, 1)),
        }
    }

    /// What it has said not long ago.
    fn fresh(&self, beat: Duration) -> Option<Report> {
        self.report.filter(|report| report.at.elapsed() < beat * FRESH_BEATS)
    }

    pub(super) fn remember(&mut self, call: CallId, text: String) {
        self.said.retain(|(said, _)| said.number != call.number);
        self.said.push((call, text));
        if self.said.len() > REMEMBERED {
            self.said.remove(0);
        }
    }
}

impl Tcp {
    /// Five beats to the deadline at least, so that what waiting ranks tell each other arrives before it.
    pub(super) fn beat(&self) -> Duration {
        (self.settings.deadline / 5).clamp(Duration::from_millis(5), BEAT)
    }

    /// One turn of waiting.
    pub(super) fn watch(&mut self, rounds: u32, on: &[Port]) -> Result<(), Fault> {
        let new = rounds <= self.stall.rounds;
        self.stall.rounds = rounds;
        let since = match self.stall.since {
            Some(since) if !new => since,
            Some(_) | None => *self.stall.since.insert(Instant::now()),
        };
        if !self.settings.busy.is_zero() {
            if !rounds.is_multiple_of(ROUNDS) {
                std::hint::spin_loop();
                return Ok(());
            }
            if since.elapsed() < self.settings.busy {
                std::thread::yield_now();
                return self.tick(on, since);
            }
        }
        self.tick(on, since)?;
        let wake = self.judge(on, since)?;
        self.sleep(on, wake)
    }

    /// Tells others how it stands when it is time for that. Called now and then, moving or not.
    fn tick(&mut self, on: &[Port], since: Instant) -> Result<(), Fault> {
        let now = Instant::now();
        let beat = self.beat();
        if now < *self.stall.next_beat.get_or_insert(now + beat) {
            return Ok(());
        }
        self.stall.next_beat = Some(now + beat);
        let everyone: Vec<usize> = (0..self.peers.len()).collect();
        self.listen(&everyone)?;
        let root = self.root(on);
        let elsewhere =
            |port: &Port| self.peers.get(port.peer.index()).is_some_and(|it| it.is_elsewhere(beat));
        // Who waits for one that is busy elsewhere has a reason to; it is itself who says when that is too long.
        let excused = on.is_empty() || on.iter().any(elsewhere);
        let stalled = if excused { Duration::ZERO } else { now.saturating_duration_since(since) };
        let text = self.calls.back().map(|(_, text)| text.clone()).unwrap_or_default();
        for (index, peer) in self.peers.iter_mut().enumerate() {
            let on_you = on.iter().any(|port| port.peer.index() == index);
            let told = on_you || peer.watches && peer.fresh(beat).is_some();
            if let (true, Some(control)) = (told, &mut peer.control) {
                let note = Note::Waiting { call: self.call, text: text.clone(), root, stalled, on_you };
                note.send(control, self.rank);
                control.flush();
            }
        }
        Ok(())
    }

    /// For a rank that is busy moving bytes: now and then it must tell so to those who wait for it.
    pub(super) fn tick_moving(&mut self) -> Result<(), Fault> {
        self.stall.calls = self.stall.calls.wrapping_add(1);
        if self.stall.calls.is_multiple_of(256) {
            self.tick(&[], Instant::now()).map_err(|fault| self.give_up(fault))?;
        }
        Ok(())
    }

    /// Who is the cause of the wait, as far as is known.
    fn root(&self, on: &[Port]) -> Option<Rank> {
        let beat = self.beat();
        let report = |port: &Port| self.peers.get(port.peer.index()).and_then(|peer| peer.fresh(beat));
        if let Some(silent) = on.iter().find(|port| report(port).is_none()) {
            return Some(silent.peer);
        }
        let further = on.iter().filter_map(|port| report(port)?.root).find(|root| *root != self.rank);
        further.or_else(|| on.first().map(|port| port.peer))
    }

    /// After the deadline, names who is silent. Who says that it lives is waited for, since it will itself find out for
    /// whom it waits, unless ranks wait for each other in a circle. Gives when to come again.
    fn judge(&self, on: &[Port], since: Instant) -> Result<Instant, Fault> {
        let (now, beat, deadline) = (Instant::now(), self.beat(), self.settings.deadline);
        let waited = now.saturating_duration_since(since);
        let gone = on.iter().find_map(|port| {
            let peer = self.peers.get(port.peer.index())?;
            (peer.left && peer.stream(port.channel).is_none()).then_some(port.peer)
        });
        if let Some(rank) = gone {
            return Err(self.dead(rank, "it has left the group"));
        }
        let soon = self.stall.next_beat.unwrap_or(now + beat);
        if waited < deadline {
            return Ok(soon.min(since + deadline));
        }
        let report = |port: &Port| self.peers.get(port.peer.index()).and_then(|peer| peer.fresh(beat));
        let excused = |port: &Port| {
            let peer = self.peers.get(port.peer.index());
            waited < self.settings.patience && peer.is_some_and(|peer| peer.lives(beat))
        };
        if let Some(port) = on.iter().find(|port| report(port).is_none() && !excused(port)) {
            return Err(self.silent(port.peer, waited, *port));
        }
        let late = deadline + beat * FRESH_BEATS;
        let stuck = on.iter().find(|port| report(port).is_some_and(|report| report.stalled >= late));
        match stuck {
            Some(port) if waited >= late => {
                let root = report(port).and_then(|report| report.root).filter(|root| *root != self.rank);
                Err(self.silent(root.unwrap_or(port.peer), waited, *port))
            }
            Some(_) | None => Ok(soon),
        }
    }

    fn silent(&self, rank: Rank, waited: Duration, port: Port) -> Fault {
        let moved = self.peers.get(port.peer.index()).and_then(|peer| peer.stream(port.channel));
        let (bytes_in, bytes_out) =
            moved.map_or((0, 0), |stream| (stream.bytes_in(self.call), stream.bytes_out(self.call)));
        let chain = if port.peer == rank {
            format!("rank {} waits for it", self.rank)
        } else {
            format!("rank {} waits for rank {}, and that for it", self.rank, port.peer)
        };
        let elsewhere = self.peers.get(rank.index()).is_some_and(|peer| peer.is_elsewhere(self.beat()));
        let lives = if elsewhere { "its process lives, but is busy with something else; " } else { "" };
        let how = format!(
            "{lives}{chain} in {}; {bytes_in} bytes came from rank {} and {bytes_out} went to it in this call ({})",
            self.call_text(),
            port.peer,
            self.label(rank),
        );
        Fault::Silent { rank, waited, how }
    }

    pub(super) fn dead(&self, rank: Rank, how: &str) -> Fault {
        Fault::Dead { rank, how: format!("{how}, in {} ({})", self.call_text(), self.label(rank)) }
    }

    fn label(&self, rank: Rank) -> &str {
        self.peers.get(rank.index()).map_or("", |peer| &peer.label)
    }

    fn call_text(&self) -> String {
        let text = self.calls.back().map_or("", |(_, text)| text.as_str());
        format!("call {} ({text})", self.call.number)
    }

    /// Sleeps until something comes, but not beyond a moment.
    fn sleep(&mut self, on: &[Port], wake: Instant) -> Result<(), Fault> {
        self.peers.iter_mut().for_each(Peer::settle);
        let mut indices = Vec::new();
        let mut fds: Vec<PollFd<'_>> = Vec::new();
        for (index, peer) in self.peers.iter().enumerate() {
            if let Some(control) = &peer.control {
                indices.push(index);
                fds.push(readable(control));
            }
        }
        let mut missing = false;
        for port in on {
            match self.peers.get(port.peer.index()).and_then(|peer| peer.stream(port.channel)) {
                Some(stream) => fds.push(PollFd::new(stream, stream.awaited())),
                None => missing = true,
            }
        }
        let owing = self.peers.iter().flat_map(Peer::streams).filter(|stream| stream.owes());
        fds.extend(owing.map(|stream| PollFd::new(stream, PollFlags::OUT)));
        if missing {
            fds.extend(self.reception.fds());
        }
        let now = Instant::now();
        wait_for(&mut fds, wake.saturating_duration_since(now).max(Duration::from_millis(1)));
        let ready = indices.iter().zip(&fds).filter(|(_, fd)| !fd.revents().is_empty());
        let ready: Vec<usize> = ready.map(|(index, _)| *index).collect();
        self.listen(&ready)
    }

    /// Reads what these peers have told.
    pub(super) fn listen(&mut self, from: &[usize]) -> Result<(), Fault> {
        for index in from {
            self.hear(*index)?;
        }
        match self.stall.suspect.take() {
            Some(number) => Err(self.odd_call(number)),
            None => Ok(()),
        }
    }

    /// Reads what one peer has told, without drawing conclusions from its calls.
    pub(super) fn hear(&mut self, index: usize) -> Result<(), Fault> {
        let Some(peer) = self.peers.get_mut(index) else { return Ok(()) };
        let Some(control) = &mut peer.control else { return Ok(()) };
        control.flush();
        control.fill();
        let mut notes = Vec::new();
        while let Some((kind, body)) = control.next() {
            notes.extend(Note::read(kind, &body));
        }
        let ended = control.ended().map(str::to_owned);
        // Behind a fault may stand what the teller wants to do about it.
        let mut outcome = Ok(());
        for note in notes {
            outcome = outcome.and(self.note(index, note));
        }
        let Some(how) = ended else { return outcome };
        let Some(peer) = self.peers.get_mut(index) else { return outcome };
        let closed = peer.control.take().is_some_and(|control| control.closed());
        peer.end = Some((closed, how.clone()));
        if peer.left {
            return outcome;
        }
        outcome?;
        let rank = Rank::new(u32::try_from(index).unwrap_or(u32::MAX));
        Err(self.dead(rank, &how))
    }

    /// Answers those who asked for a call before it began.
    pub(super) fn answer_early(&mut self) {
        if !std::mem::take(&mut self.stall.asked) {
            return;
        }
        let Some((call, text)) = self.calls.back() else { return };
        for peer in &mut self.peers {
            match (peer.asked, &mut peer.control) {
                (Some(number), Some(control)) if number == call.number => {
                    peer.asked = None;
                    Note::Call { call: *call, text: text.clone() }.send(control, self.rank);
                }
                (Some(number), _) => self.stall.asked |= number > call.number,
                (None, _) => {}
            }
        }
    }

    pub(super) fn note(&mut self, index: usize, note: Note) -> Result<(), Fault> {
        let Some(peer) = self.peers.get_mut(index) else { return Ok(()) };
        match note {
            Note::Waiting { call, text, root, stalled, on_you } => {
                peer.report = Some(Report { at: Instant::now(), root, stalled });
                peer.watches = on_you;
                peer.remember(call, text);
                let own = self.calls.iter().find(|(own, _)| own.number == call.number);
                if own.is_some_and(|(own, _)| own.signature != call.signature) {
                    self.stall.suspect = Some(call.number);
                }
            }
            Note::Call { call, text } => peer.remember(call, text),
            Note::Ask { number } => {
                let own = self.calls.iter().find(|(call, _)| call.number == number);
                if let (Some((call, text)), Some(control)) = (own, &mut peer.control) {
                    Note::Call { call: *call, text: text.clone() }.send(control, self.rank);
                } else if number > self.call.number {
                    peer.asked = Some(number);
                    self.stall.asked = true;
                }
            }
            Note::Goodbye => peer.left = true,
            // Whoever hears it tells all others too, before its own end could be taken for a cause.
            Note::Fault(fault) => return Err(fault),
            Note::Empty { channel, call } => peer.early.push((channel, call)),
            Note::Pulse => peer.pulse = Some(Instant::now()),
            // Heard while connecting.
            Note::Connected => {}
            Note::Standing { generation, word } if generation == self.generation => peer.standing.push(word),
            Note::Standing { generation, word } => {
                // It is late, and has not heard what was decided.
                let of_last = generation.wrapping_add(1) == self.generation && !word.decided;
                if let (true, Some(control)) = (of_last, &mut peer.control) {
                    let word = Word { decided: true, lost: self.last_lost.clone() };
                    Note::Standing { generation, word }.send(control, self.rank);
                }
            }
        }
        Ok(())
    }

    /// Waits for any peer to tell something, and reads it.
    pub(super) fn hear_any(&mut self, at_most: Duration) -> Result<(), Fault> {
        let mut fds: Vec<PollFd<'_>> =
            self.peers.iter().filter_map(|peer| peer.control.as_ref()).map(readable).collect();
        wait_for(&mut fds, at_most);
        (0..self.peers.len()).try_for_each(|index| self.hear(index))
    }

    /// Gives what is still to be told a moment to leave.
    pub(super) fn flush(&mut self) {
        let end = Instant::now() + Duration::from_millis(200);
        loop {
            let controls: Vec<&mut Frames> =
                self.peers.iter_mut().filter_map(|peer| peer.control.as_mut()).collect();
            let mut blocked = Vec::new();
            for control in controls {
                if !control.flush() {
                    blocked.push(&*control);
                }
            }
            if blocked.is_empty() || Instant::now() >= end {
                return;
            }
            let mut fds: Vec<PollFd<'_>> =
                blocked.into_iter().map(|control| PollFd::new(control, PollFlags::OUT)).collect();
            wait_for(&mut fds, Duration::from_millis(20));
        }
    }
}
