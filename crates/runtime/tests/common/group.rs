//! Ranks that meet and connect over TCP on this host.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use weft_collective::Rank;
use weft_runtime::{Fault, Listening, Meeting, Place, Tcp, TcpSettings, meet};

/// A path at which nothing is, different for each call.
pub fn fresh_path() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("weft-meeting-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    std::env::temp_dir().join(name)
}

/// One rank's way into a group that meets at a path.
pub fn join(path: &Path, rank: u32, ranks: u32, settings: &TcpSettings) -> Result<Tcp, Fault> {
    let listening = Listening::open(settings)?;
    let meeting = Meeting::new(Place::File(path.to_owned()), Rank::new(rank), ranks);
    let roster = meet(&meeting, listening.endpoints().to_vec(), "")?;
    Tcp::connect(listening, &roster, Rank::new(rank), settings.clone())
}

/// Runs ranks as threads, and gives what each gives.
pub fn ranks<R: Send>(count: u32, run: impl Fn(u32) -> R + Sync) -> Vec<R> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|rank| (rank, &run)).collect();
        let threads: Vec<_> = threads.into_iter().map(|(rank, run)| scope.spawn(move || run(rank))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Settings for many ranks on few cores, with this deadline.
pub fn patient(deadline_ms: u64) -> TcpSettings {
    TcpSettings {
        deadline: Duration::from_millis(deadline_ms),
        busy: Duration::from_micros(20),
        ..TcpSettings::default()
    }
}
