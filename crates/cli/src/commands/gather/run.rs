//! Runs a command with a limit of time and of output. It gets no input, and what it leaves running is not waited for.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{env, thread};

/// The most that is kept of one output.
const OUTPUT_MAX: u64 = 64 << 20;
/// Where administrators' tools are, though search paths of users often lack it.
const MORE_FOLDERS: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/local/sbin", "/opt/rocm/bin"];
/// How often a running command is looked at.
const PAUSE: Duration = Duration::from_millis(5);
/// How long the last output of a command that ended may take.
const DRAIN: Duration = Duration::from_millis(500);

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// By itself, with this status; `None` where a signal ended it.
    Status(Option<i32>),
    /// It was killed, as its time was over.
    TimedOut,
    /// It could not be started.
    Refused(String),
}

/// What a command did.
#[derive(Debug)]
pub struct Ran {
    /// Standard output, or standard error where that is empty.
    pub output: Vec<u8>,
    /// How it ended.
    pub end: End,
    /// How long it took.
    pub took: Duration,
}

/// The program of that name on the search path.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(MORE_FOLDERS.iter().map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|file| is_program(file))
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Runs `program` for at most `limit`.
#[expect(
    clippy::disallowed_methods,
    reason = "the command line may look at the clock, and a limit needs one"
)]
pub fn run(program: &Path, arguments: &[String], limit: Duration) -> Ran {
    let start = Instant::now();
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            return Ran { output: Vec::new(), end: End::Refused(error.to_string()), took: start.elapsed() };
        }
    };
    let (output, errors) = (collected(child.stdout.take()), collected(child.stderr.take()));
    let end = wait(&mut child, start, limit);
    output.settle();
    let text = output.taken();
    let text = if text.is_empty() {
        errors.settle();
        errors.taken()
    } else {
        text
    };
    Ran { output: text, end, took: start.elapsed() }
}

fn wait(child: &mut Child, start: Instant, limit: Duration) -> End {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return End::Status(status.code()),
            Ok(None) if start.elapsed() < limit => thread::sleep(PAUSE),
            Ok(None) => {
                // It may have ended in the meantime, which is as well.
                let _ = child.kill();
                let _ = child.wait();
                return End::TimedOut;
            }
            Err(error) => return End::Refused(error.to_string()),
        }
    }
}

/// Bytes that a thread of its own collects.
struct Collected {
    bytes: Arc<Mutex<Vec<u8>>>,
    ended: Receiver<()>,
}

impl Collected {
    /// Waits for the end of the stream, but not for a grandchild that keeps it open.
    fn settle(&self) {
        let _ = self.ended.recv_timeout(DRAIN);
    }

    fn taken(&self) -> Vec<u8> {
        std::mem::take(&mut *self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn collected(stream: Option<impl Read + Send + 'static>) -> Collected {
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let (tell, ended) = channel();
    let into = Arc::clone(&bytes);
    thread::spawn(move || {
        let Some(stream) = stream else { return };
        let mut stream = stream.take(OUTPUT_MAX);
        let mut buffer = vec![0; 1 << 16];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            into.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&buffer[..count]);
        }
        // No one may be waiting any more.
        let _ = tell.send(());
    });
    Collected { bytes, ended }
}
