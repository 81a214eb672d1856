//! A chunk from everyone to everyone.

use crate::movement::At;
use crate::{Buffer, Movement, Op, Symmetry};

/// With whom a position exchanges, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peers {
    /// With all at once, the next neighbour first.
    All,
    /// With one in each step: pairs where the positions are a power of two, else to one and from another.
    One,
}

/// What becomes of a position's chunk for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// It is copied.
    Copy,
    /// It is in its place.
    InPlace,
}

/// Position p's chunk q of one buffer becomes chunk p of another buffer of position q.
#[derive(Debug)]
pub struct Exchange {
    /// What is given.
    pub from: Buffer,
    /// Where it goes; not the same memory.
    pub into: Buffer,
    /// The own chunk.
    pub keep: Keep,
    /// With whom.
    pub peers: Peers,
}

impl Movement for Exchange {
    fn title(&self) -> &'static str {
        match self.peers {
            Peers::All => "exchange, all peers at once",
            Peers::One => "exchange, one peer after the other",
        }
    }

    fn steps(&self, at: &At<'_>) -> u32 {
        match (self.peers, self.keep) {
            (Peers::One, _) if at.size() > 1 => at.size() - 1,
            (Peers::All, _) if at.size() > 1 => 1,
            (Peers::One | Peers::All, Keep::Copy) => 1,
            (Peers::One | Peers::All, Keep::InPlace) => 0,
        }
    }

    fn ops(&self, at: &At<'_>, step: u32, ops: &mut Vec<Op>) {
        let own = at.seat.position;
        let copy = || Op::Copy { from: at.chunk(self.from, own), into: at.chunk(self.into, own) };
        if step == 0 && self.keep == Keep::Copy {
            ops.push(copy());
        }
        let send = |to| Op::Send { to: at.at(to), from: at.chunk(self.from, to) };
        let receive = |from| Op::Recv { from: at.at(from), into: at.chunk(self.into, from) };
        match self.peers {
            Peers::All => ops.extend(at.others().flat_map(|(peer, _)| [send(peer), receive(peer)])),
            Peers::One if at.size() == 1 => {}
            Peers::One if at.size().is_power_of_two() => {
                let peer = own ^ (step + 1);
                ops.extend([send(peer), receive(peer)]);
            }
            Peers::One => {
                let distance = i64::from(step) + 1;
                ops.extend([send(at.position(distance)), receive(at.position(-distance))]);
            }
        }
    }

    fn symmetry(&self) -> Symmetry {
        match self.peers {
            Peers::All => Symmetry::Rotation,
            Peers::One => Symmetry::None,
        }
    }
}

/// Everyone copies its window, so that what it brings may be overwritten.
#[derive(Debug)]
pub struct Aside {
    /// What is copied.
    pub from: Buffer,
    /// Where it goes.
    pub into: Buffer,
}

impl Movement for Aside {
    fn title(&self) -> &'static str {
        "copy aside"
    }

    fn steps(&self, _at: &At<'_>) -> u32 {
        1
    }

    fn ops(&self, at: &At<'_>, _step: u32, ops: &mut Vec<Op>) {
        ops.push(Op::Copy { from: at.whole(self.from), into: at.whole(self.into) });
    }

    fn symmetry(&self) -> Symmetry {
        Symmetry::Rotation
    }
}
