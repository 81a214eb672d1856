//! Buffers that peers read where they are.

use std::ops::{Deref, DerefMut};
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{FallocateFlags, fallocate};

use super::layout::{ARENA, HUGE, PAGE};
use super::mapping::{Mapping, Plain, numbers, numbers_mut};
use super::outbound::Place;
use super::region::{Region, lacking};
use crate::Fault;

/// A buffer of this process, and where it lies in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Extent {
    address: usize,
    bytes: usize,
    offset: u64,
}

/// The buffers that a rank has allocated.
#[derive(Debug)]
pub(super) struct Registry {
    file: Arc<OwnedFd>,
    /// How many there are, so that a group without any pays nothing.
    count: AtomicUsize,
    extents: Mutex<Extents>,
}

#[derive(Debug)]
struct Extents {
    list: Vec<Extent>,
    /// Where the next one begins. Places are not used again, so that peers need not be told when one is gone.
    next: u64,
    end: u64,
}

impl Registry {
    pub(super) fn new(region: &Region, rank: usize) -> Arc<Self> {
        let next = region.layout.arena(rank);
        let extents = Mutex::new(Extents { list: Vec::new(), next, end: next + ARENA });
        Arc::new(Self { file: region.file.clone(), count: AtomicUsize::new(0), extents })
    }

    /// Where a piece lies, if it lies in a buffer.
    #[inline]
    pub(super) fn find(&self, piece: &[u8]) -> Option<Place> {
        if self.count.load(Acquire) == 0 {
            return None;
        }
        let extents = self.extents.lock().unwrap_or_else(PoisonError::into_inner);
        let start = piece.as_ptr().addr();
        let within = |extent: &&Extent| {
            start >= extent.address && start - extent.address + piece.len() <= extent.bytes
        };
        let extent = extents.list.iter().find(within)?;
        let offset = extent.offset + (start - extent.address) as u64;
        Some(Place { offset, buffer: extent.offset, buffer_bytes: extent.bytes as u64 })
    }
}

/// Memory that the peers can map. What is pushed from it they read without a copy, so it must not change before it is
/// over, as [`Ports`](crate::Ports) says of all pieces.
pub struct SharedBuffer {
    memory: Mapping,
    length: usize,
    extent: Extent,
    registry: Arc<Registry>,
}

impl SharedBuffer {
    /// Allocates one, filled with zeros.
    pub(super) fn new(registry: &Arc<Registry>, length: usize) -> Result<Self, Fault> {
        let unit = if length >= HUGE { HUGE } else { PAGE };
        let bytes = length.max(1).checked_next_multiple_of(unit);
        let mut extents = registry.extents.lock().unwrap_or_else(PoisonError::into_inner);
        let offset = extents.next.next_multiple_of(unit as u64);
        let place = bytes.filter(|bytes| *bytes as u64 <= extents.end.saturating_sub(offset));
        let Some(bytes) = place else {
            let how = format!("a rank can allocate {ARENA} bytes in all, of which {length} are not left");
            return Err(Fault::Lacking { what: "shared memory", how });
        };
        let memory = mapped(&registry.file, offset, bytes).map_err(|error| {
            let _freed = fallocate(&registry.file, punch(), offset, bytes as u64);
            lacking(&format!("allocating {length} bytes that are shared"), error)
        })?;
        let extent = Extent { address: memory.address(), bytes, offset };
        extents.next = offset + bytes as u64;
        extents.list.push(extent);
        registry.count.store(extents.list.len(), Release);
        drop(extents);
        Ok(Self { memory, length, extent, registry: registry.clone() })
    }

    /// The bytes as numbers.
    pub fn numbers<T: Plain>(&self) -> &[T] {
        numbers(self)
    }

    /// The bytes as numbers that can be written.
    pub fn numbers_mut<T: Plain>(&mut self) -> &mut [T] {
        numbers_mut(self)
    }
}

/// Takes so many bytes of the file and maps them. Memory that is not there is an error only where it is taken: whoever
/// touches what could not be had is ended.
fn mapped(file: &OwnedFd, offset: u64, bytes: usize) -> std::io::Result<Mapping> {
    let take = |offset, bytes| fallocate(file, FallocateFlags::KEEP_SIZE, offset, bytes);
    let large = bytes >= HUGE;
    if large {
        // Large pages are filled around what is there, which is cheaper than to take small ones and copy them.
        for page in (0..bytes).step_by(HUGE) {
            take(offset + page as u64, PAGE as u64)?;
        }
    } else {
        take(offset, bytes as u64)?;
    }
    let memory = Mapping::new(file, offset, bytes, !large)?;
    if large {
        memory.enlarge_pages();
        take(offset, bytes as u64)?;
    }
    Ok(memory)
}

/// Gives pages of the file back.
fn punch() -> FallocateFlags {
    FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE
}

impl Deref for SharedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.memory.all().get(..self.length).unwrap_or_default()
    }
}

impl DerefMut for SharedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.memory.all_mut().get_mut(..self.length).unwrap_or_default()
    }
}

impl Drop for SharedBuffer {
    fn drop(&mut self) {
        let mut extents = self.registry.extents.lock().unwrap_or_else(PoisonError::into_inner);
        extents.list.retain(|extent| *extent != self.extent);
        self.registry.count.store(extents.list.len(), Release);
        // What cannot be given back now is so when the region ends.
        let _freed = fallocate(&self.registry.file, punch(), self.extent.offset, self.extent.bytes as u64);
    }
}
