//! How a buffer is cut into blocks.

use std::ops::Range;

use crate::{Buffer, Call, Collective, Counts, Rank, Slice};

/// Blocks of the buffers of a call. A buffer has one part, or one for each rank, and each part is cut into the same
/// number of pieces, as even as whole elements allow: piece i of a part of E elements begins at floor(i E / pieces).
/// Block `part * pieces + piece` is that piece.
#[derive(Debug, Clone)]
pub struct Layout<'c> {
    call: &'c Call,
    ranks: u32,
    pieces: u32,
    /// Bytes of a block where all blocks of all buffers have the same.
    equal_bytes: Option<u64>,
}

impl<'c> Layout<'c> {
    /// The layout of a call over `ranks` ranks with `pieces` pieces in a part.
    pub fn new(call: &'c Call, ranks: u32, pieces: u32) -> Self {
        let pieces = pieces.max(1);
        let equal_bytes = match call.counts {
            Counts::Even(elements) => (elements.is_multiple_of(u64::from(pieces)))
                .then(|| elements / u64::from(pieces) * call.data_type.size_bytes()),
            Counts::PerRank(_) | Counts::PerPair(_) => None,
        };
        Self { call, ranks, pieces, equal_bytes }
    }

    /// Pieces of a part.
    pub fn pieces(&self) -> u32 {
        self.pieces
    }

    /// Blocks of a buffer. Scratch is laid out like the larger of input and output.
    pub fn blocks(&self, buffer: Buffer) -> u32 {
        self.parts(buffer) * self.pieces
    }

    /// Parts of a buffer: 1, or one for each rank.
    pub fn parts(&self, buffer: Buffer) -> u32 {
        use Collective::{
            AllGather, AllReduce, AllToAll, Barrier, Broadcast, Reduce, ReduceScatter, SendRecv,
        };
        let many = match (self.call.collective, buffer) {
            (AllToAll, _)
            | (AllGather, Buffer::Output | Buffer::Scratch(_))
            | (ReduceScatter, Buffer::Input | Buffer::Scratch(_)) => true,
            (AllReduce | Broadcast | Reduce | SendRecv | Barrier, _)
            | (AllGather, Buffer::Input)
            | (ReduceScatter, Buffer::Output) => false,
        };
        if many { self.ranks } else { 1 }
    }

    /// Elements of a part of a buffer of `rank`.
    pub fn part_elements(&self, buffer: Buffer, rank: Rank, part: u32) -> u64 {
        let of = |counts: &[u64], index: usize| counts.get(index).copied().unwrap_or(0);
        match &self.call.counts {
            Counts::Even(elements) => *elements,
            Counts::PerRank(counts) => {
                of(counts, if self.parts(buffer) == 1 { rank.index() } else { part as usize })
            }
            Counts::PerPair(counts) => {
                let (ranks, part) = (self.ranks as usize, part as usize);
                match buffer {
                    Buffer::Input => of(counts, rank.index() * ranks + part),
                    Buffer::Output | Buffer::Scratch(_) => of(counts, part * ranks + rank.index()),
                }
            }
        }
    }

    /// The elements of a block, counted from the start of its buffer.
    pub fn elements(&self, buffer: Buffer, rank: Rank, block: u32) -> Range<u64> {
        let (part, piece) = (block / self.pieces, block % self.pieces);
        let start: u64 = match &self.call.counts {
            Counts::Even(elements) => u64::from(part) * elements,
            Counts::PerRank(_) | Counts::PerPair(_) => {
                (0..part).map(|part| self.part_elements(buffer, rank, part)).sum()
            }
        };
        let elements = self.part_elements(buffer, rank, part);
        start + self.cut(elements, piece)..start + self.cut(elements, piece + 1)
    }

    /// Bytes of a block.
    pub fn block_bytes(&self, buffer: Buffer, rank: Rank, block: u32) -> u64 {
        if let Some(bytes) = self.equal_bytes {
            return bytes;
        }
        let elements = self.part_elements(buffer, rank, block / self.pieces);
        let piece = block % self.pieces;
        (self.cut(elements, piece + 1) - self.cut(elements, piece)) * self.call.data_type.size_bytes()
    }

    /// Bytes of all blocks of a slice.
    pub fn slice_bytes(&self, rank: Rank, slice: &Slice) -> u64 {
        if let Some(bytes) = self.equal_bytes {
            return bytes * u64::from(slice.blocks());
        }
        let bytes = |(first, length)| -> u64 {
            (first..first + length).map(|block| self.block_bytes(slice.buffer, rank, block)).sum()
        };
        slice.ranges().map(bytes).sum()
    }

    /// Whether all blocks have the same size, so that ranks differ in nothing but their number.
    pub fn is_even(&self) -> bool {
        self.equal_bytes.is_some()
    }

    fn cut(&self, elements: u64, piece: u32) -> u64 {
        let at = u128::from(elements) * u128::from(piece) / u128::from(self.pieces);
        u64::try_from(at).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn pieces_are_as_even_as_elements_allow() {
        let call = Call::bytes(Collective::AllReduce, 10);
        let layout = Layout::new(&call, 4, 4);
        let sizes: Vec<u64> =
            (0..4).map(|block| layout.block_bytes(Buffer::Input, Rank::new(0), block)).collect();
        // Cuts at 0, 2.5, 5, 7.5, 10, rounded down.
        assert_eq!(sizes, [2, 3, 2, 3]);
        assert_eq!(layout.elements(Buffer::Output, Rank::new(3), 1), 2..5);
        assert!(!layout.is_even());
        assert_eq!(layout.slice_bytes(Rank::new(0), &Slice::range(Buffer::Input, 1, 3)), 8);
    }

    #[test]
    fn parts_of_uneven_collectives_are_those_of_their_ranks() {
        let counts = Counts::PerRank(Arc::from([3, 0, 5]));
        let call = Call { counts, ..Call::bytes(Collective::AllGather, 0) };
        let layout = Layout::new(&call, 3, 1);
        assert_eq!(layout.block_bytes(Buffer::Input, Rank::new(2), 0), 5);
        assert_eq!(layout.elements(Buffer::Output, Rank::new(0), 2), 3..8);
        let counts = Counts::PerPair(Arc::from([0, 1, 2, 3]));
        let call = Call { counts, ..Call::bytes(Collective::AllToAll, 0) };
        let layout = Layout::new(&call, 2, 1);
        // Rank 0 sends 1 to rank 1; rank 1 finds it in its part 0.
        assert_eq!(layout.block_bytes(Buffer::Input, Rank::new(0), 1), 1);
        assert_eq!(layout.block_bytes(Buffer::Output, Rank::new(1), 0), 1);
    }
}
