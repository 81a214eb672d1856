//! Short messages over a connection that never waits.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;

/// No message that is sent is longer; a longer one comes from a stranger.
const LONGEST_BYTES: usize = 1 << 22;

/// A connection that carries frames: their length in 32 bits, their kind in 8, and what they say.
#[derive(Debug)]
pub(crate) struct Frames {
    line: Arc<Line>,
    inbox: Vec<u8>,
    ended: Option<End>,
    named: bool,
}

/// The connection, and what it has not taken yet.
#[derive(Debug)]
struct Line {
    stream: TcpStream,
    outbox: Mutex<Vec<u8>>,
}

#[derive(Debug)]
struct End {
    how: String,
    closed: bool,
}

/// A connection to which another thread adds a frame now and then.
#[derive(Debug, Clone)]
pub(crate) struct Aside(Arc<Line>);

impl Aside {
    /// Whether something has come that nobody has read.
    pub(crate) fn is_unread(&self) -> bool {
        let mut fds = [readable(&self.0.stream)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
    }

    /// Sends a frame without a body, unless others wait to be sent.
    pub(crate) fn send(&self, kind: u8) {
        let mut outbox = self.0.outbox();
        if outbox.is_empty() {
            outbox.extend_from_slice(&[1, 0, 0, 0, kind]);
            // How it ends is for those to find out who read.
            let _sent = self.0.flush(&mut outbox);
        }
    }
}

impl Line {
    fn outbox(&self) -> MutexGuard<'_, Vec<u8>> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends of it what the connection takes.
    fn flush(&self, outbox: &mut Vec<u8>) -> std::io::Result<bool> {
        while !outbox.is_empty() {
            match (&self.stream).write(outbox) {
                Ok(sent) => drop(outbox.drain(..sent)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => {
                    outbox.clear();
                    return Err(error);
                }
            }
        }
        Ok(true)
    }
}

impl Frames {
    /// Over this connection, from its present place on.
    pub(crate) fn new(stream: TcpStream) -> std::io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let line = Arc::new(Line { stream, outbox: Mutex::default() });
        Ok(Self { line, inbox: Vec::new(), ended: None, named: false })
    }

    /// Sends a frame, or keeps it until the connection takes it.
    pub(crate) fn send(&mut self, kind: u8, body: &[u8]) {
        let length = u32::try_from(body.len() + 1).unwrap_or(u32::MAX);
        let mut outbox = self.line.outbox();
        outbox.extend_from_slice(&length.to_le_bytes());
        outbox.push(kind);
        outbox.extend_from_slice(body);
        drop(outbox);
        self.flush();
    }

    /// Sends what belongs before all frames.
    pub(crate) fn send_plain(&mut self, bytes: &[u8]) {
        self.line.outbox().extend_from_slice(bytes);
        self.flush();
    }

    /// Sends what was kept, as far as the connection takes it. Gives whether all is sent.
    pub(crate) fn flush(&mut self) -> bool {
        let mut outbox = self.line.outbox();
        let sent = self.line.flush(&mut outbox);
        drop(outbox);
        sent.unwrap_or_else(|error| {
            self.end_by(&error);
            true
        })
    }

    /// The same connection, for another thread.
    pub(crate) fn aside(&self) -> Aside {
        Aside(Arc::clone(&self.line))
    }

    /// Reads what has come.
    pub(crate) fn fill(&mut self) {
        let mut part = [0; 4096];
        while self.ended.is_none() && self.inbox.len() <= LONGEST_BYTES {
            match (&self.line.stream).read(&mut part) {
                Ok(0) => self.end("its connection was closed".to_owned(), true),
                Ok(read) => self.inbox.extend_from_slice(part.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => self.end_by(&error),
            }
        }
    }

    /// Takes the next whole frame.
    pub(crate) fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        let length = u32::from_le_bytes(*self.inbox.first_chunk::<4>()?) as usize;
        if length == 0 || length > LONGEST_BYTES {
            self.inbox.clear();
            self.end("it sent what is no message".to_owned(), false);
            return None;
        }
        let frame = self.inbox.get(4..4 + length)?;
        let (kind, body) = frame.split_first()?;
        let frame = (*kind, body.to_vec());
        self.inbox.drain(..4 + length);
        Some(frame)
    }

    /// Takes these bytes from the beginning: whether they are there, or `None` while too few have come to say so.
    pub(crate) fn take_plain(&mut self, expected: &[u8]) -> Option<bool> {
        let compared = self.inbox.len().min(expected.len());
        if self.inbox.get(..compared) != expected.get(..compared) {
            return Some(false);
        }
        (compared == expected.len()).then(|| {
            self.inbox.drain(..compared);
            self.named = true;
            true
        })
    }

    /// Whether [`Self::take_plain`] has found what it looked for.
    pub(crate) fn named(&self) -> bool {
        self.named
    }

    /// How the connection ended, if it has. Frames that came before are still there.
    pub(crate) fn ended(&self) -> Option<&str> {
        self.ended.as_ref().map(|end| end.how.as_str())
    }

    /// Whether the other side has ended it, which it does at the latest when its process ends.
    pub(crate) fn closed(&self) -> bool {
        self.ended.as_ref().is_some_and(|end| end.closed)
    }

    fn end(&mut self, how: String, closed: bool) {
        self.ended.get_or_insert(End { how, closed });
    }

    fn end_by(&mut self, error: &std::io::Error) {
        let closed = matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe);
        self.end(error.to_string(), closed);
    }
}

impl AsFd for Frames {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.line.stream.as_fd()
    }
}

/// Waits until one of these can be read (or, where that is asked for, written), for at most so long.
pub(crate) fn wait_for(fds: &mut [PollFd<'_>], at_most: Duration) {
    let limit = Timespec {
        tv_sec: i64::try_from(at_most.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: at_most.subsec_nanos().into(),
    };
    // A signal ends the wait early, and so may any other error: callers look at the clock and come again.
    if let Err(error) = rustix::event::poll(fds, Some(&limit))
        && error != Errno::INTR
    {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// One to read from.
pub(crate) fn readable<Fd: AsFd>(fd: &Fd) -> PollFd<'_> {
    PollFd::new(fd, PollFlags::IN)
}
