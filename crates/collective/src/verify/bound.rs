//! How many bytes a collective must move, whatever the plan.

use weft_base::Bytes;

use super::space::Space;
use crate::{Buffer, Collective, Rank};

/// Bytes that ranks move in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Volume {
    /// Of the rank that moves most.
    pub most: Bytes,
    /// Of all ranks together.
    pub total: Bytes,
}

/// What switches do in a plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Assistance {
    /// They copy one flow to many: a sender sends once what many receive.
    pub multicast: bool,
    /// They add on the way: a receiver receives once what many send.
    pub reduction: bool,
}

/// The least that any plan moves, with the same help of switches.
///
/// Without that help, the blocks of a sum take at least 2 (n - 1) transfers until all n ranks have it (the telephone
/// problem with one-way calls: Harary and Schwenk, "The communication problem on graphs and digraphs", 1974), so an
/// all-reduce of S bytes moves 2 (n - 1) S, and some rank at least the n-th part. Every rank receives what others
/// bring and it needs (all-gather, broadcast, all-to-all), and sends what others need of it (reduce-scatter, reduce).
/// Where switches add, a rank receives a sum once; where they copy, it sends once what all need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// Sent by ranks.
    pub sent: Volume,
    /// Received by ranks.
    pub received: Volume,
    /// With what help.
    pub assistance: Assistance,
}

/// The least of one direction: of each rank, and of all together.
struct Least {
    each: Vec<u64>,
    total: u64,
}

impl Least {
    fn volume(&self) -> Volume {
        let share = self.total.div_ceil(self.each.len().max(1) as u64);
        let most = self.each.iter().copied().max().unwrap_or(0).max(share);
        let total = self.each.iter().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes)).max(self.total);
        Volume { most: Bytes::new(most), total: Bytes::new(total) }
    }
}

impl Bound {
    pub(super) fn of(space: &Space<'_>, assistance: Assistance) -> Self {
        let (sent, received) = match space.call.collective {
            Collective::AllReduce => all_reduce(space, assistance),
            Collective::AllGather => scattered(space, Buffer::Input, Buffer::Output, assistance.multicast),
            Collective::ReduceScatter => {
                let (into, out) = scattered(space, Buffer::Output, Buffer::Input, assistance.reduction);
                (out, into)
            }
            Collective::Broadcast => from_root(space, assistance.multicast),
            Collective::Reduce => {
                let (into, out) = from_root(space, assistance.reduction);
                (out, into)
            }
            Collective::AllToAll => (exchanged(space, Buffer::Input), exchanged(space, Buffer::Output)),
            Collective::SendRecv => {
                let one = |rank| {
                    let bytes = if space.call.root == space.call.peer { 0 } else { whole(space, rank) };
                    let each = ranks(space).map(|other| if other == rank { bytes } else { 0 }).collect();
                    Least { each, total: bytes }
                };
                (one(space.call.root), one(space.call.peer))
            }
            Collective::Barrier => {
                let none = || Least { each: vec![0; space.ranks as usize], total: 0 };
                (none(), none())
            }
        };
        Self { sent: sent.volume(), received: received.volume(), assistance }
    }
}

fn ranks(space: &Space<'_>) -> impl Iterator<Item = Rank> + use<> {
    (0..space.ranks).map(Rank::new)
}

/// Bytes of a part of a buffer of a rank.
fn part(space: &Space<'_>, buffer: Buffer, rank: Rank, part: u32) -> u64 {
    space.layout.part_elements(buffer, rank, part) * space.call.data_type.size_bytes()
}

fn whole(space: &Space<'_>, rank: Rank) -> u64 {
    part(space, Buffer::Input, rank, 0)
}

fn all_reduce(space: &Space<'_>, assistance: Assistance) -> (Least, Least) {
    let n = u64::from(space.ranks);
    let bytes = whole(space, Rank::new(0));
    let least = |assisted: bool| {
        let transfers = if n == 1 {
            0
        } else if assisted {
            n
        } else {
            2 * (n - 1)
        };
        // Everyone has something that others need, and needs something that others have.
        let each = vec![if n == 1 { 0 } else { bytes }; space.ranks as usize];
        Least { each, total: bytes.saturating_mul(transfers) }
    };
    (least(assistance.multicast), least(assistance.reduction))
}

/// Of a collective between a part of each rank (`one`) and the parts of all (`all`): the least at the ends of the
/// one, and at the ends of all.
fn scattered(space: &Space<'_>, one: Buffer, all: Buffer, assisted: bool) -> (Least, Least) {
    let others = u64::from(space.ranks - 1);
    let own: Vec<u64> = ranks(space).map(|rank| part(space, one, rank, 0)).collect();
    let sum: u64 = (0..space.ranks).map(|number| part(space, all, Rank::new(0), number)).sum();
    let each = own.iter().map(|own| if others == 0 { 0 } else { sum - own }).collect();
    let total = sum.saturating_mul(others);
    let own = own.into_iter().map(|own| if others == 0 { 0 } else { own }).collect();
    let least = if assisted { 0 } else { total };
    (Least { each: own, total: least }, Least { each, total })
}

/// Of a collective between a root and all: the least at the root's end, and at the ends of the others.
fn from_root(space: &Space<'_>, assisted: bool) -> (Least, Least) {
    let root = space.call.root;
    let bytes = if space.ranks == 1 { 0 } else { whole(space, root) };
    let total = bytes.saturating_mul(u64::from(space.ranks - 1));
    let of_root = ranks(space).map(|rank| if rank == root { bytes } else { 0 }).collect();
    let of_others = ranks(space).map(|rank| if rank == root { 0 } else { bytes }).collect();
    let least = if assisted { bytes } else { total };
    (Least { each: of_root, total: least }, Least { each: of_others, total })
}

/// What a rank exchanges with others.
fn exchanged(space: &Space<'_>, buffer: Buffer) -> Least {
    let of = |rank: Rank| -> u64 {
        let others = (0..space.ranks).filter(|other| *other != rank.get());
        others.map(|other| part(space, buffer, rank, other)).sum()
    };
    let each: Vec<u64> = ranks(space).map(of).collect();
    let total = each.iter().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
    Least { each, total }
}
