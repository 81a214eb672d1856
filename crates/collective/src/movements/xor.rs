//! Pairs at distances of powers of two, which must be the number of positions.

use super::{Gather, Scatter};
use crate::movement::At;
use crate::{Buffer, Movement, Op};

/// Which of the pairs exchange most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nearest {
    /// The farthest: position p works for chunk p.
    Least,
    /// The nearest: position p works for chunk p with its bits in reverse.
    Most,
}

impl Nearest {
    /// From position to chunk and from chunk to position.
    fn turn(self, size: u32, number: u32) -> u32 {
        match self {
            Self::Least => number,
            Self::Most if size < 2 => 0,
            Self::Most => number.reverse_bits() >> (32 - size.trailing_zeros()),
        }
    }
}

/// log2 of the positions.
fn powers(at: &At<'_>) -> u32 {
    at.size().ilog2()
}

/// The aligned `span` chunks of which `chunk` is one: the first of them.
fn aligned(chunk: u32, span: u32) -> u32 {
    chunk & !(span - 1)
}

/// Recursive halving: in each step a position gives half of the chunks that it still works for to another one.
#[derive(Debug)]
pub struct HalvingScatter {
    /// What is added.
    pub data: Scatter,
    /// Who exchanges most.
    pub nearest: Nearest,
}

impl Movement for HalvingScatter {
    fn title(&self) -> &'static str {
        "recursive halving reduce-scatter"
    }

    fn steps(&self, at: &At<'_>) -> u32 {
        powers(at).max(1)
    }

    fn ops(&self, at: &At<'_>, step: u32, ops: &mut Vec<Op>) {
        let size = at.size();
        if size == 1 {
            return self.data.alone(at, ops);
        }
        let span = size >> (step + 1);
        let own = self.nearest.turn(size, at.seat.position);
        let other = own ^ span;
        let peer = at.at(self.nearest.turn(size, other));
        let buffer = if step == 0 { self.data.local(at) } else { self.data.sums };
        ops.push(Op::Send { to: peer, from: at.chunks(buffer, aligned(other, span), span) });
        let local = at.chunks(buffer, aligned(own, span), span);
        let into = if span == 1 { self.data.end(at, own) } else { local.of(self.data.sums) };
        ops.push(Op::RecvReduce { from: peer, local, into });
    }
}

/// Recursive doubling: in each step pairs exchange all chunks that they have.
#[derive(Debug)]
pub struct DoublingGather {
    /// Where each position's own chunk is.
    pub data: Gather,
    /// Who exchanges most.
    pub nearest: Nearest,
}

impl Movement for DoublingGather {
    fn title(&self) -> &'static str {
        "recursive doubling all-gather"
    }

    fn steps(&self, at: &At<'_>) -> u32 {
        powers(at).max(self.data.steps_alone())
    }

    fn ops(&self, at: &At<'_>, step: u32, ops: &mut Vec<Op>) {
        let (size, span) = (at.size(), 1 << step);
        let own = self.nearest.turn(size, at.seat.position);
        let from = if step == 0 {
            self.data.own(at, own, ops)
        } else {
            at.chunks(Buffer::Output, aligned(own, span), span)
        };
        if size == 1 {
            return;
        }
        let other = own ^ span;
        let peer = at.at(self.nearest.turn(size, other));
        ops.push(Op::Send { to: peer, from });
        ops.push(Op::Recv { from: peer, into: at.chunks(Buffer::Output, aligned(other, span), span) });
    }
}

/// Halved sums of [`HalvingScatter`] (with [`Nearest::Least`]) come together at one position, along a binomial tree.
#[derive(Debug)]
pub struct RootGather {
    /// Where each position's chunk is.
    pub sums: Buffer,
    /// The position that ends with all of them, in its output.
    pub root: u32,
}

impl RootGather {
    /// Steps of a position that is not the root: up to the one in which it gives what it has.
    fn giving(&self, at: &At<'_>) -> u32 {
        (at.seat.position ^ self.root).trailing_zeros() + 1
    }
}

impl Movement for RootGather {
    fn title(&self) -> &'static str {
        "binomial tree gather to the root"
    }

    fn steps(&self, at: &At<'_>) -> u32 {
        if at.seat.position == self.root { powers(at).max(1) } else { self.giving(at) }
    }

    fn ops(&self, at: &At<'_>, step: u32, ops: &mut Vec<Op>) {
        let (own, span) = (at.seat.position, 1 << step);
        let is_root = own == self.root;
        let buffer = if is_root { Buffer::Output } else { self.sums };
        if is_root && step == 0 {
            ops.push(Op::Copy { from: at.chunk(self.sums, own), into: at.chunk(buffer, own) });
        }
        if at.size() == 1 {
            return;
        }
        let peer = at.at(own ^ span);
        if !is_root && step + 1 == self.giving(at) {
            ops.push(Op::Send { to: peer, from: at.chunks(buffer, aligned(own, span), span) });
        } else {
            ops.push(Op::Recv { from: peer, into: at.chunks(buffer, aligned(own ^ span, span), span) });
        }
    }
}

/// Recursive doubling of sums: in each step pairs exchange all that they have added so far. The sums change between
/// scratch buffers 0 and 1, since what is sent must stay as it is meanwhile.
#[derive(Debug)]
pub struct Doubling {
    /// Positions below this have what they add in the output already.
    pub folded: u32,
    /// Whether input and output are the same memory.
    pub in_place: bool,
}

impl Doubling {
    /// Where the sums of a step lie.
    fn after(&self, at: &At<'_>, step: u32) -> Buffer {
        let buffer = Buffer::Scratch(u16::from(!step.is_multiple_of(2)));
        if step + 1 == powers(at) && !self.ends_by_copy(at) { Buffer::Output } else { buffer }
    }

    /// The one exchange of two positions reads what it would write, if that is the output.
    fn ends_by_copy(&self, at: &At<'_>) -> bool {
        at.size() == 2 && (self.in_place || at.seat.position < self.folded)
    }

    fn before(&self, at: &At<'_>, step: u32) -> Buffer {
        match step.checked_sub(1) {
            Some(earlier) => self.after(at, earlier),
            None if at.seat.position < self.folded => Buffer::Output,
            None => Buffer::Input,
        }
    }
}

impl Movement for Doubling {
    fn title(&self) -> &'static str {
        "recursive doubling all-reduce"
    }

    fn steps(&self, at: &At<'_>) -> u32 {
        if at.size() == 1 { 1 } else { powers(at) + u32::from(self.ends_by_copy(at)) }
    }

    fn ops(&self, at: &At<'_>, step: u32, ops: &mut Vec<Op>) {
        let local = at.chunk(self.before(at, step), 0);
        if step == powers(at) {
            if local.buffer != Buffer::Output && (at.size() > 1 || !self.in_place) {
                ops.push(Op::Copy { from: local, into: local.of(Buffer::Output) });
            }
            return;
        }
        let from = at.at(at.seat.position ^ (1 << step));
        ops.push(Op::Send { to: from, from: local });
        ops.push(Op::RecvReduce { from, local, into: local.of(self.after(at, step)) });
    }
}
