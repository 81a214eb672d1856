//! The part of all ranks but 0 in a meeting.
#![expect(clippy::disallowed_methods, reason = "a meeting has a deadline")]

use std::net::TcpStream;
use std::time::{Duration, Instant};

use weft_collective::Rank;

use super::{
    FAULT, Gathering, HELLO, Hello, MAGIC, MISSING, Meeting, Member, NEWS, ROSTER, Roster, missing, place,
};
use crate::frames::{Frames, readable, wait_for};
use crate::wire::Reader;
use crate::{Fault, limits};

/// After its own deadline a rank that is known to rank 0 waits so much longer for rank 0's word.
const GRACE: Duration = Duration::from_secs(1);
/// Between two attempts: at first short, since ranks mostly start together, then longer.
const PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(200));

/// Goes to rank 0, and gives what it says.
pub(super) fn visit(meeting: &Meeting, me: &Member) -> Result<Gathering, Fault> {
    let start = Instant::now();
    let mut visit =
        Visit { meeting, me, end: start + meeting.deadline, missing: None, obstacle: String::new() };
    let mut pause = PAUSE.0;
    loop {
        if let Some(outcome) = visit.attempt() {
            return outcome;
        }
        if Instant::now() >= visit.end {
            return Err(visit.failure());
        }
        std::thread::sleep(pause.min(visit.end.saturating_duration_since(Instant::now())));
        pause = (pause * 2).min(PAUSE.1);
    }
}

struct Visit<'a> {
    meeting: &'a Meeting,
    me: &'a Member,
    end: Instant,
    /// Who is missing, as rank 0 has told last.
    missing: Option<Vec<Rank>>,
    /// Why the last attempt failed.
    obstacle: String,
}

impl Visit<'_> {
    /// Tries each address once; `None` where none leads to rank 0.
    fn attempt(&mut self) -> Option<Result<Gathering, Fault>> {
        let addresses = match place::addresses(self.meeting, &self.me.network) {
            Ok(addresses) => addresses,
            Err(how) => {
                self.obstacle = how;
                return None;
            }
        };
        for address in addresses {
            let left = self.end.saturating_duration_since(Instant::now());
            let patience = left.clamp(Duration::from_millis(10), Duration::from_secs(1));
            match TcpStream::connect_timeout(&address, patience).and_then(Frames::new) {
                Ok(mut frames) => {
                    if let Some(outcome) = self.talk(&mut frames) {
                        let me = self.meeting.rank;
                        return Some(outcome.map(|roster| Gathering::of_guest(roster, me, frames)));
                    }
                    let how = frames.ended().unwrap_or("it gave no answer");
                    self.obstacle = format!("{address} answers, but not as rank 0 of this meeting: {how}");
                }
                Err(error) => {
                    if let Some(fault) = limits::of_files(&error) {
                        return Some(Err(fault));
                    }
                    self.obstacle = format!("{address}: {error}");
                }
            }
        }
        None
    }

    fn talk(&mut self, frames: &mut Frames) -> Option<Result<Roster, Fault>> {
        frames.send_plain(MAGIC);
        frames.send(HELLO, &Hello::bytes(self.meeting, self.me));
        let mut heard = Instant::now();
        loop {
            frames.flush();
            frames.fill();
            while let Some((kind, body)) = frames.next() {
                heard = Instant::now();
                let mut from = Reader(&body);
                match kind {
                    ROSTER => return Roster::read(&mut from).map(Ok),
                    FAULT => return from.fault().map(Err),
                    MISSING => self.missing = Some(std::iter::from_fn(|| from.rank()).collect()),
                    _ => return None,
                }
            }
            let now = Instant::now();
            // Another program may listen at a stale address and say nothing: then the address is looked up anew.
            let dumb = self.missing.is_none() && heard + NEWS * 10 < now;
            if frames.ended().is_some() || now >= self.end + GRACE || dumb {
                return None;
            }
            wait_for(&mut [readable(frames)], NEWS);
        }
    }

    fn failure(&self) -> Fault {
        match &self.missing {
            Some(ranks) if !ranks.is_empty() => missing(ranks, self.meeting.ranks, self.meeting.deadline),
            Some(_) | None => {
                let (place, waited) = (self.meeting.place.label(), self.meeting.deadline.as_secs_f64());
                let how = format!(
                    "it was not found at {place} within {waited} s; the last attempt: {}",
                    self.obstacle
                );
                Fault::Unreachable { rank: Rank::new(0), how }
            }
        }
    }
}
