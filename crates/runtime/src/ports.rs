//! What a transport is to a player: streams of bytes that never wait.

use weft_collective::Rank;

use crate::{Buffer, Fault};

/// A peer on a channel. From it and to it there is one stream each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port {
    /// Who is at the other end.
    pub peer: Rank,
    /// Streams of different channels do not wait for each other.
    pub channel: u16,
}

/// Streams of bytes between this rank and others. Both ends know from the plan which messages come, in which order and
/// how long they are, so that streams carry no headers.
///
/// A message may be given and taken in pieces, and a piece in parts; both ends may cut it differently. At the end of
/// each message a transport may leave a gap, so that messages begin where suits it.
pub trait Ports {
    /// Goes on with a piece of the present message to a peer, of which `done` bytes are over; gives how many are over
    /// now. A byte is over once the piece may change without harm. `end` says that no piece of the message follows.
    ///
    /// The same piece is given again until all of it is over, and no other to the same port in between. No piece is
    /// empty.
    fn push(&mut self, port: Port, piece: &[u8], done: usize, end: bool) -> Result<usize, Fault>;

    /// Takes what has come of the present message from a peer, at most `want` bytes, and gives how many it was. `take`
    /// is called with consecutive parts whose lengths are multiples of `unit` bytes, as `want` is. `end` says that the
    /// message ends with the last of the bytes that are wanted.
    fn pull(
        &mut self,
        port: Port,
        want: usize,
        unit: usize,
        end: bool,
        take: impl FnMut(&[u8]),
    ) -> Result<usize, Fault>;

    /// Whether these bytes, which are written now and pushed later, had better be written past the caches, as others
    /// read them where they are.
    fn passes_on(&self, bytes: &[u8]) -> bool {
        let _ = bytes;
        false
    }

    /// As [`Ports::pull`] of `into.len()` bytes which are only kept, not combined; a transport that can put them there
    /// itself spares a copy. An empty message is pulled, as nothing would show that it has come.
    fn pull_into(&mut self, port: Port, into: &mut [u8], unit: usize, end: bool) -> Result<usize, Fault> {
        let mut at = 0;
        self.pull(port, into.len(), unit, end, |part| {
            if let Some(place) = into.get_mut(at..at + part.len()) {
                place.copy_from_slice(part);
            }
            at += part.len();
        })
    }
}

/// What a rank is about to do, by which ranks that do something else are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Announced<'a> {
    /// The same for all ranks that make the same call with the same plan, and almost surely no other.
    pub signature_bits: u64,
    /// The call as a person reads it: `all-reduce of 1,024 float by ring, sum`.
    pub text: &'a str,
}

/// How pieces of messages travel over a transport, by their length: what a model of their time must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Up to this length they travel in one line of the cache.
    pub line_bytes: usize,
    /// Larger ones are copied towards the receiver in parts of so much,
    pub part_bytes: usize,
    /// of which so much can be on its way to one peer.
    pub window_bytes: usize,
    /// From this length on the receiver reads them from the sender's memory.
    pub direct_from_bytes: usize,
    /// Up to this length it does.
    pub direct_up_to_bytes: usize,
    /// From this length on the receiver reads them where they are, if they are in a buffer that it can map.
    pub registered_from_bytes: usize,
    /// Long calls are cut into parts of about so much where they can be, so that what a rank has received is still in its
    /// caches when it sends it on.
    pub call_bytes: usize,
}

impl Shape {
    /// Of a stream of bytes: copied in parts, with so much on its way.
    pub const fn stream(part_bytes: usize, window_bytes: usize) -> Self {
        Self {
            line_bytes: 0,
            part_bytes,
            window_bytes,
            direct_from_bytes: usize::MAX,
            direct_up_to_bytes: 0,
            registered_from_bytes: usize::MAX,
            call_bytes: usize::MAX,
        }
    }

    /// Whether the rest of a piece is read by the receiver.
    pub fn is_direct(&self, piece: usize, rest: usize) -> bool {
        rest >= self.direct_from_bytes && piece <= self.direct_up_to_bytes
    }

    /// Whether there are buffers that receivers map.
    pub fn registers(&self) -> bool {
        self.registered_from_bytes < usize::MAX
    }
}

/// What a transport does in one of two ways, of which neither is the better one on all machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuning {
    /// From this length on, what others read is written past the caches.
    pub streamed_from_bytes: usize,
    /// From this length on, receivers read pieces from the sender's memory.
    pub direct_from_bytes: usize,
    /// From this length on, receivers read pieces where they are that are in a buffer that they can map.
    pub registered_from_bytes: usize,
}

/// Ports that know how to wait.
pub trait Transport: Ports {
    /// What it is called: `shared memory`, `TCP`.
    fn kind(&self) -> &'static str {
        "streams"
    }

    /// How messages travel. What sockets hold by default is four mebibytes.
    fn shape(&self) -> Shape {
        Shape::stream(64 << 10, 4 << 20)
    }

    /// This rank begins a call. All messages up to the next one belong to it; those that come from a rank that has
    /// announced something else are refused with [`Fault::Differs`].
    fn begin(&mut self, call: Announced<'_>) -> Result<(), Fault>;

    /// Nothing has moved in so many `rounds` in a row, and these ports are waited for. Waits a little: at first so
    /// that what comes at once is seen at once, later without taking processor time from others. Fails with the rank
    /// that is to blame once nothing has moved for the deadline that the transport was given.
    fn wait(&mut self, rounds: u32, on: &[Port]) -> Result<(), Fault>;

    /// Tells the others that this rank gives up, and why. Nothing can be done with the transport afterwards.
    fn abandon(&mut self, fault: &Fault);

    /// Memory from which peers take what is pushed in the cheapest way that there is, filled with zeros. Fails only
    /// where memory is lacking.
    fn buffer(&self, bytes: usize) -> Result<Buffer<u8>, Fault> {
        Ok(Buffer::private(bytes))
    }

    /// How it does what can be done in two ways; nothing where there is no choice.
    fn tuning(&self) -> Option<Tuning> {
        None
    }

    /// Does it so from now on. All ranks must be told the same at the same point.
    fn tune(&mut self, tuning: Tuning) {
        let _ = tuning;
    }

    /// Whether peers take these bytes where they are, as they lie in such memory.
    fn is_registered(&self, bytes: &[u8]) -> bool {
        let _ = bytes;
        false
    }
}
