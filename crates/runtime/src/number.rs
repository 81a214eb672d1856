//! Types of Rust that are elements.

use bytemuck::Pod;
use half::{bf16, f16};

use crate::Element;

/// A number that collectives move and combine: an integer, a float, or a half of the crate `half`.
pub trait Number: Pod + sealed::Sealed {
    /// What it is to a collective.
    const ELEMENT: Element;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! numbers {
    ($($kind:ty => $element:ident),*) => {
        $(
            impl sealed::Sealed for $kind {}
            impl Number for $kind {
                const ELEMENT: Element = Element::$element;
            }
        )*
    };
}

numbers!(u8 => U8, i32 => I32, i64 => I64, f16 => F16, bf16 => Bf16, f32 => F32, f64 => F64);
