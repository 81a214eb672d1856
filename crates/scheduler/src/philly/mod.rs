//! The Philly trace as jobs: each virtual cluster on nodes of its own, sized to what its jobs once used.
//!
//! The demand of a cluster at a moment is the GPUs of the jobs whose submission and run time in the trace span it: what
//! would run if nobody ever had to wait. Its percentile is over time, from the first submission to the last end, each
//! demand weighted by how long it lasted.

mod play;

use std::collections::BTreeMap;

use weft_base::{Moment, Period};
use weft_formats::traces::PhillyRow;

use crate::cluster::{Cluster, Level};
use crate::fleet::{Models, NodeKind, Pod, WHOLE_MILLI};
use crate::job::{Ask, Group, Job, Need, QueueId, Within};

pub use play::{CLASSES, SMALL_COUNT, Waits, Way};

/// GPUs of a node: most of Philly's servers had eight (Jeon et al., ATC'19, §2.1).
pub const NODE_GPU_COUNT: u8 = 8;
/// The share of time, in percent, in which demand is no greater than that to which clusters are sized.
pub const DEMAND_PERCENT: u64 = 95;

/// Whether the GPUs of a job have to be close.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Locality {
    /// On the fewest nodes that can hold them: up to eight as one pod, more as a gang of sets of eight, each on one node.
    #[default]
    Required,
    /// Anywhere: a gang of members with one GPU each.
    Relaxed,
}

impl Locality {
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Relaxed => "relaxed",
        }
    }
}

/// A virtual cluster: who was alone on its GPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VirtualCluster {
    /// What the trace calls it.
    pub name: String,
    /// Its jobs in the order in which they came.
    pub rows: Vec<PhillyRow>,
    /// GPUs that its jobs asked for at once, for `DEMAND_PERCENT` of the time at most.
    pub demand_count: u32,
}

/// The virtual clusters of a trace, the one with most jobs first.
pub fn clusters(rows: Vec<PhillyRow>) -> Vec<VirtualCluster> {
    let mut by_name: BTreeMap<String, Vec<PhillyRow>> = BTreeMap::new();
    for row in rows {
        by_name.entry(row.cluster.clone()).or_default().push(row);
    }
    let cluster = |(name, mut rows): (String, Vec<PhillyRow>)| {
        rows.sort_by_key(|row| (row.submitted, row.line));
        VirtualCluster { name, demand_count: demand(&rows, DEMAND_PERCENT), rows }
    };
    let mut clusters: Vec<VirtualCluster> = by_name.into_iter().map(cluster).collect();
    clusters.sort_by(|a, b| b.rows.len().cmp(&a.rows.len()).then(a.name.cmp(&b.name)));
    clusters
}

/// The demand that is not exceeded for so many percent of the time.
pub fn demand(rows: &[PhillyRow], percent: u64) -> u32 {
    let mut steps: Vec<(Moment, i64)> = Vec::with_capacity(2 * rows.len());
    for row in rows {
        steps.push((row.submitted, i64::from(row.gpu_count)));
        steps.push((row.submitted + row.duration, -i64::from(row.gpu_count)));
    }
    steps.sort_unstable();
    let mut lasting: BTreeMap<i64, Period> = BTreeMap::new();
    let (mut count, mut since) = (0, steps.first().map_or(Moment::ZERO, |step| step.0));
    for (at, change) in steps {
        let lasted = lasting.entry(count).or_default();
        *lasted = *lasted + (at - since);
        (count, since) = (count + change, at);
    }
    let all: Period = lasting.values().copied().sum();
    let mut below = Period::ZERO;
    let reached = lasting.into_iter().find(|(_, lasted)| {
        below = below + *lasted;
        u128::from(below.get()) * 100 >= u128::from(all.get()) * u128::from(percent)
    });
    reached.map_or(0, |(count, _)| u32::try_from(count).unwrap_or(0))
}

impl VirtualCluster {
    /// GPUs of its largest job.
    pub fn largest_count(&self) -> u32 {
        self.rows.iter().map(|row| row.gpu_count).max().unwrap_or(0)
    }

    /// Nodes for so many percent of its demand, at least as many as its largest job needs: without them that job would
    /// wait for ever.
    pub fn node_count(&self, size_percent: u32) -> u32 {
        let gpus = (u64::from(self.demand_count) * u64::from(size_percent)).div_ceil(100);
        let gpus = u32::try_from(gpus).unwrap_or(u32::MAX).max(self.largest_count());
        gpus.div_ceil(u32::from(NODE_GPU_COUNT)).max(1)
    }

    /// Nodes of eight GPUs. The trace says nothing of CPUs, memory, models and switches, so that none is short and all
    /// nodes are under one leaf.
    pub fn nodes(&self, size_percent: u32) -> Cluster {
        let kind = NodeKind { cpu_milli: 0, memory_mib: 0, gpu_count: NODE_GPU_COUNT, model: 0 };
        let count = self.node_count(size_percent);
        Cluster::uniform("philly", kind, count, count, 1)
    }

    /// Its jobs, each with its run time; time counts from the first submission. The run-time limit of each is its run time:
    /// the trace has no limits, and policies that need some are given perfect ones.
    pub fn jobs(&self, locality: Locality) -> impl Iterator<Item = (Job, Period)> {
        let first = self.rows.first().map_or(Moment::ZERO, |row| row.submitted);
        self.rows.iter().map(move |row| (job(row, row.submitted - first, locality), row.duration))
    }
}

fn job(row: &PhillyRow, submitted: Moment, locality: Locality) -> Job {
    let pod = |gpu_count| Pod {
        cpu_milli: 0,
        memory_mib: 0,
        gpu_count,
        gpu_milli: WHOLE_MILLI,
        models: Models::ANY,
    };
    let gang = || Group::rigid("worker", Ask::of(pod(1)), row.gpu_count);
    let on_a_node = Within { level: Level::Node, required: true };
    let group = match (locality, u8::try_from(row.gpu_count)) {
        // One pod is on one node by itself.
        (Locality::Required, Ok(count)) if count <= NODE_GPU_COUNT => {
            Group::rigid("worker", Ask::of(pod(count)), 1)
        }
        (Locality::Required, _) => Group { sets: Some((u32::from(NODE_GPU_COUNT), on_a_node)), ..gang() },
        (Locality::Relaxed, _) => gang(),
    };
    Job {
        name: format!("line-{}", row.line),
        queue: QueueId(0),
        priority: 0,
        submitted,
        need: Need { groups: vec![group], within: None },
        limit: Some(row.duration),
        preemptible: true,
        traffic: None,
    }
}

#[cfg(test)]
mod tests {
    use weft_base::Period;
    use weft_formats::traces::PhillyRow;

    use super::{Locality, VirtualCluster, clusters, demand};

    fn row(line: u32, submitted_s: u64, duration_s: u64, gpu_count: u32, cluster: &str) -> PhillyRow {
        PhillyRow {
            line,
            submitted: Period::milliseconds(1000 * submitted_s),
            duration: Period::milliseconds(1000 * duration_s),
            gpu_count,
            cluster: cluster.to_owned(),
        }
    }

    /// 8 GPUs for the first 90 seconds, 24 for the next 6, 16 for the last 4.
    fn steps() -> Vec<PhillyRow> {
        vec![row(2, 0, 96, 8, "a"), row(3, 90, 10, 16, "a")]
    }

    #[test]
    fn demand_is_what_would_run_if_nobody_waited_weighted_by_time() {
        let rows = steps();
        let at = |percent| demand(&rows, percent);
        // 8 for 90 %, 16 for 4 % more, 24 for the rest.
        assert_eq!((at(50), at(90), at(94), at(95), at(100)), (8, 8, 16, 24, 24));
        assert_eq!(demand(&[], 95), 0);
    }

    #[test]
    fn nodes_are_a_share_of_demand_but_hold_the_largest_job() {
        let cluster = clusters(steps()).remove(0);
        assert_eq!((cluster.demand_count, cluster.largest_count()), (24, 16));
        // 24 GPUs are three nodes, 80 % of them 19.2 GPUs and so three too, a tenth one node but for the job of 16.
        let nodes = |percent| cluster.node_count(percent);
        assert_eq!((nodes(100), nodes(80), nodes(10), nodes(200)), (3, 3, 2, 6));
        let idle = VirtualCluster { demand_count: 0, rows: Vec::new(), ..cluster };
        assert_eq!(idle.node_count(80), 1);
    }

    #[test]
    fn clusters_are_apart_and_jobs_in_the_order_in_which_they_came() {
        let rows = vec![row(2, 50, 1, 1, "b"), row(3, 7, 5, 1, "a"), row(4, 3, 5, 12, "a")];
        let found = clusters(rows);
        assert_eq!(found.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let jobs: Vec<_> = found[0].jobs(Locality::Required).collect();
        assert_eq!(jobs.iter().map(|(job, _)| job.name.as_str()).collect::<Vec<_>>(), ["line-4", "line-3"]);
        assert_eq!((jobs[0].0.submitted.get(), jobs[1].0.submitted.get()), (0, 4000));
        // Twelve GPUs: a node of eight and one of four.
        let group = &jobs[0].0.need.groups[0];
        assert_eq!((group.most_count, group.within, group.sets.map(|sets| sets.0)), (12, None, Some(8)));
        assert_eq!(jobs[1].0.need.groups[0].ask.pod.gpu_count, 1);
        let relaxed = found[0].jobs(Locality::Relaxed).next().unwrap().0;
        assert_eq!((relaxed.need.groups[0].within, relaxed.need.groups[0].sets), (None, None));
    }
}
