//! How elements lie in memory, and the loops over them.

use std::marker::PhantomData;

use super::level::{BLOCK, Level};
use super::number::{Arithmetic, Bits, Operation, Pair};

/// Buffers of elements, and what is done to them.
///
/// The loops are inlined into functions that are compiled for more instructions than the rest.
pub(super) trait Buffers: Copy {
    type Value: Copy;

    fn combine<O: Operation<Self::Value>>(self, local: &[u8], received: &[u8], into: &mut [u8]);
    fn accumulate<O: Operation<Self::Value>>(self, received: &[u8], into: &mut [u8]);
    fn divide(self, ranks: u32, sums: &mut [u8])
    where
        Self::Value: Arithmetic;
}

/// How values lie in memory: as cells of some bytes each, in the machine's order.
pub(super) trait Format {
    type Cell: Copy;
    type Value: Copy;

    fn cells(bytes: &[u8]) -> &[Self::Cell];
    fn cells_mut(bytes: &mut [u8]) -> &mut [Self::Cell];
    fn read(cell: Self::Cell) -> Self::Value;
    fn write(value: Self::Value) -> Self::Cell;
}

#[inline(always)]
fn combine<F: Format, O: Operation<F::Value>>(local: &[F::Cell], received: &[F::Cell], into: &mut [F::Cell]) {
    for ((local, received), into) in local.iter().zip(received).zip(into) {
        *into = F::write(O::of(F::read(*local), F::read(*received)));
    }
}

#[inline(always)]
fn accumulate<F: Format, O: Operation<F::Value>>(received: &[F::Cell], into: &mut [F::Cell]) {
    for (received, into) in received.iter().zip(into) {
        *into = F::write(O::of(F::read(*into), F::read(*received)));
    }
}

#[inline(always)]
fn divide<F: Format<Value: Arithmetic>>(ranks: u32, sums: &mut [F::Cell]) {
    for sum in sums {
        *sum = F::write(F::read(*sum).shared_by(ranks));
    }
}

/// The bytes of a number that is computed as itself.
#[derive(Clone, Copy)]
pub(super) struct Itself<N>(PhantomData<N>);

impl<N> Itself<N> {
    pub(super) const NEW: Self = Self(PhantomData);
}

impl<N: Copy> Buffers for Itself<N>
where
    Self: Format<Value = N>,
{
    type Value = N;

    #[inline(always)]
    fn combine<O: Operation<N>>(self, local: &[u8], received: &[u8], into: &mut [u8]) {
        combine::<Self, O>(Self::cells(local), Self::cells(received), Self::cells_mut(into));
    }

    #[inline(always)]
    fn accumulate<O: Operation<N>>(self, received: &[u8], into: &mut [u8]) {
        accumulate::<Self, O>(Self::cells(received), Self::cells_mut(into));
    }

    #[inline(always)]
    fn divide(self, ranks: u32, sums: &mut [u8])
    where
        N: Arithmetic,
    {
        divide::<Self>(ranks, Self::cells_mut(sums));
    }
}

macro_rules! cells {
    ($bytes:literal) => {
        type Cell = [u8; $bytes];

        #[inline(always)]
        fn cells(bytes: &[u8]) -> &[Self::Cell] {
            bytes.as_chunks().0
        }

        #[inline(always)]
        fn cells_mut(bytes: &mut [u8]) -> &mut [Self::Cell] {
            bytes.as_chunks_mut().0
        }
    };
}

macro_rules! itself {
    ($($number:ty, $bytes:literal;)*) => {$(
        impl Format for Itself<$number> {
            type Value = $number;

            cells!($bytes);

            #[inline(always)]
            fn read(cell: Self::Cell) -> $number {
                <$number>::from_ne_bytes(cell)
            }

            #[inline(always)]
            fn write(value: $number) -> Self::Cell {
                value.to_ne_bytes()
            }
        }
    )*};
}

impl<const INFINITY: i16, const NAN: i16> Format for Itself<Bits<INFINITY, NAN>> {
    type Value = Bits<INFINITY, NAN>;

    cells!(2);

    #[inline(always)]
    fn read(cell: Self::Cell) -> Self::Value {
        Bits(i16::from_ne_bytes(cell))
    }

    #[inline(always)]
    fn write(value: Self::Value) -> Self::Cell {
        value.0.to_ne_bytes()
    }
}

itself! { u8, 1; i32, 4; i64, 8; f32, 4; f64, 8; }

/// The upper halves of two binary32. Two at a time need not be widened: each has its place in 32 bits.
#[derive(Clone, Copy)]
pub(super) struct Float16Brain;

impl Format for Float16Brain {
    type Value = Pair;

    cells!(4);

    #[inline(always)]
    fn read(cell: Self::Cell) -> Pair {
        let bits = u32::from_ne_bytes(cell);
        Pair(f32::from_bits(bits << 16), f32::from_bits(bits & UPPER))
    }

    #[inline(always)]
    fn write(Pair(lower, upper): Pair) -> Self::Cell {
        (rounded(lower) >> 16 | rounded(upper) & UPPER).to_ne_bytes()
    }
}

const UPPER: u32 = 0xffff_0000;

/// To nearest even in the upper half: half of the last place that stays is added, where that is even a bit less. A
/// result's NaN stays as it is.
#[inline(always)]
fn rounded(value: f32) -> u32 {
    let bits = value.to_bits();
    bits.wrapping_add(if bits & 0x1_0000 == 0 { 0x7fff } else { 0x8000 })
}

impl Buffers for Float16Brain {
    type Value = Pair;

    #[inline(always)]
    fn combine<O: Operation<Pair>>(self, local: &[u8], received: &[u8], into: &mut [u8]) {
        combine::<Self, O>(Self::cells(local), Self::cells(received), Self::cells_mut(into));
        if let (Some(local), Some(received), Some(into)) = (odd(local), odd(received), odd_mut(into)) {
            *into = first(Self::write(O::of(Self::read(local), Self::read(received))));
        }
    }

    #[inline(always)]
    fn accumulate<O: Operation<Pair>>(self, received: &[u8], into: &mut [u8]) {
        accumulate::<Self, O>(Self::cells(received), Self::cells_mut(into));
        if let (Some(local), Some(received), Some(into)) = (odd(into), odd(received), odd_mut(into)) {
            *into = first(Self::write(O::of(Self::read(local), Self::read(received))));
        }
    }

    #[inline(always)]
    fn divide(self, ranks: u32, sums: &mut [u8]) {
        divide::<Self>(ranks, Self::cells_mut(sums));
        if let (Some(sum), Some(into)) = (odd(sums), odd_mut(sums)) {
            *into = first(Self::write(Self::read(sum).shared_by(ranks)));
        }
    }
}

/// The last half of an odd number of them, and a zero.
#[inline(always)]
fn odd(bytes: &[u8]) -> Option<[u8; 4]> {
    let (_, rest) = bytes.as_chunks::<4>();
    rest.first_chunk().map(|[first, second]| [*first, *second, 0, 0])
}

#[inline(always)]
fn odd_mut(bytes: &mut [u8]) -> Option<&mut [u8; 2]> {
    bytes.as_chunks_mut::<4>().1.first_chunk_mut()
}

#[inline(always)]
fn first([first, second, ..]: [u8; 4]) -> [u8; 2] {
    [first, second]
}

/// IEEE 754 binary16, converted by the instructions of a level where it has any.
#[derive(Clone, Copy)]
pub(super) struct Float16<L>(pub(super) L);

impl<L: Level> Format for Float16<L> {
    type Value = f32;

    cells!(2);

    #[inline(always)]
    fn read(cell: Self::Cell) -> f32 {
        widened(u16::from_ne_bytes(cell))
    }

    #[inline(always)]
    fn write(value: f32) -> Self::Cell {
        narrowed(value).to_ne_bytes()
    }
}

impl<L: Level> Buffers for Float16<L> {
    type Value = f32;

    #[inline(always)]
    fn combine<O: Operation<f32>>(self, local: &[u8], received: &[u8], into: &mut [u8]) {
        let (locals, local) = Self::cells(local).as_chunks();
        let (receiveds, received) = Self::cells(received).as_chunks();
        let (intos, into) = Self::cells_mut(into).as_chunks_mut();
        for ((local, received), into) in locals.iter().zip(receiveds).zip(intos) {
            *into = self.operated::<O>(local, received);
        }
        combine::<Self, O>(local, received, into);
    }

    #[inline(always)]
    fn accumulate<O: Operation<f32>>(self, received: &[u8], into: &mut [u8]) {
        let (receiveds, received) = Self::cells(received).as_chunks();
        let (intos, into) = Self::cells_mut(into).as_chunks_mut();
        for (received, into) in receiveds.iter().zip(intos) {
            *into = self.operated::<O>(into, received);
        }
        accumulate::<Self, O>(received, into);
    }

    #[inline(always)]
    fn divide(self, ranks: u32, sums: &mut [u8]) {
        let (blocks, rest) = Self::cells_mut(sums).as_chunks_mut();
        for block in blocks {
            let mut values = self.0.widened(block);
            for value in &mut values {
                *value = value.shared_by(ranks);
            }
            *block = self.0.narrowed(&values);
        }
        divide::<Self>(ranks, rest);
    }
}

impl<L: Level> Float16<L> {
    #[inline(always)]
    fn operated<O: Operation<f32>>(
        self,
        left: &[[u8; 2]; BLOCK],
        right: &[[u8; 2]; BLOCK],
    ) -> [[u8; 2]; BLOCK] {
        let mut values = self.0.widened(left);
        for (value, right) in values.iter_mut().zip(self.0.widened(right)) {
            *value = O::of(*value, right);
        }
        self.0.narrowed(&values)
    }
}

/// Exact. The exponents' biases differ by 112; as a multiplication, that makes subnormals normal, too.
#[inline(always)]
pub(super) fn widened(half: u16) -> f32 {
    let (sign, magnitude) = (u32::from(half & 0x8000) << 16, u32::from(half & 0x7fff) << 13);
    let scaled = (f32::from_bits(magnitude) * f32::from_bits((127 + 112) << 23)).to_bits();
    let special = if magnitude >= 0x7c00 << 13 { 0x7f80_0000 } else { 0 };
    f32::from_bits(sign | scaled | special)
}

/// To nearest even.
#[inline(always)]
pub(super) fn narrowed(value: f32) -> u16 {
    let (sign, magnitude) = (value.to_bits() >> 16 & 0x8000, value.to_bits() & 0x7fff_ffff);
    // As in the upper half of a binary32; what rounds up past the largest number becomes infinity.
    let normal = magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + (magnitude >> 13 & 1)) >> 13;
    // The last place of a half that is subnormal is worth as much as that of 0.5 as a binary32, so adding rounds.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5_f32.to_bits());
    let finite = if magnitude < (127 - 14) << 23 { subnormal } else { normal };
    let number = if magnitude >= (127 + 16) << 23 { 0x7c00 } else { finite };
    lower_half(if magnitude > 0x7f80_0000 { 0x7e00 } else { sign | number })
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "that is what it is for")]
fn lower_half(bits: u32) -> u16 {
    bits as u16
}
