//! What ranks that have met still tell each other, before they part.
#![expect(clippy::disallowed_methods, reason = "who says nothing is waited for until a deadline")]

use std::time::{Duration, Instant};

use rustix::event::PollFd;
use weft_collective::Rank;

use super::{FAULT, Roster, TEXT, TEXTS};
use crate::Fault;
use crate::frames::{Frames, readable, wait_for};
use crate::wire::{Put, Reader};

/// So much longer than the deadline the others wait for what rank 0 says of it.
const GRACE: Duration = Duration::from_secs(1);
/// Who waits looks around so often at least.
const LOOKS: Duration = Duration::from_millis(100);

/// Ranks that have met, and whose connections to rank 0 are still there.
#[derive(Debug)]
pub(crate) struct Gathering {
    roster: Roster,
    me: Rank,
    /// Of rank 0 to each other one; of the others to rank 0.
    lines: Vec<(Rank, Frames)>,
}

impl Gathering {
    pub(super) fn of_host(roster: Roster, lines: Vec<(Rank, Frames)>) -> Self {
        Self { roster, me: Rank::new(0), lines }
    }

    pub(super) fn of_guest(roster: Roster, me: Rank, line: Frames) -> Self {
        Self { roster, me, lines: vec![(Rank::new(0), line)] }
    }

    pub(crate) fn roster(&self) -> &Roster {
        &self.roster
    }

    /// Tells all ranks a short text of each, in order. Who has not told its own by the deadline is named to all.
    pub(crate) fn exchange(&mut self, text: &str, deadline: Duration) -> Result<Vec<String>, Fault> {
        let mut own = Vec::new();
        own.put_text(text);
        if self.me.get() > 0 {
            self.lines.iter_mut().for_each(|(_, line)| line.send(TEXT, &own));
            let told = self.hear(deadline + GRACE, TEXTS)?;
            let mut from = Reader(told.first().map_or(&[], |(_, body)| body.as_slice()));
            return Ok(self.roster.members.iter().filter_map(|_| from.text()).collect());
        }
        let told = self.hear(deadline, TEXT);
        let mut texts = vec![String::new(); self.roster.members.len()];
        for (rank, body) in
            told.iter().flatten().map(|(rank, body)| (*rank, body.as_slice())).chain([(self.me, &*own)])
        {
            if let (Some(seat), Some(text)) = (texts.get_mut(rank.index()), Reader(body).text()) {
                *seat = text;
            }
        }
        let mut body = Vec::new();
        match &told {
            Ok(_) => texts.iter().for_each(|text| body.put_text(text)),
            Err(fault) => body.put_fault(fault, self.me),
        }
        let kind = if told.is_ok() { TEXTS } else { FAULT };
        self.lines.iter_mut().for_each(|(_, line)| line.send(kind, &body));
        let end = Instant::now() + GRACE;
        while Instant::now() < end && !self.lines.iter_mut().all(|(_, line)| line.flush()) {
            std::thread::sleep(Duration::from_millis(1));
        }
        told.map(|_| texts)
    }

    /// Waits for a frame of that kind from each.
    fn hear(&mut self, deadline: Duration, wanted: u8) -> Result<Vec<(Rank, Vec<u8>)>, Fault> {
        let start = Instant::now();
        let mut told: Vec<(Rank, Vec<u8>)> = Vec::new();
        loop {
            for (rank, line) in &mut self.lines {
                line.flush();
                line.fill();
                while let Some((kind, body)) = line.next() {
                    if kind == wanted {
                        told.push((*rank, body));
                    } else if let (FAULT, Some(fault)) = (kind, Reader(&body).fault()) {
                        return Err(fault);
                    }
                }
                if let (Some(how), false) = (line.ended(), told.iter().any(|(teller, _)| teller == rank)) {
                    return Err(Fault::Dead { rank: *rank, how: how.to_owned() });
                }
            }
            let mut lines = self.lines.iter();
            let Some((late, _)) = lines.find(|(rank, _)| told.iter().all(|(teller, _)| teller != rank))
            else {
                return Ok(told);
            };
            let waited = start.elapsed();
            if waited >= deadline {
                let how = "it was not heard of after the meeting".to_owned();
                return Err(Fault::Silent { rank: *late, waited, how });
            }
            let mut fds: Vec<PollFd<'_>> = self.lines.iter().map(|(_, line)| readable(line)).collect();
            wait_for(&mut fds, LOOKS.min(deadline.saturating_sub(waited)));
        }
    }
}
