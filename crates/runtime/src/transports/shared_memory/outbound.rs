//! The sending end of a stream.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::layout::{LINE, PAGE};
use super::mapping::Mapping;
use super::slot::{FREED, INLINE, Kind, READ, SLOTS, STAMP, TAG, TAKEN, WORDS, place, stamp};

/// A piece that the receiver reads where it is.
#[derive(Debug, Clone, Copy)]
struct Posted {
    /// What the receiver had read before it.
    before: u64,
    /// Of the piece as it was given.
    from: usize,
    until: usize,
}

/// Where a piece lies in a buffer that all can map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// In the file.
    pub(super) offset: u64,
    /// The buffer's, in the file.
    pub(super) buffer: u64,
    pub(super) buffer_bytes: u64,
}

/// How a piece is sent that does not fit into a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Copied to the ring, in parts of so many bytes at most; those of so many at least past the caches.
    Staged { part: usize, streamed_from: usize },
    /// Read by the receiver from this process.
    Direct,
    /// Read by the receiver from a buffer that it maps.
    Registered(Place),
}

/// The sending end of a stream.
pub(super) struct Outbound {
    stream: Mapping,
    ring: usize,
    /// Slots filled, and those that the receiver was last seen to have taken.
    slots: u64,
    taken: u64,
    /// Bytes of the ring filled, and those last seen freed.
    filled: u64,
    freed: u64,
    /// Bytes posted for the receiver to read.
    shown: u64,
    posted: Option<Posted>,
    /// Whether the last piece could not be sent as a whole.
    stuck: bool,
    /// Whether what could not be sent needs room in the ring besides a slot.
    needs_room: bool,
    /// Whether the present message has bytes.
    begun: bool,
    /// Whether the receiver can read this process's memory.
    pub(super) direct: bool,
}

impl Outbound {
    pub(super) fn new(stream: Mapping, ring: usize, direct: bool) -> Self {
        let (slots, taken, filled, freed, shown) = (0, 0, 0, 0, 0);
        Self {
            stream,
            ring,
            slots,
            taken,
            filled,
            freed,
            shown,
            posted: None,
            stuck: false,
            needs_room: false,
            begun: false,
            direct,
        }
    }

    /// Slots filled so far; more of them after a push mean that there is something to look at.
    pub(super) fn slots(&self) -> u64 {
        self.slots
    }

    /// Ends a message with nothing; an empty message takes a slot, so that it is seen to have come. Whether it could.
    pub(super) fn end(&mut self, tag: u64) -> bool {
        if std::mem::take(&mut self.begun) {
            return true;
        }
        (self.stuck, self.needs_room) = (!self.has_slot(), false);
        if !self.stuck {
            self.offer(Kind::Inline, 0, tag);
        }
        !self.stuck
    }

    /// Goes on with a piece that is not empty; gives how much of it is over.
    #[inline]
    pub(super) fn push(
        &mut self,
        (piece, end): (&[u8], bool),
        done: usize,
        tag: u64,
        way: impl FnOnce(&[u8]) -> Way,
    ) -> usize {
        let done = self.posted.map_or(done, |posted| self.over(posted));
        let rest = piece.get(done..).unwrap_or_default();
        self.needs_room = false;
        let over = if rest.is_empty() || self.posted.is_some() {
            done
        } else if rest.len() <= INLINE {
            done + self.push_inline(rest, tag)
        } else {
            match way(rest) {
                Way::Staged { part, streamed_from } => {
                    done + self.push_staged(rest, (part, streamed_from), tag)
                }
                Way::Direct => {
                    let address = rest.as_ptr().expose_provenance() as u64;
                    self.post(piece.len(), done, Kind::Direct, [address, 0, 0], tag)
                }
                Way::Registered(place) => {
                    let words = [place.offset, place.buffer, place.buffer_bytes];
                    self.post(piece.len(), done, Kind::Registered, words, tag)
                }
            }
        };
        self.stuck = over < piece.len();
        self.begun = self.stuck || !end;
        over
    }

    /// How far the receiver has read of what was posted.
    fn over(&mut self, posted: Posted) -> usize {
        let read = self.stream.word(READ).load(Acquire).wrapping_sub(posted.before);
        let length = posted.until - posted.from;
        let read = usize::try_from(read).unwrap_or(length).min(length);
        if read == length {
            self.posted = None;
        }
        posted.from + read
    }

    fn has_slot(&mut self) -> bool {
        if self.slots - self.taken < SLOTS {
            return true;
        }
        self.taken = self.stream.word(TAKEN).load(Acquire);
        self.slots - self.taken < SLOTS
    }

    /// Hands over the slot that is filled.
    #[inline]
    fn offer(&mut self, kind: Kind, inline: usize, tag: u64) {
        let slot = place(self.slots);
        self.stream.word(slot + TAG).store(tag, Relaxed);
        self.stream.word(slot + STAMP).store(stamp(self.slots, kind, inline), Release);
        self.slots += 1;
    }

    #[inline]
    fn push_inline(&mut self, piece: &[u8], tag: u64) -> usize {
        if !self.has_slot() {
            return 0;
        }
        let words = place(self.slots) + WORDS;
        let (whole, rest) = piece.as_chunks::<8>();
        for (index, word) in whole.iter().enumerate() {
            self.stream.word(words + index * 8).store(u64::from_ne_bytes(*word), Relaxed);
        }
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.stream.word(words + whole.len() * 8).store(u64::from_ne_bytes(word), Relaxed);
        }
        self.offer(Kind::Inline, piece.len(), tag);
        piece.len()
    }

    fn push_staged(&mut self, piece: &[u8], (part, streamed_from): (usize, usize), tag: u64) -> usize {
        let mut rest = piece;
        self.needs_room = true;
        while !rest.is_empty() && self.has_slot() {
            let at = usize::try_from(self.filled).unwrap_or(0) & (self.ring - 1);
            let wanted = rest.len().min(part).min(self.ring - at);
            let length = wanted.min(self.room(wanted));
            if length == 0 {
                break;
            }
            let (now, later) = rest.split_at(length);
            if length < streamed_from {
                self.stream.write(PAGE + at, now);
            } else {
                self.stream.write_streamed(PAGE + at, now);
            }
            self.stream.word(place(self.slots) + WORDS).store(length as u64, Relaxed);
            self.offer(Kind::Staged, 0, tag);
            self.filled += length.next_multiple_of(LINE) as u64;
            rest = later;
        }
        piece.len() - rest.len()
    }

    /// Bytes of the ring that are free, of which so many are wanted.
    fn room(&mut self, wanted: usize) -> usize {
        let room = |freed: u64| self.ring - usize::try_from(self.filled - freed).unwrap_or(self.ring);
        if room(self.freed) < wanted {
            self.freed = self.stream.word(FREED).load(Acquire);
        }
        room(self.freed)
    }

    fn post(&mut self, until: usize, from: usize, kind: Kind, place_words: [u64; 3], tag: u64) -> usize {
        if self.has_slot() {
            let words = place(self.slots) + WORDS;
            self.stream.word(words).store((until - from) as u64, Relaxed);
            for (index, word) in place_words.into_iter().enumerate() {
                self.stream.word(words + 8 + index * 8).store(word, Relaxed);
            }
            self.posted = Some(Posted { before: self.shown, from, until });
            self.shown += (until - from) as u64;
            self.offer(kind, 0, tag);
        }
        from
    }

    /// Whether a push would go on that did not before. No less than that: who waits does not sleep while it is so, and
    /// does not ask whether the receiver lives.
    pub(super) fn is_ready(&self) -> bool {
        let counter = |at| self.stream.word(at).load(Acquire);
        let has_slot = || self.slots - counter(TAKEN) < SLOTS;
        let has_room = || self.filled - counter(FREED) < self.ring as u64;
        self.stuck
            && match self.posted {
                Some(posted) => counter(READ) - posted.before >= (posted.until - posted.from) as u64,
                None => has_slot() && (!self.needs_room || has_room()),
            }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

    use super::super::inbound::{Inbound, Reach};
    use super::*;

    #[test]
    fn who_is_stuck_is_ready_only_where_the_next_push_goes_on() {
        const RING: usize = 4096;
        let file = Arc::new(memfd_create("outbound", MemfdFlags::CLOEXEC).unwrap());
        ftruncate(&*file, (PAGE + RING) as u64).unwrap();
        let mapping = || Mapping::new(&*file, 0, PAGE + RING, false).unwrap();
        let (mut outbound, mut inbound) =
            (Outbound::new(mapping(), RING, false), Inbound::new(mapping(), RING, std::process::id()));
        let mut reach = Reach::new(Arc::clone(&file), 1024);
        let piece = vec![7; 4 * RING];
        let push = |outbound: &mut Outbound, done| {
            outbound.push((&piece, true), done, 1, |_| Way::Staged { part: 1024, streamed_from: 512 })
        };

        // Four parts of 1024 fill the ring, though not the slots.
        assert!(!outbound.is_ready());
        assert_eq!(push(&mut outbound, 0), RING);
        assert!(!outbound.is_ready());
        let mut came = 0;
        let got =
            inbound.pull((1024, 4, false), 1, &mut reach, &mut |part: &[u8]| came += part.len()).unwrap();
        assert_eq!((got, came), (1024, 1024));
        // A slot was taken, and its bytes are free: a push goes on, and then waits again.
        assert!(outbound.is_ready());
        assert_eq!(push(&mut outbound, RING), RING + 1024);
        assert!(!outbound.is_ready());
    }
}
