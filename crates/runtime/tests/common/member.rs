//! Ranks as processes that add up numbers again and again, and go on as a smaller group after a fault.
#![allow(
    dead_code,
    clippy::print_stdout,
    reason = "each test binary uses its own part; children tell their parent"
)]
#![allow(clippy::disallowed_methods, reason = "children are told by the environment who they are")]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use weft_collective::{Rank, Terrain};
use weft_runtime::transports::shared_memory::{Region, Settings, SharedMemory};
use weft_runtime::{
    Choice, Communicator, Either, Fault, Listening, Meeting, Place, Reduction, Tcp, TcpSettings, meet,
};

const WHO: &str = "WEFT_TEST_WHO";
pub const DEADLINE: Duration = Duration::from_secs(2);
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A group of so many, over shared memory or TCP, that meets at a path. `waits` is the deadline, and how long one that is
/// busy elsewhere is waited for.
pub fn group(
    path: &Path,
    tcp: bool,
    rank: u32,
    ranks: u32,
    waits: (Duration, Duration),
) -> Result<Communicator<Either>, Fault> {
    let (deadline, patience) = waits;
    let settings = TcpSettings { deadline, patience, ..TcpSettings::default() };
    let (number, listening) = (Rank::new(rank), Listening::open(&settings)?);
    let memory = Settings::default();
    let region = (rank == 0).then(|| SharedMemory::create(ranks as usize, &memory)).transpose()?;
    let offer = region.as_ref().map_or_else(String::new, Region::address);
    let meeting = Meeting::new(Place::File(path.to_owned()), number, ranks);
    let roster = meet(&meeting, listening.endpoints().to_vec(), &offer)?;
    let transport = if tcp {
        Either::Tcp(Box::new(Tcp::connect(listening, &roster, number, settings)?))
    } else {
        let region = region.map_or_else(|| Region::open(&roster.members[0].text), Ok)?;
        // Until all have found the region; then what the test is about.
        let mut joined = SharedMemory::join(&region, number, Duration::from_secs(20), &memory)?;
        joined.set_deadline(deadline);
        joined.set_patience(patience);
        Either::Shared(Box::new(joined))
    };
    Ok(Communicator::new(number, Terrain::flat(ranks), transport, Choice::Named("ring".to_owned())))
}

/// What rank `id` of the first group brings: a bit of its own.
fn brought(id: u32) -> f32 {
    f32::from(1_u8 << id)
}

/// Adds up until it is right twenty times in a row, small and large.
pub fn adds_up(group: &mut Communicator<Either>, ids: &[u32]) -> Result<(), Fault> {
    let own = brought(ids[group.rank().index()]);
    let right: f32 = ids.iter().map(|id| brought(*id)).sum();
    for round in 0..20 {
        // The large one is read from other processes' memory.
        let mut data = vec![own; if round % 10 == 9 { 2_500_000 } else { 1000 }];
        group.all_reduce(&mut data, Reduction::Sum)?;
        assert!(data.iter().all(|sum| sum.to_bits() == right.to_bits()), "{ids:?}: {}", data[0]);
    }
    Ok(())
}

fn list(ids: &[u32]) -> String {
    ids.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// What a child does, where this process is one: adds up for ever, and tells what happens.
pub fn child() {
    let Ok(who) = std::env::var(WHO) else { return };
    let words: Vec<&str> = who.split(' ').collect();
    let number = |at: usize| words[at].parse::<u32>().unwrap();
    let (rank, ranks) = (number(0), number(1));
    let mut ids: Vec<u32> = (0..ranks).collect();
    let mut group = group(words[3].as_ref(), words[2] == "tcp", rank, ranks, (DEADLINE, PATIENCE)).unwrap();
    let mut told = false;
    loop {
        match adds_up(&mut group, &ids) {
            Ok(()) if !std::mem::replace(&mut told, true) => println!("\nright {}", list(&ids)),
            Ok(()) => {}
            Err(fault) => {
                println!("\nfault {fault}");
                match group.shrink(DEADLINE) {
                    Ok(survivors) => {
                        let lost: Vec<String> = survivors
                            .lost
                            .iter()
                            .map(|it| format!("{}: {}", ids[it.rank.index()], it.how))
                            .collect();
                        ids = survivors.former.iter().map(|former| ids[former.index()]).collect();
                        assert_eq!(ids[group.rank().index()], rank);
                        println!("\nshrunk {} lost {}", list(&ids), lost.join("; "));
                        told = false;
                    }
                    Err(fault) => return println!("\nend {fault}"),
                }
            }
        }
    }
}

/// Children, which end with this.
pub struct Rig(Vec<(Child, BufReader<ChildStdout>)>);

impl Rig {
    /// Starts them, and waits until all have added up rightly.
    pub fn start(ranks: u32, over: &str, path: &Path) -> Self {
        let start = |rank: u32| {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "child", "--nocapture"])
                .env(WHO, format!("{rank} {ranks} {over} {}", path.display()))
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let output = BufReader::new(child.stdout.take().unwrap());
            (child, output)
        };
        let mut rig = Self((0..ranks).map(start).collect());
        let all: Vec<u32> = (0..ranks).collect();
        rig.all_right(&all);
        rig
    }

    /// What a rank says next behind a word.
    pub fn line(&mut self, rank: u32, word: &str) -> String {
        let mut lines = self.0[rank as usize].1.by_ref().lines().map(Result::unwrap);
        let found = lines.find_map(|line| Some(line.strip_prefix(word)?.trim().to_owned()));
        found.unwrap_or_else(|| panic!("rank {rank} has ended and not said `{word}`"))
    }

    /// Waits until these, and no others, add up rightly together.
    pub fn all_right(&mut self, ids: &[u32]) {
        for rank in ids {
            while self.line(*rank, "right ") != list(ids) {}
        }
    }

    pub fn signal(&self, rank: u32, signal: &str) {
        let process = self.0[rank as usize].0.id().to_string();
        assert!(Command::new("kill").args([signal, &process]).status().unwrap().success());
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        for (child, _) in &mut self.0 {
            // One may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
