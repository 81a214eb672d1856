//! Ranks on hosts of their own, which are namespaces: what breaks between or on them, all survivors name the right rank
//! within the deadline, and nothing stays behind.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "tests may fail, or be skipped")]
#![allow(
    clippy::disallowed_methods,
    reason = "ranks are told by the environment who they are; a test measures time"
)]

use std::io::{BufRead, BufReader};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use weft_base::Rate;
use weft_collective::{Rank, Terrain};
use weft_runtime::{
    Choice, Communicator, Fault, Listening, Meeting, Place, Reduction, Tcp, TcpSettings, meet,
};
use weft_testkit::network::{Network, Running};

const RANK: &str = "WEFT_TEST_RANK";
/// What the rank is to do wrong, if anything.
const WRONG: &str = "WEFT_TEST_WRONG";
const RANKS: u8 = 4;
const DEADLINE: Duration = Duration::from_millis(1500);
/// What ranks need besides to start, to tell each other and to end, on a machine that is busy.
const GRACE: Duration = Duration::from_millis(1500);

/// What each rank runs.
#[test]
fn rank() {
    let Ok(rank) = std::env::var(RANK) else { return };
    let wrong = std::env::var(WRONG).unwrap();
    let mut group = match group(rank.parse().unwrap(), &wrong) {
        Ok(group) => group,
        Err(fault) => return println!("\nfault {fault}"),
    };
    let mut data = vec![1_i32; 64 << 10];
    for call in 0.. {
        if let Err(fault) = group.all_reduce(&mut data, Reduction::Max) {
            return println!("\nfault {fault}");
        }
        assert!(data.iter().all(|value| *value == 1));
        if call == 2 {
            println!("\nready");
        }
    }
}

fn group(rank: u32, wrong: &str) -> Result<Communicator<Tcp>, Fault> {
    let interface = wrong.strip_prefix("interface ").map(str::to_owned);
    let busy = Duration::from_micros(20);
    let settings = TcpSettings { deadline: DEADLINE, busy, interface, ..TcpSettings::default() };
    let rank = Rank::new(rank);
    let mut meeting = Meeting::new(Place::Address("10.77.0.1:7400".to_owned()), rank, u32::from(RANKS));
    meeting.deadline = DEADLINE;
    let listening = Listening::open(&settings)?;
    let mut endpoints = listening.endpoints().to_vec();
    if wrong == "port" {
        // A port below those that the system gives out: nobody listens there.
        for endpoint in &mut endpoints {
            endpoint.address.set_port(9);
        }
    }
    let roster = meet(&meeting, endpoints, "")?;
    let tcp = Tcp::connect(listening, &roster, rank, settings)?;
    Ok(Communicator::new(rank, Terrain::flat(u32::from(RANKS)), tcp, Choice::Named("ring".to_owned())))
}

/// All ranks, one on each host.
struct Group {
    ranks: Vec<(Running, BufReader<ChildStdout>)>,
    network: Network,
    begun: Instant,
    /// Groups that compute side by side would take the processors from each other for as long as a deadline.
    _alone: MutexGuard<'static, ()>,
}

impl Group {
    /// `None` where there can be no such network. One of them does something wrong.
    fn start((odd, wrong): (u8, &str)) -> Option<Self> {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let network = Network::new(RANKS).inspect_err(|why| println!("{why}")).ok()?;
        let start = |rank: u8| {
            let mut command: Command = network.command(rank, std::env::current_exe().unwrap());
            command.args(["--exact", "rank", "--nocapture"]).env(RANK, rank.to_string());
            command.env(WRONG, if rank == odd { wrong } else { "" }).stdout(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let output = BufReader::new(child.stdout.take().unwrap());
            (Running(child), output)
        };
        let ranks = (0..RANKS).map(start).collect();
        Some(Self { ranks, network, begun: Instant::now(), _alone: alone })
    }

    fn ready(odd: u8) -> Option<Self> {
        let mut group = Self::start((odd, ""))?;
        (0..RANKS).for_each(|rank| drop(group.said(rank, "ready")));
        Some(group)
    }

    /// What a rank says behind a word.
    fn said(&mut self, rank: u8, word: &str) -> String {
        let mut lines = (&mut self.ranks[usize::from(rank)].1).lines().map(Result::unwrap);
        lines.find_map(|line| Some(line.strip_prefix(word)?.trim().to_owned())).unwrap()
    }

    fn signal(&self, rank: u8, signal: &str) {
        let process = self.ranks[usize::from(rank)].0.0.id().to_string();
        assert!(Command::new("kill").args([signal, &process]).status().unwrap().success());
    }

    /// All but one name that one, soon enough, and end; what they say begins with one of these.
    fn blames(&mut self, odd: u8, begun: Instant, beginnings: &[&str]) -> Vec<String> {
        let survivors = (0..RANKS).filter(|rank| *rank != odd);
        let faults: Vec<String> = survivors.map(|rank| self.said(rank, "fault")).collect();
        let took = begun.elapsed();
        println!("{took:?}: {faults:#?}");
        for fault in &faults {
            let right = beginnings.iter().any(|how| fault.starts_with(&format!("rank {odd} {how}")));
            assert!(right, "{faults:#?}");
        }
        assert!(took < DEADLINE + GRACE, "{took:?}");
        for rank in (0..RANKS).filter(|rank| *rank != odd) {
            assert!(self.ranks[usize::from(rank)].0.0.wait().unwrap().success());
            let left = Command::new("ip").args(["netns", "pids", &self.network.namespace(rank)]).output();
            assert_eq!(left.unwrap().stdout, b"");
        }
        faults
    }
}

#[test]
fn a_host_that_is_cut_off_is_named_by_all_others_and_ends_too() {
    let Some(mut group) = Group::ready(2) else { return };
    let begun = Instant::now();
    group.network.cut(2).unwrap();
    group.blames(2, begun, &["has not moved"]);
    // Alone it cannot know that it is the one that is cut off, but it ends.
    let fault = group.said(2, "fault");
    assert!(fault.contains("has not moved") && begun.elapsed() < DEADLINE * 2 + GRACE, "{fault}");
}

#[test]
fn a_rank_that_is_killed_on_another_host_is_named_at_once() {
    let Some(mut group) = Group::ready(3) else { return };
    let begun = Instant::now();
    group.signal(3, "-KILL");
    group.blames(3, begun, &["is dead"]);
    assert!(begun.elapsed() < DEADLINE, "{:?}", begun.elapsed());
}

#[test]
fn a_rank_that_is_stopped_on_another_host_is_named() {
    let Some(mut group) = Group::ready(1) else { return };
    let begun = Instant::now();
    group.signal(1, "-STOP");
    group.blames(1, begun, &["has not moved"]);
}

#[test]
fn a_rank_whose_port_is_closed_is_named_with_what_was_tried() {
    let Some(mut group) = Group::start((1, "port")) else { return };
    // Connecting may take two deadlines.
    let faults = group.blames(1, group.begun + DEADLINE, &["cannot be reached"]);
    assert!(faults[1].contains("10.77.0.2:9") && faults[1].contains("efused"), "{}", faults[1]);
}

#[test]
fn a_rank_that_is_told_an_interface_without_a_way_to_the_others_is_named() {
    let Some(mut group) = Group::start((1, "interface lo")) else { return };
    // Connecting may take two deadlines.
    let faults = group.blames(1, group.begun + DEADLINE, &["cannot be reached"]);
    assert!(faults[1].contains("127.0.0.1"), "{}", faults[1]);
}

#[test]
fn a_rank_that_is_told_an_interface_that_is_not_there_says_what_is_and_the_others_name_it() {
    let Some(mut group) = Group::start((2, "interface eth7")) else { return };
    let own = group.said(2, "fault");
    assert!(own.contains("eth7") && own.contains("eth0") && own.contains("10.77.0.3"), "{own}");
    let faults = group.blames(2, group.begun, &["cannot be reached"]);
    assert!(faults.iter().all(|fault| fault.contains("rank 2 of 4 has not come")), "{faults:#?}");
}

#[test]
fn a_slow_host_slows_all_and_nobody_is_blamed() {
    let Some(mut group) = Group::start((0, "")) else { return };
    group.network.slow_host(1, Rate::bytes_per_second(2_000_000)).unwrap();
    // Three calls of 256 KiB by ring send 1.2 MB over each link: more than half a second, all the time moving.
    (0..RANKS).for_each(|rank| drop(group.said(rank, "ready")));
}
