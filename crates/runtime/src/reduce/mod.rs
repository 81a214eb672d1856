//! Combines buffers element by element.
//!
//! The bits of a result do not depend on the machine, nor on which of its vector instructions are used: each element
//! is one operation, without any that do two at once, and what processors do differently is done here.
#![allow(
    clippy::inline_always,
    reason = "loops are compiled as part of functions that have more instructions"
)]

mod format;
mod level;
mod number;
mod stream;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;

use format::{Buffers, Float16, Float16Brain, Itself};
use level::{Kernel, Level, Path};
use number::{Arithmetic, Bits, Max, Min, Operation, Ordered, Product, Sum};
use stream::{LINE, Stream};

use crate::{Element, Reduction};

/// `into` = `local` ∘ `received`, element by element; an average combines as a sum. All three have the same length, a
/// multiple of the element's size, and need not be aligned.
///
/// The bits of the result are the same on every machine: each element is one operation, rounded to nearest even, that of
/// halves to 32 bits and then to 16; a NaN is always positive and quiet, without payload; -0 is less than +0.
pub fn combine(element: Element, reduction: Reduction, local: &[u8], received: &[u8], into: &mut [u8]) {
    debug_assert!(local.len() == into.len() && received.len() == into.len(), "buffers differ in length");
    on(Path::best(), element, Combine { reduction, local, received, into });
}

/// `into` = `into` ∘ `received`, element by element; an average combines as a sum. Both have the same length, a multiple
/// of the element's size, and need not be aligned.
pub fn accumulate(element: Element, reduction: Reduction, received: &[u8], into: &mut [u8]) {
    debug_assert!(received.len() == into.len(), "buffers differ in length");
    on(Path::best(), element, Accumulate { reduction, received, into });
}

/// As [`combine`], past the caches: for results that are larger than these, so that what they overwrite is not read.
pub(crate) fn combine_streamed(
    element: Element,
    reduction: Reduction,
    local: &[u8],
    received: &[u8],
    into: &mut [u8],
) {
    let before = head_bytes(element, into);
    let ((local_head, local), (received_head, received), (head, into)) =
        (local.split_at(before), received.split_at(before), into.split_at_mut(before));
    combine(element, reduction, local_head, received_head, head);
    let (mut block, mut stream) = ([0; BLOCK_BYTES], Stream::new());
    let parts = local.chunks(BLOCK_BYTES).zip(received.chunks(BLOCK_BYTES)).zip(into.chunks_mut(BLOCK_BYTES));
    for ((local, received), into) in parts {
        let block = &mut block[..into.len()];
        combine(element, reduction, local, received, block);
        stream.copy(block, into);
    }
}

/// As [`accumulate`], past the caches: for sums that others read next.
pub(crate) fn accumulate_streamed(element: Element, reduction: Reduction, received: &[u8], into: &mut [u8]) {
    let before = head_bytes(element, into);
    let ((received_head, received), (head, into)) = (received.split_at(before), into.split_at_mut(before));
    accumulate(element, reduction, received_head, head);
    let (mut block, mut stream) = ([0; BLOCK_BYTES], Stream::new());
    for (received, into) in received.chunks(BLOCK_BYTES).zip(into.chunks_mut(BLOCK_BYTES)) {
        let block = &mut block[..into.len()];
        combine(element, reduction, into, received, block);
        stream.copy(block, into);
    }
}

/// As many bytes as begin before a line of the cache, if those are whole elements.
fn head_bytes(element: Element, into: &[u8]) -> usize {
    let before = into.as_ptr().align_offset(LINE).min(into.len());
    if before.is_multiple_of(element.size_bytes()) { before } else { 0 }
}

/// What is combined before it is streamed: stays in the first cache, a multiple of every element.
const BLOCK_BYTES: usize = 4096;

/// From so many bytes on sums go past the caches; of fewer, others that read them next find some there.
pub(crate) const STREAMED_SUM_BYTES: usize = 16 << 20;

/// From so many bytes on what is only received, and is not sent on, goes past the caches.
pub(crate) const STREAMED_COPY_BYTES: usize = 4 << 20;

/// Copies past the caches.
pub(crate) fn copy_streamed(from: &[u8], into: &mut [u8]) {
    Stream::new().copy(from, into);
}

/// Divides sums by the number of ranks, as [`Reduction::Average`] asks at the end: floats round to nearest even,
/// integers towards zero. No ranks count as one.
pub fn divide(element: Element, ranks: u32, sums: &mut [u8]) {
    on(Path::best(), element, Divide { ranks: ranks.max(1), sums });
}

/// Copies; both have the same length. Past the caches where that is faster.
pub fn copy(from: &[u8], into: &mut [u8]) {
    debug_assert!(from.len() == into.len(), "buffers differ in length");
    if STREAMED_WHOLE_BYTES.contains(&into.len()) {
        return Stream::new().copy(from, into);
    }
    let length = from.len().min(into.len());
    into[..length].copy_from_slice(&from[..length]);
}

/// What is smaller stays in the caches of those who read it next; what is larger, the C library streams by itself, and better.
const STREAMED_WHOLE_BYTES: std::ops::Range<usize> = 16 << 20..128 << 20;

/// What is done to buffers of any format, of which some have another one to compare by.
trait Task {
    fn with<L, A, C>(self, level: L, arithmetic: A, comparison: C)
    where
        L: Level,
        A: Buffers<Value: Arithmetic>,
        C: Buffers<Value: Ordered>;
}

fn on(path: Path, element: Element, task: impl Task) {
    match path {
        Path::Plain(level) => with(level, element, task),
        #[cfg(target_arch = "x86_64")]
        Path::Avx2(level) => with(level, element, task),
        #[cfg(target_arch = "x86_64")]
        Path::Avx512(level) => with(level, element, task),
    }
}

fn with<L: Level>(level: L, element: Element, task: impl Task) {
    match element {
        Element::U8 => task.with(level, Itself::<u8>::NEW, Itself::<u8>::NEW),
        Element::I32 => task.with(level, Itself::<i32>::NEW, Itself::<i32>::NEW),
        Element::I64 => task.with(level, Itself::<i64>::NEW, Itself::<i64>::NEW),
        Element::F16 => task.with(level, Float16(level), Itself::<Bits<0x7c00, 0x7e00>>::NEW),
        Element::Bf16 => task.with(level, Float16Brain, Itself::<Bits<0x7f80, 0x7fc0>>::NEW),
        Element::F32 => task.with(level, Itself::<f32>::NEW, Itself::<f32>::NEW),
        Element::F64 => task.with(level, Itself::<f64>::NEW, Itself::<f64>::NEW),
    }
}

macro_rules! reducing {
    ($task:ident { $($buffer:ident: $buffers:ty),* }) => {
        struct $task<'a> {
            reduction: Reduction,
            $($buffer: $buffers),*
        }

        impl Task for $task<'_> {
            fn with<L, A, C>(self, level: L, arithmetic: A, comparison: C)
            where
                L: Level,
                A: Buffers<Value: Arithmetic>,
                C: Buffers<Value: Ordered>,
            {
                match self.reduction {
                    Reduction::Sum | Reduction::Average => level.run(Settled::new(Sum, arithmetic, self)),
                    Reduction::Product => level.run(Settled::new(Product, arithmetic, self)),
                    Reduction::Min => level.run(Settled::new(Min, comparison, self)),
                    Reduction::Max => level.run(Settled::new(Max, comparison, self)),
                }
            }
        }
    };
}

reducing! { Combine { local: &'a [u8], received: &'a [u8], into: &'a mut [u8] } }
reducing! { Accumulate { received: &'a [u8], into: &'a mut [u8] } }

struct Divide<'a> {
    ranks: u32,
    sums: &'a mut [u8],
}

impl Task for Divide<'_> {
    fn with<L, A, C>(self, level: L, arithmetic: A, _: C)
    where
        L: Level,
        A: Buffers<Value: Arithmetic>,
        C: Buffers<Value: Ordered>,
    {
        level.run(Settled::new((), arithmetic, self));
    }
}

/// A task for which operation and format are settled, so that a loop can be compiled.
struct Settled<O, B, T> {
    operation: PhantomData<O>,
    buffers: B,
    task: T,
}

impl<O, B, T> Settled<O, B, T> {
    fn new(_: O, buffers: B, task: T) -> Self {
        Self { operation: PhantomData, buffers, task }
    }
}

impl<B: Buffers, O: Operation<B::Value>> Kernel for Settled<O, B, Combine<'_>> {
    #[inline(always)]
    fn run(self) {
        self.buffers.combine::<O>(self.task.local, self.task.received, self.task.into);
    }
}

impl<B: Buffers, O: Operation<B::Value>> Kernel for Settled<O, B, Accumulate<'_>> {
    #[inline(always)]
    fn run(self) {
        self.buffers.accumulate::<O>(self.task.received, self.task.into);
    }
}

impl<B: Buffers<Value: Arithmetic>> Kernel for Settled<(), B, Divide<'_>> {
    #[inline(always)]
    fn run(self) {
        self.buffers.divide(self.task.ranks, self.task.sums);
    }
}
