//! Shared memory as values: the one place that dereferences it.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsFd;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Part of a file that processes share, mapped for reading and writing. It lies at a multiple of a page.
///
/// Counters in it are atomics. All other bytes belong to one process at a time, and counters say to which: who
/// writes them has been told so by a load that acquires, and tells so by a store that releases. All processes that
/// map it run this code; what an unlike process writes there is not guarded against.
pub(super) struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping belongs to the value, not to a thread; bytes are handed over through atomics as said above.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps so many bytes of a file from `offset`, a multiple of a page; with their pages at once where `filled`.
    pub(super) fn new(file: impl AsFd, offset: u64, length: usize, filled: bool) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = if filled { MapFlags::SHARED | MapFlags::POPULATE } else { MapFlags::SHARED };
        // SAFETY: the system chooses the address, so that nothing else is mapped over.
        let start = unsafe { mmap(null_mut(), length, access, flags, file, offset) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, length })
    }

    /// Where the bytes are that are meant, all of which lie within.
    fn at(&self, offset: usize, length: usize) -> NonNull<u8> {
        assert!(offset <= self.length && length <= self.length - offset, "beyond the end of the mapping");
        // SAFETY: `offset` is at most the length of the mapping.
        unsafe { self.start.add(offset) }
    }

    /// The number of 64 bits at a multiple of 8.
    #[inline]
    pub(super) fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8));
        // SAFETY: within the mapping, aligned, any bits are a number, and it is only ever used as an atomic.
        unsafe { self.at(offset, 8).cast().as_ref() }
    }

    /// The number of 32 bits at a multiple of 4.
    #[inline]
    pub(super) fn half(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4));
        // SAFETY: within the mapping, aligned, any bits are a number, and it is only ever used as an atomic.
        unsafe { self.at(offset, 4).cast().as_ref() }
    }

    /// Bytes that the counters say are this process's to read for as long as they are borrowed.
    #[inline]
    pub(super) fn bytes(&self, offset: usize, length: usize) -> &[u8] {
        let start = self.at(offset, length);
        // SAFETY: within the mapping, which lives as long as `self`; nobody writes them meanwhile, by the counters.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), length) }
    }

    /// Writes bytes that the counters say are this process's.
    #[inline]
    pub(super) fn write(&self, offset: usize, bytes: &[u8]) {
        let start = self.at(offset, bytes.len());
        // SAFETY: within the mapping; `bytes` cannot overlap it, as those that may be written are lent to nobody.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start.as_ptr(), bytes.len()) };
    }

    /// All bytes, of a mapping that nobody else writes to.
    pub(super) fn all(&self) -> &[u8] {
        self.bytes(0, self.length)
    }

    /// All bytes, of a mapping that nobody else writes to, and that others read only while its owner lends it.
    pub(super) fn all_mut(&mut self) -> &mut [u8] {
        // SAFETY: within the mapping, and borrowed as long as `self` is.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }

    /// Its address, as peers and registries know it.
    pub(super) fn address(&self) -> usize {
        self.start.addr().get()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and no borrow outlives the value. An error can only mean that nothing was mapped.
        let _gone = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// Types of which any bits are a value, so that bytes may be seen as them.
pub trait Plain: sealed::Sealed + Copy {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! plain {
    ($($number:ty),+) => { $( impl sealed::Sealed for $number {} impl Plain for $number {} )+ };
}

plain!(u8, u16, u32, i32, u64, i64, f32, f64);

/// Bytes as numbers, as many as are whole. The bytes lie at a multiple of a page.
pub(super) fn numbers<T: Plain>(bytes: &[u8]) -> &[T] {
    // SAFETY: any bits are a `T`, as `Plain` says.
    let (before, numbers, _after) = unsafe { bytes.align_to() };
    debug_assert!(before.is_empty());
    numbers
}

/// Bytes as numbers that can be written.
pub(super) fn numbers_mut<T: Plain>(bytes: &mut [u8]) -> &mut [T] {
    // SAFETY: any bits are a `T`, as `Plain` says, and any `T` is bytes, as none has padding.
    let (before, numbers, _after) = unsafe { bytes.align_to_mut() };
    debug_assert!(before.is_empty());
    numbers
}
