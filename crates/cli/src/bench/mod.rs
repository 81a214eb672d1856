//! Measures collectives between processes of this host.

mod launch;
mod text;

use std::time::Duration;

use weft_base::Span;
use weft_collective::{Rank, Terrain};
use weft_runtime::measure::{Measured, Series, measure};
use weft_runtime::transports::shared_memory::{Region, Settings, SharedMemory};
use weft_runtime::{Choice, Communicator, Fault, Speeds};

use launch::Followers;
pub use text::{rates, text};

/// What is to be measured, on how many ranks.
#[derive(Debug, Clone)]
pub struct Task {
    /// The calls.
    pub series: Series,
    /// Processes.
    pub ranks: u32,
    /// The algorithm that the user asked for.
    pub algorithm: Option<String>,
    /// How long a rank that does not move is waited for.
    pub deadline: Duration,
}

/// What came of it.
#[derive(Debug)]
pub struct Report {
    /// What was asked for.
    pub task: Task,
    /// What a message between two ranks takes, as measured before, where the choice was ours.
    pub speeds: Option<Speeds>,
    /// Each size.
    pub rows: Vec<Measured>,
    /// Why large messages are copied twice, if they are.
    pub staged: Option<String>,
}

/// Starts all other ranks and measures as rank 0.
pub fn lead(task: &Task) -> Result<Report, Fault> {
    let settings = Settings::default();
    let region = SharedMemory::create(task.ranks as usize, &settings)?;
    let followers = Followers::start(task.ranks, &region.address())?;
    let report = play(task, Rank::new(0), &region, &settings);
    // Those that failed have told the first one; those that live end by themselves, or are ended now.
    followers.end();
    report
}

/// Measures as another rank.
pub fn follow(task: &Task, rank: Rank, address: &str) -> Result<(), Fault> {
    let region = Region::open(address)?;
    play(task, rank, &region, &Settings::default()).map(drop)
}

fn play(task: &Task, rank: Rank, region: &Region, settings: &Settings) -> Result<Report, Fault> {
    let transport = SharedMemory::join(region, rank, task.deadline, settings)?;
    let terrain = Terrain::flat(task.ranks);
    let named = task.algorithm.clone().map(Choice::Named);
    // What a message takes is not known yet; with these all ranks choose alike for the first calls.
    let first = Speeds { latency: Span::picoseconds(500_000), bytes_per_s: 5e9 };
    let mut communicator = Communicator::new(rank, terrain, transport, Choice::Quickest(first));
    let speeds = match named {
        Some(choice) => {
            communicator.choose(choice);
            None
        }
        None => Some(communicator.calibrate()?),
    };
    let mut rows = Vec::with_capacity(task.series.sizes.len());
    for size in &task.series.sizes {
        rows.push(measure(&mut communicator, &task.series, *size)?);
    }
    let staged = communicator.transport().why_staged().map(str::to_owned);
    Ok(Report { task: task.clone(), speeds, rows, staged })
}
