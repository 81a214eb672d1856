//! How a piece of a message is handed over: a line of its own says where it is, or holds it.
//!
//! A stream is a page and a ring. The page has a line in which the receiver counts what it has taken, and 32 slots of
//! a line each, which the sender fills in turn. The first word of a slot, written last, says which piece of the
//! stream it is, so that the receiver sees a small message and that it is there in one line.

use super::layout::LINE;

/// What the receiver counts: slots, bytes of the ring, bytes of the sender's own memory.
pub(super) const TAKEN: usize = 0;
pub(super) const FREED: usize = 8;
pub(super) const READ: usize = 16;
/// Slots of a stream; they fill the second half of the page.
pub(super) const SLOTS: u64 = 32;
const FIRST: usize = 2048;
/// Within a slot: what it is, by whom, and six words.
pub(super) const STAMP: usize = 0;
pub(super) const TAG: usize = 8;
pub(super) const WORDS: usize = 16;
/// Bytes that travel in a slot itself.
pub(super) const INLINE: usize = 48;

/// Where a slot lies in the page of its stream.
pub(super) fn place(number: u64) -> usize {
    FIRST + usize::try_from(number % SLOTS).unwrap_or(0) * LINE
}

/// Where a piece is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// In the slot.
    Inline = 0,
    /// In the ring, where the last one ended.
    Staged = 1,
    /// In the sender's memory, for the receiver to read.
    Direct = 2,
    /// In a buffer that all can map.
    Registered = 3,
}

/// The first word: number of the slot, plus one, kind, and length of what is inline.
pub(super) fn stamp(number: u64, kind: Kind, length: usize) -> u64 {
    (number + 1) << 16 | (kind as u64) << 8 | length as u64
}

/// Kind and length of the slot of that number, if the word is its.
pub(super) fn read_stamp(word: u64, number: u64) -> Option<(Kind, usize)> {
    if word >> 16 != number + 1 {
        return None;
    }
    let kind = match word >> 8 & 3 {
        0 => Kind::Inline,
        1 => Kind::Staged,
        2 => Kind::Direct,
        _ => Kind::Registered,
    };
    Some((kind, usize::from(word.to_le_bytes()[0]).min(INLINE)))
}
