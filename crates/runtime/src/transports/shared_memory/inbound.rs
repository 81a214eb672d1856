//! The receiving end of a stream.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::layout::{LINE, PAGE};
use super::mapping::Mapping;
use super::slot::{FREED, INLINE, Kind, READ, STAMP, TAG, TAKEN, WORDS, place, read_stamp};
use super::system;

/// Why nothing could be taken.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The sender has announced another call.
    Differs,
    /// The sender's memory cannot be read.
    Unreadable(io::Error),
}

/// Buffers of peers that are mapped at a time.
const WINDOWS_MOST: usize = 32;
/// Bytes after which a pull lets other streams have their turn.
const TURN: usize = 1 << 20;

/// How memory of others is seen.
pub(super) struct Reach {
    file: Arc<OwnedFd>,
    /// Buffers mapped, by their place in the file; the last one used is the last.
    windows: Vec<(u64, Mapping)>,
    /// What was read from another process, until it is taken: it stays in the processor's cache.
    bounce: Vec<u8>,
}

impl Reach {
    pub(super) fn new(file: Arc<OwnedFd>, part: usize) -> Self {
        Self { file, windows: Vec::new(), bounce: vec![0; part.max(LINE)] }
    }

    /// A buffer in the file, mapped.
    fn window(&mut self, buffer: u64, length: u64) -> io::Result<&Mapping> {
        let found = self.windows.iter().position(|(place, _)| *place == buffer);
        if let Some(index) = found {
            self.windows[index..].rotate_left(1);
        } else {
            let length = usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
            let window = Mapping::new(&self.file, buffer, length, true)?;
            if self.windows.len() == WINDOWS_MOST {
                self.windows.remove(0);
            }
            self.windows.push((buffer, window));
        }
        self.windows.last().map(|(_, window)| window).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// The piece that is being taken.
#[derive(Debug, Clone, Copy)]
struct Piece {
    kind: Kind,
    length: usize,
    taken: usize,
    words: [u64; 6],
}

/// The receiving end of a stream.
pub(super) struct Inbound {
    stream: Mapping,
    ring: usize,
    /// Process of the sender.
    process: u32,
    slots: u64,
    freed: u64,
    read: u64,
    piece: Option<Piece>,
    /// The beginning of a unit whose end is in another piece.
    split: Vec<u8>,
    /// Whether more was wanted than there was.
    hungry: bool,
    /// Whether bytes of the present message were taken.
    begun: bool,
}

impl Inbound {
    pub(super) fn new(stream: Mapping, ring: usize, process: u32) -> Self {
        let (slots, freed, read) = (0, 0, 0);
        Self {
            stream,
            ring,
            process,
            slots,
            freed,
            read,
            piece: None,
            split: Vec::new(),
            hungry: false,
            begun: false,
        }
    }

    /// How many slots have been emptied, by which it is seen that the sender may go on.
    pub(super) fn progress(&self) -> u64 {
        self.slots.wrapping_add(self.read)
    }

    /// How many bytes were read where the sender has them.
    #[inline]
    pub(super) fn read(&self) -> u64 {
        self.read
    }

    /// Takes what there is, at most `want` bytes.
    #[inline]
    pub(super) fn pull(
        &mut self,
        (want, unit, end): (usize, usize, bool),
        tag: u64,
        reach: &mut Reach,
        take: &mut impl FnMut(&[u8]),
    ) -> Result<usize, Trouble> {
        if want == 0 {
            return if end { self.end(tag, take) } else { Ok(0) };
        }
        let mut got = 0;
        while got < want && got < TURN {
            let Some(mut piece) =
                self.piece.take().map_or_else(|| self.open(tag), |piece| Ok(Some(piece)))?
            else {
                break;
            };
            let length = (piece.length - piece.taken).min(want - got - self.split.len());
            if self.split.is_empty() && length >= unit {
                let length = length - length % unit;
                let length = self.part(piece, length, unit, reach, take)?;
                piece.taken += length;
                got += length;
            } else {
                let length = length.min(unit - self.split.len());
                let mut split = std::mem::take(&mut self.split);
                piece.taken +=
                    self.part(piece, length, 1, reach, &mut |part| split.extend_from_slice(part))?;
                if split.len() == unit {
                    take(&split);
                    got += unit;
                    split.clear();
                }
                self.split = split;
            }
            self.close(piece);
        }
        self.hungry = got < want;
        self.begun = if self.hungry { self.begun || got > 0 } else { !end };
        Ok(got)
    }

    /// Whether what comes next is to be read from the sender's memory, which can be done to where it is wanted.
    #[inline]
    pub(super) fn is_direct(&mut self, tag: u64) -> Result<bool, Trouble> {
        if self.piece.is_none() {
            self.piece = self.open(tag)?;
        }
        Ok(self.split.is_empty() && self.piece.is_some_and(|piece| piece.kind == Kind::Direct))
    }

    /// Reads from the sender's memory to where the bytes are wanted; gives how many they were.
    pub(super) fn read_into(&mut self, into: &mut [u8], unit: usize, end: bool) -> Result<usize, Trouble> {
        let Some(mut piece) = self.piece.take() else { return Ok(0) };
        let length = (piece.length - piece.taken).min(into.len()).min((TURN / unit).max(1) * unit);
        let length = length - length % unit;
        let (now, later) = into.split_at_mut(length);
        if now.is_empty() {
            // Less than a unit: that is put together where parts are taken.
            self.piece = Some(piece);
            return Ok(0);
        }
        self.read_from(piece.words[1] + piece.taken as u64, now)?;
        self.count_read(length);
        piece.taken += length;
        self.close(piece);
        self.hungry = !later.is_empty();
        self.begun = self.hungry || !end;
        Ok(length)
    }

    /// Reads from the sender's memory.
    fn read_from(&self, address: u64, into: &mut [u8]) -> Result<(), Trouble> {
        let mut done = 0;
        while done < into.len() {
            let rest = into.get_mut(done..).unwrap_or_default();
            match system::read_memory(self.process, address + done as u64, rest)
                .map_err(Trouble::Unreadable)?
            {
                0 => return Err(Trouble::Unreadable(io::ErrorKind::UnexpectedEof.into())),
                count => done += count,
            }
        }
        Ok(())
    }

    /// Takes the end of a message of which all bytes are taken: an empty one comes in a slot.
    #[cold]
    fn end(&mut self, tag: u64, take: &mut impl FnMut(&[u8])) -> Result<usize, Trouble> {
        let has_come = if std::mem::take(&mut self.begun) {
            true
        } else if let Some(piece) = self.open(tag)? {
            self.close(piece);
            true
        } else {
            false
        };
        self.hungry = !has_come;
        if has_come {
            take(&[]);
        }
        Ok(0)
    }

    /// The next piece, if it is there.
    #[inline]
    fn open(&self, tag: u64) -> Result<Option<Piece>, Trouble> {
        let slot = place(self.slots);
        let Some((kind, inline)) = read_stamp(self.stream.word(slot + STAMP).load(Acquire), self.slots)
        else {
            return Ok(None);
        };
        if self.stream.word(slot + TAG).load(Relaxed) != tag {
            return Err(Trouble::Differs);
        }
        let word = |index: usize| self.stream.word(slot + WORDS + index * 8).load(Relaxed);
        let words = [word(0), word(1), word(2), word(3), word(4), word(5)];
        let length = match kind {
            Kind::Inline => inline,
            Kind::Staged | Kind::Direct | Kind::Registered => usize::try_from(words[0]).unwrap_or(usize::MAX),
        };
        Ok(Some(Piece { kind, length, taken: 0, words }))
    }

    /// Hands on the next part of a piece, at most so many bytes; gives how many, a multiple of `unit`.
    #[inline]
    fn part(
        &mut self,
        piece: Piece,
        length: usize,
        unit: usize,
        reach: &mut Reach,
        take: &mut impl FnMut(&[u8]),
    ) -> Result<usize, Trouble> {
        match piece.kind {
            Kind::Inline => {
                let mut bytes = [0; INLINE];
                for (into, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(piece.words) {
                    *into = word.to_ne_bytes();
                }
                take(&bytes[piece.taken..piece.taken + length]);
                Ok(length)
            }
            Kind::Staged => {
                let at = usize::try_from(self.freed).unwrap_or(0) & (self.ring - 1);
                take(self.stream.bytes(PAGE + at + piece.taken, length));
                Ok(length)
            }
            Kind::Direct => {
                if reach.bounce.len() < unit {
                    reach.bounce.resize(unit, 0);
                }
                let length = length.min(reach.bounce.len() / unit * unit);
                let address = piece.words[1] + piece.taken as u64;
                self.read_from(address, &mut reach.bounce[..length])?;
                self.count_read(length);
                take(&reach.bounce[..length]);
                Ok(length)
            }
            Kind::Registered => {
                let [_, place, buffer, bytes, ..] = piece.words;
                let window = reach.window(buffer, bytes).map_err(Trouble::Unreadable)?;
                let at = usize::try_from(place - buffer).unwrap_or(usize::MAX);
                // Not all at once, so that the sender sees it move.
                let length = length.min((TURN / unit).max(1) * unit);
                take(window.bytes(at + piece.taken, length));
                self.count_read(length);
                Ok(length)
            }
        }
    }

    fn count_read(&mut self, length: usize) {
        self.read += length as u64;
        self.stream.word(READ).store(self.read, Release);
    }

    /// Puts a piece back, or gives its slot back if all of it is taken.
    #[inline]
    fn close(&mut self, piece: Piece) {
        if piece.taken < piece.length {
            self.piece = Some(piece);
            return;
        }
        if piece.kind == Kind::Staged {
            self.freed += piece.length.next_multiple_of(LINE) as u64;
            self.stream.word(FREED).store(self.freed, Release);
        }
        self.slots += 1;
        self.stream.word(TAKEN).store(self.slots, Release);
    }

    /// Whether a pull would find what the last one lacked.
    pub(super) fn is_ready(&self) -> bool {
        let word = || self.stream.word(place(self.slots) + STAMP).load(Acquire);
        self.hungry && (self.piece.is_some() || read_stamp(word(), self.slots).is_some())
    }
}
