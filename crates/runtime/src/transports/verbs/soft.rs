//! Queue pairs in memory, between threads of one process: what the transport is tested with.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weft_collective::Rank;

use super::queue::{Completion, Fabric, Gone, QueuePair};
use crate::{Fault, Port};

/// What goes from one end to the other.
#[derive(Debug, Default)]
struct Wire {
    /// Messages on their way, with the slot that each was sent from.
    messages: VecDeque<(usize, Vec<u8>)>,
    /// Slots whose messages have been received.
    acknowledged: VecDeque<usize>,
}

#[derive(Debug, Default)]
struct Connection {
    wires: [Wire; 2],
    ended: [bool; 2],
}

/// One end.
#[derive(Debug)]
pub struct SoftQueue {
    connection: Arc<Mutex<Connection>>,
    /// Which end: its wire is the one of that number.
    side: usize,
    slots: (usize, usize),
    sending: Vec<u8>,
    receiving: Vec<u8>,
    posted: VecDeque<usize>,
}

impl SoftQueue {
    /// Both ends of a connection, with so many slots of so many bytes each.
    pub fn pair(slots: usize, slot_bytes: usize) -> (Self, Self) {
        let connection = Arc::new(Mutex::new(Connection::default()));
        let end = |side| Self {
            connection: Arc::clone(&connection),
            side,
            slots: (slots, slot_bytes),
            sending: vec![0; slots * slot_bytes],
            receiving: vec![0; slots * slot_bytes],
            posted: VecDeque::new(),
        };
        (end(0), end(1))
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(&self, slot: usize) -> std::ops::Range<usize> {
        slot * self.slots.1..(slot + 1) * self.slots.1
    }
}

impl QueuePair for SoftQueue {
    fn slots(&self) -> (usize, usize) {
        self.slots
    }

    fn sending(&mut self, slot: usize) -> &mut [u8] {
        let place = self.place(slot);
        &mut self.sending[place]
    }

    fn received(&self, slot: usize) -> &[u8] {
        &self.receiving[self.place(slot)]
    }

    fn post_send(&mut self, slot: usize, bytes: usize) -> Result<(), Gone> {
        let message = self.sending[self.place(slot)][..bytes].to_vec();
        let side = self.side;
        self.connection().wires[side].messages.push_back((slot, message));
        Ok(())
    }

    fn post_receive(&mut self, slot: usize) -> Result<(), Gone> {
        self.posted.push_back(slot);
        Ok(())
    }

    fn poll(&mut self) -> Result<Option<Completion>, Gone> {
        let (side, other) = (self.side, 1 - self.side);
        let connection = Arc::clone(&self.connection);
        let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = connection.wires[side].acknowledged.pop_front() {
            return Ok(Some(Completion::Sent { slot }));
        }
        let waits = !connection.wires[other].messages.is_empty();
        if waits && let Some(slot) = self.posted.pop_front() {
            let wire = &mut connection.wires[other];
            let Some((from, message)) = wire.messages.pop_front() else { return Ok(None) };
            wire.acknowledged.push_back(from);
            let place = self.place(slot);
            self.receiving[place][..message.len()].copy_from_slice(&message);
            return Ok(Some(Completion::Received { slot, bytes: message.len() }));
        }
        if connection.ended[other] && !waits {
            return Err(Gone("the other end was closed".to_owned()));
        }
        Ok(None)
    }
}

impl Drop for SoftQueue {
    fn drop(&mut self) {
        let side = self.side;
        self.connection().ended[side] = true;
    }
}

/// Ends that wait for who opens the other one: by the two ranks and the channel.
type Waiting = BTreeMap<(Rank, Rank, u16), SoftQueue>;

/// A fabric of such queue pairs, of which all ranks have a copy.
#[derive(Debug, Clone)]
pub struct SoftFabric {
    waiting: Arc<Mutex<Waiting>>,
    slots: (usize, usize),
}

impl SoftFabric {
    /// Whose queue pairs have so many slots of so many bytes each.
    pub fn new(slots: usize, slot_bytes: usize) -> Self {
        Self { waiting: Arc::default(), slots: (slots, slot_bytes) }
    }
}

impl Fabric for SoftFabric {
    type Queue = SoftQueue;

    fn open(&mut self, me: Rank, port: Port) -> Result<SoftQueue, Fault> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = waiting.remove(&(me, port.peer, port.channel)) {
            return Ok(own);
        }
        let (own, theirs) = SoftQueue::pair(self.slots.0, self.slots.1);
        waiting.insert((port.peer, me, port.channel), theirs);
        Ok(own)
    }
}
