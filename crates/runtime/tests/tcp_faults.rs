//! Ranks as processes that are killed and stopped: every survivor names the right one, within the deadline.

#![allow(clippy::unwrap_used, clippy::panic, clippy::wildcard_enum_match_arm, reason = "tests may fail")]
#![allow(clippy::disallowed_methods, reason = "the ranks are told by the environment who they are")]

#[path = "common/group.rs"]
mod group;

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use group::{fresh_path, join, patient};
use weft_collective::Rank;
use weft_runtime::{Announced, Fault, Port, Ports, Tcp, Transport};

const RANK: &str = "WEFT_TEST_RANK";
const PATH: &str = "WEFT_TEST_PATH";
const MODE: &str = "WEFT_TEST_MODE";
const RANKS: u32 = 3;
const DEADLINE_MS: u64 = 2000;

/// One call: a message from `from` to this rank, one from this rank to `to`.
fn pass(tcp: &mut Tcp, from: Option<u32>, to: Option<u32>, bytes: usize) -> Result<(), Fault> {
    tcp.begin(Announced { signature_bits: 9, text: "passing on" })?;
    let piece = vec![7; bytes];
    let (mut sent, mut came, mut rounds) = (0, 0, 0);
    let port = |rank: u32| Port { peer: Rank::new(rank), channel: 0 };
    loop {
        let before = sent + came;
        if let (Some(to), true) = (to, sent < bytes) {
            sent = tcp.push(port(to), &piece, sent, true)?;
        }
        if let (Some(from), true) = (from, came < bytes) {
            came += tcp.pull(port(from), bytes - came, 8, true, |_| {})?;
        }
        let waits = |open: bool, rank: Option<u32>| rank.filter(|_| open).map(port);
        let on: Vec<Port> = waits(sent < bytes, to).into_iter().chain(waits(came < bytes, from)).collect();
        if on.is_empty() {
            return Ok(());
        }
        rounds = if sent + came > before { 0 } else { rounds + 1 };
        if rounds > 0 {
            tcp.wait(rounds, &on)?;
        }
    }
}

/// What a child does: a ring in which all pass on, or a chain in which rank 0 hears from 1, and 1 from 2.
#[test]
fn child() {
    let Ok(rank) = std::env::var(RANK) else { return };
    let (rank, path) = (rank.parse::<u32>().unwrap(), std::env::var(PATH).unwrap());
    let ring = std::env::var(MODE).unwrap() == "ring";
    let mut tcp = join(path.as_ref(), rank, RANKS, &patient(DEADLINE_MS)).unwrap();
    let bytes = if ring { 1 << 20 } else { 8 };
    let next = if ring { Some((rank + 1) % RANKS) } else { rank.checked_sub(1) };
    let last =
        if ring { Some((rank + RANKS - 1) % RANKS) } else { Some(rank + 1).filter(|rank| *rank < RANKS) };
    pass(&mut tcp, last, next, bytes).unwrap();
    println!("\nready");
    if !ring && rank == 2 {
        // The end of the chain is stopped while it waits for nobody.
        std::thread::sleep(Duration::from_secs(60));
    }
    loop {
        if let Err(fault) = pass(&mut tcp, last, next, bytes) {
            println!("\nfault {fault}");
            return;
        }
    }
}

struct Rig(Vec<(Child, BufReader<ChildStdout>)>);

impl Rig {
    fn start(mode: &str) -> Self {
        let path = fresh_path();
        let start = |rank: u32| {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "child", "--nocapture"])
                .env(RANK, rank.to_string())
                .env(PATH, &path)
                .env(MODE, mode)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let output = BufReader::new(child.stdout.take().unwrap());
            (child, output)
        };
        let mut rig = Self((0..RANKS).map(start).collect());
        (0..RANKS).for_each(|rank| drop(rig.line(rank, "ready")));
        rig
    }

    /// What a rank says behind a word.
    fn line(&mut self, rank: u32, word: &str) -> String {
        let output = &mut self.0[rank as usize].1;
        let mut lines = output.lines().map(Result::unwrap);
        lines.find_map(|line| Some(line.strip_prefix(word)?.trim().to_owned())).unwrap()
    }

    fn signal(&self, rank: u32, signal: &str) {
        let process = self.0[rank as usize].0.id().to_string();
        assert!(Command::new("kill").args([signal, &process]).status().unwrap().success());
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        for (child, _) in &mut self.0 {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

#[test]
fn a_killed_rank_is_named_at_once_by_all() {
    for victim in 0..RANKS {
        let mut rig = Rig::start("ring");
        std::thread::sleep(Duration::from_millis(50));
        let start = Instant::now();
        rig.signal(victim, "-KILL");
        for rank in (0..RANKS).filter(|rank| *rank != victim) {
            let fault = rig.line(rank, "fault");
            assert!(fault.starts_with(&format!("rank {victim} is dead")), "rank {rank}: {fault}");
            assert!(start.elapsed() < Duration::from_millis(DEADLINE_MS), "{:?}", start.elapsed());
        }
    }
}

#[test]
fn a_stopped_rank_is_named_by_all_of_a_ring() {
    for victim in 0..RANKS {
        let mut rig = Rig::start("ring");
        std::thread::sleep(Duration::from_millis(50));
        let start = Instant::now();
        rig.signal(victim, "-STOP");
        for rank in (0..RANKS).filter(|rank| *rank != victim) {
            let fault = rig.line(rank, "fault");
            assert!(fault.starts_with(&format!("rank {victim} has not moved")), "rank {rank}: {fault}");
            assert!(fault.contains("passing on") && fault.contains("bytes came"), "{fault}");
            // Twice the deadline is far more than they need, and far less than for ever.
            assert!(start.elapsed() < Duration::from_millis(2 * DEADLINE_MS), "{:?}", start.elapsed());
        }
    }
}

#[test]
fn at_the_end_of_a_chain_the_stopped_rank_is_named_and_not_the_neighbour() {
    let mut rig = Rig::start("chain");
    rig.signal(2, "-STOP");
    let start = Instant::now();
    for rank in [0, 1] {
        let fault = rig.line(rank, "fault");
        assert!(fault.starts_with("rank 2 has not moved"), "rank {rank}: {fault}");
        assert!(start.elapsed() < Duration::from_millis(3 * DEADLINE_MS), "{:?}", start.elapsed());
    }
}
