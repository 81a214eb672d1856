//! What is asked of the system besides memory: the clock, other processes, their memory, and to sleep.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, Timespec, open};
use rustix::process::{Pid, test_kill_process};
use rustix::thread::futex;

use super::layout::HUGE;

/// The present moment.
#[expect(clippy::disallowed_methods, reason = "a transport has deadlines")]
pub(super) fn now() -> Instant {
    Instant::now()
}

/// What is known of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    /// It lives; its state by the letter of `/proc`, `?` where that cannot be read.
    Lives(char),
    /// There is none, or its parent has not yet asked how it ended.
    Dead,
}

/// Whether the process that had the number and started then still lives; a `start` of 0 is not known.
pub(super) fn life(pid: u32, start: u64) -> Life {
    match status(pid) {
        Some((state, begun)) if start == 0 || begun == start => match state {
            'Z' | 'X' | 'x' => Life::Dead,
            state => Life::Lives(state),
        },
        Some(_) => Life::Dead,
        None => {
            let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
            let gone = number.is_some_and(|number| test_kill_process(number) == Err(rustix::io::Errno::SRCH));
            if gone { Life::Dead } else { Life::Lives('?') }
        }
    }
}

/// State and time of start of a process, in ticks since the machine's; by the latter another process that was given
/// the same number is told apart.
pub(super) fn status(pid: u32) -> Option<(char, u64)> {
    #[expect(clippy::disallowed_methods, reason = "only /proc knows")]
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in brackets and may hold any character, so fields are counted from the last bracket: 3 and 22.
    let mut fields = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((state, fields.nth(18)?.parse().ok()?))
}

/// Sleeps while `bell` is `asleep`, at most so long.
pub(super) fn sleep(bell: &AtomicU32, asleep: u32, at_most: Duration) {
    let timeout = Timespec {
        tv_sec: i64::try_from(at_most.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: at_most.subsec_nanos().into(),
    };
    // Woken, too late, or a signal: the caller looks for itself.
    let _woken = futex::wait(bell, futex::Flags::empty(), asleep, Some(&timeout));
}

/// Wakes who sleeps by `bell`.
pub(super) fn wake(bell: &AtomicU32) {
    let _woken = futex::wake(bell, futex::Flags::empty(), 1);
}

/// Reads another process's memory; gives how many bytes it was.
pub(super) fn read_memory(pid: u32, address: u64, into: &mut [u8]) -> io::Result<usize> {
    let pid = i32::try_from(pid).map_err(|_| io::ErrorKind::InvalidInput)?;
    let address = usize::try_from(address).map_err(|_| io::ErrorKind::InvalidInput)?;
    let here = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let there = libc::iovec { iov_base: std::ptr::without_provenance_mut(address), iov_len: into.len() };
    // SAFETY: one piece on each side; `here` is borrowed for writing, and `there` is only looked up by the system,
    // which checks it.
    let count = unsafe { libc::process_vm_readv(pid, &raw const here, 1, &raw const there, 1, 0) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

/// Whether memory of this process lies in large pages, judged by the one in its middle. Not known before Linux 6.7.
pub(super) fn lies_in_large_pages(bytes: &[u8]) -> bool {
    /// `struct pm_scan_arg` of `linux/fs.h`, all fields of 64 bits.
    #[repr(C)]
    #[derive(Default)]
    struct Scan {
        size: u64,
        flags: u64,
        start: u64,
        end: u64,
        walk_end: u64,
        regions: u64,
        region_count: u64,
        pages_most: u64,
        inverted: u64,
        mask: u64,
        any_of: u64,
        wanted: u64,
    }
    /// `PAGEMAP_SCAN`: `_IOWR('f', 16, struct pm_scan_arg)`.
    const REQUEST: u64 = 3 << 30 | (size_of::<Scan>() as u64) << 16 | (b'f' as u64) << 8 | 16;
    const IS_HUGE: u64 = 1 << 6;
    let middle = (bytes.as_ptr().addr() + bytes.len() / 2) & !(HUGE - 1);
    if middle < bytes.as_ptr().addr() || bytes.len() < 2 * HUGE {
        return false;
    }
    let Ok(file) = open("/proc/self/pagemap", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) else {
        return false;
    };
    let mut region = [0_u64; 3];
    let mut scan = Scan {
        size: size_of::<Scan>() as u64,
        start: middle as u64,
        end: (middle + HUGE) as u64,
        regions: region.as_mut_ptr().expose_provenance() as u64,
        region_count: 1,
        mask: IS_HUGE,
        wanted: IS_HUGE,
        ..Scan::default()
    };
    // SAFETY: the request reads and writes `scan`, and writes to one `region` of three numbers; both live here.
    let found = unsafe { libc::ioctl(file.as_raw_fd(), REQUEST, &raw mut scan) };
    found > 0
}

/// The processor on which this thread runs just now.
pub(super) fn processor() -> u32 {
    u32::try_from(rustix::thread::sched_getcpu()).unwrap_or(u32::MAX - 1)
}

/// Whether this thread may use the processor of that number.
pub(super) fn may_use() -> impl Fn(usize) -> bool {
    let set = rustix::thread::sched_getaffinity(None).ok();
    move |processor| {
        set.as_ref().is_none_or(|set| processor < rustix::thread::CpuSet::MAX_CPU && set.is_set(processor))
    }
}

/// How many processors this process gets the time of, where a container's quota is less than those it may use.
pub(super) fn quota() -> Option<usize> {
    let may_use = may_use();
    let (all, granted) = (
        (0..rustix::thread::CpuSet::MAX_CPU).filter(|one| may_use(*one)).count(),
        std::thread::available_parallelism(),
    );
    granted.ok().map(usize::from).filter(|granted| *granted < all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kibibytes of large pages in the mapping of an address, as the system lists them.
    fn large_kibibytes(address: usize) -> usize {
        #[expect(clippy::disallowed_methods, reason = "only /proc knows")]
        let text = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut inside = false;
        for line in text.lines() {
            let range = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
            let number = |text| usize::from_str_radix(text, 16).ok();
            if let Some((Some(start), Some(end))) = range.map(|(start, end)| (number(start), number(end))) {
                inside = (start..end).contains(&address);
            } else if let Some(rest) = line.strip_prefix("AnonHugePages:").filter(|_| inside) {
                return rest.trim().trim_end_matches(" kB").parse().unwrap();
            }
        }
        0
    }

    #[test]
    fn pages_are_large_only_where_the_system_says_so() {
        assert!(!lies_in_large_pages(&vec![1; HUGE / 8]));
        let mut memory = vec![0_u8; 8 * HUGE];
        crate::transports::shared_memory::prefer_large_pages(&mut memory);
        memory.fill(1);
        let listed = large_kibibytes(memory.as_ptr().addr() + 4 * HUGE);
        // Not all may be large; and where it is not told, they count as small.
        assert!(listed > 0 || !lies_in_large_pages(&memory), "{listed} KiB are");
    }
}
