//! What elements are computed as, and the operations on two of them.
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_lossless,
    clippy::float_cmp,
    reason = "numbers of ranks are rounded as the elements are, quotients fit, and equal means equal"
)]

/// What is added, multiplied and divided.
pub(super) trait Arithmetic: Copy {
    fn sum(self, other: Self) -> Self;
    fn product(self, other: Self) -> Self;
    /// Divided by a number of ranks, at least one.
    fn shared_by(self, ranks: u32) -> Self;
}

/// What is compared.
pub(super) trait Ordered: Copy {
    fn lesser(self, other: Self) -> Self;
    fn greater(self, other: Self) -> Self;
}

/// An operation on two values.
pub(super) trait Operation<V> {
    fn of(left: V, right: V) -> V;
}

macro_rules! operations {
    ($($operation:ident by $method:ident of $values:ident),*) => {$(
        pub(super) struct $operation;

        impl<V: $values> Operation<V> for $operation {
            #[inline(always)]
            fn of(left: V, right: V) -> V {
                left.$method(right)
            }
        }
    )*};
}

operations!(Sum by sum of Arithmetic, Product by product of Arithmetic, Min by lesser of Ordered, Max by greater of Ordered);

macro_rules! integers {
    ($($integer:ty, $shared_by:expr;)*) => {$(
        impl Arithmetic for $integer {
            #[inline(always)]
            fn sum(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn product(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn shared_by(self, ranks: u32) -> Self {
                $shared_by(self, ranks)
            }
        }

        impl Ordered for $integer {
            #[inline(always)]
            fn lesser(self, other: Self) -> Self {
                self.min(other)
            }

            #[inline(always)]
            fn greater(self, other: Self) -> Self {
                self.max(other)
            }
        }
    )*};
}

// Processors do not divide vectors of integers.
integers! {
    // The reciprocal, rounded up to a 65,536th, is less than 1/65,536 too large: 255 of that do not reach the next
    // whole quotient, which is at least 1/255 away; of more ranks than that, nothing is left.
    u8, |sum: u8, ranks: u32| ((u32::from(sum) * 65_536_u32.div_ceil(ranks)) >> 16) as u8;
    // A quotient that is not whole is at least one part in `sum` away from the next whole one, more than a rounding.
    // Added to 1.5 * 2^52, an integer stands in the last places.
    i32, |sum: i32, ranks: u32| {
        let quotient = (f64::from(sum) / f64::from(ranks)).trunc();
        ((quotient + 6_755_399_441_055_744.0).to_bits() as u32).cast_signed()
    };
    i64, |sum: i64, ranks: u32| sum / i64::from(ranks);
}

/// Which NaN comes of two differs between processors and compilers; here it is always the same one.
macro_rules! canonical {
    ($value:expr) => {{
        let value = $value;
        if value.is_nan() { Self::from_bits(Self::NAN.to_bits()) } else { value }
    }};
}

/// Of two floats the one that is before the other in an order. Equal ones differ in their bits only where they are
/// zeros: the sign of the result is that of either one, or of both.
macro_rules! first {
    ($left:ident $before:tt $right:ident, $either_or_both:tt) => {{
        let equal = Self::from_bits($left.to_bits() $either_or_both $right.to_bits());
        let first = if $left $before $right { $left } else { $right };
        let first = if $left == $right { equal } else { first };
        canonical!(if $right.is_nan() { $left } else { first })
    }};
}

macro_rules! floats {
    ($($float:ty),*) => {$(
        impl Arithmetic for $float {
            #[inline(always)]
            fn sum(self, other: Self) -> Self {
                canonical!(self + other)
            }

            #[inline(always)]
            fn product(self, other: Self) -> Self {
                canonical!(self * other)
            }

            #[inline(always)]
            fn shared_by(self, ranks: u32) -> Self {
                canonical!(self / ranks as Self)
            }
        }

        impl Ordered for $float {
            #[inline(always)]
            fn lesser(self, other: Self) -> Self {
                first!(self < other, |)
            }

            #[inline(always)]
            fn greater(self, other: Self) -> Self {
                first!(self > other, &)
            }
        }
    )*};
}

floats!(f32, f64);

/// Two floats at a time.
#[derive(Clone, Copy)]
pub(super) struct Pair(pub(super) f32, pub(super) f32);

impl Arithmetic for Pair {
    #[inline(always)]
    fn sum(self, other: Self) -> Self {
        Self(self.0.sum(other.0), self.1.sum(other.1))
    }

    #[inline(always)]
    fn product(self, other: Self) -> Self {
        Self(self.0.product(other.0), self.1.product(other.1))
    }

    #[inline(always)]
    fn shared_by(self, ranks: u32) -> Self {
        Self(self.0.shared_by(ranks), self.1.shared_by(ranks))
    }
}

/// The bits of a float of 16 bits, by which it can be compared: as integers, those of two negative numbers are ordered
/// the other way round, all others as the numbers. A NaN in a result is the one that is given.
#[derive(Clone, Copy)]
pub(super) struct Bits<const INFINITY: i16, const NAN: i16>(pub(super) i16);

impl<const INFINITY: i16, const NAN: i16> Bits<INFINITY, NAN> {
    #[inline(always)]
    fn number_or(self, other: i16) -> i16 {
        if self.0 & i16::MAX > INFINITY { other } else { self.0 }
    }
}

impl<const INFINITY: i16, const NAN: i16> Ordered for Bits<INFINITY, NAN> {
    #[inline(always)]
    fn lesser(self, other: Self) -> Self {
        let (left, right) = (self.number_or(NAN), other.number_or(NAN));
        Self(if left & right < 0 { left.max(right) } else { left.min(right) })
    }

    #[inline(always)]
    fn greater(self, other: Self) -> Self {
        // Less than any number, as its magnitude is the greatest.
        const LEAST: i16 = -1;
        let (left, right) = (self.number_or(LEAST), other.number_or(LEAST));
        let greater = if left & right < 0 { left.min(right) } else { left.max(right) };
        Self(if greater == LEAST { NAN } else { greater })
    }
}
