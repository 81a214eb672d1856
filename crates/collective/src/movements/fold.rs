//! Pairs that become one, so that a power of two is left; see [`crate::Groups::folded`].

use crate::movement::At;
use crate::{Buffer, Movement, Op};

/// In groups of two, the first gives its input to the second, which keeps the sum in a buffer.
#[derive(Debug)]
pub struct Fold {
    /// Where the sum goes.
    pub into: Buffer,
}

impl Movement for Fold {
    fn title(&self) -> &'static str {
        "one of two gives its input to the other, so that a power of two is left"
    }

    fn steps(&self, _at: &At<'_>) -> u32 {
        1
    }

    fn ops(&self, at: &At<'_>, _step: u32, ops: &mut Vec<Op>) {
        let (local, peer) = (at.chunk(Buffer::Input, 0), at.peer(1));
        ops.push(match at.seat.position {
            0 => Op::Send { to: peer, from: local },
            _ => Op::RecvReduce { from: peer, local, into: local.of(self.into) },
        });
    }
}

/// In groups of two, the second gives its output to the first.
#[derive(Debug)]
pub struct Unfold;

impl Movement for Unfold {
    fn title(&self) -> &'static str {
        "the other of two gets the result back"
    }

    fn steps(&self, _at: &At<'_>) -> u32 {
        1
    }

    fn ops(&self, at: &At<'_>, _step: u32, ops: &mut Vec<Op>) {
        let (slice, peer) = (at.chunk(Buffer::Output, 0), at.peer(1));
        ops.push(match at.seat.position {
            0 => Op::Recv { from: peer, into: slice },
            _ => Op::Send { to: peer, from: slice },
        });
    }
}
