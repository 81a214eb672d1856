//! Which thread blocks receive and send: where a rank passes on what it has received, one step does both.

use std::collections::BTreeMap;

use weft_collective::{Buffer, Op, Rank};

use super::pieces::{Cut, Piece};

/// What a thread block is for: local work of a thread, sending to a peer, receiving from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    Local(usize),
    Send(Rank, u16),
    Recv(Rank, u16),
}

impl Role {
    pub fn of(op: &Op, thread: usize, channel: u16) -> Self {
        match *op {
            Op::Send { to, .. } => Self::Send(to, channel),
            Op::Recv { from, .. } | Op::RecvReduce { from, .. } => Self::Recv(from, channel),
            Op::Copy { .. }
            | Op::Reduce { .. }
            | Op::Multicast { .. }
            | Op::Contribute { .. }
            | Op::SwitchReduce { .. }
            | Op::Await { .. } => Self::Local(thread),
        }
    }
}

/// The step that receives and sends what this one receives; `None` for a step that receives nothing.
pub(super) fn fused(kind: &str) -> Option<&'static str> {
    match kind {
        "r" => Some("rcs"),
        "rrc" => Some("rrcs"),
        _ => None,
    }
}

/// Whether a step sends.
pub(super) fn sends(kind: &str) -> bool {
    matches!(kind, "s" | "rcs" | "rrs" | "rrcs")
}

/// For roles that send the one that receives with which they share a thread block: where most of what is received is
/// what is sent next, piece by piece; were it less, the rest would only wait for each other. Both must belong to one
/// thread of the plan, so that sharing a thread block orders nothing that the plan leaves open.
pub(super) fn partners(cut: &Cut, cell: &dyn Fn((Buffer, u32)) -> (u8, u64)) -> BTreeMap<Role, Role> {
    let mut writers: BTreeMap<(u8, u64), (Role, usize, Piece)> = BTreeMap::new();
    let mut passed_on: BTreeMap<(Role, Role), usize> = BTreeMap::new();
    let mut all: BTreeMap<Role, usize> = BTreeMap::new();
    for (item, pieces) in cut {
        let role = Role::of(&item.op, item.thread, item.channel);
        *all.entry(role).or_default() += pieces.len();
        for piece in pieces {
            let cells = |(buffer, first): (Buffer, u32)| {
                (first..first + piece.count).map(move |block| cell((buffer, block)))
            };
            if let Role::Send(_, channel) = role {
                let writer = writers.get(&cell(piece.source));
                if let Some((from @ Role::Recv(_, other), thread, written)) = writer
                    && (*thread, *other) == (item.thread, channel)
                    && (written.target, written.count) == (piece.source, piece.count)
                {
                    *passed_on.entry((role, *from)).or_default() += 1;
                }
            } else {
                writers.extend(cells(piece.target).map(|cell| (cell, (role, item.thread, *piece))));
            }
        }
    }
    let mut order: Vec<((Role, Role), usize)> = passed_on.into_iter().collect();
    order.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut partners: BTreeMap<Role, Role> = BTreeMap::new();
    for ((send, recv), count) in order {
        let most = |role: &Role| all.get(role).is_some_and(|all| 2 * count > *all);
        if most(&send)
            && most(&recv)
            && !partners.contains_key(&send)
            && partners.values().all(|taken| *taken != recv)
        {
            partners.insert(send, recv);
        }
    }
    partners
}
