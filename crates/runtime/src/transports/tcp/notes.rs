//! What transports tell each other beside the data.

use std::time::Duration;

use weft_collective::Rank;

use super::stream::CallId;
use crate::Fault;
use crate::frames::Frames;
use crate::wire::{Put, Reader};

const WAITING: u8 = 1;
const CALL: u8 = 2;
const ASK: u8 = 3;
const FAULT: u8 = 4;
const GOODBYE: u8 = 5;
const EMPTY: u8 = 6;

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
