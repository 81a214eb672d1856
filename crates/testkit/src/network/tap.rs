//! A device whose frames a program reads and writes in place of a wire.
#![allow(unsafe_code)]

use std::io::Error;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl::{IntegerSetter, Updater, ioctl};

/// Requests of `linux/if_tun.h`.
const SET_INTERFACE: u32 = 0x4004_54ca;
const SET_OFFLOAD: u32 = 0x4004_54d0;
/// A device for whole frames, each behind a header that says how it may be cut.
const FLAGS: u16 = 0x0002 | 0x1000 | 0x4000;
/// Sums are left out, and up to 64 KiB of a TCP stream come in one piece, over either version of IP.
const OFFLOADS: usize = 1 | 2 | 4;
/// The header, of `linux/virtio_net.h`.
pub(super) const HEADER_BYTES: usize = 10;

/// Of 1 to 99; programs that are started before others with `chrt` take 1.
const PRIORITY: i32 = 10;

/// As `struct ifreq`.
#[repr(C)]
struct Request {
    name: [u8; 16],
    flags: u16,
    rest: [u8; 22],
}

/// One end of a wire.
#[derive(Debug)]
pub(super) struct Tap {
    file: OwnedFd,
    /// The name that the system gave it.
    pub(super) name: String,
}

impl Tap {
    /// A new device in this process's network namespace, to be moved elsewhere.
    pub(super) fn new() -> Result<Self, Error> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::open("/dev/net/tun", flags, Mode::empty())?;
        let mut request = Request { name: [0; 16], flags: FLAGS, rest: [0; 22] };
        for (place, byte) in request.name.iter_mut().zip(b"wefttap%d") {
            *place = *byte;
        }
        // SAFETY: the request takes a `struct ifreq`, which `Request` is laid out as, and writes the name into it.
        unsafe { ioctl(&file, Updater::<{ SET_INTERFACE as _ }, Request>::new(&mut request)) }?;
        // SAFETY: the request takes flags as a number.
        unsafe { ioctl(&file, IntegerSetter::<{ SET_OFFLOAD as _ }>::new_usize(OFFLOADS)) }?;
        let name = request.name.iter().take_while(|byte| **byte != 0).map(|byte| char::from(*byte)).collect();
        Ok(Self { file, name })
    }

    /// Reads a frame into `buffer`; `None` if there is none.
    pub(super) fn read(&self, buffer: &mut [u8]) -> Option<usize> {
        loop {
            match rustix::io::read(&self.file, &mut *buffer) {
                Err(Errno::INTR) => {}
                // Nothing there, or the device is down.
                Err(_) => return None,
                Ok(read) => return Some(read),
            }
        }
    }

    /// Writes a frame; one that the device does not take is lost, as on a wire.
    pub(super) fn write(&self, frame: &[u8]) {
        while rustix::io::write(&self.file, frame) == Err(Errno::INTR) {}
    }
}

/// From now on this thread runs whenever it has something to do, before all of the usual kind.
pub(super) fn go_first() {
    let parameters = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: 0 is the calling thread, and the parameters live as long as the call.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
