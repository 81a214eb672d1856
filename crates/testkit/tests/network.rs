//! Hosts that are namespaces: what is slow is slow, what is cut is cut, and nothing stays behind.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail")]
#![allow(clippy::disallowed_methods, reason = "a test measures time")]
#![allow(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a skipped test says so; figures have three digits"
)]

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use weft_base::Rate;
use weft_testkit::network::{Network, Running, Unavailable};

/// A network, or a message that there can be none.
fn network(made: Result<Network, Unavailable>) -> Option<Network> {
    made.inspect_err(|why| println!("{why}")).ok()
}

/// One network at a time: rates of one are less while another one is measured.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

const ROLE: &str = "WEFT_TEST_ROLE";
const PORT: u16 = 7500;

/// What runs on the hosts: one that takes bytes, or one that sends them for a while and says how fast.
#[test]
fn on_a_host() {
    let Ok(role) = std::env::var(ROLE) else { return };
    if role == "sink" {
        let listener = std::net::TcpListener::bind(("0.0.0.0", PORT)).unwrap();
        println!("\nready");
        let mut buffer = vec![0; 1 << 18];
        loop {
            let mut stream = listener.accept().unwrap().0;
            while stream.read(&mut buffer).is_ok_and(|read| read > 0) {}
            stream.write_all(&[1]).ok();
        }
    }
    let before = Instant::now();
    let mut stream = std::net::TcpStream::connect((role.as_str(), PORT)).unwrap();
    println!("\nconnected {}", before.elapsed().as_micros());
    let (start, block) = (Instant::now(), vec![0; 1 << 18]);
    let mut sent = 0;
    while start.elapsed() < Duration::from_millis(400) {
        sent += stream.write(&block).unwrap();
    }
    // What is still in buffers has gone once the other end has seen the end.
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    stream.read_exact(&mut [0]).unwrap();
    println!("\nrate {}", sent as f64 / start.elapsed().as_secs_f64());
}

fn on(network: &Network, host: u8, role: &str) -> Command {
    let mut command = network.command(host, std::env::current_exe().unwrap());
    command.args(["--exact", "on_a_host", "--nocapture"]).env(ROLE, role).stdout(Stdio::piped());
    command
}

fn sink(network: &Network, host: u8) -> Running {
    let mut running = Running(on(network, host, "sink").spawn().unwrap());
    let mut said = Vec::new();
    let output = running.0.stdout.as_mut().unwrap();
    while !said.ends_with(b"ready\n") {
        let mut byte = [0];
        output.read_exact(&mut byte).unwrap();
        said.push(byte[0]);
    }
    running
}

/// Bytes in a second from one host to another.
fn rate(network: &Network, from: u8, to: u8) -> f64 {
    said(network, from, to, "rate ")
}

/// What a sender says behind a word.
fn said(network: &Network, from: u8, to: u8, word: &str) -> f64 {
    let _sink = sink(network, to);
    let output = on(network, from, &network.address(to).to_string()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().find_map(|line| line.strip_prefix(word)).unwrap().parse().unwrap()
}

/// From one host to another it never carries more than the most, and at least the least. A machine with other work gives
/// less, but hardly five times.
fn carries(network: &Network, (from, to): (u8, u8), (least, most): (f64, f64)) {
    let mut found = Vec::new();
    for _ in 0..5 {
        let rate = rate(network, from, to);
        assert!(rate < most, "{from} to {to}: {rate}, more than {most}");
        if rate > least {
            return;
        }
        found.push(rate);
    }
    panic!("{from} to {to}: {found:?}, less than {least}");
}

fn reaches(network: &Network, from: u8, to: u8) -> bool {
    let to = format!("exec 3<>/dev/tcp/{}/{PORT}", network.address(to));
    network.command(from, "timeout").args(["0.5", "bash", "-c", &to]).status().unwrap().success()
}

#[test]
fn a_slow_host_is_slow_both_ways_and_a_slow_link_between_its_ends_only() {
    let _alone = alone();
    let Some(mut network) = network(Network::with_rate(4, Rate::bytes_per_second(100_000_000))) else {
        return;
    };
    network.slow_host(0, Rate::bytes_per_second(20_000_000)).unwrap();
    network.slow_link(1, 2, Rate::bytes_per_second(40_000_000)).unwrap();
    for (from, to, wanted) in
        [(0, 3, 20e6), (3, 0, 20e6), (1, 2, 40e6), (2, 1, 40e6), (1, 3, 100e6), (3, 2, 100e6)]
    {
        // Headers take 5 % of what a link carries; bursts give a little more over so short a time.
        carries(&network, (from, to), (0.85 * wanted, 1.05 * wanted));
    }
}

#[test]
fn a_cut_host_is_not_reached_until_it_is_mended() {
    let _alone = alone();
    let Some(network) = network(Network::new(3)) else { return };
    let _sinks = [sink(&network, 0), sink(&network, 1)];
    assert!(reaches(&network, 2, 0) && reaches(&network, 2, 1));
    network.cut(0).unwrap();
    assert!(!reaches(&network, 2, 0) && reaches(&network, 2, 1));
    network.mend(0).unwrap();
    assert!(reaches(&network, 2, 0));
}

#[test]
fn a_delayed_line_takes_its_time_and_carries_its_rate() {
    let _alone = alone();
    let (rate, one_way) = (Rate::bytes_per_second(1_250_000_000), Duration::from_micros(500));
    let Some(mut network) = network(Network::with_delay(3, rate, one_way)) else { return };
    // A connection is there after a round trip; the address of the hardware takes another one.
    let connected_us = said(&network, 1, 2, "connected ");
    assert!((2000.0..100_000.0).contains(&connected_us), "{connected_us}");
    // The rest is for headers, for the beginning of the connection, and for a machine that has other work.
    carries(&network, (0, 1), (0.4e9, 1.25e9));
    network.slow_host(2, Rate::bytes_per_second(50_000_000)).unwrap();
    for pair in [(2, 0), (0, 2)] {
        carries(&network, pair, (40e6, 52e6));
    }
}

#[test]
fn hosts_have_names_and_nothing_stays_behind_even_after_a_panic() {
    let _alone = alone();
    let Some(network) = network(Network::new(2)) else { return };
    let name = network.command(1, "uname").arg("-n").output().unwrap();
    assert_eq!(String::from_utf8(name.stdout).unwrap(), "n2\n");
    let namespaces = [network.namespace(0), network.namespace(1)];
    let mut sleeper = network.command(0, "sh");
    let mut sleeper = sleeper.args(["-c", "echo; exec sleep 60"]).stdout(Stdio::piped()).spawn().unwrap();
    // It is there; one that is only about to enter its host nobody could find.
    sleeper.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let panicked = std::thread::spawn(move || {
        let _network = network;
        panic!("as a failing test does");
    });
    assert!(panicked.join().is_err());
    assert!(!sleeper.wait().unwrap().success());
    let list = Command::new("ip").args(["netns", "list"]).output().unwrap();
    let list = String::from_utf8(list.stdout).unwrap();
    assert!(namespaces.iter().all(|name| !list.contains(name.as_str())), "{list}");
}
