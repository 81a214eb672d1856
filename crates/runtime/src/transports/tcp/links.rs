//! Connects each pair of ranks for the first time: the higher one tries the addresses of the lower one.
#![expect(clippy::disallowed_methods, reason = "attempts end after a while")]

use std::fmt::Write as _;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{ErrorKind, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};

use super::candidates::{Candidate, candidates};
use super::notes::{self, Note};
use super::reception::{Arrival, Opening, Reception};
use crate::frames::{Frames, readable, wait_for};
use crate::rendezvous::{Member, Roster};
use crate::{Fault, limits};

/// How long one address may take at first; twice as long in each further round.
const PATIENCE: Duration = Duration::from_millis(300);
/// Between two rounds through the addresses of a peer.
const PAUSE: Duration = Duration::from_millis(20);

/// A peer that was reached.
#[derive(Debug)]
pub(super) struct Link {
    /// For messages between the transports.
    pub control: Frames,
    /// Where it was reached, and from which address if from a certain one; `None` where it came by itself.
    pub way: Option<(SocketAddr, Option<IpAddr>)>,
    /// Why this way.
    pub reason: String,
    /// What it has told while others were still connecting.
    pub notes: Vec<Note>,
    /// Whether it has reached all others.
    connected: bool,
}

/// Connects this rank with all others, and waits until all are with all: who is quicker must not take a rank for silent
/// that others cannot reach. Fails by the deadline with the first that could not be reached.
pub(super) fn connect_all(
    reception: &mut Reception,
    roster: &Roster,
    me: &Member,
    forced: bool,
    deadline: Duration,
) -> Result<(Vec<Option<Link>>, Vec<Arrival>), Fault> {
    // Who is quicker may already use channels.
    let mut early = Vec::new();
    let mut links: Vec<Option<Link>> = roster.members.iter().map(|_| None).collect();
    let lower = roster.members.iter().take_while(|peer| peer.rank < me.rank);
    let mut attempts: Vec<Attempt> =
        lower.map(|peer| Attempt::new(roster.id.0, me, peer, candidates(me, peer, forced))).collect();
    let end = Instant::now() + deadline;
    let mut connected = false;
    let outcome = loop {
        for arrival in reception.admit(roster.id.0, me.rank) {
            if arrival.opening.channel.is_some() {
                early.push(arrival);
            } else if let Some(peer) = roster.members.get(arrival.opening.from.index()) {
                seat(arrival, peer, &mut links);
            }
        }
        attempts.retain_mut(|attempt| match (attempt.step(), links.get_mut(attempt.opening.to.index())) {
            (Some(link), Some(seat)) => {
                *seat = Some(link);
                false
            }
            _ => true,
        });
        let lacking = attempts.iter_mut().find_map(|attempt| attempt.lacking.take());
        if let Some(fault) = reception.lacking.take().or(lacking) {
            break Err(fault);
        }
        if let Some(fault) = links.iter_mut().flatten().find_map(told) {
            break Err(fault);
        }
        let mut absent = roster.members.iter().filter(|peer| peer.rank != me.rank);
        let absent = absent.find(|peer| matches!(links.get(peer.rank.index()), Some(None)));
        if absent.is_none() && !std::mem::replace(&mut connected, true) {
            let all = links.iter_mut().flatten();
            all.for_each(|link| Note::Connected.send(&mut link.control, me.rank));
        }
        let late = links.iter().position(|link| link.as_ref().is_some_and(|link| !link.connected));
        let now = Instant::now();
        match (absent, late.and_then(|index| roster.members.get(index))) {
            (None, None) => break Ok(()),
            // Who tries to connect knows more than who is to be connected to, and speaks first.
            (Some(absent), _) if now >= if absent.rank < me.rank { end } else { end + deadline / 8 } => {
                break Err(unreachable(absent, attempts.first(), me, deadline));
            }
            // It has its own deadline, and will say whom it cannot reach.
            (None, Some(late)) if now >= end + deadline / 4 => {
                let how = format!("it ({}) did not connect with all others", late.label());
                break Err(Fault::Unreachable { rank: late.rank, how });
            }
            (None | Some(_), _) => {}
        }
        let mut fds: Vec<PollFd<'_>> = reception.fds().collect();
        fds.extend(attempts.iter().filter_map(Attempt::fd));
        fds.extend(links.iter().flatten().map(|link| readable(&link.control)));
        wait_for(&mut fds, PAUSE);
    };
    if let Err(fault) = &outcome {
        links.iter_mut().flatten().for_each(|link| notes::send_fault(&mut link.control, fault, me.rank));
    }
    outcome.map(|()| (links, early))
}

/// Notes that a peer has come.
fn seat(arrival: Arrival, peer: &Member, links: &mut [Option<Link>]) {
    if let (Ok(control), Some(seat)) = (Frames::new(arrival.stream), links.get_mut(peer.rank.index())) {
        let reason = format!("rank {} ({}) came from {}", peer.rank, peer.label(), arrival.from);
        // Who comes again has given up the connection that it came over first.
        *seat = Some(Link { control, way: None, reason, notes: Vec::new(), connected: false });
    }
}

/// The fault that a peer has told already.
fn told(link: &mut Link) -> Option<Fault> {
    link.control.fill();
    while let Some((kind, body)) = link.control.next() {
        match Note::read(kind, &body) {
            Some(Note::Fault(fault)) => return Some(fault),
            Some(Note::Connected) => link.connected = true,
            other => link.notes.extend(other),
        }
    }
    None
}

fn unreachable(absent: &Member, attempt: Option<&Attempt>, me: &Member, waited: Duration) -> Fault {
    let waited = waited.as_secs_f64();
    let how = if let Some(attempt) = attempt.filter(|attempt| attempt.opening.to == absent.rank) {
        let log = attempt.log();
        format!("within {waited} s none of its addresses led to it ({}): {log}", absent.label())
    } else {
        format!("within {waited} s it ({}) did not connect to {}", absent.label(), listed(me))
    };
    Fault::Unreachable { rank: absent.rank, how }
}

/// Where a rank listens.
fn listed(member: &Member) -> String {
    let endpoints = member.endpoints.iter();
    let all: Vec<String> =
        endpoints.map(|endpoint| format!("{} ({})", endpoint.address, endpoint.interface)).collect();
    all.join(", ")
}

/// The way to one peer, while it is looked for.
struct Attempt {
    opening: Opening,
    label: String,
    candidates: Vec<Candidate>,
    /// Where it listens.
    offered: String,
    /// What came of each address, last.
    outcomes: Vec<String>,
    index: usize,
    round: u32,
    present: Option<Trial>,
    not_before: Instant,
    /// What this process itself has too little of.
    lacking: Option<Fault>,
}

struct Trial {
    stream: TcpStream,
    opened: bool,
    answer: Vec<u8>,
    since: Instant,
}

impl Attempt {
    fn new(id: u64, me: &Member, peer: &Member, candidates: Vec<Candidate>) -> Self {
        // Keyed at random by the standard library.
        let nonce = RandomState::new().build_hasher().finish();
        let opening = Opening { id, from: me.rank, to: peer.rank, channel: None, nonce };
        let outcomes = candidates.iter().map(|_| "not tried".to_owned()).collect();
        let label = format!("rank {} ({})", peer.rank, peer.label());
        let not_before = Instant::now();
        let offered = listed(peer);
        let (present, lacking) = (None, None);
        Self {
            opening,
            label,
            candidates,
            offered,
            outcomes,
            index: 0,
            round: 0,
            present,
            not_before,
            lacking,
        }
    }

    /// Goes on as far as it can without waiting.
    fn step(&mut self) -> Option<Link> {
        let now = Instant::now();
        let mut trial = match self.present.take() {
            Some(trial) => trial,
            None if now < self.not_before => return None,
            None => {
                let candidate = self.candidates.get(self.index)?;
                match begin(candidate.endpoint.address, candidate.from.as_ref().map(|own| own.address.ip())) {
                    Ok(stream) => Trial { stream, opened: false, answer: Vec::new(), since: now },
                    Err(error) => {
                        self.lacking = limits::of_files(&error);
                        self.fail(error.to_string());
                        return None;
                    }
                }
            }
        };
        match advance(&mut trial, self.opening) {
            Some(Ok(())) => return self.reached(trial),
            Some(Err(how)) => self.fail(how),
            None => {
                let patience = PATIENCE * 2_u32.pow(self.round.min(6));
                if trial.since.elapsed() < patience {
                    self.present = Some(trial);
                } else {
                    self.fail(format!("no answer within {} s", patience.as_secs_f64()));
                }
            }
        }
        None
    }

    fn fail(&mut self, how: String) {
        if let Some(outcome) = self.outcomes.get_mut(self.index) {
            *outcome = how;
        }
        self.index += 1;
        if self.index >= self.candidates.len() {
            self.index = 0;
            self.round += 1;
            self.not_before = Instant::now() + PAUSE;
        }
    }

    fn reached(&mut self, trial: Trial) -> Option<Link> {
        let candidate = self.candidates.get(self.index)?;
        let control = Frames::new(trial.stream).ok()?;
        let Candidate { endpoint, from, why } = candidate;
        let speed = endpoint.speed_mbit_per_s.map(|speed| format!(", {speed} Mbit/s")).unwrap_or_default();
        let mut reason =
            format!("{} over {} ({}{speed}), {why}", self.label, endpoint.address, endpoint.interface);
        let failed = self.outcomes.iter().zip(&self.candidates).take(self.index);
        for (outcome, other) in failed {
            write!(reason, "; not {} ({}): {outcome}", other.endpoint.address, other.endpoint.interface).ok();
        }
        let way = Some((endpoint.address, from.as_ref().map(|own| own.address.ip())));
        Some(Link { control, way, reason, notes: Vec::new(), connected: false })
    }

    fn log(&self) -> String {
        let tried = self.outcomes.iter().zip(&self.candidates);
        let lines: Vec<String> = tried
            .map(|(outcome, one)| {
                format!("{} ({}, {}): {outcome}", one.endpoint.address, one.endpoint.interface, one.why)
            })
            .collect();
        if lines.is_empty() {
            format!("it listens on {} only, which leads nowhere from here", self.offered)
        } else {
            lines.join("; ")
        }
    }

    fn fd(&self) -> Option<PollFd<'_>> {
        let trial = self.present.as_ref()?;
        let awaited = if trial.opened { PollFlags::IN } else { PollFlags::OUT };
        Some(PollFd::new(&trial.stream, awaited))
    }
}

/// Begins to connect, without waiting.
pub(super) fn begin(to: SocketAddr, from: Option<IpAddr>) -> std::io::Result<TcpStream> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    if let Some(from) = from {
        bind(&socket, &SocketAddr::new(from, 0))?;
    }
    match connect(&socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(TcpStream::from(socket)),
        Err(error) => Err(error.into()),
    }
}

fn advance(trial: &mut Trial, opening: Opening) -> Option<Result<(), String>> {
    if !trial.opened {
        match trial.stream.write(&opening.bytes()) {
            // A new connection takes so few bytes whole.
            Ok(_) => trial.opened = true,
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::NotConnected | ErrorKind::Interrupted
                ) =>
            {
                return None;
            }
            Err(error) => return Some(Err(error.to_string())),
        }
    }
    opening.accepts(&mut trial.stream, &mut trial.answer)
}
