//! Measures collectives between processes, of this host or of several.

mod launch;
mod text;

use std::time::Duration;

use weft_runtime::measure::{Measured, Series, measure};
use weft_runtime::{Choice, Communicator, Fault, Joining, Place, Speeds};

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
    /// Whether TCP is used even where memory can be shared.
    pub only_tcp: bool,
    /// The network interface, where the user names one.
    pub interface: Option<String>,
}

/// What came of it.
#[derive(Debug)]
pub struct Report {
    /// What was asked for.
    pub task: Task,
    /// Over what, with what keeps it from being quicker.
    pub transport: String,
    /// What a message between two ranks takes, as measured before.
    pub speeds: Option<Speeds>,
    /// Each size.
    pub rows: Vec<Measured>,
}

/// Starts all other ranks on this host and measures as rank 0.
pub fn lead(task: &Task) -> Result<Report, Fault> {
    let place = std::env::temp_dir().join(format!("weft-bench-{}", std::process::id()));
    let followers = Followers::start(task.ranks, &place)?;
    let report = take_part(task, 0, Place::File(place.clone()));
    // Those that failed have told the first one; those that live end by themselves, or are ended now.
    followers.end();
    // Where nobody came, there is none.
    let _ = std::fs::remove_file(place);
    report
}

/// Measures as one of the ranks that meet at a place.
pub fn take_part(task: &Task, rank: u32, place: Place) -> Result<Report, Fault> {
    let mut joining = Joining::new(place, rank, task.ranks);
    (joining.deadline, joining.only_tcp) = (task.deadline, task.only_tcp);
    joining.interface.clone_from(&task.interface);
    let mut group = Communicator::join(&joining)?;
    let speeds = group.choice().speeds();
    if let Some(name) = &task.algorithm {
        group.choose(Choice::Named(name.clone()));
    }
    let mut rows = Vec::with_capacity(task.series.sizes.len());
    for size in &task.series.sizes {
        rows.push(measure(&mut group, &task.series, *size)?);
    }
    Ok(Report { task: task.clone(), transport: group.transport().describe(), speeds, rows })
}
