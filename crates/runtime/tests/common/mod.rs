//! What tests of the runtime share: calls with data, what must come out, and two ways to play a plan.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub mod cases;
pub mod expected;
pub mod network;
pub mod reference;

use weft_collective::{Buffer, Call, Collective, Counts, Layout, Plan, Rank};
use weft_runtime::Element;

/// The generator of all that is random: a linear congruence, 31 bits a draw.
#[derive(Debug, Clone)]
pub struct Draws(pub u64);

impl Draws {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next()).unwrap() % bound.max(1)
    }
}

/// The buffers of a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buffers {
    /// Empty if the call is in place.
    pub input: Vec<u8>,
    pub output: Vec<u8>,
}

/// Bytes of a buffer of a rank.
pub fn bytes_of(plan: &Plan, call: &Call, rank: Rank, buffer: Buffer) -> usize {
    let layout = Layout::new(call, plan.ranks, plan.pieces);
    let blocks = layout.blocks(buffer);
    let end = blocks.checked_sub(1).map_or(0, |last| layout.elements(buffer, rank, last).end);
    usize::try_from(end * call.data_type.size_bytes()).unwrap()
}

/// Where a rank's part of the larger buffer begins, if the call is in place.
pub fn own_offset(plan: &Plan, call: &Call, rank: Rank) -> usize {
    let layout = Layout::new(call, plan.ranks, plan.pieces);
    let larger = match call.collective {
        Collective::AllGather => Buffer::Output,
        Collective::ReduceScatter => Buffer::Input,
        _ => return 0,
    };
    let start = layout.elements(larger, rank, rank.get() * plan.pieces).start;
    usize::try_from(start * call.data_type.size_bytes()).unwrap()
}

/// Buffers full of random numbers: small ones, so that sums of floats are not all rounding.
pub fn filled(plan: &Plan, call: &Call, element: Element, draws: &mut Draws) -> Vec<Buffers> {
    let ranks = (0..plan.ranks).map(Rank::new);
    ranks
        .map(|rank| {
            let (input, output) =
                (bytes_of(plan, call, rank, Buffer::Input), bytes_of(plan, call, rank, Buffer::Output));
            let (input, output) = if call.in_place { (0, input.max(output)) } else { (input, output) };
            Buffers { input: numbers(element, input, draws), output: numbers(element, output, draws) }
        })
        .collect()
}

fn numbers(element: Element, bytes: usize, draws: &mut Draws) -> Vec<u8> {
    let mut data = Vec::with_capacity(bytes);
    while data.len() < bytes {
        let draw = draws.next();
        match element {
            Element::F32 => {
                #[expect(clippy::cast_precision_loss, reason = "any number serves")]
                let number = (draw as f32) / 1e9 - 1.0;
                data.extend(number.to_ne_bytes());
            }
            Element::I32 => data.extend(u32::try_from(draw).unwrap().to_ne_bytes()),
            _ => data.push(draw.to_ne_bytes()[0]),
        }
    }
    assert_eq!(data.len(), bytes);
    data
}

/// Calls of a collective over some ranks: empty, one element, odd, larger, of parts that differ; in place and not.
pub fn calls(collective: Collective, ranks: u32, element: Element) -> Vec<Call> {
    let part = |index: u32| u64::from((index * 7 + 3) % 5);
    let mut counts: Vec<Counts> = [0, 1, 37, 1000].map(Counts::Even).into();
    match collective {
        Collective::AllGather | Collective::ReduceScatter => {
            counts.push(Counts::PerRank((0..ranks).map(part).collect()));
        }
        Collective::AllToAll => counts.push(Counts::PerPair((0..ranks * ranks).map(part).collect())),
        Collective::Barrier => counts.truncate(1),
        _ => {}
    }
    let rooted = matches!(collective, Collective::Broadcast | Collective::Reduce | Collective::SendRecv);
    let roots = if rooted { vec![0, ranks - 1] } else { vec![0] };
    let mut calls = Vec::new();
    for (counts, root) in counts.iter().flat_map(|counts| roots.iter().map(move |root| (counts, *root))) {
        for in_place in [false, true] {
            calls.push(Call {
                counts: counts.clone(),
                data_type: element.data_type(),
                root: Rank::new(root),
                peer: Rank::new((root + 1) % ranks),
                in_place,
                ..Call::bytes(collective, 0)
            });
        }
    }
    calls
}
