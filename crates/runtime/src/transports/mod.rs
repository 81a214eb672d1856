//! Ways for bytes from rank to rank.

#[cfg(target_os = "linux")]
pub mod either;
#[cfg(target_os = "linux")]
pub mod shared_memory;
#[cfg(target_os = "linux")]
pub mod tcp;
#[cfg(feature = "verbs")]
pub mod verbs;
