//! What goes into a world: jobs with what they really take, how quick its parts are, what breaks.

use weft_base::{Moment, Period};

use super::fault::Fault;
use super::speed::{Ideal, Speed};
use crate::book::Book;
use crate::job::Job;
use crate::policy::End;

/// When a job saves its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Saves {
    /// Work between two checkpoints.
    pub interval: Period,
    /// How long one stops the work.
    pub cost: Period,
}

/// A job, and what nobody knows before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// What it asks for.
    pub job: Job,
    /// How long it runs on the ideal placement with all members, until it ends as `how` says; without checkpoints.
    pub work: Period,
    /// How it ends.
    pub how: End,
    /// When its user takes it back, if it has not ended by then.
    pub cancelled: Option<Moment>,
    /// When it saves its state; a job that never does begins anew each time.
    pub saves: Option<Saves>,
}

impl Load {
    /// A job that is done after that time, and saves nothing.
    pub fn of(job: Job, work: Period) -> Self {
        Self { job, work, how: End::Done, cancelled: None, saves: None }
    }
}

/// How long things take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Latencies {
    /// From a decision until the nodes admit members.
    pub bind: Period,
    /// From then until the scheduler hears of it.
    pub report: Period,
    /// From when members are up until a new job works.
    pub start: Period,
    /// The same for a job that goes on from a checkpoint.
    pub restart: Period,
    /// What a job that is put out has to save itself; then it is killed.
    pub grace: Period,
    /// How much longer a slow eviction takes.
    pub slow: Period,
    /// From when something breaks until the scheduler hears of it.
    pub detection: Period,
}

/// How often things go another way, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Chances {
    /// Binds that meet somebody who was there first.
    pub conflict_percent: u8,
    /// Binds that are not answered in time.
    pub expiry_percent: u8,
    /// Evictions that are slow.
    pub slow_percent: u8,
    /// Members whose kubelet does not follow the hint, where it gets one.
    pub unheeded_percent: u8,
}

/// Whose stories are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Stories {
    /// Nobody's.
    #[default]
    None,
    /// Those of the jobs with these names.
    Of(Vec<String>),
    /// All; for small runs.
    All,
}

impl Stories {
    pub(super) fn has(&self, name: &str) -> bool {
        match self {
            Self::None => false,
            Self::Of(names) => names.iter().any(|known| known == name),
            Self::All => true,
        }
    }
}

/// A link that is down for longer kills the jobs that use it (`NCCL_IB_TIMEOUT` at its default gives about 7 s: Databricks
/// 2026, catalogue entry of link flaps).
pub const LETHAL_FLAP: Period = Period::milliseconds(7_000);

/// All but the book and the policy.
pub struct Setup {
    /// What comes.
    pub loads: Vec<Load>,
    /// What breaks.
    pub faults: Vec<Fault>,
    /// How long things take.
    pub latencies: Latencies,
    /// How often things go another way.
    pub chances: Chances,
    /// How fast a job is where it sits.
    pub speed: Box<dyn Speed>,
    /// Whether a job is killed when it has run for as long as it said.
    pub enforces_limits: bool,
    /// A flap that lasts longer is lethal.
    pub lethal_flap: Period,
    /// Whose stories are kept.
    pub stories: Stories,
    /// About how many samples are kept.
    pub sample_count: usize,
    /// When the run is over even if jobs still run.
    pub until: Option<Moment>,
    /// Is called with the book after each event, for tests.
    pub after_event: Option<fn(&Book)>,
    /// For all that is left to chance.
    pub seed: u64,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            loads: Vec::new(),
            faults: Vec::new(),
            latencies: Latencies::default(),
            chances: Chances::default(),
            speed: Box::new(Ideal),
            enforces_limits: false,
            lethal_flap: LETHAL_FLAP,
            stories: Stories::None,
            sample_count: 1000,
            until: None,
            after_event: None,
            seed: 0,
        }
    }
}
