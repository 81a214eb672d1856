//! What a transport needs of a reliable connected queue pair, whoever has it.

use weft_collective::Rank;

use crate::{Fault, Port};

/// What the queue pair has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// A send is over; its slot may be used again.
    Sent {
        /// The slot.
        slot: usize,
    },
    /// A message has come.
    Received {
        /// The slot where it is.
        slot: usize,
        /// How long it is.
        bytes: usize,
    },
}

/// The connection has ended, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gone(pub String);

/// One end of a reliable connection. It owns memory that its device may read and write, cut into slots: so many to send
/// from, and so many to receive into. Messages arrive whole, in order and once, each in a slot that was posted for it;
/// one that finds no slot waits.
pub trait QueuePair {
    /// Slots of either kind, and the bytes of each: a multiple of 8, more than 8.
    fn slots(&self) -> (usize, usize);

    /// The memory of a slot to send from.
    fn sending(&mut self, slot: usize) -> &mut [u8];

    /// The memory of a slot into which something was received.
    fn received(&self, slot: usize) -> &[u8];

    /// Sends the first bytes of a slot.
    fn post_send(&mut self, slot: usize, bytes: usize) -> Result<(), Gone>;

    /// Lets a slot be received into.
    fn post_receive(&mut self, slot: usize) -> Result<(), Gone>;

    /// What was done since the last time, one by one. What has come before the end of the connection is given before it.
    fn poll(&mut self) -> Result<Option<Completion>, Gone>;
}

/// Where queue pairs come from.
pub trait Fabric {
    /// One end.
    type Queue: QueuePair;

    /// This rank's end to a peer on a channel. Does not wait for the peer to open its own.
    fn open(&mut self, me: Rank, port: Port) -> Result<Self::Queue, Fault>;
}
