//! The trace under a policy: how long jobs of each size wait.

use weft_base::Period;

use super::{Locality, VirtualCluster};
use crate::book::Book;
use crate::fleet::WHOLE_MILLI;
use crate::planner::Planner;
use crate::strategies::Strategy;
use crate::world::{Fate, GpuTime, JobRecord, Load, Record, Saves, Setup, Spread, World};

/// Jobs are looked at by their GPUs: from and to so many.
pub const CLASSES: [(u32, u32); 4] = [(1, 1), (2, 4), (5, 8), (9, u32::MAX)];
/// Jobs of more GPUs are large.
pub const SMALL_COUNT: u32 = 4;
/// The cluster over time is not looked at.
const SAMPLES: usize = 2;

/// The trace says nothing of checkpoints. A job that is put out goes on where it was, as those who put jobs out assume
/// (Tiresias, NSDI'19).
const SAVES: Saves = Saves { interval: Period::milliseconds(3_600_000), cost: Period::ZERO };

/// One way in which the trace is played.
#[derive(Clone, Copy)]
pub struct Way {
    /// Who decides.
    pub strategy: &'static Strategy,
    /// Percent of its demand that a cluster has.
    pub size_percent: u32,
    /// Whether GPUs of a job have to be close.
    pub locality: Locality,
}

/// What became of the jobs of one cluster, or of all.
#[derive(Debug, Clone, PartialEq)]
pub struct Waits {
    /// The cluster.
    pub name: String,
    /// Its nodes.
    pub node_count: u32,
    /// Time without places, of jobs of each of `CLASSES`.
    pub by_class: [Spread; CLASSES.len()],
    /// The same of jobs of more than `SMALL_COUNT` GPUs.
    pub large: Spread,
    /// The same of all jobs.
    pub all: Spread,
    /// From arrival to end, of all jobs.
    pub completion: Spread,
    /// Jobs that never ended.
    pub unended_count: usize,
    /// How often jobs were put out.
    pub put_out_count: u32,
    /// What jobs had of all GPUs, from the first arrival to the last end.
    pub allocated_share: f64,
    times: Times,
}

/// What `Waits` are made of, so that clusters can be joined.
#[derive(Debug, Clone, PartialEq, Default)]
struct Times {
    waits: Vec<(u32, Period)>,
    completions: Vec<Period>,
    allocated: GpuTime,
    capacity: GpuTime,
}

impl Way {
    /// Plays one cluster.
    pub fn play(self, cluster: &VirtualCluster) -> Waits {
        let record = self.record(cluster);
        let unended = |job: &&JobRecord| !matches!(job.fate, Fate::Ended(_));
        let times = Times {
            waits: record.jobs.iter().map(|job| (gpu_count(job), job.waiting)).collect(),
            completions: record.jobs.iter().filter_map(JobRecord::completion).collect(),
            allocated: record.totals.areas.allocated,
            capacity: record.totals.areas.capacity,
        };
        Waits {
            unended_count: record.jobs.iter().filter(unended).count(),
            put_out_count: record.totals.put_out_count,
            ..Waits::of(cluster.name.clone(), cluster.node_count(self.size_percent), times)
        }
    }

    /// The run itself. Places come up at once, jobs run as fast apart as together, and one that is put out saves its state
    /// first: only waiting differs.
    pub fn record(self, cluster: &VirtualCluster) -> Record {
        let book = Book::new(cluster.nodes(self.size_percent), Vec::new());
        let load = |(job, work)| Load { saves: Some(SAVES), ..Load::of(job, work) };
        let loads = cluster.jobs(self.locality).map(load).collect();
        let setup = Setup { loads, sample_count: SAMPLES, ..Setup::default() };
        World::new(book, Box::new(Planner::new(self.strategy, 0)), setup).run()
    }
}

fn gpu_count(job: &JobRecord) -> u32 {
    u32::try_from(job.gpu_milli / u64::from(WHOLE_MILLI)).unwrap_or(u32::MAX)
}

impl Waits {
    fn of(name: String, node_count: u32, times: Times) -> Self {
        let spread = |from: u32, to: u32| {
            let of = times.waits.iter().filter(|(gpus, _)| (from..=to).contains(gpus));
            Spread::of(of.map(|(_, wait)| *wait).collect())
        };
        Self {
            name,
            node_count,
            by_class: CLASSES.map(|(from, to)| spread(from, to)),
            large: spread(SMALL_COUNT + 1, u32::MAX),
            all: spread(0, u32::MAX),
            completion: Spread::of(times.completions.clone()),
            unended_count: 0,
            put_out_count: 0,
            allocated_share: times.allocated.share(times.capacity),
            times,
        }
    }

    /// All clusters together.
    pub fn joined(clusters: &[Self]) -> Self {
        let mut times = Times::default();
        for one in clusters {
            times.waits.extend(&one.times.waits);
            times.completions.extend(&one.times.completions);
            times.allocated += one.times.allocated;
            times.capacity += one.times.capacity;
        }
        let node_count = clusters.iter().map(|one| one.node_count).sum();
        Self {
            unended_count: clusters.iter().map(|one| one.unended_count).sum(),
            put_out_count: clusters.iter().map(|one| one.put_out_count).sum(),
            ..Self::of("all".to_owned(), node_count, times)
        }
    }

    /// How many times longer large jobs wait than those of one GPU, on average; none where those do not wait.
    pub fn large_ratio(&self) -> Option<f64> {
        let one = self.by_class[0].mean;
        (one > Period::ZERO && self.large.count > 0).then(|| self.large.mean.as_seconds() / one.as_seconds())
    }
}

#[cfg(test)]
mod tests {
    use weft_base::Period;
    use weft_formats::traces::PhillyRow;

    use super::super::{Locality, clusters};
    use super::{Waits, Way};
    use crate::strategies::Strategy;

    fn row(line: u32, submitted_s: u64, duration_s: u64, gpu_count: u32) -> PhillyRow {
        PhillyRow {
            line,
            submitted: Period::milliseconds(1000 * submitted_s),
            duration: Period::milliseconds(1000 * duration_s),
            gpu_count,
            cluster: "a".to_owned(),
        }
    }

    /// Seven GPUs of each of two nodes are taken for 100 s; a job of two comes at 10 s, one of one at 20 s.
    fn waits(locality: Locality) -> Waits {
        let rows = vec![row(2, 0, 100, 7), row(3, 0, 100, 7), row(4, 10, 50, 2), row(5, 20, 50, 1)];
        let strategy = Strategy::named("best-fit").unwrap();
        let cluster = clusters(rows).remove(0);
        assert_eq!((cluster.demand_count, cluster.node_count(80)), (17, 2));
        Waits::joined(&[Way { strategy, size_percent: 80, locality }.play(&cluster)])
    }

    #[test]
    fn jobs_wait_for_gpus_of_one_node_only_where_they_must_be_there() {
        let required = waits(Locality::Required);
        // Two free GPUs on two nodes do not help the job of two: it waits for 90 s. The one behind it passes.
        assert_eq!(required.by_class[1].mean, Period::milliseconds(90_000));
        assert_eq!((required.by_class[0].mean, required.large.mean), (Period::ZERO, Period::ZERO));
        assert_eq!((required.large.count, required.unended_count, required.large_ratio()), (2, 0, None));
        let relaxed = waits(Locality::Relaxed);
        // It takes both at 10 s, so that the job of one waits from 20 s to 60 s.
        assert_eq!(relaxed.by_class[1].mean, Period::ZERO);
        assert_eq!(relaxed.by_class[0].mean, Period::milliseconds(40_000));
        // 14 GPUs for 100 s, two for 50 s, one for 50 s, of 16 for 110 s.
        assert!((relaxed.allocated_share - 1550.0 / 1760.0).abs() < 1e-12);
    }
}
