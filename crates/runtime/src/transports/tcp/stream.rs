//! One connection that carries the bytes of one channel to one peer and back.
//!
//! A channel has a connection of its own, never a share of one. Streams of different channels must not wait for each
//! other; on a shared connection a message that nobody takes yet would hold up what comes behind it, unless the receiver
//! kept it, without bound. So the bytes need no frames either: only the first message of a call has a header.

use std::io::{IoSlice, IoSliceMut};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendFlags, recv, recvmsg, sendmsg};

use crate::frames::wait_for;

/// A mark, the number of early messages, the number of the call and its signature.
pub(super) const HEADER_BYTES: usize = 16;
/// `weft`; bytes that are no header are known by it.
const MARK: u16 = u16::from_le_bytes(*b"we");
/// All there is of an empty message.
const MARK_OF_EMPTY: u8 = 0xE0;
/// What one call of the system gets to send, so that data on its way through the cache is not driven out of it by data
/// that waits behind it.
const SEND_BYTES: usize = 512 << 10;

/// Shorter pieces are staged with what comes behind them: a copy of so little costs less than a further call of the
/// system.
const DIRECT_BYTES: usize = 16 << 10;

/// A call as the bytes of a stream name it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CallId {
    pub number: u32,
    pub signature: u64,
}

impl CallId {
    fn header(self, early: u16) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        let (mark, rest) = header.split_at_mut(2);
        let (messages, rest) = rest.split_at_mut(2);
        let (number, signature) = rest.split_at_mut(4);
        mark.copy_from_slice(&MARK.to_le_bytes());
        messages.copy_from_slice(&early.to_le_bytes());
        number.copy_from_slice(&self.number.to_le_bytes());
        signature.copy_from_slice(&self.signature.to_le_bytes());
        header
    }

    fn read(header: [u8; HEADER_BYTES]) -> Option<(Self, u16)> {
        let [m0, m1, e0, e1, n0, n1, n2, n3, signature @ ..] = header;
        let (mark, number) = (u16::from_le_bytes([m0, m1]), u32::from_le_bytes([n0, n1, n2, n3]));
        let call = Self { number, signature: u64::from_le_bytes(signature) };
        (mark == MARK).then(|| (call, u16::from_le_bytes([e0, e1])))
    }
}

/// Why a stream cannot go on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// The connection is gone.
    Ended(String),
    /// The peer makes another call; `None` if what came is no header.
    Other(Option<CallId>),
}

impl Broken {
    fn closed() -> Self {
        Self::Ended("its connection was closed".to_owned())
    }
}

/// One connection, with what was read and not yet taken.
#[derive(Debug)]
pub(super) struct Stream {
    socket: TcpStream,
    staging: Vec<u8>,
    /// What is read lies between these two.
    start: usize,
    end: usize,
    /// The call whose header was sent.
    sent: Option<u32>,
    /// Headers and marks that the connection has not taken yet; they go before all else.
    owed: Vec<u8>,
    /// Whether the present message had bytes before its present piece, either way.
    begun_out: bool,
    begun_in: bool,
    /// The call whose header was read.
    seen: Option<u32>,
    /// Empty messages of a call that went another way, before there was this connection: how many were sent so, how
    /// many of the present call were and are to be received so.
    pub early_sent: (u32, u16),
    early_taken: (u32, u16),
    early_awaited: u16,
    /// Whether the last push found the connection full, the last pull found it empty.
    full: bool,
    empty: bool,
    /// Bytes of the present call, for messages.
    bytes_in: u64,
    bytes_out: u64,
}

impl Stream {
    pub(super) fn new(socket: TcpStream, staging_bytes: usize) -> Self {
        Self {
            socket,
            staging: vec![0; staging_bytes.max(4096)],
            start: 0,
            end: 0,
            sent: None,
            owed: Vec::new(),
            begun_out: false,
            begun_in: false,
            seen: None,
            early_sent: (0, 0),
            early_taken: (0, 0),
            early_awaited: 0,
            full: false,
            empty: false,
            bytes_in: 0,
            bytes_out: 0,
        }
    }

    /// Sends of a piece what the connection takes, behind the header where it is the first of the call.
    pub(super) fn push(
        &mut self,
        call: CallId,
        piece: &[u8],
        mut done: usize,
        end: bool,
    ) -> Result<usize, Broken> {
        if self.sent != Some(call.number) {
            self.sent = Some(call.number);
            self.bytes_out = 0;
            self.begun_out = false;
            let early = if self.early_sent.0 == call.number { self.early_sent.1 } else { 0 };
            self.owed.extend_from_slice(&call.header(early));
        }
        if piece.is_empty() && end && !self.begun_out {
            self.owed.push(MARK_OF_EMPTY);
        }
        let rest = piece.get(done..).unwrap_or_default();
        let offered = rest.get(..SEND_BYTES).unwrap_or(rest);
        if !offered.is_empty() || !self.owed.is_empty() {
            let sent = self.send(offered)?;
            done += sent;
            self.bytes_out += sent as u64;
        }
        if !piece.is_empty() || end {
            self.begun_out = !(end && done == piece.len());
        }
        Ok(done)
    }

    /// Sends what is owed and then of `offered` what the connection takes, in one call of the system: what comes in is
    /// wanted as much as what goes out.
    fn send(&mut self, offered: &[u8]) -> Result<usize, Broken> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        loop {
            let sent = if self.owed.is_empty() {
                rustix::net::send(&self.socket, offered, flags)
            } else {
                let parts = [IoSlice::new(&self.owed), IoSlice::new(offered)];
                sendmsg(&self.socket, &parts, &mut SendAncillaryBuffer::default(), flags)
            };
            match sent {
                Ok(sent) => {
                    self.full = sent < self.owed.len() + offered.len();
                    let of_owed = sent.min(self.owed.len());
                    self.owed.drain(..of_owed);
                    return Ok(sent - of_owed);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.full = true;
                    return Ok(0);
                }
                Err(error) => return Err(Broken::Ended(error.to_string())),
            }
        }
    }

    /// Sends what is owed, if anything is.
    pub(super) fn settle(&mut self) -> Result<(), Broken> {
        if self.owed.is_empty() { Ok(()) } else { self.send(&[]).map(drop) }
    }

    /// Whether something is owed.
    pub(super) fn owes(&self) -> bool {
        !self.owed.is_empty()
    }

    /// Takes what has come, at most `want` bytes in parts of multiples of `unit`. Reads once at most.
    pub(super) fn pull(
        &mut self,
        call: CallId,
        (want, unit, end): (usize, usize, bool),
        mut take: impl FnMut(&[u8]),
    ) -> Result<usize, Broken> {
        self.empty = false;
        if want == 0 {
            if end && !self.begun_in {
                self.pull_empty(call, take)?;
            }
            self.begun_in &= !end;
            return Ok(0);
        }
        let mut got = self.hand(call, want, unit, &mut take)?;
        if got < want {
            self.read()?;
            got += self.hand(call, want - got, unit, &mut take)?;
        }
        if got > 0 {
            self.begun_in = !(end && got == want);
        }
        Ok(got)
    }

    /// As [`Self::pull`], but bytes that are only kept go where they belong without being staged; what comes behind them
    /// is staged.
    pub(super) fn pull_into(&mut self, call: CallId, into: &mut [u8], end: bool) -> Result<usize, Broken> {
        let want = into.len();
        if want < DIRECT_BYTES || self.seen != Some(call.number) {
            // Parts of elements are taken too: they are completed where they are.
            let mut at = 0;
            return self.pull(call, (want, 1, end), |part| {
                if let Some(place) = into.get_mut(at..at + part.len()) {
                    place.copy_from_slice(part);
                }
                at += part.len();
            });
        }
        self.empty = false;
        let mut got = 0;
        let staged = self.staging.get(self.start..self.end).unwrap_or_default();
        for (place, byte) in into.iter_mut().zip(staged) {
            *place = *byte;
            got += 1;
        }
        self.start += got;
        if let Some(rest) = into.get_mut(got..).filter(|rest| !rest.is_empty()) {
            (self.start, self.end) = (0, 0);
            let rest_bytes = rest.len();
            let read = receive(&self.socket, rest, &mut self.staging)?;
            self.empty = read.is_none();
            let read = read.unwrap_or(0);
            self.end = read.saturating_sub(rest_bytes);
            got += read.min(rest_bytes);
        }
        self.bytes_in += got as u64;
        if got > 0 {
            self.begun_in = !(end && got == want);
        }
        Ok(got)
    }

    /// Takes the mark of an empty message.
    fn pull_empty(&mut self, call: CallId, mut take: impl FnMut(&[u8])) -> Result<(), Broken> {
        if self.start == self.end {
            self.read()?;
        }
        let headed = self.head(call)?;
        let taken = if self.early_taken.0 == call.number { self.early_taken.1 } else { 0 };
        if headed && taken >= self.early_awaited && self.hand(call, 1, 1, &mut |_| {})? == 1 {
            take(&[]);
        }
        Ok(())
    }

    /// Whether empty messages of this call may still come another way.
    pub(super) fn awaits_early(&self, call: CallId) -> bool {
        let taken = if self.early_taken.0 == call.number { self.early_taken.1 } else { 0 };
        self.seen.is_none() || self.seen == Some(call.number) && taken < self.early_awaited
    }

    /// One of them has come.
    pub(super) fn take_early(&mut self, call: CallId) {
        let taken = if self.early_taken.0 == call.number { self.early_taken.1 } else { 0 };
        self.early_taken = (call.number, taken + 1);
    }

    /// Takes the header of a call; whether it has been taken.
    fn head(&mut self, call: CallId) -> Result<bool, Broken> {
        if self.seen == Some(call.number) {
            return Ok(true);
        }
        let staged = self.staging.get(self.start..self.end).unwrap_or_default();
        let Some(header) = staged.first_chunk::<HEADER_BYTES>() else { return Ok(false) };
        let theirs = CallId::read(*header);
        match theirs {
            Some((theirs, early)) if theirs == call => {
                self.seen = Some(call.number);
                self.start += HEADER_BYTES;
                self.early_awaited = early;
                self.bytes_in = 0;
                self.begun_in = false;
                Ok(true)
            }
            Some(_) | None => Err(Broken::Other(theirs.map(|(theirs, _)| theirs))),
        }
    }

    /// Hands out what is staged.
    fn hand(
        &mut self,
        call: CallId,
        want: usize,
        unit: usize,
        take: &mut impl FnMut(&[u8]),
    ) -> Result<usize, Broken> {
        if self.start == self.end {
            return Ok(0);
        }
        if !self.head(call)? {
            return Ok(0);
        }
        let staged = self.staging.get(self.start..self.end).unwrap_or_default();
        let ready = staged.len().min(want);
        let whole = ready - ready % unit.max(1);
        if whole > 0 {
            take(staged.get(..whole).unwrap_or_default());
            self.start += whole;
            self.bytes_in += whole as u64;
        }
        Ok(whole)
    }

    fn read(&mut self) -> Result<(), Broken> {
        // What is left is a header or an element cut in two: few bytes.
        self.staging.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        loop {
            let room = self.staging.get_mut(self.end..).unwrap_or_default();
            match recv(&self.socket, room, RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err(Broken::closed()),
                Ok((read, _)) => {
                    self.end += read;
                    return Ok(());
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.empty = true;
                    return Ok(());
                }
                Err(error) => return Err(Broken::Ended(error.to_string())),
            }
        }
    }

    /// Bytes that were taken in this call.
    pub(super) fn bytes_in(&self, call: CallId) -> u64 {
        if self.seen == Some(call.number) { self.bytes_in } else { 0 }
    }

    /// Bytes that were sent in this call.
    pub(super) fn bytes_out(&self, call: CallId) -> u64 {
        if self.sent == Some(call.number) { self.bytes_out } else { 0 }
    }

    /// What it is worth waking up for.
    pub(super) fn awaited(&self) -> PollFlags {
        match (self.full || self.owes(), self.empty) {
            (true, true) => PollFlags::IN | PollFlags::OUT,
            (true, false) => PollFlags::OUT,
            (false, true | false) => PollFlags::IN,
        }
    }
}

/// Reads into two places, one after the other; `None` if nothing has come.
fn receive(socket: &TcpStream, first: &mut [u8], second: &mut [u8]) -> Result<Option<usize>, Broken> {
    loop {
        let mut parts = [IoSliceMut::new(first), IoSliceMut::new(second)];
        let mut none = RecvAncillaryBuffer::default();
        match recvmsg(socket, &mut parts, &mut none, RecvFlags::DONTWAIT) {
            Ok(message) if message.bytes == 0 => return Err(Broken::closed()),
            Ok(message) => return Ok(Some(message.bytes)),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(None),
            Err(error) => return Err(Broken::Ended(error.to_string())),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        for _ in 0..20 {
            if self.settle().is_err() || !self.owes() {
                break;
            }
            wait_for(&mut [PollFd::new(&self.socket, PollFlags::OUT)], Duration::from_millis(10));
        }
        // Closing while unread bytes are there would reset the connection, and with it what is still on its way out.
        for _ in 0..64 {
            match recv(&self.socket, self.staging.as_mut_slice(), RecvFlags::DONTWAIT) {
                Ok((1.., _)) | Err(Errno::INTR) => {}
                Ok(_) | Err(_) => break,
            }
        }
    }
}
