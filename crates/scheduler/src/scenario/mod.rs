//! Scenarios: a cluster, queues, jobs, what breaks and how long things take, written in TOML.

mod breaks;
mod file;
mod machines;
mod play;
mod spots;
#[cfg(test)]
mod tests;
mod tiresias;
mod work;

use std::ops::Range;

use toml::Spanned;
use weft_base::{Code, Diagnostic, Moment, Place, Severity};
use weft_catalogue::Catalogue;
use weft_formats::traces::JobLine;

use crate::book::Queue;
use crate::cluster::{Cluster, LEVELS};
use crate::contention::Uplinks;
use crate::job::QueueId;
use crate::world::{Chances, Fault, Latencies, Load};
use file::{File, QueueTable};
use spots::Spots;
pub use tiresias::{tiresias_jobs, tiresias_nodes};

/// A scenario of the scheduler cannot be taken in.
pub const SCHEDULE_SCENARIO: Code = Code {
    name: "schedule-scenario",
    explanation: "A scenario for `weft schedule` has a key that is not known, a value that is no such quantity, or names a \
        GPU, node, queue or level that is not there. The line and column say where; docs/reference/schedule-scenario.md \
        lists all keys. Nothing is played before everything that the scenario names has been found.",
};

/// A scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// What its report is called.
    pub title: String,
    /// What it shows, in words of its author.
    pub about: String,
    /// Names of the policies that it compares; all if it names none.
    pub policies: Vec<String>,
    /// The job whose story it tells.
    pub explain: Option<String>,
    /// The machines.
    pub cluster: Cluster,
    /// The queues.
    pub queues: Vec<Queue>,
    /// The jobs.
    pub loads: Vec<Load>,
    /// Names of the rows that stand for several jobs.
    pub several: Vec<String>,
    /// What breaks.
    pub faults: Vec<Fault>,
    /// How long things take.
    pub latencies: Latencies,
    /// How often things go another way.
    pub chances: Chances,
    /// How fast jobs are where they sit.
    pub pace: Pace,
    /// Whether a job is killed when it has run for as long as it said.
    pub kills_at_limit: bool,
    /// When the run is over.
    pub until: Option<Moment>,
    /// Of all that is random.
    pub seed: u64,
}

/// How fast jobs are where they sit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// At full speed everywhere.
    Full,
    /// Shares of full speed by the finest level that holds a job.
    ByLevel([f64; LEVELS.len()]),
    /// As what they send leaves them, all jobs at once.
    Uplinks(Uplinks),
}

/// Reads a scenario, and tables of jobs that belong to it. Warnings come along with it.
///
/// # Errors
///
/// All that is wrong with it.
pub fn scenario(
    (name, text): (&str, &str),
    tables: &[(&str, &[JobLine])],
    catalogue: &Catalogue,
) -> Result<(Scenario, Vec<Diagnostic>), Vec<Diagnostic>> {
    let file: File = toml::from_str(text).map_err(|error| vec![spots::syntax(name, text, &error)])?;
    let mut spots = Spots::new(name, text);
    let has_kinds = file
        .jobs
        .iter()
        .map(Spanned::get_ref)
        .chain(tables.iter().flat_map(|(_, rows)| rows.iter().map(|line| &line.row)));
    let separates = has_kinds.into_iter().any(|row| row.kind.as_deref() == Some("service"));
    let groups: Vec<(Range<usize>, &file::Nodes)> =
        file.nodes.iter().map(|group| (group.span(), group.get_ref())).collect();
    let machines = machines::machines(&groups, catalogue, separates, &mut spots);
    if file.nodes.is_empty() {
        spots.wrong(Place::new(name, 1, 1, 0), "the scenario has no nodes", "add a table `[[nodes]]`");
    }
    let queues = queues(&file.queues, &mut spots);
    let names: Vec<String> = queues.iter().map(|queue| queue.name.clone()).collect();
    let mut jobs = work::Jobs { machines: &machines, queues: &names, loads: Vec::new(), several: Vec::new() };
    for job in &file.jobs {
        let span = job.span();
        jobs.add(job.get_ref(), &|spots, key| spots.key(&span, key), &mut spots);
    }
    for (table, rows) in tables {
        for line in *rows {
            jobs.add(&line.row, &|_, _| Place::new(*table, line.line, 1, 0), &mut spots);
        }
    }
    let (loads, several) = (jobs.loads, jobs.several);
    if loads.is_empty() && spots.findings.is_empty() {
        let hint = "add a table `[[job]]`, or give a table of jobs beside the scenario";
        spots.wrong(Place::new(name, 1, 1, 0), "the scenario has no jobs", hint);
    }
    twice(&loads, name, &mut spots);
    let faults = file
        .faults
        .iter()
        .filter_map(|fault| breaks::fault(&fault.span(), fault.get_ref(), &machines.cluster, &mut spots));
    let faults = faults.collect();
    let chances = breaks::chances(&file.chances, &mut spots);
    let pace = breaks::pace(file.speed.as_ref(), file.uplinks.as_ref(), &mut spots);
    for policy in &file.policies {
        known_policy(policy, &mut spots);
    }
    let found = Scenario {
        title: file.title.unwrap_or_else(|| name.to_owned()),
        about: file.about.unwrap_or_default(),
        policies: file.policies.into_iter().map(Spanned::into_inner).collect(),
        explain: file.explain,
        cluster: machines.cluster,
        queues,
        loads,
        several,
        faults,
        latencies: breaks::latencies(&file.latencies),
        chances,
        pace,
        kills_at_limit: file.kill_at_limit,
        until: file.until,
        seed: file.seed,
    };
    let is_wrong = spots.findings.iter().any(|finding| finding.severity == Severity::Error);
    if is_wrong { Err(spots.findings) } else { Ok((found, spots.findings)) }
}

fn known_policy(name: &Spanned<String>, spots: &mut Spots<'_>) {
    let known: Vec<&str> = crate::STRATEGIES.iter().map(|strategy| strategy.name).collect();
    if !known.contains(&name.get_ref().as_str()) {
        let place = Place::in_text(spots.file, spots.text, &name.span());
        spots.unknown(place, "policy", name.get_ref(), &known);
    }
}

/// Jobs that are called the same are told apart by nobody.
fn twice(loads: &[Load], file: &str, spots: &mut Spots<'_>) {
    let mut names: Vec<&str> = loads.iter().map(|load| load.job.name.as_str()).collect();
    names.sort_unstable();
    let same = names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0].to_owned());
    if let Some(name) = same {
        let hint = "a report names jobs by their names; give each its own";
        spots.odd(Place::new(file, 1, 1, 0), format!("several jobs are called `{name}`"), hint);
    }
}

fn queues(tables: &[Spanned<QueueTable>], spots: &mut Spots<'_>) -> Vec<Queue> {
    let mut queues: Vec<Queue> = Vec::new();
    for table in tables {
        let (span, given) = (table.span(), table.get_ref());
        let known: Vec<&str> = queues.iter().map(|queue| queue.name.as_str()).collect();
        if known.contains(&given.name.as_str()) {
            let place = spots.key(&span, "name");
            spots.wrong(place, format!("there are two queues `{}`", given.name), "give each its own name");
        }
        let parent = given.parent.as_ref().and_then(|parent| {
            let at = known.iter().position(|name| name == parent);
            if at.is_none() {
                spots.unknown(spots.key(&span, "parent"), "queue above it", parent, &known);
            }
            at.and_then(|at| u32::try_from(at).ok()).map(QueueId)
        });
        let mut amount = |key: &str, gpus: Option<f64>| {
            gpus.and_then(|gpus| machines::milli(gpus, &span, key, spots)).map(u64::from)
        };
        let (limit_milli, own_milli) =
            (amount("limit", given.limit_gpu_count), amount("own", given.own_gpu_count));
        let weight = given.weight.unwrap_or(1);
        if weight == 0 {
            spots.wrong(spots.key(&span, "weight"), "a queue without weight gets nothing", "1 or more");
        }
        queues.push(Queue {
            parent,
            weight,
            limit_milli,
            own_milli: own_milli.unwrap_or(0),
            ..Queue::named(&given.name)
        });
    }
    if queues.is_empty() {
        queues.push(Queue::named("default"));
    }
    queues
}
