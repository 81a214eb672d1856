//! What elements are computed as, and the operations on two of them.
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_lossless,
    reason = "numbers of ranks are rounded as the elements are, and quotients fit"
)]

/// What elements are computed as.
pub(super) trait Number: Copy {
    fn sum(self, other: Self) -> Self;
    fn product(self, other: Self) -> Self;
    fn lesser(self, other: Self) -> Self;
    fn greater(self, other: Self) -> Self;
    /// Divided by a number of ranks, at least one.
    fn shared_by(self, ranks: u32) -> Self;
}

/// An operation on two elements.
pub(super) trait Operation {
    fn of<N: Number>(left: N, right: N) -> N;
}

macro_rules! operations {
    ($($operation:ident by $method:ident),*) => {$(
        pub(super) struct $operation;

        impl Operation for $operation {
            #[inline(always)]
            fn of<N: Number>(left: N, right: N) -> N {
                left.$method(right)
            }
        }
    )*};
}

operations!(Sum by sum, Product by product, Min by lesser, Max by greater);

macro_rules! integers {
    ($($integer:ty, $shared_by:expr;)*) => {$(
        impl Number for $integer {
            #[inline(always)]
            fn sum(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn product(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn lesser(self, other: Self) -> Self {
                self.min(other)
            }

            #[inline(always)]
            fn greater(self, other: Self) -> Self {
                self.max(other)
            }

            #[inline(always)]
            fn shared_by(self, ranks: u32) -> Self {
                $shared_by(self, ranks)
            }
        }
    )*};
}

// Processors divide vectors of floats, not of integers. A quotient of `sum` that is no integer is at least one part in
// `sum` away from the next one, which is more than the float's rounding.
integers! {
    u8, |sum, ranks| (f32::from(sum) / ranks as f32) as u8;
    i32, |sum, ranks| (f64::from(sum) / f64::from(ranks)) as i32;
    i64, |sum, ranks| sum / i64::from(ranks);
}

/// Which NaN comes of two differs between processors and compilers; here it is always the same one.
macro_rules! canonical {
    ($value:expr) => {{
        let value = $value;
        if value.is_nan() { Self::from_bits(Self::NAN.to_bits()) } else { value }
    }};
}
macro_rules! floats {
    ($($float:ty),*) => {$(
        impl Number for $float {
            #[inline(always)]
            fn sum(self, other: Self) -> Self {
                canonical!(self + other)
            }

            #[inline(always)]
            fn product(self, other: Self) -> Self {
                canonical!(self * other)
            }

            #[inline(always)]
            fn lesser(self, other: Self) -> Self {
                // Equal numbers differ in their bits only where they are zeros.
                let equal = Self::from_bits(self.to_bits() | other.to_bits());
                let lesser = if self < other { self } else if other < self { other } else { equal };
                let number = if self.is_nan() { other } else if other.is_nan() { self } else { lesser };
                canonical!(number)
            }

            #[inline(always)]
            fn greater(self, other: Self) -> Self {
                let equal = Self::from_bits(self.to_bits() & other.to_bits());
                let greater = if self > other { self } else if other > self { other } else { equal };
                let number = if self.is_nan() { other } else if other.is_nan() { self } else { greater };
                canonical!(number)
            }

            #[inline(always)]
            fn shared_by(self, ranks: u32) -> Self {
                canonical!(self / ranks as Self)
            }
        }
    )*};
}

floats!(f32, f64);
