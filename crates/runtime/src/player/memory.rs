//! The buffers of a rank during a call.

use crate::Buffer;
use crate::script::{Extent, Region};

/// Where the bytes are.
#[derive(Debug)]
pub struct Memory<'b> {
    /// What the rank brings; empty if the call is in place.
    pub input: &'b [u8],
    /// What it ends with; of a call in place, the larger of the two buffers.
    pub output: &'b mut [u8],
    /// What the script asks for besides.
    pub scratch: &'b mut [Buffer<u8>],
}

/// Two pieces of memory, one of which is written.
pub(crate) enum Pair<'a> {
    /// They are the same.
    Same(&'a mut [u8]),
    /// What is read, and what is written.
    Apart(&'a [u8], &'a mut [u8]),
}

impl Memory<'_> {
    pub(crate) fn read(&self, extent: Extent) -> &[u8] {
        let bytes = match extent.region {
            Region::Input => self.input,
            Region::Output => self.output,
            Region::Scratch(number) => &self.scratch[usize::from(number)],
        };
        &bytes[extent.offset..][..extent.length]
    }

    pub(crate) fn write(&mut self, extent: Extent) -> &mut [u8] {
        &mut self.region(extent.region)[extent.offset..][..extent.length]
    }

    /// The memory of a region that is written; no plan writes the input.
    fn region(&mut self, region: Region) -> &mut [u8] {
        match region {
            Region::Input => &mut [],
            Region::Output => self.output,
            Region::Scratch(number) => &mut self.scratch[usize::from(number)],
        }
    }

    /// Two pieces of the same length which are the same or do not overlap.
    pub(crate) fn pair(&mut self, from: Extent, into: Extent) -> Pair<'_> {
        if from == into {
            return Pair::Same(self.write(into));
        }
        let length = into.length;
        match (from.region, into.region) {
            (Region::Input, Region::Output) => {
                Pair::Apart(&self.input[from.offset..][..length], &mut self.output[into.offset..][..length])
            }
            (Region::Input, Region::Scratch(number)) => {
                let into = &mut self.scratch[usize::from(number)][into.offset..][..length];
                Pair::Apart(&self.input[from.offset..][..length], into)
            }
            (Region::Scratch(number), Region::Output) => {
                let from = &self.scratch[usize::from(number)][from.offset..][..length];
                Pair::Apart(from, &mut self.output[into.offset..][..length])
            }
            (Region::Output, Region::Scratch(number)) => {
                let into = &mut self.scratch[usize::from(number)][into.offset..][..length];
                Pair::Apart(&self.output[from.offset..][..length], into)
            }
            (Region::Scratch(one), Region::Scratch(other)) if one != other => {
                let (one, other) = (usize::from(one), usize::from(other));
                let (low, high) = self.scratch.split_at_mut(one.max(other));
                let (read, written): (&[u8], &mut [u8]) =
                    if one < other { (&low[one], &mut high[0]) } else { (&high[0], &mut low[other]) };
                Pair::Apart(&read[from.offset..][..length], &mut written[into.offset..][..length])
            }
            (_, region) => {
                let (low, high) = self.region(region).split_at_mut(from.offset.max(into.offset));
                if from.offset < into.offset {
                    Pair::Apart(&low[from.offset..][..length], &mut high[..length])
                } else {
                    Pair::Apart(&high[..length], &mut low[into.offset..][..length])
                }
            }
        }
    }
}
