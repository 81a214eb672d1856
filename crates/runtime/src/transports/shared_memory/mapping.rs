//! Shared memory as values: the one place that dereferences it.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsFd;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

use super::layout::HUGE;
use crate::reduce::copy_streamed;

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
    /// What begins at a multiple of a large page in the file does so in memory, else it could not be one.
    pub(super) fn new(file: impl AsFd, offset: u64, length: usize, filled: bool) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let mut flags = if filled { MapFlags::SHARED | MapFlags::POPULATE } else { MapFlags::SHARED };
        let mut place = null_mut();
        if length >= HUGE && offset.is_multiple_of(HUGE as u64) {
            place = reserve(length)?;
            flags |= MapFlags::FIXED;
        }
        // SAFETY: the system chooses the address, or it was reserved for this, so that nothing else is mapped over.
        let start = unsafe { mmap(place, length, access, flags, file, offset) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, length })
    }

    /// Puts the bytes into large pages as far as the system can, so that fewer places have to be looked up. The first
    /// page of each large one has to be there.
    pub(super) fn enlarge_pages(&self) {
        // SAFETY: within the mapping; neither changes what the bytes are. An error means that pages stay small.
        unsafe {
            let start = self.start.as_ptr().cast();
            let _allowed = madvise(start, self.length, Advice::LinuxHugepage);
            let _collapsed = libc::madvise(start, self.length, libc::MADV_COLLAPSE);
            let _there = madvise(start, self.length, Advice::LinuxPopulateWrite);
        }
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

    /// As [`Self::write`], past the caches.
    #[inline]
    pub(super) fn write_streamed(&self, offset: usize, bytes: &[u8]) {
        let start = self.at(offset, bytes.len());
        // SAFETY: within the mapping; by the counters nobody else reads or writes them meanwhile.
        let into = unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), bytes.len()) };
        copy_streamed(bytes, into);
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

/// Addresses at which a mapping of so many bytes can begin at a multiple of a large page.
fn reserve(length: usize) -> io::Result<*mut std::ffi::c_void> {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: the system chooses the address.
    let start = unsafe { mmap_anonymous(null_mut(), length + HUGE, ProtFlags::empty(), flags) }?;
    let before = start.addr().next_multiple_of(HUGE) - start.addr();
    // SAFETY: within what was reserved, of which nobody knows yet: what is before and behind goes back.
    unsafe {
        let place = start.byte_add(before);
        if before > 0 {
            munmap(start, before)?;
        }
        munmap(place.byte_add(length), HUGE - before)?;
        Ok(place)
    }
}

/// Asks the system for large pages for memory of this process's own that was not yet touched.
pub(crate) fn prefer_large_pages(bytes: &mut [u8]) {
    let before = bytes.as_ptr().align_offset(HUGE);
    let Some(whole) = bytes.get_mut(before..).filter(|rest| rest.len() >= HUGE) else { return };
    let length = whole.len() / HUGE * HUGE;
    // SAFETY: within the slice, and it changes nothing of what the bytes are. An error means that pages stay small.
    let _allowed = unsafe { madvise(whole.as_mut_ptr().cast(), length, Advice::LinuxHugepage) };
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
