//! Where everything lies in the shared file.
//!
//! The file is laid out for all channels there can be, and a buffer of up to a tebibyte of each rank: what is not
//! touched costs nothing in it, so that nothing ever has to grow and no rank has to tell another where something
//! lies. A stream is mapped by its two ends when they first use it.

/// What a processor hands to another at once.
pub(super) const LINE: usize = 64;
/// What the system maps at once.
pub(super) const PAGE: usize = 4096;
/// What it maps at once where it has large pages.
pub(super) const HUGE: usize = 2 << 20;
/// Ranks there can be at most; the file would have room for more.
pub(super) const RANKS_MOST: usize = 1024;
/// What a rank can allocate in all.
pub(super) const ARENA: u64 = 1 << 40;

/// In the first page: what says that the file is one of ours, and how it is laid out.
pub(super) const MAGIC: usize = 0;
pub(super) const RANKS: usize = 8;
pub(super) const RING: usize = 16;
/// The rank, plus one, whose fault ended it all.
pub(super) const FAULT: usize = 64;

/// The file as it is laid out for some ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) ranks: usize,
    /// Bytes of a stream's ring, a power of two of at least a page.
    pub(super) ring: usize,
}

impl Layout {
    /// Where a rank's own block begins: a page, and a number for each peer.
    pub(super) fn block(self, rank: usize) -> usize {
        PAGE + rank * (PAGE + (self.ranks * 8).next_multiple_of(PAGE))
    }

    /// Where it is decided who goes on after a fault: a page, and one for each rank.
    pub(super) fn ballots(self) -> usize {
        self.block(self.ranks)
    }

    /// Bytes of the first page, all blocks, and what stands behind them.
    pub(super) fn blocks(self) -> usize {
        self.ballots() + PAGE * (1 + self.ranks)
    }

    /// Bytes of a stream: a page for counters and slots, and the ring.
    pub(super) fn stream_bytes(self) -> usize {
        PAGE + self.ring
    }

    /// Where a stream lies.
    pub(super) fn stream(self, channel: u16, from: usize, to: usize) -> u64 {
        let index = (usize::from(channel) * self.ranks + from) * self.ranks + to;
        (self.blocks() + index * self.stream_bytes()) as u64
    }

    /// Where the memory that a rank allocates for its buffers begins.
    pub(super) fn arena(self, rank: usize) -> u64 {
        let streams = self.stream(u16::MAX, self.ranks, 0);
        streams.next_multiple_of(ARENA) + rank as u64 * ARENA
    }

    /// Bytes of it all.
    pub(super) fn file(self) -> u64 {
        self.arena(self.ranks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_lies_on_anything_else() {
        let layout = Layout { ranks: 3, ring: 8192 };
        assert_eq!((layout.block(0), layout.block(1), layout.ballots()), (4096, 12_288, 28_672));
        assert_eq!(layout.blocks(), 28_672 + 4 * 4096);
        assert_eq!(layout.stream(0, 0, 0), 45_056);
        assert_eq!(layout.stream(0, 0, 1), 45_056 + 12_288);
        assert_eq!(layout.stream(1, 0, 0), 45_056 + 9 * 12_288);
        assert!(layout.stream(u16::MAX, 2, 2) + 12_288 <= layout.arena(0));
        let most = Layout { ranks: RANKS_MOST, ring: 1 << 20 };
        assert!(most.file() < 1 << 60);
    }
}
