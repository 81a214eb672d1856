//! Measures collectives between processes, of this host or of several.

mod beside;
mod calibrate;
pub mod hosts;
mod launch;
mod matrix;
pub mod pairs;
mod seat;
pub mod start;
mod text;
pub mod words;

use std::ffi::OsStr;
use std::time::Duration;

use weft_collective::Collective;
use weft_runtime::measure::{Compared, Measured, Series, compare, measure};
use weft_runtime::model::{Calibration, Probed};
use weft_runtime::{Choice, Communicator, Either, Fault, Joining, Place};

pub use beside::{calibrated, compared};
pub use calibrate::{read_calibration, save_calibration};
use launch::Followers;
pub use seat::{Seat, launched};
pub use text::{rates, text};

/// More ranks than this were never tried; each is connected to all others.
pub const RANKS_MAX: u32 = 256;

/// What a measurement is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Goal {
    /// What each size reaches.
    Measure,
    /// Each size of these collectives beside what is predicted.
    Compare(Vec<Collective>),
    /// What messages cost.
    Calibrate,
}

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
    /// How long one is waited for that lives and is busy elsewhere, where the user says it.
    pub patience: Option<Duration>,
    /// Whether TCP is used even where memory can be shared.
    pub only_tcp: bool,
    /// The network interface, where the user names one.
    pub interface: Option<String>,
    /// Whether it fails where memory cannot be shared.
    pub only_shared: bool,
    /// How long ranks that have not come are waited for.
    pub meets_within: Duration,
    /// What it is for.
    pub goal: Goal,
    /// What messages cost, where the user knows it.
    pub calibration: Option<Calibration>,
}

impl Task {
    /// Becomes one of the ranks that meet at a place.
    pub fn join(&self, rank: u32, place: Place) -> Result<Communicator<Either>, Fault> {
        let mut joining = Joining::new(place, rank, self.ranks);
        (joining.deadline, joining.meets_within) = (self.deadline, self.meets_within);
        joining.patience = self.patience.unwrap_or(joining.patience);
        // That is done where something is chosen by it.
        (joining.only_tcp, joining.calibrates) = (self.only_tcp, false);
        joining.interface.clone_from(&self.interface);
        let group = Communicator::join(&joining)?;
        if let (true, Either::Tcp(_)) = (self.only_shared, group.transport()) {
            let how = format!("the ranks would use {}", group.transport().describe());
            return Err(Fault::Lacking { what: "shared memory", how });
        }
        Ok(group)
    }
}

/// What came of it.
#[derive(Debug)]
pub struct Report {
    /// What was asked for.
    pub task: Task,
    /// Over what, with what keeps it from being quicker.
    pub transport: String,
    /// What messages cost, as measured before.
    pub calibration: Option<Calibration>,
    /// What showed that.
    pub probed: Vec<Probed>,
    /// Each size.
    pub rows: Vec<Measured>,
    /// Each size beside what was predicted.
    pub compared: Vec<Compared>,
}

/// Starts all other ranks on this host, and does `work` as rank 0.
pub fn lead<R>(task: &Task, work: impl FnOnce(Place) -> Result<R, Fault>) -> Result<R, Fault> {
    let place = std::env::temp_dir().join(format!("weft-bench-{}", std::process::id()));
    let result =
        among(1..=task.ranks.saturating_sub(1), place.as_os_str(), || work(Place::File(place.clone())));
    // Where nobody came, there is none.
    let _ = std::fs::remove_file(place);
    result
}

/// Does `work` while these other ranks of this host run too.
pub fn among<R>(
    others: std::ops::RangeInclusive<u32>,
    place: &OsStr,
    work: impl FnOnce() -> Result<R, Fault>,
) -> Result<R, Fault> {
    let followers = Followers::start(others, place)?;
    let result = work();
    // Those that failed have told the first one; those that live end by themselves, or are ended now.
    followers.end();
    result
}

/// Measures as one of the ranks that meet at a place.
pub fn take_part(task: &Task, rank: u32, place: Place) -> Result<Report, Fault> {
    let mut group = task.join(rank, place)?;
    let known = calibrate::tell(&mut group, task.calibration.as_ref())?;
    let known = match (&task.goal, &task.algorithm) {
        (Goal::Measure | Goal::Compare(_), None) if known.is_none() => Some(group.calibrate()?),
        (Goal::Measure | Goal::Compare(_) | Goal::Calibrate, _) => {
            group.tune()?;
            known
        }
    };
    let mut report = Report {
        task: task.clone(),
        transport: group.transport().describe(),
        calibration: known,
        probed: Vec::new(),
        rows: Vec::new(),
        compared: Vec::new(),
    };
    if let Some(name) = &task.algorithm {
        group.choose(Choice::Named(name.clone()));
    }
    match &task.goal {
        Goal::Measure => {
            for size in &task.series.sizes {
                report.rows.push(measure(&mut group, &task.series, *size)?);
            }
        }
        Goal::Compare(collectives) => {
            for collective in collectives {
                let series = Series { collective: *collective, ..task.series.clone() };
                let (rows, calibration) = compare(&mut group, &series)?;
                report.compared.extend(rows);
                report.calibration = Some(calibration);
            }
        }
        Goal::Calibrate => {
            let (probed, calibration) = calibrate::calibrate(&mut group, task)?;
            (report.probed, report.calibration) = (probed, Some(calibration));
        }
    }
    Ok(report)
}
