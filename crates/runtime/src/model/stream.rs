//! One direction between two ranks on a channel, in virtual time.

use std::collections::VecDeque;

/// How a piece travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// In one line of the cache.
    Line,
    /// Copied by the sender to where the receiver takes it.
    Stream,
    /// Read by the receiver.
    Direct,
    /// Read by the receiver from a buffer that it maps.
    Registered,
}

/// Since when bytes that are read in the sender's memory are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Age {
    /// They are what the sender was given, and have been read before.
    Old,
    /// It wrote them in this call to be read by others: past the caches, where that is better.
    PassedOn,
    /// It wrote them for itself, before this call or at its beginning.
    Fresh,
}

/// Bytes of a piece that are on their way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// When the receiver sees them, in seconds.
    pub arrival_s: f64,
    /// How many are not taken yet.
    pub bytes: usize,
    /// Bytes of the piece that they belong to.
    pub piece: usize,
    pub way: Way,
    /// How many are taken at a time.
    pub grain: usize,
    /// Whether the piece begins with them.
    pub begins: bool,
    /// Since when they are where they are.
    pub age: Age,
}

/// What is on its way, and what was taken.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub parts: VecDeque<Part>,
    /// Bytes sent since the beginning, without those that the receiver reads itself.
    sent: usize,
    /// Bytes posted for the receiver to read since the beginning, and read.
    posted: usize,
    /// What was taken, and when the sender sees it: bytes since the beginning.
    freed: VecDeque<(f64, usize)>,
    read: VecDeque<(f64, usize)>,
    freed_seen: usize,
    read_seen: usize,
    freed_all: usize,
    read_all: usize,
}

impl Stream {
    /// Bytes that the sender has yet room for at a time, of a window of so many.
    pub fn room(&mut self, now_s: f64, window: usize) -> usize {
        see(&mut self.freed, &mut self.freed_seen, now_s);
        window.saturating_sub(self.sent - self.freed_seen)
    }

    /// Whether all that was posted is seen to be read.
    pub fn is_read(&mut self, now_s: f64) -> bool {
        see(&mut self.read, &mut self.read_seen, now_s);
        self.read_seen == self.posted
    }

    /// Sends a part.
    pub fn send(&mut self, part: Part) {
        match part.way {
            Way::Direct | Way::Registered => self.posted += part.bytes,
            Way::Stream | Way::Line => self.sent += part.bytes,
        }
        self.parts.push_back(part);
    }

    /// Takes so many bytes of the first part, which the sender sees at a time.
    pub fn take(&mut self, bytes: usize, seen_s: f64) {
        let Some(first) = self.parts.front_mut() else { return };
        first.bytes -= bytes.min(first.bytes);
        first.begins = false;
        let (way, over) = (first.way, first.bytes == 0);
        if over {
            self.parts.pop_front();
        }
        match way {
            Way::Direct | Way::Registered => {
                self.read_all += bytes;
                self.read.push_back((seen_s, self.read_all));
            }
            Way::Stream | Way::Line => {
                self.freed_all += bytes;
                self.freed.push_back((seen_s, self.freed_all));
            }
        }
    }
}

fn see(told: &mut VecDeque<(f64, usize)>, seen: &mut usize, now_s: f64) {
    while let Some((_, bytes)) = told.front().filter(|(at_s, _)| *at_s <= now_s) {
        *seen = *bytes;
        told.pop_front();
    }
}
