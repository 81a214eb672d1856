//! What transports tell each other beside the data.

use std::time::Duration;

use weft_collective::Rank;

use super::stream::CallId;
use crate::Fault;
use crate::agreement::{Loss, Lost, Word};
use crate::frames::Frames;
use crate::wire::{Put, Reader};

const WAITING: u8 = 1;
const CALL: u8 = 2;
const ASK: u8 = 3;
const FAULT: u8 = 4;
const GOODBYE: u8 = 5;
const EMPTY: u8 = 6;
const STANDING: u8 = 7;
/// Sent by a thread of its own, for a rank that has no time to read.
pub(super) const PULSE: u8 = 8;
const CONNECTED: u8 = 9;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Note {
    /// The teller lives, and waits.
    Waiting {
        call: CallId,
        text: String,
        /// Whom it takes to be the cause: the rank it waits for, or the one that this rank waits for, and so on.
        root: Option<Rank>,
        /// For how long nothing has moved; zero while something does.
        stalled: Duration,
        /// Whether it waits for the one it tells.
        on_you: bool,
    },
    /// What the teller's call of that number is.
    Call { call: CallId, text: String },
    /// Asks for the call of that number.
    Ask { number: u32 },
    /// The teller gives up.
    Fault(Fault),
    /// An empty message on a channel that the receiver has not connected yet, as is its part.
    Empty { channel: u16, call: CallId },
    /// The teller has done all its calls and goes.
    Goodbye,
    /// The teller wants to go on with a smaller group, after that many.
    Standing { generation: u32, word: Word },
    /// The teller's process lives, whatever it does.
    Pulse,
    /// The teller has reached all others.
    Connected,
}

impl Note {
    pub(super) fn send(&self, to: &mut Frames, teller: Rank) {
        let mut body = Vec::new();
        let kind = match self {
            Self::Waiting { call, text, root, stalled, on_you } => {
                put_call(&mut body, *call, text);
                body.put_u32(root.map_or(u32::MAX, Rank::get));
                body.put_u64(u64::try_from(stalled.as_millis()).unwrap_or(u64::MAX));
                body.push(u8::from(*on_you));
                WAITING
            }
            Self::Call { call, text } => {
                put_call(&mut body, *call, text);
                CALL
            }
            Self::Ask { number } => {
                body.put_u32(*number);
                ASK
            }
            Self::Fault(fault) => {
                body.put_fault(fault, teller);
                FAULT
            }
            Self::Empty { channel, call } => {
                put_call(&mut body, *call, "");
                body.put_u32(u32::from(*channel));
                EMPTY
            }
            Self::Goodbye => GOODBYE,
            Self::Standing { generation, word } => {
                put_word(&mut body, *generation, word);
                STANDING
            }
            Self::Pulse => PULSE,
            Self::Connected => CONNECTED,
        };
        to.send(kind, &body);
    }

    pub(super) fn read(kind: u8, body: &[u8]) -> Option<Self> {
        let mut from = Reader(body);
        match kind {
            WAITING => {
                let (call, text) = read_call(&mut from)?;
                let root = Some(from.u32()?).filter(|root| *root != u32::MAX).map(Rank::new);
                let stalled = Duration::from_millis(from.u64()?);
                Some(Self::Waiting { call, text, root, stalled, on_you: from.u8()? != 0 })
            }
            CALL => read_call(&mut from).map(|(call, text)| Self::Call { call, text }),
            ASK => from.u32().map(|number| Self::Ask { number }),
            FAULT => from.fault().map(Self::Fault),
            EMPTY => {
                let (call, _) = read_call(&mut from)?;
                Some(Self::Empty { channel: u16::try_from(from.u32()?).ok()?, call })
            }
            GOODBYE => Some(Self::Goodbye),
            STANDING => read_word(&mut from).map(|(generation, word)| Self::Standing { generation, word }),
            PULSE => Some(Self::Pulse),
            CONNECTED => Some(Self::Connected),
            _ => None,
        }
    }
}

/// Tells one that this rank gives up.
pub(super) fn send_fault(to: &mut Frames, fault: &Fault, teller: Rank) {
    Note::Fault(fault.clone()).send(to, teller);
}

fn put_call(body: &mut Vec<u8>, call: CallId, text: &str) {
    body.put_u32(call.number);
    body.put_u64(call.signature);
    body.put_text(text);
}

fn read_call(from: &mut Reader<'_>) -> Option<(CallId, String)> {
    Some((CallId { number: from.u32()?, signature: from.u64()? }, from.text()?))
}

fn put_word(body: &mut Vec<u8>, generation: u32, word: &Word) {
    body.put_u32(generation);
    body.push(u8::from(word.decided));
    body.put_u32(u32::try_from(word.lost.len()).unwrap_or(u32::MAX));
    for (rank, loss) in &word.lost {
        body.put_u32(rank.get());
        body.push(u8::from(*loss == Loss::Gone));
    }
}

fn read_word(from: &mut Reader<'_>) -> Option<(u32, Word)> {
    let (generation, decided) = (from.u32()?, from.u8()? != 0);
    let mut lost = Lost::new();
    for _ in 0..from.u32()? {
        let rank = from.rank()?;
        lost.insert(rank, if from.u8()? == 0 { Loss::Silent } else { Loss::Gone });
    }
    Some((generation, Word { decided, lost }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_lost_arrives_as_it_was_told() {
        let lost = Lost::from([(Rank::new(3), Loss::Gone), (Rank::new(900), Loss::Silent)]);
        for word in [Word { decided: true, lost }, Word { decided: false, lost: Lost::new() }] {
            let mut body = Vec::new();
            put_word(&mut body, 7, &word);
            assert_eq!(Note::read(STANDING, &body), Some(Note::Standing { generation: 7, word }));
            assert_eq!(Note::read(STANDING, &body[..body.len() - 1]), None);
        }
    }
}
