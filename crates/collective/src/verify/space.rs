//! The blocks of all buffers of a rank as cells, of which buffers that are the same memory share some.

use super::place::{Block, Place};
use super::violation::{CallFault, Violation};
use crate::{Buffer, Call, Collective, Counts, Layout, Plan, Rank, Slice};

/// More blocks and threads than this are refused, so that a number in an imported plan cannot ask for all memory.
const MOST_BLOCKS: u64 = 1 << 26;

/// The memory of the ranks. Cells are numbered per rank.
#[derive(Debug, Clone)]
pub(super) struct Space<'c> {
    pub call: &'c Call,
    pub layout: Layout<'c>,
    pub ranks: u32,
    pub threads: u16,
    scratch: u16,
    inputs: u32,
    outputs: u32,
    scratches: u32,
}

/// A block of a slice.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    /// Its number within the rank.
    pub index: usize,
    pub block: Block,
    pub bytes: u64,
}

impl<'c> Space<'c> {
    pub fn new(plan: &Plan, call: &'c Call) -> Result<Self, Violation> {
        check_call(call, plan.ranks).map_err(Violation::Call)?;
        let most = u64::from(u32::MAX) / u64::from(plan.ranks) / u64::from(plan.pieces.max(1));
        let block_count = u64::from(plan.ranks) * u64::from(plan.pieces);
        if most == 0 {
            return Err(Violation::TooLarge { block_count, limit_count: MOST_BLOCKS });
        }
        let layout = Layout::new(call, plan.ranks, plan.pieces);
        let threads = u16::try_from(plan.threads.len()).map_err(|_| Violation::TooLarge {
            block_count: plan.threads.len() as u64,
            limit_count: MOST_BLOCKS,
        })?;
        let space = Self {
            call,
            ranks: plan.ranks,
            threads,
            scratch: plan.scratch,
            inputs: layout.blocks(Buffer::Input),
            outputs: layout.blocks(Buffer::Output),
            scratches: layout.blocks(Buffer::Scratch(0)),
            layout,
        };
        let block_count = u64::from(plan.ranks).saturating_mul(space.wide_cells() + u64::from(threads));
        if block_count > MOST_BLOCKS {
            return Err(Violation::TooLarge { block_count, limit_count: MOST_BLOCKS });
        }
        Ok(space)
    }

    /// Cells of a rank.
    pub fn cells(&self) -> usize {
        usize::try_from(self.wide_cells()).unwrap_or(usize::MAX)
    }

    /// Threads of all ranks.
    pub fn walkers(&self) -> usize {
        self.ranks as usize * usize::from(self.threads)
    }

    fn wide_cells(&self) -> u64 {
        let scratch = u64::from(self.scratch) * u64::from(self.scratches);
        u64::from(self.inputs) + u64::from(self.outputs) + scratch
    }

    pub fn blocks(&self, buffer: Buffer) -> u32 {
        match buffer {
            Buffer::Input => self.inputs,
            Buffer::Output => self.outputs,
            Buffer::Scratch(_) => self.scratches,
        }
    }

    /// The cell of a block that exists.
    pub fn cell(&self, rank: Rank, block: Block) -> Cell {
        let (inputs, outputs) = (self.inputs as usize, self.outputs as usize);
        let (number, own) = (block.number as usize, rank.index() * self.layout.pieces() as usize);
        let index = match (block.buffer, self.call.in_place, self.call.collective) {
            (Buffer::Input, true, Collective::AllGather) => inputs + own + number,
            (Buffer::Input, _, _) => number,
            (Buffer::Output, true, Collective::ReduceScatter) => own + number,
            (Buffer::Output, false, _) | (Buffer::Output, true, Collective::AllGather) => inputs + number,
            (Buffer::Output, true, _) => number,
            (Buffer::Scratch(buffer), _, _) => {
                inputs + outputs + usize::from(buffer) * self.scratches as usize + number
            }
        };
        let bytes = self.layout.block_bytes(block.buffer, rank, block.number);
        Cell { index, block, bytes }
    }

    /// The cells of a slice that [`Self::check`] has let through.
    pub fn slice(&self, rank: Rank, slice: Slice) -> impl Iterator<Item = Cell> + use<'_, 'c> {
        slice.ranges().flat_map(move |(first, length)| {
            (first..first + length).map(move |number| self.cell(rank, Block { buffer: slice.buffer, number }))
        })
    }

    /// Whether a rank may write a block.
    pub fn writable(&self, rank: Rank, block: Block) -> bool {
        if block.buffer != Buffer::Input {
            return true;
        }
        let own = rank.get() * self.layout.pieces();
        let ours = self.call.collective != Collective::ReduceScatter
            || (own..own + self.layout.pieces()).contains(&block.number);
        self.call.in_place && ours
    }

    /// Whether a rank brings something in its input.
    pub fn brings(&self, rank: Rank) -> bool {
        match self.call.collective {
            Collective::Broadcast | Collective::SendRecv => rank == self.call.root,
            Collective::AllReduce
            | Collective::AllGather
            | Collective::ReduceScatter
            | Collective::Reduce
            | Collective::AllToAll
            | Collective::Barrier => true,
        }
    }

    /// Whether a slice lies within its buffer.
    pub fn check(&self, at: Place, slice: &Slice) -> Result<(), Violation> {
        if let Buffer::Scratch(buffer) = slice.buffer
            && buffer >= self.scratch
        {
            return Err(Violation::UnknownBuffer { at, buffer, scratch: self.scratch });
        }
        if slice.wrap == 0 || slice.run == 0 {
            return Err(Violation::Malformed { at });
        }
        if slice.unit == 0 || slice.count == 0 {
            return Ok(());
        }
        let blocks = self.blocks(slice.buffer);
        for index in 0..slice.count {
            let (run, within) = (u64::from(index / slice.run), u64::from(index % slice.run));
            let chunk =
                (u64::from(slice.first) + run * u64::from(slice.stride) + within) % u64::from(slice.wrap);
            let end = u64::from(slice.base) + (chunk + 1) * u64::from(slice.unit);
            if end > u64::from(blocks) {
                let number = u32::try_from(end - 1).unwrap_or(u32::MAX);
                let block = Block { buffer: slice.buffer, number };
                return Err(Violation::OutOfRange { at, block, blocks });
            }
            if index >= blocks {
                return Err(Violation::Malformed { at });
            }
        }
        Ok(())
    }
}

/// Whether the call makes sense, and its sizes can be counted.
fn check_call(call: &Call, ranks: u32) -> Result<(), CallFault> {
    if ranks == 0 {
        return Err(CallFault::NoRanks);
    }
    let collective = call.collective;
    let named: &[Rank] = match collective {
        Collective::Broadcast | Collective::Reduce => &[call.root],
        Collective::SendRecv => &[call.root, call.peer],
        Collective::AllReduce
        | Collective::AllGather
        | Collective::ReduceScatter
        | Collective::AllToAll
        | Collective::Barrier => &[],
    };
    if let Some(rank) = named.iter().copied().find(|rank| rank.get() >= ranks) {
        return Err(CallFault::Root { rank, ranks });
    }
    let wide = u128::from(ranks);
    let fits = |elements: u128| {
        let bytes = elements.checked_mul(u128::from(call.data_type.size_bytes()));
        if bytes.is_some_and(|bytes| bytes <= u128::from(u64::MAX)) { Ok(()) } else { Err(CallFault::Bytes) }
    };
    let (counts, wanted) = match (&call.counts, collective) {
        (Counts::Even(elements), _) => return fits(u128::from(*elements) * wide),
        (Counts::PerRank(counts), Collective::AllGather | Collective::ReduceScatter) => {
            (counts, Some(u64::from(ranks)))
        }
        (Counts::PerPair(counts), Collective::AllToAll) => {
            (counts, Some(u64::from(ranks) * u64::from(ranks)))
        }
        (Counts::PerRank(counts) | Counts::PerPair(counts), _) => (counts, None),
    };
    if wanted != Some(counts.len() as u64) {
        return Err(CallFault::Counts { collective, given: counts.len(), wanted_count: wanted, ranks });
    }
    fits(counts.iter().map(|count| u128::from(*count)).sum())?;
    if call.in_place && collective == Collective::AllToAll { symmetric(counts, ranks) } else { Ok(()) }
}

/// In place, what a rank sends to another one and what it gets from it lie in the same place.
fn symmetric(counts: &[u64], ranks: u32) -> Result<(), CallFault> {
    let at = |row: u32, column: u32| counts.get(row as usize * ranks as usize + column as usize);
    for one in 0..ranks {
        if let Some(other) = (0..one).find(|other| at(one, *other) != at(*other, one)) {
            return Err(CallFault::Asymmetric { one: Rank::new(other), other: Rank::new(one) });
        }
    }
    Ok(())
}
