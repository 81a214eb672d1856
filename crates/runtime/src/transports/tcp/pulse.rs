//! A thread that answers for a rank that is busy elsewhere: its process lives.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::Tcp;
use super::notes::PULSE;
use crate::frames::Aside;

/// The thread, which ends with this.
#[derive(Debug)]
pub(super) struct Pulse {
    over: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Pulse {
    /// Looks so often whether a peer has told something that nobody has read, and then tells it that this process
    /// lives. Who is stopped has no thread that does so.
    fn start(lines: Vec<Aside>, every: Duration) -> std::io::Result<Self> {
        let over = Arc::new((Mutex::new(false), Condvar::new()));
        let shared = Arc::clone(&over);
        let name = "weft-pulse".to_owned();
        let thread = std::thread::Builder::new().name(name).stack_size(64 << 10).spawn(move || {
            let (over, bell) = &*shared;
            let mut ends = over.lock().unwrap_or_else(PoisonError::into_inner);
            while !*ends {
                ends = bell.wait_timeout(ends, every).unwrap_or_else(PoisonError::into_inner).0;
                if !*ends {
                    lines.iter().filter(|line| line.is_unread()).for_each(|line| line.send(PULSE));
                }
            }
        })?;
        Ok(Self { over, thread: Some(thread) })
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        *self.over.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.over.1.notify_all();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

impl Tcp {
    /// Starts the thread for the peers that there are now. A system that has no thread left is no reason to fail:
    /// without it this rank must be back in time.
    pub(super) fn start_pulse(&mut self) {
        self.pulse = None;
        if self.settings.patience > self.settings.deadline {
            let controls = self.peers.iter().filter_map(|peer| peer.control.as_ref());
            self.pulse = Pulse::start(controls.map(crate::frames::Frames::aside).collect(), self.beat()).ok();
        }
    }
}
