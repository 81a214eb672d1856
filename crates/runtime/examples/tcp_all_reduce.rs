//! Time of an all-reduce of float over TCP between two processes, on this host or on two.
//! `tcp_all_reduce [algorithm] [busy microseconds] [bytes read at once]`. Where `WEFT_EXAMPLE_PATH` names a file that
//! both see, it is started by hand on each host, with `HOST` 0 and 1, as the example `hosts` of the testkit does.

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
    let measures = matches!(arguments.first().map(String::as_str), Some("measured"));
    let choice = match arguments.first().map(String::as_str) {
        None | Some("quickest" | "measured") => {
            Choice::Quickest(Speeds { latency: Span::from_microseconds(5.0), bytes_per_s: 2e9 })
        }
        Some(name) => Choice::Named(name.to_owned()),
    };
    let apart = std::env::var("WEFT_EXAMPLE_PATH").ok();
    let second = std::env::var(CHILD).is_ok() || apart.is_some() && std::env::var("HOST").unwrap() == "1";
    let rank = Rank::new(u32::from(second));
    let given = apart.clone().or(std::env::var(CHILD).ok()).map(PathBuf::from);
    let path =
        given.unwrap_or_else(|| std::env::temp_dir().join(format!("weft-all-reduce-{}", std::process::id())));
    let child = (rank.get() == 0 && apart.is_none()).then(|| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(&arguments).env(CHILD, &path).spawn().unwrap()
    });
    let listening = Listening::open(&settings).unwrap();
    let meeting = Meeting::new(Place::File(path), rank, 2);
    let roster = meet(&meeting, listening.endpoints().to_vec(), "").unwrap();
    let tcp = Tcp::connect(listening, &roster, rank, settings).unwrap();
    if rank.get() == 0 {
        tcp.reasons().iter().for_each(|reason| println!("{reason}"));
    }
    let mut group = Communicator::new(rank, Terrain::flat(2), tcp, choice);
    if measures {
        let speeds = group.calibrate().unwrap();
        if rank.get() == 0 {
            println!("{:.2} us, {:.2} GB/s", speeds.latency.as_microseconds(), speeds.bytes_per_s / 1e9);
        }
    }
    for (bytes, times) in [
        (8, 20_000.0),
        (4096, 10_000.0),
        (32 << 10, 3000.0),
        (256 << 10, 1000.0),
        (1 << 20, 300.0),
        (4 << 20, 100.0),
        (16 << 20, 30.0),
        (64 << 20, 9.0),
        (256 << 20, 5.0),
    ] {
        let mut data = vec![0_f32; bytes / 4];
        let mut took: Vec<f64> = Vec::new();
        let begun = Instant::now();
        group.all_reduce(&mut data, Reduction::Sum).unwrap();
        // Both must do it as often: one tells the other how often two seconds take.
        let mut times = [(2.0 / begun.elapsed().as_secs_f64()).clamp(5.0, times)];
        group.broadcast(&mut times, Rank::new(0)).unwrap();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 5 and 20,000")]
        let times = times[0] as usize;
        for _ in 0..times {
            let start = Instant::now();
            group.all_reduce(&mut data, Reduction::Sum).unwrap();
            took.push(start.elapsed().as_secs_f64());
        }
        took.sort_by(f64::total_cmp);
        let median = took[times / 2];
        if rank.get() == 0 {
            let (name, best) = (group.algorithm().to_owned(), took[0]);
            let rate = bytes as f64 / median / 1e9;
            println!(
                "{bytes:>12}  {:>10.2} us (least {:>10.2})  {rate:>6.2} GB/s  {name}",
                median * 1e6,
                best * 1e6
            );
        }
    }
    if let Some(mut child) = child {
        child.wait().unwrap();
    }
}
