//! The figures of a run that reports show.

use std::collections::BTreeMap;

use weft_base::{Moment, Period};
use weft_scheduler::scenario::Scenario;
use weft_scheduler::world::{Fate, JobRecord, Record, Spread};

/// A figure of a run: its name, what it is, and its value in words.
pub struct Figure {
    /// Head of its column.
    pub name: &'static str,
    /// What it counts.
    pub title: &'static str,
    /// Its value.
    pub value: String,
}

/// The figures in the order of the columns.
pub fn figures(record: &Record) -> Vec<Figure> {
    let totals = &record.totals;
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let figure = |name, title, value| Figure { name, title, value };
    let ended = totals.done_count + totals.failed_count + totals.cancelled_count;
    vec![
        figure("ended", "jobs that ended, of all", format!("{ended}/{}", totals.job_count)),
        figure("JCT", "mean time from arrival to end", totals.completion.mean.to_string()),
        figure("median", "its median", totals.completion.median.to_string()),
        figure("p99", "its 99th percentile", totals.completion.p99.to_string()),
        figure("wait", "mean time from arrival to the first start", totals.queueing.mean.to_string()),
        figure("makespan", "from the first arrival to the last end", totals.makespan.to_string()),
        figure("had", "what jobs had of the GPUs that were well", percent(totals.allocated_share)),
        figure("useful", "work that counts, of the GPUs that were well", percent(totals.utilisation_share)),
        figure("goodput", "work that counts, of what jobs had", percent(totals.goodput_share)),
        figure("split", "free GPUs on nodes where others have some", percent(totals.fragmented_share)),
        figure("slowdown", "work's time over that on ideal places", format!("{:.2}", totals.slowdown_ratio)),
        figure("put out", "how often jobs were put out", totals.put_out_count.to_string()),
        figure("broken", "how often jobs lost members", totals.broken_count.to_string()),
        figure("lost", "GPU-hours of work done again", format!("{:.1}", totals.spent.lost.as_hours())),
        figure("fullest", "most jobs on one node at once", busiest_count(record).to_string()),
    ]
}

/// The most jobs that had members on one node at once.
pub fn busiest_count(record: &Record) -> usize {
    let mut steps: BTreeMap<u32, Vec<(Moment, i32)>> = BTreeMap::new();
    for stay in record.jobs.iter().flat_map(|job| &job.stays).filter(|stay| stay.until > stay.from) {
        for node in &stay.nodes {
            steps.entry(node.0).or_default().extend([(stay.from, 1), (stay.until, -1)]);
        }
    }
    let most = |mut steps: Vec<(Moment, i32)>| {
        // Who leaves goes before who comes at the same time.
        steps.sort_unstable();
        let sums = steps.iter().scan(0, |count, (_, change)| {
            *count += change;
            Some(*count)
        });
        sums.max().unwrap_or(0)
    };
    let most = steps.into_values().map(most).max().unwrap_or(0);
    usize::try_from(most).unwrap_or(0)
}

/// What became of the jobs of one row of a scenario.
pub struct RowFacts<'r> {
    /// The row.
    pub name: &'r str,
    /// Its jobs.
    pub job_count: usize,
    /// Those that ended.
    pub ended_count: usize,
    /// Mean time without places.
    pub wait: Period,
    /// From arrival to end.
    pub completion: Spread,
    /// How often they were put out.
    pub put_out_count: u32,
    /// How often they lost members.
    pub broken_count: u32,
    /// Groups of nodes on which they were, with how many stays each.
    pub places: Vec<(&'r str, usize)>,
}

/// The jobs of each row, in the order in which rows first came.
pub fn rows<'r>(scenario: &'r Scenario, record: &'r Record) -> Vec<RowFacts<'r>> {
    let mut order: Vec<&str> = Vec::new();
    let mut jobs: BTreeMap<&str, Vec<&JobRecord>> = BTreeMap::new();
    for job in &record.jobs {
        let row = scenario.row_of(&job.name);
        if !jobs.contains_key(row) {
            order.push(row);
        }
        jobs.entry(row).or_default().push(job);
    }
    order.into_iter().filter_map(|name| jobs.get(name).map(|jobs| row(scenario, name, jobs))).collect()
}

fn row<'r>(scenario: &'r Scenario, name: &'r str, jobs: &[&'r JobRecord]) -> RowFacts<'r> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for stay in jobs.iter().flat_map(|job| &job.stays) {
        let mut groups: Vec<&str> = stay
            .nodes
            .iter()
            .map(|node| scenario.group_of(&scenario.cluster.nodes[node.at()].name))
            .collect();
        groups.sort_unstable();
        groups.dedup();
        for group in groups {
            *places.entry(group).or_default() += 1;
        }
    }
    let mut places: Vec<(&str, usize)> = places.into_iter().collect();
    places.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    RowFacts {
        name,
        job_count: jobs.len(),
        ended_count: jobs.iter().filter(|job| matches!(job.fate, Fate::Ended(_))).count(),
        wait: Spread::of(jobs.iter().map(|job| job.waiting).collect()).mean,
        completion: Spread::of(jobs.iter().filter_map(|job| job.completion()).collect()),
        put_out_count: jobs.iter().map(|job| job.put_out_count).sum(),
        broken_count: jobs.iter().map(|job| job.broken_count).sum(),
        places,
    }
}
