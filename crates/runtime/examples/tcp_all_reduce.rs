//! Time of an all-reduce of float over TCP between two processes on this host.
//! `tcp_all_reduce [algorithm] [busy microseconds] [bytes read at once]`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "an example may fail, and shows what it found")]
#![allow(clippy::cast_precision_loss, reason = "figures have three digits")]
#![allow(clippy::disallowed_methods, reason = "it measures time and asks who it is")]

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use weft_base::Span;
use weft_collective::{Rank, Terrain};
use weft_runtime::{
    Choice, Communicator, Listening, Meeting, Place, Reduction, Speeds, Tcp, TcpSettings, meet,
};

const CHILD: &str = "WEFT_EXAMPLE_CHILD";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut settings = TcpSettings::default();
    if let Some(busy) = arguments.get(1) {
        settings.busy = Duration::from_micros(busy.parse().unwrap());
    }
    if let Some(staging) = arguments.get(2) {
        settings.staging_bytes = staging.parse().unwrap();
    }
    let choice = match arguments.first().map(String::as_str) {
        None | Some("quickest") => {
            Choice::Quickest(Speeds { latency: Span::from_microseconds(5.0), bytes_per_s: 2e9 })
        }
        Some(name) => Choice::Named(name.to_owned()),
    };
    let path = std::env::var(CHILD).ok().map(PathBuf::from);
    let rank = Rank::new(u32::from(path.is_some()));
    let path =
        path.unwrap_or_else(|| std::env::temp_dir().join(format!("weft-all-reduce-{}", std::process::id())));
    let child = (rank.get() == 0).then(|| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(&arguments).env(CHILD, &path).spawn().unwrap()
    });
    let listening = Listening::open(&settings).unwrap();
    let meeting = Meeting::new(Place::File(path), rank, 2);
    let roster = meet(&meeting, listening.endpoints().to_vec(), "").unwrap();
    let tcp = Tcp::connect(listening, &roster, rank, settings).unwrap();
    let mut group = Communicator::new(rank, Terrain::flat(2), tcp, choice);
    for (bytes, times) in [
        (8, 20_000),
        (4096, 10_000),
        (32 << 10, 3000),
        (256 << 10, 1000),
        (1 << 20, 300),
        (4 << 20, 100),
        (16 << 20, 30),
        (64 << 20, 9),
        (256 << 20, 5),
    ] {
        let mut data = vec![0_f32; bytes / 4];
        group.all_reduce(&mut data, Reduction::Sum).unwrap();
        let mut took: Vec<f64> = Vec::new();
        for _ in 0..times {
            let start = Instant::now();
            group.all_reduce(&mut data, Reduction::Sum).unwrap();
            took.push(start.elapsed().as_secs_f64());
        }
        took.sort_by(f64::total_cmp);
        let median = took[times / 2];
        if rank.get() == 0 {
            println!("{bytes:>12}  {:>12.2} us  {:>8.2} GB/s", median * 1e6, bytes as f64 / median / 1e9);
        }
    }
    if let Some(mut child) = child {
        child.wait().unwrap();
    }
}
