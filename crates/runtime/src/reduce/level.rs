//! Which instructions loops are compiled for, and how those that the processor has are found and used.
//!
//! A value of a level's type exists only where the processor has the
//! instructions of that level, so that whoever holds one may use them.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m128i, __m256, __m256i, __m512, _MM_FROUND_TO_NEAREST_INT, _mm256_cvtph_ps, _mm256_cvtps_ph,
    _mm512_cvtph_ps, _mm512_cvtps_ph,
};

use super::format::{narrowed, widened};

/// Halves that are converted at a time.
pub(super) const BLOCK: usize = 16;

/// A loop that is worth compiling for several levels; it is to be inlined whole.
pub(super) trait Kernel {
    fn run(self);
}

/// A set of instructions that this processor has.
pub(super) trait Level: Copy {
    /// Runs a loop that is compiled with these instructions.
    fn run(self, kernel: impl Kernel);
    /// Halves as floats; exact.
    fn widened(self, halves: &[[u8; 2]; BLOCK]) -> [f32; BLOCK];
    /// Floats rounded to halves, to nearest even.
    fn narrowed(self, floats: &[f32; BLOCK]) -> [[u8; 2]; BLOCK];
}

/// A level that was found.
#[derive(Clone, Copy)]
pub(super) enum Path {
    Plain(Plain),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

impl Path {
    /// The fastest one. What the processor has is looked up once and remembered by the standard library.
    pub(super) fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(level) = Avx512::found() {
                return Self::Avx512(level);
            }
            if let Some(level) = Avx2::found() {
                return Self::Avx2(level);
            }
        }
        Self::Plain(Plain)
    }

    /// All of them.
    #[cfg(test)]
    pub(super) fn all() -> Vec<Self> {
        let mut all = vec![Self::Plain(Plain)];
        #[cfg(target_arch = "x86_64")]
        {
            all.extend(Avx2::found().map(Self::Avx2));
            all.extend(Avx512::found().map(Self::Avx512));
        }
        all
    }
}

/// What every processor of the architecture has.
#[derive(Clone, Copy)]
pub(super) struct Plain;

impl Level for Plain {
    #[inline(always)]
    fn run(self, kernel: impl Kernel) {
        kernel.run();
    }

    #[inline(always)]
    fn widened(self, halves: &[[u8; 2]; BLOCK]) -> [f32; BLOCK] {
        halves.map(|half| widened(u16::from_ne_bytes(half)))
    }

    #[inline(always)]
    fn narrowed(self, floats: &[f32; BLOCK]) -> [[u8; 2]; BLOCK] {
        floats.map(|float| narrowed(float).to_ne_bytes())
    }
}

/// AVX2 and the conversion of halves.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Avx2(());

/// AVX-512 as all processors have it that have more than its foundation.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) struct Avx512(());

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    fn found() -> Option<Self> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("f16c")).then_some(Self(()))
    }
}

#[cfg(target_arch = "x86_64")]
impl Avx512 {
    fn found() -> Option<Self> {
        let found = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        found.then_some(Self(()))
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,f16c")]
fn with_avx2(kernel: impl Kernel) {
    kernel.run();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn with_avx512(kernel: impl Kernel) {
    kernel.run();
}

#[cfg(target_arch = "x86_64")]
impl Level for Avx2 {
    #[inline(always)]
    fn run(self, kernel: impl Kernel) {
        // SAFETY: this level was found, so the processor has AVX2 and F16C.
        unsafe { with_avx2(kernel) }
    }

    #[inline(always)]
    fn widened(self, halves: &[[u8; 2]; BLOCK]) -> [f32; BLOCK] {
        // SAFETY: vectors and arrays of the same size, for which all bits are valid; this level was found, so the
        // processor has F16C.
        unsafe {
            let [low, high] = std::mem::transmute::<[[u8; 2]; BLOCK], [__m128i; 2]>(*halves);
            std::mem::transmute::<[__m256; 2], [f32; BLOCK]>([_mm256_cvtph_ps(low), _mm256_cvtph_ps(high)])
        }
    }

    #[inline(always)]
    fn narrowed(self, floats: &[f32; BLOCK]) -> [[u8; 2]; BLOCK] {
        // SAFETY: as above.
        unsafe {
            let [low, high] = std::mem::transmute::<[f32; BLOCK], [__m256; 2]>(*floats);
            let halves = [
                _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(low),
                _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(high),
            ];
            std::mem::transmute::<[__m128i; 2], [[u8; 2]; BLOCK]>(halves)
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Level for Avx512 {
    #[inline(always)]
    fn run(self, kernel: impl Kernel) {
        // SAFETY: this level was found, so the processor has these parts of AVX-512.
        unsafe { with_avx512(kernel) }
    }

    #[inline(always)]
    fn widened(self, halves: &[[u8; 2]; BLOCK]) -> [f32; BLOCK] {
        // SAFETY: vectors and arrays of the same size, for which all bits are valid; this level was found, so the
        // processor has AVX-512.
        unsafe {
            let halves = std::mem::transmute::<[[u8; 2]; BLOCK], __m256i>(*halves);
            std::mem::transmute::<__m512, [f32; BLOCK]>(_mm512_cvtph_ps(halves))
        }
    }

    #[inline(always)]
    fn narrowed(self, floats: &[f32; BLOCK]) -> [[u8; 2]; BLOCK] {
        // SAFETY: as above.
        unsafe {
            let floats = std::mem::transmute::<[f32; BLOCK], __m512>(*floats);
            std::mem::transmute::<__m256i, [[u8; 2]; BLOCK]>(_mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(
                floats,
            ))
        }
    }
}
