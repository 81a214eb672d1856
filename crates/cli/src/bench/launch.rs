//! The other ranks of this host, as processes of this program.

use std::ffi::OsStr;
use std::ops::RangeInclusive;
use std::process::{Child, Command, Stdio};

use weft_runtime::Fault;

use super::words::rankless;

/// Processes that are ended with this one, however it ends: their standard input ends then.
#[derive(Debug)]
pub struct Followers(Vec<Child>);

impl Followers {
    /// Starts these ranks with the command line of this process.
    pub fn start(ranks: RangeInclusive<u32>, place: &OsStr) -> Result<Self, Fault> {
        let refused = |error: std::io::Error| Fault::Lacking { what: "processes", how: error.to_string() };
        let program = std::env::current_exe().map_err(refused)?;
        let words = rankless(std::env::args_os().skip(1));
        let mut started = Self(Vec::new());
        for rank in ranks {
            let mut command = Command::new(&program);
            command.args(&words).args(["--tied", "--rank", &rank.to_string(), "--join"]).arg(place);
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            started.0.push(command.spawn().map_err(refused)?);
        }
        Ok(started)
    }

    /// Waits a moment for each to end by itself, and ends those that do not.
    pub fn end(mut self) {
        for child in &mut self.0 {
            for _ in 0..50 {
                if !matches!(child.try_wait(), Ok(None)) {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        }
    }
}

impl Drop for Followers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // One that has ended cannot be killed; it is only to be forgotten.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
