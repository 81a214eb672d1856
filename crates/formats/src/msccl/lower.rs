//! Steps of thread blocks as operations of a program.

use weft_collective::{Buffer, Op, Program, Rank, Slice, Thread};

use super::Origin;
use super::parse::{Block, Chunk, Gpu, Kind, Letter, Step};

/// A program, and where each of its steps stands.
pub(super) struct Lowered {
    pub program: Program,
    pub origins: Vec<Vec<Vec<Origin>>>,
}

/// Writes the steps as operations: waiting is a step of its own before, and what is passed on is sent in a step
/// after the one in which it comes. A sum that is sent and not kept lies in scratch space of its own meanwhile.
pub(super) fn lower(gpus: &[Gpu], chunks: u32, pieces: u32) -> Lowered {
    let declared = gpus.iter().map(|gpu| gpu.scratch).max().unwrap_or(0);
    let steps = || gpus.iter().flat_map(|gpu| &gpu.blocks).flat_map(|block| &block.steps);
    let used = steps().flat_map(|step| [(step.source, step.count), (step.target, step.count)]);
    let scratch = used.filter(|(chunk, _)| chunk.buffer == Letter::Scratch);
    let crosses = |(chunk, count): (Chunk, u32)| {
        count > 1 && chunk.offset / chunks != (chunk.offset + count - 1) / chunks
    };
    let single = scratch.clone().any(crosses);
    let kept = declared.div_ceil(chunks);
    let blocks = gpus.iter().map(|gpu| gpu.blocks.len()).max().unwrap_or(0);
    let passing = if steps().any(|step| step.kind == Kind::RecvReduceSend) { blocks } else { 0 };
    let shape = Shape { chunks, kept: u16::try_from(kept).unwrap_or(u16::MAX), single };
    let mut ranks = Vec::with_capacity(gpus.len());
    let mut origins = Vec::with_capacity(gpus.len());
    for gpu in gpus {
        let ends: Vec<Vec<u32>> = gpu.blocks.iter().map(ends).collect();
        let threads =
            gpu.blocks.iter().enumerate().map(|(index, block)| thread(&shape, gpu, &ends, index, block));
        let (threads, places): (Vec<_>, Vec<_>) = threads.unzip();
        ranks.push(threads);
        origins.push(places);
    }
    let scratch = kept as usize + passing;
    let program = Program { pieces, scratch: u16::try_from(scratch).unwrap_or(u16::MAX), ranks };
    Lowered { program, origins }
}

struct Shape {
    chunks: u32,
    /// Scratch buffers of the file.
    kept: u16,
    /// Whether chunks move one by one, since a step's chunks lie in two scratch buffers.
    single: bool,
}

/// Steps of the program that a step becomes.
fn length(step: &Step) -> u32 {
    let waits = u32::from(step.waits.is_some());
    let does = match step.kind {
        Kind::Nop => 0,
        Kind::Send | Kind::Recv | Kind::Copy | Kind::Reduce | Kind::RecvReduceCopy => 1,
        Kind::RecvCopySend | Kind::RecvReduceSend | Kind::RecvReduceCopySend => 2,
    };
    waits + does
}

/// Steps of the program up to the end of each step.
fn ends(block: &Block) -> Vec<u32> {
    let mut end = 0;
    let step = |step| {
        end += length(step);
        end
    };
    block.steps.iter().map(step).collect()
}

fn thread(shape: &Shape, gpu: &Gpu, ends: &[Vec<u32>], index: usize, block: &Block) -> (Thread, Vec<Origin>) {
    let mut steps = Vec::new();
    let mut origins = Vec::new();
    for step in &block.steps {
        if let Some(wait) = step.waits {
            let waits = wait_for(gpu, ends, index, step, wait);
            steps.push(waits.into_iter().collect());
            origins.push(step.origin);
        }
        for ops in operations(shape, index, block, step) {
            steps.push(ops);
            origins.push(step.origin);
        }
    }
    (Thread { channel: block.channel, steps }, origins)
}

/// Waiting for a thread block: for the end of the first step that says so, from the one that is named on. Waiting
/// for an earlier step of the own thread block is no waiting.
fn wait_for(
    gpu: &Gpu,
    ends: &[Vec<u32>],
    index: usize,
    step: &Step,
    (block, named): (u32, u32),
) -> Option<Op> {
    // What never comes is left for the proof to find.
    let never = Op::Await { thread: u16::MAX, steps: u32::MAX };
    let Some(other) = gpu.blocks.iter().position(|known| known.origin.number == block) else {
        return Some(never);
    };
    if other == index && named < step.origin.number {
        return None;
    }
    let thread = u16::try_from(other).unwrap_or(u16::MAX);
    let says =
        |(number, step): &(usize, &Step)| *number >= named as usize && step.signals && step.kind != Kind::Nop;
    let signal = gpu.blocks.get(other).and_then(|block| block.steps.iter().enumerate().find(says));
    let steps = signal.and_then(|(number, _)| ends.get(other)?.get(number).copied());
    Some(Op::Await { thread, steps: steps.unwrap_or(u32::MAX) })
}

/// The operations of a step, in one step of the program or in two.
fn operations(shape: &Shape, index: usize, block: &Block, step: &Step) -> Vec<Vec<Op>> {
    let (to, from) = (peer(block.send), peer(block.recv));
    let slices = |chunk: Chunk| shape.slices(chunk, step.count);
    let (sources, targets) = (slices(step.source), slices(step.target));
    let passing = || {
        let number = shape.kept.saturating_add(u16::try_from(index).unwrap_or(u16::MAX));
        sources.iter().map(move |slice| slice.of(Buffer::Scratch(number)))
    };
    let both = || sources.iter().copied().zip(targets.iter().copied());
    let send = |slices: &mut dyn Iterator<Item = Slice>| slices.map(|from| Op::Send { to, from }).collect();
    let recv = || targets.iter().map(|into| Op::Recv { from, into: *into }).collect();
    let sum = || both().map(|(local, into)| Op::RecvReduce { from, local, into }).collect();
    match step.kind {
        Kind::Nop => Vec::new(),
        Kind::Send => vec![send(&mut sources.iter().copied())],
        Kind::Recv => vec![recv()],
        Kind::Copy => vec![both().map(|(from, into)| Op::Copy { from, into }).collect()],
        Kind::Reduce => vec![both().map(|(from, into)| Op::Reduce { from, into }).collect()],
        Kind::RecvCopySend => vec![recv(), send(&mut targets.iter().copied())],
        Kind::RecvReduceSend => {
            let held = sources.iter().copied().zip(passing());
            let sums = held.map(|(local, into)| Op::RecvReduce { from, local, into });
            vec![sums.collect(), send(&mut passing())]
        }
        Kind::RecvReduceCopy => vec![sum()],
        Kind::RecvReduceCopySend => vec![sum(), send(&mut targets.iter().copied())],
    }
}

/// A peer; a step without the one that it needs has been refused before.
fn peer(peer: Option<u32>) -> Rank {
    Rank::new(peer.unwrap_or(u32::MAX))
}

impl Shape {
    fn slices(&self, chunk: Chunk, count: u32) -> Vec<Slice> {
        if self.single {
            return (chunk.offset..chunk.offset + count)
                .map(|offset| self.slice(chunk.buffer, offset, 1))
                .collect();
        }
        vec![self.slice(chunk.buffer, chunk.offset, count)]
    }

    fn slice(&self, letter: Letter, offset: u32, count: u32) -> Slice {
        let (buffer, first) = match letter {
            Letter::Input => (Buffer::Input, offset),
            Letter::Output => (Buffer::Output, offset),
            Letter::Scratch => {
                let buffer = u16::try_from(offset / self.chunks).unwrap_or(u16::MAX);
                (Buffer::Scratch(buffer), offset % self.chunks)
            }
        };
        Slice::range(buffer, first, count)
    }
}
