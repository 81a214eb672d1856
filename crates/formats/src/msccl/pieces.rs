//! Operations cut into steps whose chunks follow each other, the same at both ends of a message.

use std::collections::BTreeMap;

use weft_collective::{Buffer, Op, Program, Rank, Slice};

use super::order::{Item, items};
use super::parse::COUNT_MAX;
use super::write::MscclRefusal;

/// A step to be written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub kind: &'static str,
    pub source: (Buffer, u32),
    pub target: (Buffer, u32),
    pub count: u32,
}

/// The operations of a rank, each with its pieces.
pub(super) type Cut = Vec<(Item, Vec<Piece>)>;

/// A message: who, and which of its operations.
type End = (usize, usize);

/// The sends and the receives between two ranks on a channel, each with its thread.
type Queue = [Vec<(End, usize)>; 2];

/// All ranks' operations, cut.
pub(super) fn cut(program: &Program) -> Result<Vec<Cut>, MscclRefusal> {
    let items: Vec<Vec<Item>> = (0..program.ranks.len()).map(|rank| items(program, rank)).collect();
    let mut cuts: Vec<Cut> =
        items.iter().map(|items| items.iter().map(|item| (*item, Vec::new())).collect()).collect();
    for (rank, items) in items.iter().enumerate() {
        for (number, item) in items.iter().enumerate() {
            let pieces = match item.op {
                Op::Copy { from, into } => runs("cpy", from, into, &[from, into]),
                Op::Reduce { from, into } => runs("re", from, into, &[from, into]),
                Op::Multicast { .. } | Op::Contribute { .. } | Op::SwitchReduce { .. } => {
                    return Err(MscclRefusal::Switches);
                }
                Op::Send { .. } | Op::Recv { .. } | Op::RecvReduce { .. } | Op::Await { .. } => continue,
            };
            put(&mut cuts, (rank, number), pieces);
        }
    }
    for (send, recv) in messages(&items)? {
        let op =
            |(rank, number): End| items.get(rank).and_then(|items| items.get(number)).map(|item| item.op);
        let (Some(Op::Send { from, .. }), Some(taker)) = (op(send), op(recv)) else { continue };
        match taker {
            Op::Recv { into, .. } => {
                put(&mut cuts, recv, runs("r", from, into, &[from, into]));
                put(&mut cuts, send, runs("s", from, into, &[from, into]));
            }
            Op::RecvReduce { local, into, .. } => {
                put(&mut cuts, recv, runs("rrc", local, into, &[from, local, into]));
                put(&mut cuts, send, runs("s", from, into, &[from, local, into]));
            }
            Op::Send { .. }
            | Op::Copy { .. }
            | Op::Reduce { .. }
            | Op::Multicast { .. }
            | Op::Contribute { .. }
            | Op::SwitchReduce { .. }
            | Op::Await { .. } => {}
        }
    }
    Ok(cuts)
}

fn put(cuts: &mut [Cut], (rank, number): End, pieces: Vec<Piece>) {
    if let Some((_, known)) = cuts.get_mut(rank).and_then(|cut| cut.get_mut(number)) {
        *known = pieces;
    }
}

/// Which send meets which receive.
fn messages(items: &[Vec<Item>]) -> Result<Vec<(End, End)>, MscclRefusal> {
    let mut queues: BTreeMap<(Rank, Rank, u16), Queue> = BTreeMap::new();
    for (rank, items) in items.iter().enumerate() {
        let own = Rank::new(u32::try_from(rank).unwrap_or(u32::MAX));
        for (number, item) in items.iter().enumerate() {
            let (key, end) = match item.op {
                Op::Send { to, .. } => ((own, to, item.channel), 0),
                Op::Recv { from, .. } | Op::RecvReduce { from, .. } => ((from, own, item.channel), 1),
                Op::Copy { .. }
                | Op::Reduce { .. }
                | Op::Multicast { .. }
                | Op::Contribute { .. }
                | Op::SwitchReduce { .. }
                | Op::Await { .. } => continue,
            };
            let ends = queues.entry(key).or_default();
            if let Some(all) = ends.get_mut(end) {
                all.push(((rank, number), item.thread));
            }
        }
    }
    let mut pairs = Vec::new();
    for ((from, to, channel), [sends, takes]) in queues {
        for ends in [&sends, &takes] {
            if ends.iter().any(|(_, thread)| ends.first().is_some_and(|first| first.1 != *thread)) {
                return Err(MscclRefusal::SharedChannel { from, to, channel });
            }
        }
        pairs.extend(sends.into_iter().zip(takes).map(|((send, _), (take, _))| (send, take)));
    }
    Ok(pairs)
}

/// Steps from `source` to `target` for as many chunks as follow each other in all of `alike`.
fn runs(kind: &'static str, source: Slice, target: Slice, alike: &[Slice]) -> Vec<Piece> {
    let blocks = |slice: &Slice| -> Vec<u32> {
        slice.ranges().flat_map(|(first, length)| first..first + length).collect()
    };
    let all: Vec<Vec<u32>> = alike.iter().map(blocks).collect();
    let mut pieces: Vec<Piece> = Vec::new();
    for (number, (from, into)) in blocks(&source).into_iter().zip(blocks(&target)).enumerate() {
        let follows = number > 0
            && all.iter().all(|blocks| {
                blocks
                    .get(number)
                    .zip(blocks.get(number - 1))
                    .is_some_and(|(here, before)| *here == before + 1)
            });
        match pieces.last_mut() {
            Some(last) if follows && last.count + 1 < COUNT_MAX => last.count += 1,
            Some(_) | None => pieces.push(Piece {
                kind,
                source: (source.buffer, from),
                target: (target.buffer, into),
                count: 1,
            }),
        }
    }
    pieces
}
