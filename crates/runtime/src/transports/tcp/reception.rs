//! Where others connect to this rank.
#![expect(clippy::disallowed_methods, reason = "who says nothing is sent away after a while")]

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::PollFd;
use weft_collective::Rank;

use crate::frames::readable;
use crate::wire::{Put, Reader};
use crate::{Fault, limits};

const MAGIC: &[u8; 8] = b"WEFTLINK";
const ANSWER: &[u8; 8] = b"WEFTBACK";
/// All that is said before a connection is used.
const OPENING_BYTES: usize = 40;
const ANSWER_BYTES: usize = 24;
const INTRODUCTION: Duration = Duration::from_secs(5);
const CALLERS: usize = 4096;

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Opening {
    /// The roster's, which no stranger knows.
    pub id: u64,
    pub from: Rank,
    pub to: Rank,
    /// The channel whose bytes it carries; `None` for messages between transports.
    pub channel: Option<u16>,
    /// Comes back in the answer, so that an address that happens to exist elsewhere too is not taken for the peer's.
    pub nonce: u64,
}

impl Opening {
    pub(super) fn bytes(self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.put_u64(self.id);
        out.put_u32(self.from.get());
        out.put_u32(self.to.get());
        out.put_u32(self.channel.map_or(u32::MAX, u32::from));
        out.put_u32(0);
        out.put_u64(self.nonce);
        out
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader(bytes.strip_prefix(MAGIC)?);
        let (id, rank, to, channel) = (from.u64()?, from.rank()?, from.rank()?, from.u32()?);
        let (_, nonce) = (from.u32()?, from.u64()?);
        let channel = if channel == u32::MAX { None } else { Some(u16::try_from(channel).ok()?) };
        Some(Self { id, from: rank, to, channel, nonce })
    }

    /// What the other side says to it.
    fn answer(self) -> Vec<u8> {
        let mut out = ANSWER.to_vec();
        out.put_u64(self.nonce);
        out.put_u64(u64::from(self.to.get()));
        out
    }

    /// Reads the answer as far as it has come: whether it is the right one, or `None` while more must come.
    pub(super) fn accepts(self, stream: &mut TcpStream, answer: &mut Vec<u8>) -> Option<Result<(), String>> {
        let expected = self.answer();
        match read_up_to(stream, answer, ANSWER_BYTES) {
            Err(error) => Some(Err(error)),
            Ok(false) if expected.starts_with(answer) => None,
            Ok(_) if *answer == expected => Some(Ok(())),
            Ok(_) => Some(Err("another program answers there".to_owned())),
        }
    }
}

/// Reads until so many bytes are there; gives whether they are.
fn read_up_to(stream: &mut TcpStream, bytes: &mut Vec<u8>, wanted: usize) -> Result<bool, String> {
    while bytes.len() < wanted {
        let mut part = [0; OPENING_BYTES];
        let room = part.get_mut(..wanted - bytes.len()).unwrap_or_default();
        match stream.read(room) {
            Ok(0) => return Err("the connection was closed".to_owned()),
            Ok(read) => bytes.extend_from_slice(part.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(true)
}

/// The listening sockets, and those who have connected and not yet said who they are.
#[derive(Debug)]
pub(super) struct Reception {
    listeners: Vec<TcpListener>,
    callers: Vec<Caller>,
    /// Why nobody more can be let in.
    pub lacking: Option<Fault>,
}

#[derive(Debug)]
struct Caller {
    stream: TcpStream,
    from: SocketAddr,
    said: Vec<u8>,
    since: Instant,
}

/// One who belongs here.
#[derive(Debug)]
pub(super) struct Arrival {
    pub stream: TcpStream,
    pub from: SocketAddr,
    pub opening: Opening,
}

impl Reception {
    /// At these, which must not block.
    pub(super) fn new(listeners: Vec<TcpListener>) -> Self {
        Self { listeners, callers: Vec::new(), lacking: None }
    }

    /// Lets in who has come. Strangers are sent away without an answer.
    pub(super) fn admit(&mut self, id: u64, me: Rank) -> Vec<Arrival> {
        for listener in &self.listeners {
            loop {
                let (stream, from) = match listener.accept() {
                    Ok(caller) => caller,
                    Err(error) => {
                        self.lacking = limits::of_files(&error).or(self.lacking.take());
                        break;
                    }
                };
                if self.callers.len() < CALLERS && stream.set_nonblocking(true).is_ok() {
                    let said = Vec::with_capacity(OPENING_BYTES);
                    self.callers.push(Caller { stream, from, said, since: Instant::now() });
                }
            }
        }
        let mut arrivals = Vec::new();
        for mut caller in std::mem::take(&mut self.callers) {
            match read_up_to(&mut caller.stream, &mut caller.said, OPENING_BYTES) {
                Err(_) => {}
                Ok(false) => {
                    let fits = MAGIC.starts_with(caller.said.get(..8).unwrap_or(&caller.said));
                    if fits && caller.since.elapsed() < INTRODUCTION {
                        self.callers.push(caller);
                    }
                }
                Ok(true) => {
                    let opening = Opening::read(&caller.said).filter(|it| it.id == id && it.to == me);
                    let Some(opening) = opening else { continue };
                    // An answer fits into the buffer of a new connection.
                    let answered =
                        opening.channel.is_some() || caller.stream.write_all(&opening.answer()).is_ok();
                    if answered {
                        arrivals.push(Arrival { stream: caller.stream, from: caller.from, opening });
                    }
                }
            }
        }
        arrivals
    }

    /// What to wake up for.
    pub(super) fn fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        let callers = self.callers.iter().map(|caller| caller.stream.as_fd());
        let listeners = self.listeners.iter().map(readable);
        listeners.chain(callers.map(|fd| PollFd::from_borrowed_fd(fd, rustix::event::PollFlags::IN)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openings_are_read_as_written_and_nothing_else_is() {
        let opening =
            Opening { id: 1 << 60, from: Rank::new(3), to: Rank::new(9), channel: Some(65_535), nonce: 42 };
        for opening in [opening, Opening { channel: None, ..opening }] {
            let bytes = opening.bytes();
            assert_eq!(bytes.len(), OPENING_BYTES);
            assert_eq!(opening.answer().len(), ANSWER_BYTES);
            assert_eq!(Opening::read(&bytes), Some(opening));
            assert_eq!(Opening::read(&bytes[1..]), None);
        }
    }
}
