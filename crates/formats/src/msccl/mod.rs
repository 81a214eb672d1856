//! Algorithms of MSCCL in XML: read, proved, and written from plans.
//!
//! What a step does is what the interpreter does (`msccl_kernel_impl.h` of RCCL and of MSCCL's fork of NCCL): a
//! thread block does its steps one after the other, sends all its messages to one GPU and takes all from one, on one
//! channel. `r` and `rcs` write `dst`; `s`, `rrs` and `cpy` read `src`; `rrc` and `rrcs` add what comes to `src` and
//! write `dst`; `re` adds `src` to `dst`. A step with `depid` waits until that thread block has said that it is
//! through its step `deps`; it says so after steps with `hasdep`, so that a later one counts too. `nop` only waits.
//!
//! Chunks become blocks: `nchunksperloop` is the number of chunks of the larger of input and output.

pub(crate) mod codes;
mod format;
mod fuse;
mod lower;
mod order;
mod parse;
mod pieces;
mod prove;
#[cfg(test)]
mod tests;
mod write;

pub use format::MscclFile;
pub use prove::{MscclProof, MscclVerdict};
pub use write::{MscclAbout, MscclRefusal, write};

use weft_base::Diagnostic;
use weft_collective::{Call, Collective, Counts, DataType, Program, Rank};

/// An algorithm as MSCCL runs it.
#[derive(Debug, Clone, PartialEq)]
pub struct MscclAlgorithm {
    /// Its name.
    pub name: String,
    /// What it is for, as the file says it: `allreduce`.
    pub coll: String,
    /// The same, where that is a collective of which it is known what it promises.
    pub collective: Option<Collective>,
    /// Channels.
    pub channels: u32,
    /// `Simple`, `LL`, `LL128`.
    pub protocol: String,
    /// Chunks of the larger of input and output.
    pub chunks: u32,
    /// Whether it may be used where input and output are the same memory.
    pub in_place: bool,
    /// Whether it may be used where they are not.
    pub out_of_place: bool,
    /// Thread blocks of all GPUs.
    pub thread_blocks: u32,
    /// Steps of all thread blocks.
    pub steps: u32,
    /// What each GPU does: a thread for each thread block, in the order of their numbers.
    pub program: Program,
    /// Where each step of the program stands: GPU, thread, step.
    pub(crate) origins: Vec<Vec<Vec<Origin>>>,
    /// Lines of the GPUs.
    pub(crate) gpus: Vec<Origin>,
}

/// Where something stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The number of the thread block or step.
    pub number: u32,
    /// Where its tag begins, in bytes of the document.
    pub start: usize,
    /// Its line, from 1.
    pub line: u32,
}

impl MscclAlgorithm {
    /// The GPUs.
    pub fn ranks(&self) -> u32 {
        u32::try_from(self.program.ranks.len()).unwrap_or(u32::MAX)
    }

    /// The smallest call in which each chunk is one element; `None` where the collective is not known.
    pub fn call(&self, in_place: bool) -> Option<Call> {
        let collective = self.collective?;
        Some(Call {
            counts: Counts::Even(u64::from(self.program.pieces)),
            data_type: DataType::Single,
            in_place,
            ..Call::bytes(collective, 0)
        })
    }

    /// The line of a step of the program; `None` where there is none.
    pub fn line(&self, rank: Rank, thread: u16, step: u32) -> Option<u32> {
        self.origin(rank, thread, step).map(|origin| origin.line)
    }

    pub(crate) fn origin(&self, rank: Rank, thread: u16, step: u32) -> Option<Origin> {
        self.origins.get(rank.index())?.get(usize::from(thread))?.get(step as usize).copied()
    }
}

/// Reads an algorithm, with what MSCCL would refuse of it.
pub fn read(file: &str, text: &str) -> (Option<MscclAlgorithm>, Vec<Diagnostic>) {
    let source = crate::Source::file(file, text);
    let lines = crate::lines(&source);
    let part = crate::Part { file, lines: lines.into() };
    let (algorithm, findings) = format::document(&part, |_, algorithm| algorithm);
    (algorithm.flatten(), findings)
}
