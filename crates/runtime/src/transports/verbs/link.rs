//! A stream of bytes over a queue pair: each message carries a number of its call and then bytes.

use std::collections::VecDeque;

use super::queue::{Completion, Gone, QueuePair};

const TAG_BYTES: usize = 8;

/// One end of a stream.
pub(super) struct Link<Q> {
    queue: Q,
    free: Vec<usize>,
    /// Slots with what has come: how many bytes they hold, and how many of them are taken.
    came: VecDeque<(usize, usize, usize)>,
    gone: Option<Gone>,
}

impl<Q: QueuePair> Link<Q> {
    pub(super) fn new(mut queue: Q) -> Result<Self, Gone> {
        let (slots, _) = queue.slots();
        for slot in 0..slots {
            queue.post_receive(slot)?;
        }
        Ok(Self { queue, free: (0..slots).collect(), came: VecDeque::new(), gone: None })
    }

    /// Notes what was done.
    fn poll(&mut self) {
        while self.gone.is_none() {
            match self.queue.poll() {
                Ok(Some(Completion::Sent { slot })) => self.free.push(slot),
                Ok(Some(Completion::Received { slot, bytes })) => {
                    self.came.push_back((slot, bytes, TAG_BYTES));
                }
                Ok(None) => return,
                Err(gone) => self.gone = Some(gone),
            }
        }
    }

    /// Sends of a piece as much as there are slots for; gives how many bytes are over.
    pub(super) fn push(&mut self, tag: u64, piece: &[u8], mut done: usize) -> Result<usize, Gone> {
        self.poll();
        while done < piece.len() {
            if let Some(gone) = &self.gone {
                return Err(gone.clone());
            }
            let Some(slot) = self.free.pop() else { break };
            let memory = self.queue.sending(slot);
            let (head, room) = memory.split_at_mut(TAG_BYTES);
            head.copy_from_slice(&tag.to_le_bytes());
            let bytes = room.len().min(piece.len() - done);
            room[..bytes].copy_from_slice(&piece[done..done + bytes]);
            self.queue.post_send(slot, TAG_BYTES + bytes)?;
            done += bytes;
        }
        Ok(done)
    }

    /// Takes what has come, at most `want` bytes; nothing where that belongs to another call.
    pub(super) fn pull(
        &mut self,
        tag: u64,
        (want, unit): (usize, usize),
        take: &mut impl FnMut(&[u8]),
    ) -> Result<Option<usize>, Gone> {
        self.poll();
        let mut got = 0;
        while got < want {
            let Some((slot, bytes, at)) = self.came.front_mut() else { break };
            let memory = self.queue.received(*slot).get(..*bytes).unwrap_or_default();
            if memory.first_chunk() != Some(&tag.to_le_bytes()) {
                return Ok(None);
            }
            // A message holds whole elements: slots hold a multiple of the largest, and pieces of their own.
            let length = (*bytes - *at).min(want - got) / unit * unit;
            take(&memory[*at..*at + length]);
            got += length;
            *at += length;
            if length == 0 {
                return Ok(None);
            }
            if *at == *bytes {
                let slot = *slot;
                self.came.pop_front();
                self.queue.post_receive(slot)?;
            }
        }
        match &self.gone {
            Some(gone) if got == 0 => Err(gone.clone()),
            Some(_) | None => Ok(Some(got)),
        }
    }
}
