//! Where the bytes of slices are.

use weft_collective::{Buffer, Call, Collective, Layout, Rank, Slice};

/// A buffer of the rank, as memory: in a call in place both buffers are one, the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Region {
    Input,
    Output,
    Scratch(u16),
}

impl Region {
    /// Different for each.
    pub fn number(self) -> u32 {
        match self {
            Self::Input => 0,
            Self::Output => 1,
            Self::Scratch(number) => 2 + u32::from(number),
        }
    }
}

/// Bytes that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub region: Region,
    pub offset: usize,
    pub length: usize,
}

/// Entries of one of the script's lists that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub first: u32,
    pub count: u32,
}

impl Extent {
    pub fn overlaps(self, other: Self) -> bool {
        self.region == other.region
            && self.offset < other.offset + other.length
            && other.offset < self.offset + self.length
    }
}

impl Run {
    pub fn range(self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.count) as usize
    }
}

/// Finds the bytes of blocks.
pub(super) struct Mapping<'c> {
    layout: Layout<'c>,
    rank: Rank,
    size: usize,
    /// Bytes before those of the input and of the output in their region.
    input: (Region, usize),
    output: (Region, usize),
}

impl<'c> Mapping<'c> {
    pub fn new(call: &'c Call, layout: Layout<'c>, rank: Rank) -> Self {
        let size = usize::try_from(call.data_type.size_bytes()).unwrap_or(usize::MAX);
        let mut mapping = Self { layout, rank, size, input: (Region::Input, 0), output: (Region::Output, 0) };
        if call.in_place {
            let own = |buffer| mapping.range(buffer, rank.get() * mapping.layout.pieces()).0;
            let (input, output) = match call.collective {
                Collective::AllGather => (own(Buffer::Output), 0),
                Collective::ReduceScatter => (0, own(Buffer::Input)),
                Collective::AllReduce
                | Collective::Broadcast
                | Collective::Reduce
                | Collective::AllToAll
                | Collective::SendRecv
                | Collective::Barrier => (0, 0),
            };
            (mapping.input, mapping.output) = ((Region::Output, input), (Region::Output, output));
        }
        mapping
    }

    /// The same behind so many bytes of both buffers.
    pub fn behind(mut self, bytes: usize) -> Self {
        self.input.1 += bytes;
        self.output.1 += bytes;
        self
    }

    /// The offset and the length of a block in its buffer, in bytes.
    fn range(&self, buffer: Buffer, block: u32) -> (usize, usize) {
        let elements = self.layout.elements(buffer, self.rank, block);
        let bytes = |count: u64| usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(self.size);
        (bytes(elements.start), bytes(elements.end - elements.start))
    }

    /// Bytes of a whole buffer.
    pub fn bytes(&self, buffer: Buffer) -> usize {
        let blocks = self.layout.blocks(buffer);
        blocks.checked_sub(1).map_or(0, |last| {
            let (offset, length) = self.range(buffer, last);
            offset + length
        })
    }

    /// Bytes of the buffers that the rank brings and ends with: of a call in place only the latter, the larger of both.
    pub fn lengths(&self, call: &Call) -> (usize, usize) {
        let (input, output) = (self.bytes(Buffer::Input), self.bytes(Buffer::Output));
        if call.in_place { (0, input.max(output)) } else { (input, output) }
    }

    /// Where the bytes of a slice are, pieces that touch made one; none of them empty.
    pub fn extents(&self, slice: &Slice) -> Vec<Extent> {
        let (region, base) = match slice.buffer {
            Buffer::Input => self.input,
            Buffer::Output => self.output,
            Buffer::Scratch(number) => (Region::Scratch(number), 0),
        };
        let mut extents: Vec<Extent> = Vec::new();
        for block in slice.ranges().flat_map(|(first, count)| first..first + count) {
            let (offset, length) = self.range(slice.buffer, block);
            let offset = base + offset;
            match extents.last_mut() {
                Some(last) if last.offset + last.length == offset => last.length += length,
                _ if length > 0 => extents.push(Extent { region, offset, length }),
                _ => {}
            }
        }
        extents
    }
}

/// Cuts two lists of the same bytes in all so that their pieces have the same lengths.
pub(super) fn alike(first: &[Extent], second: &[Extent]) -> (Vec<Extent>, Vec<Extent>) {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let (mut rest, mut other) = (first.iter().copied(), second.iter().copied());
    let (mut a, mut b) = (rest.next(), other.next());
    while let (Some(one), Some(two)) = (a, b) {
        let length = one.length.min(two.length);
        left.push(Extent { length, ..one });
        right.push(Extent { length, ..two });
        let behind = |extent: Extent| Extent {
            offset: extent.offset + length,
            length: extent.length - length,
            ..extent
        };
        a = if one.length == length { rest.next() } else { Some(behind(one)) };
        b = if two.length == length { other.next() } else { Some(behind(two)) };
    }
    (left, right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_touch_are_one_piece_and_in_place_buffers_one_region() {
        // 10 bytes in 4 pieces: cuts at 0, 2, 5, 7, 10.
        let call = Call::bytes(Collective::AllReduce, 10);
        let mapping = Mapping::new(&call, Layout::new(&call, 4, 4), Rank::new(1));
        let piece = |offset, length| Extent { region: Region::Input, offset, length };
        assert_eq!(mapping.extents(&Slice::range(Buffer::Input, 1, 2)), [piece(2, 5)]);
        let every_other =
            Slice { wrap: 4, unit: 1, count: 2, stride: 2, ..Slice::range(Buffer::Input, 0, 1) };
        assert_eq!(mapping.extents(&every_other), [piece(0, 2), piece(5, 2)]);
        let call = Call { in_place: true, ..Call::bytes(Collective::AllGather, 6) };
        let mapping = Mapping::new(&call, Layout::new(&call, 3, 2), Rank::new(2));
        let own = Extent { region: Region::Output, offset: 12, length: 6 };
        assert_eq!(mapping.extents(&Slice::range(Buffer::Input, 0, 2)), [own]);
        assert_eq!(mapping.bytes(Buffer::Output), 18);
    }

    #[test]
    fn pieces_are_cut_alike() {
        let piece = |region, offset, length| Extent { region, offset, length };
        let (input, output) = (Region::Input, Region::Output);
        let (left, right) =
            alike(&[piece(input, 0, 5), piece(input, 9, 3)], &[piece(output, 4, 2), piece(output, 8, 6)]);
        assert_eq!(left, [piece(input, 0, 2), piece(input, 2, 3), piece(input, 9, 3)]);
        assert_eq!(right, [piece(output, 4, 2), piece(output, 8, 3), piece(output, 11, 3)]);
    }
}
