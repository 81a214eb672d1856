//! What a run of the world gives: a record of each job, the cluster over time, totals, and stories.

use std::collections::BTreeMap;
use std::ops::{Add, AddAssign, Sub};

use weft_base::{Moment, Period};

use crate::cluster::NodeId;
use crate::job::{JobId, QueueId};
use crate::policy::{Act, End, Reason};

use super::fault::Trouble;

/// GPUs times time: thousandths of a GPU times milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GpuTime(u128);

impl GpuTime {
    /// So many thousandths of GPUs for so long.
    pub fn of(gpu_milli: u64, period: Period) -> Self {
        Self(u128::from(gpu_milli) * u128::from(period.get()))
    }

    /// In GPU-hours.
    #[expect(clippy::cast_precision_loss, reason = "printing only needs 53 bits")]
    pub fn as_hours(self) -> f64 {
        self.0 as f64 / 3.6e9
    }

    /// As a share of `all`; 0 of nothing.
    #[expect(clippy::cast_precision_loss, reason = "printing only needs 53 bits")]
    pub fn share(self, all: Self) -> f64 {
        if all.0 == 0 { 0.0 } else { self.0 as f64 / all.0 as f64 }
    }
}

impl Add for GpuTime {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for GpuTime {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for GpuTime {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl std::iter::Sum for GpuTime {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self::default(), Add::add)
    }
}

/// Where the GPU time that jobs held has gone. The parts are disjoint, and their sum is all that was held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// Members came up, or the job read its checkpoint.
    pub starting: GpuTime,
    /// Work that counts.
    pub kept: GpuTime,
    /// Work that was done and had to be done again.
    pub lost: GpuTime,
    /// What the work took longer than on the ideal placement.
    pub slowed: GpuTime,
    /// Checkpoints.
    pub saving: GpuTime,
    /// A member was gone, whether that was known or not, or a link was down.
    pub stalled: GpuTime,
    /// The job was told to go.
    pub leaving: GpuTime,
}

impl Spent {
    /// All of it.
    pub fn held(&self) -> GpuTime {
        let Self { starting, kept, lost, slowed, saving, stalled, leaving } = *self;
        [starting, kept, lost, slowed, saving, stalled, leaving].into_iter().sum()
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            starting: self.starting + other.starting,
            kept: self.kept + other.kept,
            lost: self.lost + other.lost,
            slowed: self.slowed + other.slowed,
            saving: self.saving + other.saving,
            stalled: self.stalled + other.stalled,
            leaving: self.leaving + other.leaving,
        }
    }
}

/// How many domains of each level a placement touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Spans {
    /// Servers.
    pub node_count: u32,
    /// NVLink domains.
    pub domain_count: u32,
    /// Racks.
    pub rack_count: u32,
    /// Leaves.
    pub leaf_count: u32,
    /// Groups of spines.
    pub spine_count: u32,
}

/// How a stay ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// The job ended.
    Ended(End),
    /// It was put out, for that job if for one.
    PutOut(Option<JobId>),
    /// It lost members.
    Broke,
    /// It went on with more or fewer members.
    Resized,
    /// It was still there when the run ended.
    Stays,
}

/// A time in which a job ran on the same places.
#[derive(Debug, Clone, PartialEq)]
pub struct Stay {
    /// From when on its members were up.
    pub from: Moment,
    /// Until when.
    pub until: Moment,
    /// Members.
    pub member_count: u32,
    /// Thousandths of GPUs.
    pub gpu_milli: u64,
    /// Its nodes, each once, in order.
    pub nodes: Vec<NodeId>,
    /// What they span.
    pub spans: Spans,
    /// How it ended.
    pub left: Leave,
    /// What it would have taken on the ideal placement, over what it took; none if it came to no work.
    pub speed_ratio: Option<f64>,
}

/// Where a job stands when the run is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It ended.
    Ended(End),
    /// It has places.
    On,
    /// It waits, and why.
    Waits(Vec<Reason>),
}

/// What became of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobRecord {
    /// What it is called.
    pub name: String,
    /// Whose it is.
    pub queue: QueueId,
    /// Its priority.
    pub priority: i32,
    /// Thousandths of GPUs that it wants.
    pub gpu_milli: u64,
    /// Members that it wants.
    pub member_count: u32,
    /// What it takes at full speed with all members.
    pub work: Period,
    /// When it came.
    pub submitted: Moment,
    /// When all its members were first up.
    pub started: Option<Moment>,
    /// When it ended.
    pub ended: Option<Moment>,
    /// How it stands.
    pub fate: Fate,
    /// How often its members came up: the first time, after it was put out, after it lost members.
    pub start_count: u32,
    /// How often it was put out.
    pub put_out_count: u32,
    /// How often it lost members.
    pub broken_count: u32,
    /// How often a bind failed.
    pub conflict_count: u32,
    /// Time in which it had no places.
    pub waiting: Period,
    /// Time in which all its members were up, saving and reading checkpoints included.
    pub running: Period,
    /// Work that was lost, as time at full speed with all members.
    pub lost: Period,
    /// Where its GPU time has gone.
    pub spent: Spent,
    /// Where it was.
    pub stays: Vec<Stay>,
}

impl JobRecord {
    /// From when it came until it ended, however it ended.
    pub fn completion(&self) -> Option<Period> {
        self.ended.map(|ended| ended - self.submitted)
    }

    /// From when it came until it first ran.
    pub fn first_wait(&self) -> Option<Period> {
        self.started.map(|started| started - self.submitted)
    }

    /// How many times longer its work took than on the ideal placement, over all stays; none without GPUs or work.
    pub fn slowdown_ratio(&self) -> Option<f64> {
        let done = self.spent.kept + self.spent.lost;
        (done > GpuTime::default()).then(|| (done + self.spent.slowed).share(done))
    }

    /// Whether it was ever under more than one leaf.
    pub fn crossed_leaves(&self) -> bool {
        self.stays.iter().any(|stay| stay.spans.leaf_count > 1)
    }
}

/// The cluster at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sample {
    /// When.
    pub at: Moment,
    /// Jobs that wait.
    pub queued_count: u32,
    /// Thousandths of GPUs that they want.
    pub queued_milli: u64,
    /// Jobs that have places.
    pub on_count: u32,
    /// Jobs that are at work.
    pub working_count: u32,
    /// Thousandths of all GPUs.
    pub capacity_milli: u64,
    /// Thousandths of GPUs that are well, on nodes that are not down, as far as is known.
    pub healthy_milli: u64,
    /// Thousandths of GPUs that jobs have.
    pub allocated_milli: u64,
    /// Thousandths of GPUs of jobs that are at work.
    pub working_milli: u64,
    /// Thousandths of GPUs that are free and may be given to jobs.
    pub free_milli: u64,
    /// Those of them on GPUs of which nobody has a part.
    pub free_whole_milli: u64,
    /// Those of them on nodes of which nobody has a GPU.
    pub free_node_milli: u64,
}

impl Sample {
    /// The share of what is free that lies on nodes where others have GPUs, so that no job of whole nodes can use it.
    #[expect(clippy::cast_precision_loss, reason = "no cluster has 2^53 GPUs")]
    pub fn fragmented_share(&self) -> f64 {
        match self.free_milli {
            0 => 0.0,
            free => 1.0 - self.free_node_milli as f64 / free as f64,
        }
    }
}

/// Mean, middle and tail of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spread {
    /// How many.
    pub count: usize,
    /// Their mean.
    pub mean: Period,
    /// The one in the middle.
    pub median: Period,
    /// The one that 99 % do not exceed.
    pub p99: Period,
    /// The longest.
    pub longest: Period,
}

impl Spread {
    /// Of a list; percentiles are members of it (nearest rank).
    pub fn of(mut list: Vec<Period>) -> Self {
        list.sort_unstable();
        let count = list.len();
        let Some(longest) = list.last().copied() else { return Self::default() };
        let rank = |percent: usize| list[(count * percent).div_ceil(100).clamp(1, count) - 1];
        let sum: u128 = list.iter().map(|period| u128::from(period.get())).sum();
        let mean = u64::try_from(sum / count as u128).unwrap_or(u64::MAX);
        Self { count, mean: Period::milliseconds(mean), median: rank(50), p99: rank(99), longest }
    }
}

/// Areas under the samples, from the first arrival to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Areas {
    /// All GPUs.
    pub capacity: GpuTime,
    /// GPUs that were well.
    pub healthy: GpuTime,
    /// GPUs that jobs had.
    pub allocated: GpuTime,
    /// Free GPUs.
    pub free: GpuTime,
    /// Free GPUs of nodes where nobody has any.
    pub free_node: GpuTime,
}

/// A run in numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Totals {
    /// Jobs that came.
    pub job_count: usize,
    /// Jobs that were done.
    pub done_count: usize,
    /// Jobs that failed by themselves.
    pub failed_count: usize,
    /// Jobs that were taken back.
    pub cancelled_count: usize,
    /// Jobs that still had places.
    pub on_count: usize,
    /// Jobs that still waited.
    pub waiting_count: usize,
    /// From arrival to end, of jobs that were done or failed.
    pub completion: Spread,
    /// From arrival to the first start, of jobs that started.
    pub queueing: Spread,
    /// From the first arrival to the last end.
    pub makespan: Period,
    /// What jobs had of the GPUs that were well.
    pub allocated_share: f64,
    /// Work that counts, of the GPUs that were well.
    pub utilisation_share: f64,
    /// Work that counts, of what jobs had.
    pub goodput_share: f64,
    /// Of what was free over time, the share on nodes where others had GPUs.
    pub fragmented_share: f64,
    /// Where GPU time has gone.
    pub spent: Spent,
    /// How often jobs were put out.
    pub put_out_count: u32,
    /// How often jobs lost members.
    pub broken_count: u32,
    /// How often binds failed.
    pub conflict_count: u32,
    /// Jobs that were ever under more than one leaf.
    pub cross_leaf_count: usize,
    /// GPU time of jobs while under more than one leaf.
    pub cross_leaf: GpuTime,
    /// How many times longer work took than on ideal placements.
    pub slowdown_ratio: f64,
    /// The areas that shares are of.
    pub areas: Areas,
}

impl Totals {
    /// Of a run.
    pub fn of(jobs: &[JobRecord], areas: Areas) -> Self {
        let ended = |how: End| jobs.iter().filter(|job| job.fate == Fate::Ended(how)).count();
        let full = |job: &&JobRecord| matches!(job.fate, Fate::Ended(End::Done | End::Failed));
        let spent = jobs.iter().map(|job| job.spent).fold(Spent::default(), Spent::plus);
        let stays = || jobs.iter().flat_map(|job| &job.stays);
        let crossing = stays().filter(|stay| stay.spans.leaf_count > 1);
        let (first, last) =
            (jobs.iter().map(|job| job.submitted).min(), jobs.iter().filter_map(|job| job.ended).max());
        let done = spent.kept + spent.lost;
        Self {
            job_count: jobs.len(),
            done_count: ended(End::Done),
            failed_count: ended(End::Failed),
            cancelled_count: ended(End::Cancelled),
            on_count: jobs.iter().filter(|job| job.fate == Fate::On).count(),
            waiting_count: jobs.iter().filter(|job| matches!(job.fate, Fate::Waits(_))).count(),
            completion: Spread::of(jobs.iter().filter(full).filter_map(JobRecord::completion).collect()),
            queueing: Spread::of(jobs.iter().filter_map(JobRecord::first_wait).collect()),
            makespan: last.unwrap_or_default() - first.unwrap_or_default(),
            allocated_share: areas.allocated.share(areas.healthy),
            utilisation_share: spent.kept.share(areas.healthy),
            goodput_share: spent.kept.share(spent.held()),
            fragmented_share: (areas.free - areas.free_node).share(areas.free),
            spent,
            put_out_count: jobs.iter().map(|job| job.put_out_count).sum(),
            broken_count: jobs.iter().map(|job| job.broken_count).sum(),
            conflict_count: jobs.iter().map(|job| job.conflict_count).sum(),
            cross_leaf_count: jobs.iter().filter(|job| job.crossed_leaves()).count(),
            cross_leaf: crossing.map(|stay| GpuTime::of(stay.gpu_milli, stay.until - stay.from)).sum(),
            slowdown_ratio: if done == GpuTime::default() { 1.0 } else { (done + spent.slowed).share(done) },
            areas,
        }
    }
}

/// What happened to a job.
#[derive(Debug, Clone, PartialEq)]
pub enum Happening {
    /// It came.
    Came,
    /// It waits, since it does not fit or may not start: what the policy says. Again when that changes.
    Waits(Vec<Reason>),
    /// The policy decided about it, and why.
    Decided(Act, Vec<Reason>),
    /// Its bind failed: somebody else was there first, or the node did not answer.
    BindFailed,
    /// Its members are up, on these nodes; it works from then on, or reads its checkpoint until then.
    Up {
        /// Its nodes, each once, in order.
        nodes: Vec<NodeId>,
        /// What they span.
        spans: Spans,
        /// From when on it works.
        works_from: Moment,
        /// The share of its work that it need not do again.
        saved_share: f64,
    },
    /// Its speed, from now on, over that on the ideal placement.
    Speed(f64),
    /// Something it needs broke; it loses that much work (at full speed with all members). Known only later.
    Hit {
        /// What broke.
        trouble: Trouble,
        /// What it loses.
        lost: Period,
    },
    /// It waited for a link that was down for a short time, and went on.
    Stalled(Period),
    /// It is known that members are lost.
    Broken(Vec<u32>),
    /// It was told to go, for that job if for one.
    Told(Option<JobId>),
    /// It has gone and waits again; it loses that much work.
    PutOut {
        /// What it loses.
        lost: Period,
    },
    /// What it was promised it did not get, and it waits again.
    ClaimFell,
    /// It ended.
    Ended(End),
    /// It ended because its time limit was over.
    TimedOut,
}

/// A moment in the story of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Beat {
    /// When.
    pub at: Moment,
    /// What.
    pub what: Happening,
}

/// A run.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// All jobs, in the order in which they came (that of their `JobId`).
    pub jobs: Vec<JobRecord>,
    /// The cluster over time.
    pub samples: Vec<Sample>,
    /// In numbers.
    pub totals: Totals,
    /// Stories of the jobs that were asked for.
    pub stories: BTreeMap<JobId, Vec<Beat>>,
    /// What broke, and until when.
    pub troubles: Vec<(Moment, Trouble, Moment)>,
    /// When the run was over.
    pub ended: Moment,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(count: u64) -> Period {
        Period::milliseconds(count)
    }

    #[test]
    fn percentiles_are_members_of_the_list() {
        // 1..=200: the 100th and the 198th, mean 100.5 rounded down.
        let spread = Spread::of((1..=200).rev().map(ms).collect());
        assert_eq!((spread.count, spread.mean, spread.median), (200, ms(100), ms(100)));
        assert_eq!((spread.p99, spread.longest), (ms(198), ms(200)));
        assert_eq!(Spread::of(vec![ms(7)]).p99, ms(7));
        assert_eq!(Spread::of(Vec::new()), Spread::default());
    }

    #[test]
    fn totals_say_where_gpu_time_has_gone() {
        // Two GPUs for ten hours, one of them sick for five: 15 GPU-hours. One job held one GPU for eight hours under two
        // leaves, of which four count, one was lost, and 2.5 went to a slow placement, 0.5 to checkpoints.
        let hours = |count: f64| GpuTime::of(1000, Period::from_hours(count));
        let spent = Spent {
            kept: hours(4.0),
            lost: hours(1.0),
            slowed: hours(2.5),
            saving: hours(0.5),
            ..Spent::default()
        };
        let stay = Stay {
            from: Period::from_hours(1.0),
            until: Period::from_hours(9.0),
            member_count: 2,
            gpu_milli: 1000,
            nodes: vec![NodeId(0), NodeId(1)],
            spans: Spans { node_count: 2, domain_count: 2, rack_count: 2, leaf_count: 2, spine_count: 1 },
            left: Leave::Ended(End::Done),
            speed_ratio: Some(0.625),
        };
        let job = JobRecord {
            name: "a".to_owned(),
            queue: QueueId(0),
            priority: 0,
            gpu_milli: 1000,
            member_count: 2,
            work: Period::from_hours(4.0),
            submitted: Period::from_hours(0.5),
            started: Some(Period::from_hours(1.0)),
            ended: Some(Period::from_hours(9.0)),
            fate: Fate::Ended(End::Done),
            start_count: 1,
            put_out_count: 0,
            broken_count: 1,
            conflict_count: 0,
            waiting: Period::from_hours(0.5),
            running: Period::from_hours(8.0),
            lost: Period::from_hours(1.0),
            spent,
            stays: vec![stay],
        };
        let areas =
            Areas { capacity: hours(20.0), healthy: hours(15.0), allocated: hours(8.0), ..Areas::default() };
        let totals = Totals::of(&[job], areas);
        assert!((spent.held().as_hours() - 8.0).abs() < 1e-12);
        assert!((totals.utilisation_share - 4.0 / 15.0).abs() < 1e-12);
        assert!((totals.goodput_share - 0.5).abs() < 1e-12);
        assert!((totals.allocated_share - 8.0 / 15.0).abs() < 1e-12);
        // Five hours of work took 7.5.
        assert!((totals.slowdown_ratio - 1.5).abs() < 1e-12);
        assert_eq!(
            (totals.completion.mean, totals.makespan),
            (Period::from_hours(8.5), Period::from_hours(8.5))
        );
        assert_eq!((totals.cross_leaf_count, totals.cross_leaf), (1, hours(8.0)));
    }
}
