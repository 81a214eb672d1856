//! What a collective promises of the outputs.

use super::place::Block;
use super::space::Space;
use super::state::State;
use super::sums::{Fault, Meaning};
use super::violation::{Content, Part, Violation};
use crate::{Buffer, Collective, Rank};

/// What is promised of a block of a rank's output; `None` where nothing is.
fn promise(space: &Space<'_>, rank: Rank, number: u32) -> Option<Content> {
    let pieces = space.layout.pieces();
    let (of, piece) = (number / pieces, number % pieces);
    let sum = |block| Some(Content { part: Part { rank: Rank::new(0), block }, ranks: space.ranks });
    let part = |rank, block| Some(Content { part: Part { rank, block }, ranks: 1 });
    match space.call.collective {
        Collective::AllReduce => sum(number),
        Collective::ReduceScatter => sum(rank.get() * pieces + number),
        Collective::Reduce if rank == space.call.root => sum(number),
        Collective::AllGather => part(Rank::new(of), piece),
        Collective::AllToAll => part(Rank::new(of), rank.get() * pieces + piece),
        Collective::Broadcast => part(space.call.root, number),
        Collective::SendRecv if rank == space.call.peer => part(space.call.root, number),
        Collective::Reduce | Collective::SendRecv | Collective::Barrier => None,
    }
}

/// Whether everyone ends with what is promised.
pub(super) fn kept(space: &Space<'_>, state: &mut State<'_, '_>) -> Result<(), Violation> {
    for rank in (0..space.ranks).map(Rank::new) {
        if let (Collective::Barrier, Some(clocks)) = (space.call.collective, &state.clocks)
            && let Some(of) = clocks.unheard(rank)
        {
            return Err(Violation::Unheard { rank, of });
        }
        for number in 0..space.blocks(Buffer::Output) {
            let block = Block { buffer: Buffer::Output, number };
            let cell = space.cell(rank, block);
            let promise = promise(space, rank, number).filter(|_| cell.bytes > 0);
            let Some(wanted) = promise else { continue };
            let held = state.value(rank, cell);
            if held != state.sums.value(wanted) {
                return Err(broken(space.ranks, rank, block, wanted, state.sums.meaning(held)));
            }
        }
    }
    Ok(())
}

fn broken(all: u32, rank: Rank, block: Block, wanted: Content, meaning: Meaning<'_>) -> Violation {
    match meaning {
        Meaning::Nothing => Violation::Missing { rank, block, wanted },
        Meaning::Fault(Fault::Again { at, part }) => Violation::Again { rank, block, at, part },
        Meaning::Fault(Fault::Mixed { at, added, to }) => Violation::Mixed { rank, block, at, added, to },
        Meaning::Sum(held, of) => {
            let lacks = |who: &u32| !held.iter().any(|(first, end)| (*first..*end).contains(who));
            if wanted.ranks == all
                && of == wanted.part.block
                && let Some(lacks) = (0..all).find(lacks)
            {
                return Violation::Lacks { rank, block, lacks: Rank::new(lacks) };
            }
            let first = Rank::new(held.first().map_or(0, |(first, _)| *first));
            let ranks = held.iter().map(|(first, end)| end - first).sum();
            let held = Content { part: Part { rank: first, block: of }, ranks };
            Violation::Wrong { rank, block, wanted, held }
        }
    }
}
