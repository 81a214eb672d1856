//! What streams over TCP reach between two processes on this host: half a round trip of 8 bytes, and one-way bandwidth
//! by message size. `tcp_streams [seconds per size] [busy microseconds] [interface]`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "an example may fail, and shows what it found")]
#![allow(clippy::cast_precision_loss, reason = "figures have three digits")]
#![allow(clippy::disallowed_methods, reason = "it measures time and asks who it is")]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use weft_collective::Rank;
use weft_runtime::{
    Announced, Fault, Listening, Meeting, Place, Port, Ports, Tcp, TcpSettings, Transport, meet,
};

const CHILD: &str = "WEFT_EXAMPLE_CHILD";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: f64| arguments.get(at).map_or(default, |text| text.parse().unwrap());
    let seconds = number(0, 0.3);
    let settings = TcpSettings {
        busy: Duration::from_secs_f64(number(1, 100.0) / 1e6),
        interface: arguments.get(2).cloned(),
        ..TcpSettings::default()
    };
    if let Ok(path) = std::env::var(CHILD) {
        return other(&mut join(path.as_ref(), 1, &settings));
    }
    // Where this is set, rank 1 is started by hand, on another host or in another namespace.
    let apart = std::env::var("WEFT_EXAMPLE_PATH").ok();
    let path = std::env::temp_dir().join(format!("weft-streams-{}", std::process::id()));
    let path = apart.clone().map_or(path, Into::into);
    let child = apart.is_none().then(|| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(&arguments).env(CHILD, &path).spawn().unwrap()
    });
    let mut tcp = join(&path, 0, &settings);
    tcp.reasons().iter().for_each(|reason| println!("{reason}"));
    println!("{:>12}  {:>12}", "bytes", "half trip us");
    for bytes in [8, 4096] {
        println!("{bytes:>12}  {:>12.2}", median(&mut tcp, seconds, bytes, bytes) * 1e6 / 2.0);
    }
    println!("{:>12}  {:>12}", "bytes", "GB/s");
    for bytes in (12..=28).step_by(2).map(|power| 1_usize << power) {
        println!("{bytes:>12}  {:>12.2}", bytes as f64 / median(&mut tcp, seconds, bytes, 0) / 1e9);
    }
    println!("{:>12}  {:>12}", "bytes", "GB/s, both ways at once");
    for bytes in (12..=28).step_by(2).map(|power| 1_usize << power) {
        println!("{bytes:>12}  {:>12.2}", bytes as f64 / median(&mut tcp, seconds, bytes, usize::MAX) / 1e9);
    }
    order(&mut tcp, 0, 0, 0);
    if let Some(mut child) = child {
        child.wait().unwrap();
    }
}

fn join(path: &Path, rank: u32, settings: &TcpSettings) -> Tcp {
    let listening = Listening::open(settings).unwrap();
    let meeting = Meeting::new(Place::File(path.to_owned()), Rank::new(rank), 2);
    let roster = meet(&meeting, listening.endpoints().to_vec(), "").unwrap();
    Tcp::connect(listening, &roster, Rank::new(rank), settings.clone()).unwrap()
}

/// Tells the other what comes: so many times `out` bytes, answered by `back` (`usize::MAX`: as many, at once).
fn order(tcp: &mut Tcp, times: usize, out: usize, back: usize) {
    let numbers: Vec<u8> = [times, out, back].iter().flat_map(|number| number.to_le_bytes()).collect();
    exchange(tcp, 1, Some(&numbers), None).unwrap();
}

fn other(tcp: &mut Tcp) {
    loop {
        let mut numbers = vec![0; 24];
        exchange(tcp, 0, None, Some(&mut numbers)).unwrap();
        let number = |at: usize| usize::from_le_bytes(numbers[at..at + 8].try_into().unwrap());
        let (times, out, back) = (number(0), number(8), number(16));
        if times == 0 {
            return;
        }
        let (mine, mut theirs) = (vec![1; out], vec![0; out]);
        for _ in 0..times {
            if back == usize::MAX {
                exchange(tcp, 0, Some(&mine), Some(&mut theirs)).unwrap();
            } else {
                exchange(tcp, 0, None, Some(&mut theirs)).unwrap();
                exchange(tcp, 0, Some(&mine[..back]), None).unwrap();
            }
        }
    }
}

/// The median of the seconds that an exchange takes.
fn median(tcp: &mut Tcp, seconds: f64, out: usize, back: usize) -> f64 {
    let (mine, mut theirs) = (vec![1; out], vec![0; out]);
    let mut run = |times: u32| {
        order(tcp, times as usize, out, back);
        let mut took = Vec::new();
        for _ in 0..times {
            let start = Instant::now();
            if back == usize::MAX {
                exchange(tcp, 1, Some(&mine), Some(&mut theirs)).unwrap();
            } else {
                exchange(tcp, 1, Some(&mine), None).unwrap();
                exchange(tcp, 1, None, Some(&mut theirs[..back])).unwrap();
            }
            took.push(start.elapsed().as_secs_f64());
        }
        took.sort_by(f64::total_cmp);
        took[times as usize / 2]
    };
    let estimate = run(3);
    let times = (5..).step_by(100).find(|times| *times > 100_000 || f64::from(*times) * estimate > seconds);
    run(times.unwrap_or(5))
}

/// Sends and receives at the same time. An empty message is one too.
fn exchange(tcp: &mut Tcp, peer: u32, out: Option<&[u8]>, back: Option<&mut [u8]>) -> Result<(), Fault> {
    tcp.begin(Announced { signature_bits: 1, text: "an exchange" })?;
    let port = Port { peer: Rank::new(peer), channel: 0 };
    let (mut sent, mut came) = (0, 0);
    let (mut sending, mut receiving) = (out.is_some(), back.is_some());
    let (out, into) = (out.unwrap_or_default(), back.unwrap_or_default());
    let mut rounds = 0;
    while sending || receiving {
        let before = (sent, came, sending, receiving);
        if sending {
            sent = tcp.push(port, out, sent, true)?;
            sending = sent < out.len();
        }
        if receiving {
            let (want, mut at, mut has_come) = (into.len() - came, came, false);
            came += tcp.pull(port, want, 1, true, |part| {
                into[at..at + part.len()].copy_from_slice(part);
                at += part.len();
                has_come = true;
            })?;
            receiving = came < into.len() || !has_come;
        }
        rounds = if before == (sent, came, sending, receiving) { rounds + 1 } else { 0 };
        if rounds > 0 {
            tcp.wait(rounds, &[port])?;
        }
    }
    Ok(())
}
