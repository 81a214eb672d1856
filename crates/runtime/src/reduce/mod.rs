//! Combines buffers element by element.
//!
//! The bits of a result do not depend on the machine, nor on which of its vector instructions are used: each element
//! is one operation, rounded to nearest even; a NaN in a result is always the same one (positive, quiet, no payload);
//! -0 counts as less than +0. Halves are computed as 32-bit floats and rounded after each operation.
#![allow(
    clippy::inline_always,
    reason = "loops are compiled as part of functions that have more instructions"
)]

mod format;
mod level;
mod number;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;

use format::{Float16, Float16Brain, Format, Itself};
use level::{Kernel, Level, Path};
use number::{Max, Min, Operation, Product, Sum};

use crate::{Element, Reduction};

/// `into` = `local` ∘ `received`, element by element; an average combines as a sum. All three have the same length, a
/// multiple of the element's size, and need not be aligned. A part that is too long is left alone.
pub fn combine(element: Element, reduction: Reduction, local: &[u8], received: &[u8], into: &mut [u8]) {
    debug_assert!(local.len() == into.len() && received.len() == into.len(), "buffers differ in length");
    on(Path::best(), element, Combine { reduction, local, received, into });
}

/// `into` = `into` ∘ `received`, element by element; an average combines as a sum. Both have the same length, a multiple
/// of the element's size, and need not be aligned. A part that is too long is left alone.
pub fn accumulate(element: Element, reduction: Reduction, received: &[u8], into: &mut [u8]) {
    debug_assert!(received.len() == into.len(), "buffers differ in length");
    on(Path::best(), element, Accumulate { reduction, received, into });
}

/// Divides sums by the number of ranks, as [`Reduction::Average`] asks at the end: floats round to nearest even,
/// integers towards zero. No ranks count as one.
pub fn divide(element: Element, ranks: u32, sums: &mut [u8]) {
    on(Path::best(), element, Divide { ranks: ranks.max(1), sums });
}

/// What is done to buffers of any format.
trait Task {
    fn with<L: Level, F: Format>(self, level: L, format: F);
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
        Element::U8 => task.with(level, Itself::<u8>::NEW),
        Element::I32 => task.with(level, Itself::<i32>::NEW),
        Element::I64 => task.with(level, Itself::<i64>::NEW),
        Element::F16 => task.with(level, Float16(level)),
        Element::Bf16 => task.with(level, Float16Brain),
        Element::F32 => task.with(level, Itself::<f32>::NEW),
        Element::F64 => task.with(level, Itself::<f64>::NEW),
    }
}

struct Combine<'a> {
    reduction: Reduction,
    local: &'a [u8],
    received: &'a [u8],
    into: &'a mut [u8],
}

impl Task for Combine<'_> {
    fn with<L: Level, F: Format>(self, level: L, format: F) {
        match self.reduction {
            Reduction::Sum | Reduction::Average => level.run(Operating::new(Sum, format, self)),
            Reduction::Product => level.run(Operating::new(Product, format, self)),
            Reduction::Min => level.run(Operating::new(Min, format, self)),
            Reduction::Max => level.run(Operating::new(Max, format, self)),
        }
    }
}

struct Accumulate<'a> {
    reduction: Reduction,
    received: &'a [u8],
    into: &'a mut [u8],
}

impl Task for Accumulate<'_> {
    fn with<L: Level, F: Format>(self, level: L, format: F) {
        match self.reduction {
            Reduction::Sum | Reduction::Average => level.run(Operating::new(Sum, format, self)),
            Reduction::Product => level.run(Operating::new(Product, format, self)),
            Reduction::Min => level.run(Operating::new(Min, format, self)),
            Reduction::Max => level.run(Operating::new(Max, format, self)),
        }
    }
}

struct Divide<'a> {
    ranks: u32,
    sums: &'a mut [u8],
}

impl Task for Divide<'_> {
    fn with<L: Level, F: Format>(self, level: L, format: F) {
        level.run(Operating::new(Sum, format, self));
    }
}

/// A task for which operation and format are settled, so that a loop can be compiled.
struct Operating<O, F, T> {
    operation: PhantomData<O>,
    format: F,
    task: T,
}

impl<O, F, T> Operating<O, F, T> {
    fn new(_: O, format: F, task: T) -> Self {
        Self { operation: PhantomData, format, task }
    }
}

impl<O: Operation, F: Format> Kernel for Operating<O, F, Combine<'_>> {
    #[inline(always)]
    fn run(self) {
        self.format.combine::<O>(self.task.local, self.task.received, self.task.into);
    }
}

impl<O: Operation, F: Format> Kernel for Operating<O, F, Accumulate<'_>> {
    #[inline(always)]
    fn run(self) {
        self.format.accumulate::<O>(self.task.received, self.task.into);
    }
}

impl<O, F: Format> Kernel for Operating<O, F, Divide<'_>> {
    #[inline(always)]
    fn run(self) {
        self.format.divide(self.task.ranks, self.task.sums);
    }
}
