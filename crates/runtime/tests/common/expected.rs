//! What a collective means, said without any plan.

use weft_collective::{Buffer, Call, Collective, Layout, Plan, Rank};

use super::{Buffers, own_offset};

/// The bytes that a rank must have at an offset of its output buffer; what is not listed may be anything.
pub fn expected(plan: &Plan, call: &Call, before: &[Buffers], rank: Rank) -> Vec<(usize, Vec<u8>)> {
    let layout = Layout::new(call, plan.ranks, plan.pieces);
    let size = call.data_type.size_bytes();
    let input = |of: Rank| -> &[u8] {
        let buffers = &before[of.index()];
        if !call.in_place {
            return &buffers.input;
        }
        let own = own_offset(plan, call, of);
        let bytes = super::bytes_of(plan, call, of, Buffer::Input);
        if call.collective == Collective::AllGather {
            &buffers.output[own..own + bytes]
        } else {
            &buffers.output
        }
    };
    let part = |buffer: Buffer, of: Rank, part: u32| {
        let first = layout.elements(buffer, of, part * plan.pieces).start;
        let elements = layout.part_elements(buffer, of, part);
        let at = |element: u64| usize::try_from(element * size).unwrap();
        at(first)..at(first + elements)
    };
    let ranks = || (0..plan.ranks).map(Rank::new);
    let sum = |range: std::ops::Range<usize>| {
        let mut sum = vec![0_u8; range.len()];
        for of in ranks() {
            add(&mut sum, &input(of)[range.clone()]);
        }
        sum
    };
    match call.collective {
        Collective::AllReduce => vec![(0, sum(part(Buffer::Input, rank, 0)))],
        Collective::Reduce if rank == call.root => vec![(0, sum(part(Buffer::Input, rank, 0)))],
        Collective::ReduceScatter => {
            let at = if call.in_place { own_offset(plan, call, rank) } else { 0 };
            vec![(at, sum(part(Buffer::Input, rank, rank.get())))]
        }
        Collective::AllGather => {
            ranks().map(|of| (part(Buffer::Output, rank, of.get()).start, input(of).to_vec())).collect()
        }
        Collective::Broadcast => vec![(0, input(call.root).to_vec())],
        Collective::SendRecv if rank == call.peer => vec![(0, input(call.root).to_vec())],
        Collective::AllToAll => ranks()
            .map(|of| {
                let from = part(Buffer::Input, of, rank.get());
                (part(Buffer::Output, rank, of.get()).start, input(of)[from].to_vec())
            })
            .collect(),
        Collective::Reduce | Collective::SendRecv | Collective::Barrier => Vec::new(),
    }
}

/// Adds 32-bit numbers, which wrap around.
fn add(sum: &mut [u8], more: &[u8]) {
    for (sum, more) in sum.chunks_mut(4).zip(more.chunks(4)) {
        let number = |bytes: &[u8]| i32::from_ne_bytes(bytes.try_into().unwrap());
        sum.copy_from_slice(&number(sum).wrapping_add(number(more)).to_ne_bytes());
    }
}
