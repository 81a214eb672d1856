//! What a simulation showed.

use weft_base::{Bytes, Rate, Span, Time};
use weft_collective::Collective;
use weft_predictor::GraphLimit;
use weft_simulator::control::Counts;
use weft_simulator::{CriticalPath, Engine, On, Record, ResourceId};

use super::choose::Judged;
use super::outcome::bandwidth;
use super::setup::JobSetup;

/// Links that are listed by how busy they were.
pub const BUSIEST: usize = 8;

/// All of it.
pub struct Report {
    /// The name of the network model.
    pub network: &'static str,
    /// Losses and victims of pauses.
    pub counts: Counts,
    pub jobs: Vec<JobReport>,
    /// When the last rank of all jobs was done.
    pub end: Time,
    pub busiest: Vec<Busy>,
    /// What changed, and when.
    pub happened: Vec<(Time, String)>,
    /// Of each job, where it was kept.
    pub records: Vec<Option<Record>>,
    /// Between the samples of `Busy::interval_share`.
    pub every: Option<Span>,
}

/// One job.
pub struct JobReport {
    pub name: String,
    pub collective: Collective,
    pub algorithm: &'static str,
    /// How it compares with others, where it was chosen as the quickest.
    pub judged: Option<Judged>,
    pub ranks: u32,
    pub size: Bytes,
    pub repeat: u32,
    pub start: Time,
    /// From its start until its last rank was done; `None` where one never was.
    pub took: Option<Span>,
    pub reached: Option<Reached>,
    /// What no algorithm can exceed on these links.
    pub limit: Option<GraphLimit>,
    /// When each rank was done.
    pub ends: Vec<Option<Time>>,
    /// How often it was begun again.
    pub reruns: u32,
    /// Messages that wait for a dead link at the end.
    pub stalled: usize,
    /// How long messages waited for dead links that the job had not noticed, where it does something about them.
    pub noticing: Span,
    pub critical: Option<Critical>,
}

/// Bandwidths of a job, computation left out.
#[derive(Debug, Clone, Copy)]
pub struct Reached {
    pub algbw: Rate,
    pub busbw: Rate,
}

impl Reached {
    pub fn new(job: &JobSetup, took: Span) -> Option<Self> {
        let repeat = u64::from(job.repeat);
        let moving = took - (job.compute * repeat).min(took);
        let algbw = bandwidth(Bytes::new(job.size.get() * repeat), moving)?;
        let factor = job.call.collective.bus_factor(job.gpus.len());
        Some(Self { algbw, busbw: Rate::from_gigabytes(algbw.as_gigabytes() * factor) })
    }
}

/// The critical path in words.
pub struct Critical {
    pub rank: u32,
    pub total: Span,
    pub parts: Vec<Waited>,
}

/// One part of it.
pub struct Waited {
    pub on: String,
    pub span: Span,
    pub messages: u32,
    /// How many flows of the same rate would have filled the resource: 1 is alone.
    pub sharing_count: Option<f64>,
}

/// The critical path with its resources named.
pub fn parts(path: &CriticalPath, name: &dyn Fn(ResourceId) -> String, engine: &Engine) -> Critical {
    let parts = path.parts.iter().map(|part| {
        let (on, sharing) = match part.on {
            On::Resource(resource) => {
                let alone = part.bytes.as_f64() / (engine.capacity(resource).as_gigabytes() * 1e9);
                let sharing = (alone > 0.0).then(|| part.span.as_seconds() / alone);
                (name(resource), sharing.filter(|sharing| sharing.is_finite()))
            }
            On::Way => ("latency of the ways".to_owned(), None),
            On::Itself => ("its own computation and start".to_owned(), None),
        };
        Waited { on, span: part.span, messages: part.messages, sharing_count: sharing }
    });
    Critical { rank: path.rank, total: path.total, parts: parts.collect() }
}

/// How busy a link was.
pub struct Busy {
    pub name: String,
    /// Of what it could have carried until the end.
    pub share: f64,
    /// The same for each interval.
    pub interval_share: Vec<f64>,
}
