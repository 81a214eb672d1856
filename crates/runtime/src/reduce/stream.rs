//! Stores that go past the caches, so that memory that is overwritten is not read first.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m128i, _mm_sfence, _mm_stream_si128};

/// Bytes of a line of the cache. A line that is not written whole and at once costs more than it saves.
pub(super) const LINE: usize = 64;

/// Stores past the caches where the processor can. Once this is dropped, other processors see what was stored before
/// anything that is stored later.
pub(super) struct Stream(());

impl Stream {
    pub(super) fn new() -> Self {
        Self(())
    }

    /// Copies as many bytes as both have.
    #[expect(
        clippy::unused_self,
        reason = "there has to be a stream, which orders the stores when it is dropped"
    )]
    pub(super) fn copy(&mut self, from: &[u8], into: &mut [u8]) {
        let length = from.len().min(into.len());
        let unaligned = into.as_ptr().align_offset(LINE).min(length);
        let ((head, from), (into_head, into)) =
            (from[..length].split_at(unaligned), into[..length].split_at_mut(unaligned));
        into_head.copy_from_slice(head);
        let ((lines, rest), (into_lines, into_rest)) = (from.as_chunks(), into.as_chunks_mut());
        for (line, into) in lines.iter().zip(into_lines) {
            store(line, into);
        }
        into_rest.copy_from_slice(rest);
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every x86-64 has SSE2.
        unsafe {
            _mm_sfence();
        }
    }
}

/// Only a [`Stream`] may, since it orders the stores when it is dropped.
#[cfg(target_arch = "x86_64")]
fn store(line: &[u8; LINE], into: &mut [u8; LINE]) {
    debug_assert!(into.as_ptr().addr().is_multiple_of(LINE), "no line begins here");
    for (part, into) in line.as_chunks::<16>().0.iter().zip(into.as_chunks_mut::<16>().0) {
        // SAFETY: 16 bytes that may be written, aligned since the line is; every x86-64 has SSE2; a vector may
        // have any bits.
        unsafe {
            _mm_stream_si128(into.as_mut_ptr().cast(), std::mem::transmute::<[u8; 16], __m128i>(*part));
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn store(line: &[u8; LINE], into: &mut [u8; LINE]) {
    *into = *line;
}
