//! A line that takes time: frames from each host come out at the host that they are for, no faster than the line is and
//! so much later. Made of a thread, since not every kernel has `netem`.
#![expect(clippy::disallowed_methods, reason = "frames come out at their time")]

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use weft_base::Rate;

use super::tap::{self, HEADER_BYTES, Tap};

/// So far ahead of the line's own time frames are taken from the host, so that a thread that wakes late loses none of
/// the line's. What the line cannot take yet waits at the host, which knows how to slow down its programs.
const AHEAD: Duration = Duration::from_micros(200);
/// What may wait for a host at the other end, in time of its line.
const QUEUE: Duration = Duration::from_millis(5);
/// The longest frame that a system hands over in one piece, with its headers.
const FRAME_BYTES: usize = (64 << 10) + 256;

/// A running line.
#[derive(Debug)]
pub(super) struct Line {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    ended: AtomicBool,
    hosts: Vec<Setting>,
}

/// What can change of a host's end while the line runs.
#[derive(Debug)]
struct Setting {
    bytes_per_s: AtomicU64,
    cut: AtomicBool,
}

impl Line {
    /// Between these devices, in the order of their hosts.
    pub(super) fn start(taps: Vec<Tap>, rate: Rate, delay: Duration) -> Self {
        let setting =
            |_: &Tap| Setting { bytes_per_s: AtomicU64::new(rate.get()), cut: AtomicBool::new(false) };
        let hosts = taps.iter().map(setting).collect();
        let shared = Arc::new(Shared { ended: AtomicBool::new(false), hosts });
        let ends = taps.into_iter().map(End::new).collect();
        let mut carrier = Carrier { shared: Arc::clone(&shared), delay, ends, spare: Vec::new() };
        Self { shared, thread: Some(std::thread::spawn(move || carrier.run())) }
    }

    pub(super) fn set_rate(&self, host: u8, rate: Rate) {
        if let Some(setting) = self.shared.hosts.get(usize::from(host)) {
            setting.bytes_per_s.store(rate.get(), Ordering::Relaxed);
        }
    }

    pub(super) fn set_cut(&self, host: u8, cut: bool) {
        if let Some(setting) = self.shared.hosts.get(usize::from(host)) {
            setting.cut.store(cut, Ordering::Relaxed);
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// Where a host is joined to the line.
struct End {
    tap: Tap,
    /// When the host's own direction of the line is free again.
    sent: Instant,
    /// When the direction to the host is.
    taken: Instant,
    /// What is on its way to the host, in order of time.
    coming: VecDeque<Frame>,
}

/// What is on its way.
struct Frame {
    due: Instant,
    memory: Box<[u8]>,
    length: usize,
}

impl End {
    fn new(tap: Tap) -> Self {
        let now = Instant::now();
        Self { tap, sent: now, taken: now, coming: VecDeque::new() }
    }
}

struct Carrier {
    shared: Arc<Shared>,
    delay: Duration,
    ends: Vec<End>,
    /// Memory of frames that have come out.
    spare: Vec<Box<[u8]>>,
}

impl Carrier {
    fn run(&mut self) {
        // A line does not wait for a processor. Where the rights are lacking it is right, only less exact.
        tap::go_first();
        rustix::thread::set_current_timer_slack(NonZero::new(1)).ok();
        while !self.shared.ended.load(Ordering::Relaxed) {
            let moved = (0..self.ends.len()).fold(false, |moved, host| {
                let delivered = self.deliver(host);
                self.take(host) || delivered || moved
            });
            if !moved {
                self.sleep();
            }
        }
    }

    /// Writes what has arrived for a host.
    fn deliver(&mut self, host: usize) -> bool {
        let Some(end) = self.ends.get_mut(host) else { return false };
        let mut delivered = false;
        while end.coming.front().is_some_and(|frame| frame.due <= Instant::now()) {
            let Some(frame) = end.coming.pop_front() else { break };
            end.tap.write(frame.memory.get(..frame.length).unwrap_or_default());
            self.spare.push(frame.memory);
            delivered = true;
        }
        delivered
    }

    /// Reads one frame of a host, if its line is free.
    fn take(&mut self, host: usize) -> bool {
        let Some(end) = self.ends.get_mut(host) else { return false };
        let now = Instant::now();
        if end.sent > now + AHEAD {
            return false;
        }
        let mut memory = self.spare.pop().unwrap_or_else(|| vec![0; FRAME_BYTES].into_boxed_slice());
        let Some(length) = end.tap.read(&mut memory) else {
            self.spare.push(memory);
            return false;
        };
        let sent = end.sent.max(now) + self.shared.lasting(host, length);
        end.sent = sent;
        match destination(&memory) {
            Some(to) => self.send((host, to), sent, memory, length),
            None => {
                for to in (0..self.ends.len()).filter(|to| *to != host) {
                    self.send((host, to), sent, memory.clone(), length);
                }
            }
        }
        true
    }

    /// A frame whose end has left a host at `sent`, to another one.
    fn send(&mut self, (from, to): (usize, usize), sent: Instant, memory: Box<[u8]>, length: usize) {
        let Some(end) = self.ends.get_mut(to) else { return };
        // What comes from one host only goes through the switch without waiting there.
        let taken = sent.max(end.taken + self.shared.lasting(to, length));
        if self.shared.is_cut(from) || self.shared.is_cut(to) || taken > sent + QUEUE {
            return self.spare.push(memory);
        }
        end.taken = taken;
        end.coming.push_back(Frame { due: taken + self.delay, memory, length });
    }

    /// Until something comes from a host whose line is free, or out at another.
    fn sleep(&self) {
        let now = Instant::now();
        let mut wake = now + Duration::from_millis(10);
        let mut fds = Vec::with_capacity(self.ends.len());
        for end in &self.ends {
            if let Some(frame) = end.coming.front() {
                wake = wake.min(frame.due);
            }
            if end.sent > now + AHEAD {
                wake = wake.min(end.sent.checked_sub(AHEAD).unwrap_or(end.sent));
            } else {
                fds.push(PollFd::new(&end.tap, PollFlags::IN));
            }
        }
        let wait = wake.saturating_duration_since(now);
        let limit = Timespec { tv_sec: 0, tv_nsec: wait.subsec_nanos().into() };
        // Whatever ends the wait early, the line looks again.
        poll(&mut fds, Some(&limit)).ok();
    }
}

impl Shared {
    /// How long the line of a host takes for so many bytes that were read.
    fn lasting(&self, host: usize, length: usize) -> Duration {
        let rate = self.hosts.get(host).map_or(1, |setting| setting.bytes_per_s.load(Ordering::Relaxed));
        let bytes = length.saturating_sub(HEADER_BYTES) as u64;
        Duration::from_nanos(bytes * 1_000_000_000 / rate.max(1))
    }

    fn is_cut(&self, host: usize) -> bool {
        self.hosts.get(host).is_some_and(|setting| setting.cut.load(Ordering::Relaxed))
    }
}

/// The hardware address of a host's device.
pub(super) fn hardware_address(host: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, host]
}

/// For which host a frame is; `None` where it is for all.
fn destination(frame: &[u8]) -> Option<usize> {
    let address = frame.get(HEADER_BYTES..HEADER_BYTES + 6)?;
    let host = *address.last()?;
    (address == hardware_address(host)).then_some(usize::from(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_for_the_host_of_their_address_or_for_all() {
        let mut frame = vec![0; HEADER_BYTES + 14];
        frame[HEADER_BYTES..HEADER_BYTES + 6].copy_from_slice(&hardware_address(7));
        assert_eq!(destination(&frame), Some(7));
        frame[HEADER_BYTES..HEADER_BYTES + 6].fill(0xff);
        assert_eq!(destination(&frame), None);
        assert_eq!(destination(&frame[..12]), None);
    }

    #[test]
    fn ten_gigabits_carry_1250_bytes_in_a_microsecond() {
        let setting = Setting { bytes_per_s: AtomicU64::new(1_250_000_000), cut: AtomicBool::new(false) };
        let shared = Shared { ended: AtomicBool::new(false), hosts: vec![setting] };
        assert_eq!(shared.lasting(0, 1250 + HEADER_BYTES), Duration::from_micros(1));
    }
}
