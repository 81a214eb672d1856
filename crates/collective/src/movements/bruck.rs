//! Bruck's patterns: distances double, whatever the number of positions.

use super::Gather;
use crate::movement::At;
use crate::{Buffer, Movement, Op, Symmetry};

/// Steps in which distances of 1, 2, 4 … reach around the group.
pub(super) fn doublings(size: u32) -> u32 {
    size.max(1).next_power_of_two().trailing_zeros()
}

/// All-gather: in step s a position hands the first 2^s chunks that it has back by 2^s seats.
#[derive(Debug)]
pub struct BruckGather {
    /// Where each position's own chunk is.
    pub data: Gather,
}

impl Movement for BruckGather {
    fn title(&self) -> &'static str {
        "Bruck all-gather"
    }

    fn steps(&self, at: &At<'_>) -> u32 {
        doublings(at.size()).max(self.data.steps_alone())
    }

    fn ops(&self, at: &At<'_>, step: u32, ops: &mut Vec<Op>) {
        let (size, distance) = (at.size(), 1 << step);
        let count = (size - distance.min(size)).min(distance);
        let own = at.seat.position;
        let from =
            if step == 0 { self.data.own(at, own, ops) } else { at.chunks(Buffer::Output, own, count) };
        if size == 1 {
            return;
        }
        ops.push(Op::Send { to: at.peer(-i64::from(distance)), from });
        let first = at.position(i64::from(distance));
        let into = at.chunks(Buffer::Output, first, count);
        ops.push(Op::Recv { from: at.peer(i64::from(distance)), into });
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry::Rotation
    }
}

/// All-to-all: slot j of scratch buffer 0 holds what has j seats to go or has come that far; in the exchange of bit k
/// all slots with that bit move 2^k seats on. They are packed into scratch buffer 1 before.
#[derive(Debug)]
pub struct BruckExchange;

/// Slots below `size` whose number has that bit.
fn slots(size: u32, bit: u32) -> u32 {
    let (whole, rest) = (size >> (bit + 1), size & ((2 << bit) - 1));
    (whole << bit) + rest.saturating_sub(1 << bit)
}

impl BruckExchange {
    /// The slots with a bit, as they lie.
    fn slice(at: &At<'_>, buffer: Buffer, bit: u32) -> crate::Slice {
        let whole = at.whole(buffer);
        crate::Slice {
            first: 1 << bit,
            run: 1 << bit,
            stride: 2 << bit,
            count: slots(at.size(), bit),
            ..whole
        }
    }
}

impl Movement for BruckExchange {
    fn title(&self) -> &'static str {
        "Bruck all-to-all"
    }

    fn steps(&self, at: &At<'_>) -> u32 {
        // From the input aside, for each bit an exchange and between two of them packing, and into the output.
        (2 * doublings(at.size())).max(1) + 1
    }

    fn ops(&self, at: &At<'_>, step: u32, ops: &mut Vec<Op>) {
        let (size, own) = (at.size(), at.seat.position);
        let (slots, packed) = (Buffer::Scratch(0), Buffer::Scratch(1));
        let bit = step / 2;
        if step == 0 {
            // Slot j goes j seats on.
            ops.push(Op::Copy { from: at.chunks(Buffer::Input, own, size), into: at.whole(slots) });
            if size > 1 {
                let into = Self::slice(at, packed, 0);
                ops.push(Op::Copy { from: at.comb(Buffer::Input, at.position(1), 2, into.count), into });
            }
        } else if step + 1 == self.steps(at) {
            // Slot j has come j seats: the blocks lie in reverse.
            let into = at.comb(Buffer::Output, own, size - 1, size);
            ops.push(Op::Copy { from: at.whole(slots), into });
        } else if step % 2 == 1 {
            let distance = 1 << bit;
            ops.push(Op::Send { to: at.peer(distance), from: Self::slice(at, packed, bit) });
            ops.push(Op::Recv { from: at.peer(-distance), into: Self::slice(at, slots, bit) });
        } else {
            ops.push(Op::Copy { from: Self::slice(at, slots, bit), into: Self::slice(at, packed, bit) });
        }
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry::Rotation
    }
}

/// Barrier: in step s everyone tells the one 2^s seats on that it, and all of whom it knows, have come.
#[derive(Debug)]
pub struct Dissemination;

impl Movement for Dissemination {
    fn title(&self) -> &'static str {
        "dissemination barrier"
    }

    fn steps(&self, at: &At<'_>) -> u32 {
        doublings(at.size())
    }

    fn ops(&self, at: &At<'_>, step: u32, ops: &mut Vec<Op>) {
        let distance = 1 << step;
        ops.push(Op::Send { to: at.peer(distance), from: at.chunk(Buffer::Input, 0) });
        ops.push(Op::Recv { from: at.peer(-distance), into: at.chunk(Buffer::Scratch(0), 0) });
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry::Rotation
    }
}
