//! Memory for data of collectives.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use bytemuck::{Pod, cast_slice, cast_slice_mut};

#[cfg(target_os = "linux")]
use crate::transports::shared_memory::{SharedBuffer, prefer_large_pages};

/// Numbers in memory that suits collectives, at first zeros. Calls take it as an ordinary slice.
///
/// That of [`Communicator::buffer`](crate::Communicator::buffer) is memory that the other ranks of this host can map:
/// they read what a call brings from there, which spares the copies that any other memory needs. Both kinds lie in
/// large pages where the system has them.
pub struct Buffer<N> {
    memory: Memory,
    count: usize,
    numbers: PhantomData<N>,
}

enum Memory {
    /// As units of 8 bytes, so that all numbers lie at multiples of their size.
    Private(Vec<u64>),
    #[cfg(target_os = "linux")]
    Shared(SharedBuffer),
}

impl Buffer<u8> {
    #[cfg(target_os = "linux")]
    pub(crate) fn shared(memory: SharedBuffer) -> Self {
        let count = memory.len();
        Self { memory: Memory::Shared(memory), count, numbers: PhantomData }
    }

    /// The bytes as numbers, as many as are whole.
    pub(crate) fn of<N: Pod>(self) -> Buffer<N> {
        Buffer { memory: self.memory, count: self.count / size_of::<N>().max(1), numbers: PhantomData }
    }
}

impl<N: Pod> Buffer<N> {
    /// So many numbers in memory of this process alone.
    pub fn private(count: usize) -> Self {
        let mut words = vec![0_u64; count.saturating_mul(size_of::<N>()).div_ceil(8)];
        #[cfg(target_os = "linux")]
        prefer_large_pages(cast_slice_mut(&mut words));
        Self { memory: Memory::Private(words), count, numbers: PhantomData }
    }

    /// Whether other ranks read it where it is.
    pub fn is_shared(&self) -> bool {
        match self.memory {
            Memory::Private(_) => false,
            #[cfg(target_os = "linux")]
            Memory::Shared(_) => true,
        }
    }
}

impl<N> std::fmt::Debug for Buffer<N> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Buffer").field("count", &self.count).finish_non_exhaustive()
    }
}

impl<N: Pod> Deref for Buffer<N> {
    type Target = [N];

    fn deref(&self) -> &[N] {
        let bytes: &[u8] = match &self.memory {
            Memory::Private(words) => cast_slice(words),
            #[cfg(target_os = "linux")]
            Memory::Shared(memory) => memory,
        };
        cast_slice(&bytes[..self.count * size_of::<N>()])
    }
}

impl<N: Pod> DerefMut for Buffer<N> {
    fn deref_mut(&mut self) -> &mut [N] {
        let bytes: &mut [u8] = match &mut self.memory {
            Memory::Private(words) => cast_slice_mut(words),
            #[cfg(target_os = "linux")]
            Memory::Shared(memory) => memory,
        };
        cast_slice_mut(&mut bytes[..self.count * size_of::<N>()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_zeros_that_can_be_written() {
        let mut buffer = Buffer::<f64>::private(3);
        assert!(!buffer.is_shared());
        assert_eq!(*buffer, [0.0; 3]);
        buffer[2] = 1.5;
        assert_eq!(*buffer, [0.0, 0.0, 1.5]);
        assert_eq!(Buffer::<u8>::private(11).of::<i32>().len(), 2);
        assert_eq!(Buffer::<half::bf16>::private(5).len(), 5);
        // More than one large page.
        assert!(Buffer::<u8>::private(5 << 20).iter().all(|byte| *byte == 0));
    }
}
