//! Worlds small enough to follow with a pencil. Times are in seconds.

use weft_base::{Moment, Period};

use super::{
    ByLevel, Fate, Fault, GpuTime, Happening, Latencies, Leave, Load, Record, Saves, Setup, Speed, Stories,
    Trouble, World,
};
use crate::book::Book;
use crate::cluster::{Cluster, NodeId};
use crate::fleet::{Models, NodeKind, Pod};
use crate::job::{Ask, Group, Job, JobId, Need, QueueId};
use crate::planner::Planner;
use crate::policy::{End, Member};
use crate::strategies::Strategy;

fn s(count: u64) -> Period {
    Period::milliseconds(count * 1000)
}

/// Nodes of four GPUs, two to a leaf.
fn cluster(node_count: u32) -> Cluster {
    let kind = NodeKind { cpu_milli: 32_000, memory_mib: 1000, gpu_count: 4, model: 0 };
    Cluster::uniform("H100", kind, node_count, 2, 4)
}

/// Members of four GPUs each.
fn load(submitted: Moment, member_count: u32, work: Period) -> Load {
    let pod = Pod { cpu_milli: 1000, memory_mib: 10, gpu_count: 4, gpu_milli: 1000, models: Models::ANY };
    let job = Job {
        name: format!("job at {submitted}"),
        queue: QueueId(0),
        priority: 0,
        submitted,
        need: Need { groups: vec![Group::rigid("worker", Ask::of(pod), member_count)], within: None },
        limit: None,
        preemptible: true,
        traffic: None,
    };
    Load::of(job, work)
}

fn saving(load: Load, interval: Period, cost: Period) -> Load {
    Load { saves: Some(Saves { interval, cost }), ..load }
}

fn run(node_count: u32, strategy: &str, setup: Setup) -> Record {
    let policy = Box::new(Planner::new(Strategy::named(strategy).unwrap(), 0));
    let mut world = World::new(Book::new(cluster(node_count), Vec::new()), policy, setup);
    while world.step().is_some() {
        assert_eq!((world.book().audit(), world.check()), (Ok(()), Ok(())));
    }
    world.finish()
}

fn latencies() -> Latencies {
    Latencies {
        bind: s(1),
        start: s(10),
        restart: s(20),
        detection: s(5),
        grace: s(30),
        ..Latencies::default()
    }
}

#[test]
fn a_job_whose_node_dies_loses_what_it_did_since_its_last_checkpoint() {
    // Up at 1, works from 11; saves at 41 to 43 and 73 to 75; the node dies at 85 with 60 saved and 10 on top. Known at
    // 90; up elsewhere at 91, works from 111, saves at 141 to 143, done at 153.
    let load = saving(load(s(0), 1, s(100)), s(30), s(2));
    let faults = vec![Fault { at: s(85), what: Trouble::Node(NodeId(0)), lasts: s(1000) }];
    let setup = Setup {
        loads: vec![load],
        faults,
        latencies: latencies(),
        stories: Stories::All,
        ..Setup::default()
    };
    let record = run(2, "best-fit", setup);
    let job = &record.jobs[0];
    assert_eq!((job.started, job.ended), (Some(s(1)), Some(s(153))));
    assert_eq!((job.lost, job.waiting, job.running), (s(10), s(0), s(10 + 74 + 62)));
    assert_eq!((job.start_count, job.broken_count, job.put_out_count), (2, 1, 1));
    let gpus = |seconds: u64| GpuTime::of(4000, s(seconds));
    let spent = job.spent;
    assert_eq!((spent.starting, spent.stalled, spent.saving), (gpus(1 + 10 + 1 + 20), gpus(5), gpus(6)));
    assert_eq!((spent.kept, spent.lost, spent.slowed), (gpus(100), gpus(10), gpus(0)));
    assert_eq!(spent.held(), gpus(153));
    let stays: Vec<_> =
        job.stays.iter().map(|stay| (stay.nodes[0].0, stay.from, stay.until, stay.left)).collect();
    assert_eq!(stays, [(0, s(1), s(85), Leave::Broke), (1, s(91), s(153), Leave::Ended(End::Done))]);
    let story = &record.stories[&JobId(0)];
    let hit = Happening::Hit { trouble: Trouble::Node(NodeId(0)), lost: s(10) };
    assert!(story.iter().any(|beat| beat.at == s(85) && beat.what == hit), "{story:?}");
    assert_eq!(story.last().map(|beat| beat.at), Some(s(153)));
}

#[test]
fn a_short_flap_stops_those_that_span_nodes_and_a_long_one_kills_them() {
    // Both start at once on nodes 0 and 1, and 2. A flap of 3 s at node 0 delays the first, and one of 8 s at 50 kills its
    // member; that is known at 55 and replaced in place: up at 56, works from 76, all over again.
    let flap = |at, lasts| Fault { at: s(at), what: Trouble::Flap(NodeId(0)), lasts: s(lasts) };
    let loads = || vec![load(s(0), 2, s(100)), load(s(0), 1, s(100))];
    let with = |faults| Setup { loads: loads(), faults, latencies: latencies(), ..Setup::default() };
    let record = run(3, "best-fit", with(vec![flap(30, 3)]));
    assert_eq!((record.jobs[0].ended, record.jobs[1].ended), (Some(s(114)), Some(s(111))));
    assert_eq!(record.jobs[0].spent.stalled, GpuTime::of(8000, s(3)));
    let record = run(3, "best-fit", with(vec![flap(30, 3), flap(50, 8)]));
    assert_eq!((record.jobs[0].ended, record.jobs[1].ended), (Some(s(176)), Some(s(111))));
    // From 11 to 50, but for the 3 s.
    assert_eq!((record.jobs[0].lost, record.jobs[0].broken_count), (s(36), 1));
}

#[test]
fn a_job_that_is_put_out_saves_itself_if_its_grace_is_long_enough() {
    // It works from 11; the important one comes at 50. With 10 s for a checkpoint it has gone at 60 and loses nothing; the
    // other is up at 61, works from 71 to 81; then 61 of 100 are left: up at 82, works from 102 to 163. The first interval
    // is longer than the job.
    let of = |cost: u64| {
        let mut important = load(s(50), 1, s(10));
        important.job.priority = 1;
        let loads = vec![saving(load(s(0), 1, s(100)), s(500), s(cost)), important];
        run(1, "priority", Setup { loads, latencies: latencies(), ..Setup::default() })
    };
    let record = of(10);
    assert_eq!((record.jobs[0].ended, record.jobs[1].ended), (Some(s(163)), Some(s(81))));
    assert_eq!((record.jobs[0].lost, record.jobs[0].put_out_count), (s(0), 1));
    assert_eq!(record.jobs[0].stays[0].left, Leave::PutOut(Some(JobId(1))));
    // With 31 s it would not be ready, so it does not try: gone at 80, 39 lost, and all 100 again from 122.
    let record = of(31);
    assert_eq!((record.jobs[1].ended, record.jobs[0].ended), (Some(s(101)), Some(s(222))));
    assert_eq!(record.jobs[0].lost, s(39));
}

#[test]
fn a_job_is_as_fast_as_its_placement() {
    // Three nodes are two leaves: at half speed 100 s take 200.
    let speed = Box::new(ByLevel::of([1.0, 1.0, 1.0, 0.8, 0.5, 0.4]));
    let setup = Setup { loads: vec![load(s(0), 3, s(100))], speed, ..Setup::default() };
    let record = run(4, "best-fit", setup);
    let job = &record.jobs[0];
    assert_eq!(job.ended, Some(s(200)));
    assert!((job.slowdown_ratio().unwrap() - 2.0).abs() < 1e-9);
    assert!((job.stays[0].speed_ratio.unwrap() - 0.5).abs() < 1e-9);
    assert_eq!((record.totals.cross_leaf_count, job.stays[0].spans.leaf_count), (1, 2));
    assert_eq!(job.spent.slowed, GpuTime::of(12_000, s(100)));
}

/// Jobs share what there is.
#[derive(Default)]
struct Shared(Vec<JobId>);

impl Speed for Shared {
    fn comes(&mut self, _: &Cluster, id: JobId, _: &Job, _: &[Member]) -> Vec<JobId> {
        self.0.push(id);
        self.0.clone()
    }

    fn goes(&mut self, id: JobId) -> Vec<JobId> {
        self.0.retain(|known| *known != id);
        self.0.clone()
    }

    fn share(&mut self, _: JobId) -> f64 {
        1.0 / f64::from(u32::try_from(self.0.len()).unwrap())
    }
}

#[test]
fn neighbours_slow_each_other_as_long_as_both_work() {
    // The first is alone until 50, then both have half: the second, of 20, takes until 90; the first has 30 left.
    let setup = Setup {
        loads: vec![load(s(0), 1, s(100)), load(s(50), 1, s(20))],
        speed: Box::<Shared>::default(),
        ..Setup::default()
    };
    let record = run(2, "best-fit", setup);
    assert_eq!((record.jobs[1].ended, record.jobs[0].ended), (Some(s(90)), Some(s(120))));
}

#[test]
fn limits_users_and_programs_end_jobs_too() {
    let mut limited = load(s(0), 1, s(100));
    limited.job.limit = Some(s(40));
    let failing = Load { how: End::Failed, ..load(s(0), 1, s(30)) };
    let taken_back = Load { cancelled: Some(s(20)), ..load(s(0), 2, s(1)) };
    let setup = Setup {
        loads: vec![limited, failing, taken_back],
        enforces_limits: true,
        latencies: latencies(),
        ..Setup::default()
    };
    let record = run(2, "best-fit", setup);
    let ends: Vec<_> = record.jobs.iter().map(|job| (job.ended.unwrap(), job.fate.clone())).collect();
    let [limited, failing, taken_back] = &ends[..] else { panic!("{ends:?}") };
    assert_eq!(*limited, (s(41), Fate::Ended(End::Failed)));
    assert_eq!(*failing, (s(41), Fate::Ended(End::Failed)));
    assert_eq!(*taken_back, (s(20), Fate::Ended(End::Cancelled)));
    let totals = &record.totals;
    assert_eq!((totals.failed_count, totals.cancelled_count, totals.completion.count), (2, 1, 2));
}

#[test]
fn the_same_seed_is_the_same_run_and_a_run_may_be_cut_short() {
    let setup = |until| {
        let loads = (0..40)
            .map(|at| saving(load(s(at * 7), 1 + u32::try_from(at % 3).unwrap(), s(50 + at)), s(20), s(1)));
        let faults = (0..9).map(|at| Fault { at: s(at * 40), what: Trouble::Flap(NodeId(0)), lasts: s(at) });
        let chances = super::Chances { conflict_percent: 20, slow_percent: 50, ..super::Chances::default() };
        let (loads, faults) = (loads.collect(), faults.collect());
        Setup {
            loads,
            faults,
            chances,
            latencies: latencies(),
            until,
            seed: 5,
            sample_count: 10,
            ..Setup::default()
        }
    };
    let whole = run(4, "weft", setup(None));
    assert_eq!(whole, run(4, "weft", setup(None)));
    assert!(whole.jobs.iter().all(|job| job.fate == Fate::Ended(End::Done)));
    assert!((10..=21).contains(&whole.samples.len()), "{}", whole.samples.len());
    let half = run(4, "weft", setup(Some(s(200))));
    assert_eq!(half.ended, s(200));
    let (on, waiting) = (half.totals.on_count, half.totals.waiting_count);
    assert_eq!(half.totals.done_count + on + waiting, half.jobs.len());
    assert!(on > 0 && waiting > 0);
    let held: GpuTime = half.jobs.iter().map(|job| job.spent.held()).sum();
    assert_eq!(held, half.totals.areas.allocated);
}
