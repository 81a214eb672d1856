//! Rank 0's part of a meeting.
#![expect(clippy::disallowed_methods, reason = "a meeting has a deadline")]

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant};

use weft_collective::Rank;

use super::place::Open;
use super::{
    FAULT, Gathering, HELLO, Hello, MAGIC, MISSING, Meeting, MeetingId, Member, NEWS, PROTOCOL, ROSTER,
    Roster, missing,
};
use crate::frames::{Frames, readable, wait_for};
use crate::majority::odd_one;
use crate::wire::{NUMBER, Put, RANKS, VERSION};
use crate::{Fault, limits};

/// Who connects and does not say within this time who he is, is sent away.
const INTRODUCTION: Duration = Duration::from_secs(5);
/// Once one is found to differ, so long the others may still come, so that they learn it too.
const SETTLING: Duration = Duration::from_secs(1);
/// Strangers that may wait to be looked at, so that a scan of ports does not use up all descriptors.
const CALLERS: usize = 256;

/// Waits for all, compares them, and tells everyone what came of it.
pub(super) fn host(meeting: &Meeting, me: Member) -> Result<Gathering, Fault> {
    let open = Open::new(meeting, &me)?;
    let mut desk = Desk { meeting, open, me, callers: Vec::new(), guests: Vec::new() };
    let outcome = desk.receive();
    let mut body = Vec::new();
    let kind = match &outcome {
        Ok(roster) => {
            roster.put(&mut body);
            ROSTER
        }
        Err(fault) => {
            body.put_fault(fault, Rank::new(0));
            FAULT
        }
    };
    desk.tell(kind, &body);
    let guests = desk.guests.into_iter().map(|(frames, hello)| (hello.rank, frames)).collect();
    outcome.map(|roster| Gathering::of_host(roster, guests))
}

struct Desk<'a> {
    meeting: &'a Meeting,
    open: Open,
    me: Member,
    callers: Vec<(Frames, Instant)>,
    guests: Vec<(Frames, Hello)>,
}

impl Desk<'_> {
    fn receive(&mut self) -> Result<Roster, Fault> {
        let start = Instant::now();
        let (mut news, mut settled) = (start + NEWS, None);
        loop {
            self.admit()?;
            let now = Instant::now();
            let missing_ranks = self.missing();
            if let Err(fault) = self.compare() {
                let until = *settled.get_or_insert(now + SETTLING);
                if now >= until || missing_ranks.is_empty() || now >= start + self.meeting.deadline {
                    return Err(fault);
                }
            } else if missing_ranks.is_empty() {
                return Ok(self.roster());
            } else if now >= start + self.meeting.deadline {
                return Err(missing(&missing_ranks, self.meeting.ranks, self.meeting.deadline));
            }
            if now >= news {
                news = now + NEWS;
                let mut body = Vec::new();
                for rank in &missing_ranks {
                    body.put_u32(rank.get());
                }
                self.guests.iter_mut().for_each(|(frames, _)| frames.send(MISSING, &body));
            }
            let mut fds = vec![readable(&self.open.listener)];
            fds.extend(self.callers.iter().map(|(frames, _)| readable(frames)));
            fds.extend(self.guests.iter().map(|(frames, _)| readable(frames)));
            let end = (start + self.meeting.deadline).min(news).min(settled.unwrap_or(news));
            wait_for(&mut fds, end.saturating_duration_since(now).max(Duration::from_millis(1)));
        }
    }

    /// Lets in who has connected, and makes guests of those who have introduced themselves.
    fn admit(&mut self) -> Result<(), Fault> {
        loop {
            let stream = match self.open.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) => match limits::of_files(&error) {
                    Some(fault) => return Err(fault),
                    None => break,
                },
            };
            if self.callers.len() < CALLERS
                && let Ok(frames) = Frames::new(stream)
            {
                self.callers.push((frames, Instant::now()));
            }
        }
        for (mut frames, since) in std::mem::take(&mut self.callers) {
            match listen(&mut frames) {
                Heard::Hello(hello) if hello.id == self.meeting.id => self.guests.push((frames, hello)),
                Heard::Nothing if since.elapsed() < INTRODUCTION => self.callers.push((frames, since)),
                Heard::Hello(_) | Heard::Nothing | Heard::Noise => {}
            }
        }
        // Who goes before all have come may come again, and is missing until then.
        self.guests.retain_mut(|(frames, _)| {
            frames.fill();
            frames.flush();
            frames.ended().is_none()
        });
        Ok(())
    }

    fn missing(&self) -> Vec<Rank> {
        let mut here = vec![false; self.meeting.ranks as usize];
        for (_, hello) in &self.guests {
            if let Some(seat) = here.get_mut(hello.rank.index()) {
                *seat = true;
            }
        }
        (1..self.meeting.ranks).map(Rank::new).filter(|rank| here.get(rank.index()) == Some(&false)).collect()
    }

    /// Whether all that have come fit together.
    fn compare(&self) -> Result<(), Fault> {
        let all = |own: String, of: &dyn Fn(&Hello) -> String| {
            let mut votes = vec![(Rank::new(0), own)];
            votes.extend(self.guests.iter().map(|(_, hello)| (hello.rank, of(hello))));
            odd_one(&votes)
        };
        let versions = all(self.meeting.version.clone(), &Hello::version).map(|odd| (VERSION, odd));
        let found = versions.or_else(|| {
            all(self.meeting.ranks.to_string(), &|hello| hello.ranks.to_string()).map(|odd| (RANKS, odd))
        });
        if let Some((what, odd)) = found {
            return Err(Fault::Differs { rank: odd.rank, what, theirs: odd.theirs, ours: odd.ours });
        }
        let mut members: Vec<&Member> =
            self.guests.iter().filter_map(|(_, hello)| hello.member.as_ref()).collect();
        members.push(&self.me);
        members.sort_by_key(|member| member.rank);
        for pair in members.windows(2) {
            if let [first, second] = pair
                && first.rank == second.rank
            {
                let theirs = format!("two processes ({}; {})", first.label(), second.label());
                return Err(Fault::Differs {
                    rank: first.rank,
                    what: NUMBER,
                    theirs,
                    ours: "one each".to_owned(),
                });
            }
        }
        Ok(())
    }

    fn roster(&self) -> Roster {
        let mut members: Vec<Member> =
            self.guests.iter().filter_map(|(_, hello)| hello.member.clone()).collect();
        members.push(self.me.clone());
        members.sort_by_key(|member| member.rank);
        // Keyed at random by the standard library: two meetings of the same ranks have different ids.
        let mut id = RandomState::new().build_hasher();
        id.write_u64(self.meeting.id.0);
        Roster { id: MeetingId(id.finish()), members }
    }

    /// Tells all guests, and gives the last bytes a moment to leave.
    fn tell(&mut self, kind: u8, body: &[u8]) {
        self.guests.iter_mut().for_each(|(frames, _)| frames.send(kind, body));
        let end = Instant::now() + Duration::from_secs(1);
        while Instant::now() < end && !self.guests.iter_mut().all(|(frames, _)| frames.flush()) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

enum Heard {
    Hello(Hello),
    Nothing,
    Noise,
}

fn listen(frames: &mut Frames) -> Heard {
    frames.fill();
    if !frames.named() {
        match frames.take_plain(MAGIC) {
            Some(true) => {}
            Some(false) => return Heard::Noise,
            None => return if frames.ended().is_some() { Heard::Noise } else { Heard::Nothing },
        }
    }
    match frames.next() {
        Some((HELLO, body)) => match Hello::read(&body) {
            Some(hello) if hello.member.is_some() || hello.protocol != PROTOCOL => Heard::Hello(hello),
            Some(_) | None => Heard::Noise,
        },
        Some(_) => Heard::Noise,
        None if frames.ended().is_some() => Heard::Noise,
        None => Heard::Nothing,
    }
}
