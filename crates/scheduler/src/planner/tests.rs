//! Small clusters, counted by hand. Binds and evictions happen at once here.

use weft_base::{Moment, Period};

use super::Planner;
use crate::book::{Book, Queue, Stage};
use crate::cluster::{Cluster, Level, NodeId};
use crate::fleet::{Models, NodeKind, Pod};
use crate::job::{Ask, Group, Job, JobId, Need, QueueId, Within};
use crate::policy::{Budget, Command, End, Event, Outcome, Policy as _, Reason};
use crate::stand::Health;
use crate::strategies::{STRATEGIES, Strategy};

/// A book and a planner whose every wish comes true at once.
struct Desk {
    book: Book,
    planner: Planner,
    now: Moment,
}

fn seconds(count: u64) -> Period {
    Period::milliseconds(count * 1000)
}

fn pod(gpu_count: u8) -> Pod {
    Pod { cpu_milli: 1000, memory_mib: 1024, gpu_count, gpu_milli: 1000, models: Models::ANY }
}

fn gang(member_count: u32, gpu_count: u8) -> Need {
    Need { groups: vec![Group::rigid("worker", Ask::of(pod(gpu_count)), member_count)], within: None }
}

fn within(need: Need, level: Level) -> Need {
    Need { within: Some(Within { level, required: true }), ..need }
}

impl Desk {
    /// `node_count` nodes of eight GPUs, two under each leaf.
    fn new(strategy: &str, node_count: u32, queues: Vec<Queue>) -> Self {
        let kind = NodeKind { cpu_milli: 96_000, memory_mib: 1 << 20, gpu_count: 8, model: 0 };
        let cluster = Cluster::uniform("H100", kind, node_count, 2, 4);
        let strategy = Strategy::named(strategy).unwrap();
        Self { book: Book::new(cluster, queues), planner: Planner::new(strategy, 1), now: Moment::ZERO }
    }

    fn event(&mut self, event: Event) {
        for change in self.book.apply(self.now, event) {
            self.planner.observe(&self.book, change);
        }
    }

    fn submit(&mut self, need: Need, priority: i32, limit: Option<u64>) -> JobId {
        self.submit_to(QueueId(0), need, priority, limit)
    }

    fn submit_to(&mut self, queue: QueueId, need: Need, priority: i32, limit: Option<u64>) -> JobId {
        let id = JobId(u32::try_from(self.book.job_count()).unwrap());
        let job = Job {
            name: format!("job-{}", id.0),
            queue,
            priority,
            submitted: self.now,
            need,
            limit: limit.map(seconds),
            preemptible: true,
            traffic: None,
        };
        self.event(Event::Submitted(Box::new(job)));
        id
    }

    /// Decides until nothing more happens.
    fn decide(&mut self) {
        loop {
            self.planner.decide(&mut self.book, self.now, Budget::ALL);
            let Some(command) = self.book.command() else { break };
            let mut next = Some(command);
            while let Some(command) = next {
                match command {
                    Command::Bind { decision, members, .. } => {
                        let gpus = members.iter().map(|(_, member)| member.gpus).collect();
                        self.event(Event::Bound(decision, Outcome::Done(gpus)));
                    }
                    Command::Evict(job) => self.event(Event::Evicted(job)),
                    Command::Resize(_) => {}
                }
                self.book.audit().unwrap();
                next = self.book.command();
            }
        }
        assert!(self.planner.refused().is_empty(), "{:?}", self.planner.refused());
        self.book.audit().unwrap();
    }

    fn runs(&self, job: JobId) -> bool {
        self.book.entry(job).stage == Stage::Running
    }

    fn nodes(&self, job: JobId) -> Vec<u32> {
        let mut nodes: Vec<u32> = self.book.entry(job).held().map(|member| member.node.0).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    fn end(&mut self, job: JobId) {
        self.event(Event::Ended(job, End::Done));
    }
}

#[test]
fn every_strategy_runs_what_fits_and_says_why_the_rest_waits() {
    for strategy in STRATEGIES {
        let mut desk = Desk::new(strategy.name, 4, Vec::new());
        let jobs: Vec<JobId> = (0..5).map(|_| desk.submit(gang(1, 8), 0, Some(60))).collect();
        let huge = desk.submit(gang(5, 8), 0, Some(60));
        desk.decide();
        let running = jobs.iter().filter(|job| desk.runs(**job)).count();
        assert_eq!(running, 4, "{}", strategy.name);
        let waiting = *jobs.iter().find(|job| !desk.runs(**job)).unwrap();
        let why = desk.planner.why(&desk.book, waiting);
        assert!(matches!(why[..], [Reason::Lacks(_)]), "{}: {why:?}", strategy.name);
        let never = desk.planner.why(&desk.book, huge);
        assert!(matches!(never[..], [Reason::Never(_)]), "{}: {never:?}", strategy.name);
        // One that can never run blocks nobody (kubernetes-sigs/kueue#6929).
        desk.end(jobs[0]);
        desk.decide();
        assert!(desk.runs(waiting), "{}", strategy.name);
    }
}

#[test]
fn nobody_passes_under_strict_fifo_and_others_do() {
    for (strategy, passes) in [("fifo", false), ("best-fit", true)] {
        let mut desk = Desk::new(strategy, 2, Vec::new());
        let first = desk.submit(gang(1, 4), 0, None);
        let large = desk.submit(gang(2, 8), 0, None);
        let small = desk.submit(gang(1, 1), 0, None);
        desk.decide();
        assert!(desk.runs(first) && !desk.runs(large));
        assert_eq!(desk.runs(small), passes, "{strategy}");
    }
}

#[test]
fn backfill_lets_short_jobs_pass_and_long_ones_only_beside() {
    // Node 0 is full for 100 s, node 1 half for 1000 s. The job of 8 GPUs gets node 0 at 100 s.
    let mut desk = Desk::new("easy", 2, Vec::new());
    desk.submit(gang(1, 8), 0, Some(100));
    desk.submit(gang(1, 6), 0, Some(1000));
    let first = desk.submit(gang(1, 8), 0, Some(50));
    let beside = desk.submit(gang(1, 1), 0, Some(5000));
    desk.decide();
    assert!(!desk.runs(first) && desk.runs(beside), "node 1 is nobody's");
    assert_eq!(desk.nodes(beside), [1]);
    // Two free GPUs on node 0 would delay it only if somebody stays beyond 100 s: make room on node 0.
    let mut desk = Desk::new("easy", 1, Vec::new());
    desk.submit(gang(1, 6), 0, Some(100));
    let first = desk.submit(gang(1, 8), 0, Some(50));
    let long = desk.submit(gang(1, 1), 0, Some(200));
    let short = desk.submit(gang(1, 1), 0, Some(99));
    desk.decide();
    assert!(!desk.runs(first) && !desk.runs(long) && desk.runs(short));
    let why = desk.planner.why(&desk.book, long);
    assert_eq!(why, [Reason::Delays { ahead: first, at: seconds(100) }]);
}

#[test]
fn a_gang_under_one_leaf_puts_out_only_whom_it_must() {
    // Leaves of two nodes. Leaf 0: a job of 8 GPUs on node 0; leaf 1: jobs of 4 and 8 GPUs.
    let mut desk = Desk::new("priority", 4, Vec::new());
    let whole: Vec<JobId> = (0..3).map(|_| desk.submit(within(gang(1, 8), Level::Node), 0, None)).collect();
    let half = desk.submit(gang(1, 4), 0, None);
    desk.decide();
    desk.now = seconds(10);
    let gang_id = desk.submit(within(gang(2, 8), Level::Leaf), 5, None);
    desk.decide();
    assert!(desk.runs(gang_id));
    let out: Vec<JobId> = whole.iter().chain([&half]).filter(|job| !desk.runs(**job)).copied().collect();
    // Whichever leaf: two jobs stand on it, and no more than those go.
    assert_eq!(out.len(), 2, "{out:?}");
    let leaf = desk.nodes(gang_id)[0] / 2;
    assert_eq!(desk.nodes(gang_id), [leaf * 2, leaf * 2 + 1]);
}

#[test]
fn equals_do_not_put_each_other_out() {
    let mut desk = Desk::new("priority", 1, Vec::new());
    let first = desk.submit(gang(1, 8), 3, None);
    desk.decide();
    let second = desk.submit(gang(1, 8), 3, None);
    desk.decide();
    assert!(desk.runs(first) && !desk.runs(second));
    assert_eq!(desk.book.entry(first).evicted_count, 0);
}

#[test]
fn a_queue_takes_back_its_own_and_no_more() {
    let queue = |name: &str, own_milli| Queue { own_milli, ..Queue::named(name) };
    let mut desk = Desk::new("fair", 2, vec![queue("a", 8000), queue("b", 8000)]);
    let theirs: Vec<JobId> = (0..4).map(|_| desk.submit_to(QueueId(0), gang(1, 4), 0, None)).collect();
    desk.decide();
    assert!(theirs.iter().all(|job| desk.runs(*job)));
    let mine: Vec<JobId> = (0..3).map(|_| desk.submit_to(QueueId(1), gang(1, 4), 0, None)).collect();
    desk.decide();
    assert_eq!(theirs.iter().filter(|job| desk.runs(**job)).count(), 2);
    assert_eq!(mine.iter().filter(|job| desk.runs(**job)).count(), 2);
}

#[test]
fn lost_members_come_up_in_the_same_leaf_or_the_job_starts_again() {
    let mut desk = Desk::new("topology", 6, Vec::new());
    let job = desk.submit(within(gang(2, 4), Level::Leaf), 0, None);
    desk.decide();
    let leaf = desk.nodes(job)[0] / 2;
    let lost = desk.nodes(job)[0];
    desk.event(Event::Node(NodeId(lost), Health::Down));
    desk.decide();
    assert!(desk.runs(job));
    assert!(desk.nodes(job).iter().all(|node| node / 2 == leaf && *node != lost), "{:?}", desk.nodes(job));
    // The other node of the leaf goes too: there is no place in that leaf, so it starts again elsewhere.
    desk.event(Event::Node(NodeId(leaf * 2 + (1 - lost % 2)), Health::Down));
    desk.decide();
    assert!(desk.runs(job));
    assert!(desk.nodes(job).iter().all(|node| node / 2 != leaf));
}

#[test]
fn a_planner_made_anew_decides_the_same() {
    for strategy in STRATEGIES.iter().filter(|strategy| strategy.name != "random") {
        let mut desk = Desk::new(strategy.name, 4, Vec::new());
        for at in 0..12_u32 {
            desk.now = seconds(u64::from(at));
            desk.submit(gang(1 + at % 3, 1 << (at % 4)), i32::try_from(at % 2).unwrap(), Some(100));
            desk.decide();
        }
        desk.end(JobId(0));
        let mut other = desk.book.clone();
        let mut anew = Planner::rebuilt(strategy, 1, &other);
        anew.decide(&mut other, desk.now, Budget::ALL);
        desk.planner.decide(&mut desk.book, desk.now, Budget::ALL);
        assert!(desk.book == other, "{}", strategy.name);
    }
}

#[test]
fn jobs_that_must_span_leaves_take_few_and_quiet_ones() {
    use crate::job::{Pattern, Traffic};
    // Leaves of two nodes. A ring is on leaves 0 and 1, and one node of leaf 2 is closed: leaves 1 and 2 have a node each.
    // A second ring takes leaf 3 and one of those: the one whose uplinks nobody uses.
    let mut desk = Desk::new("contention", 8, Vec::new());
    let traffic = Some(Traffic { exposed_milli: 300, pattern: Pattern::Ring });
    let mut ids = Vec::new();
    for need in [gang(3, 8), gang(3, 8)] {
        let id = JobId(u32::try_from(desk.book.job_count()).unwrap());
        let job = Job {
            name: String::new(),
            queue: QueueId(0),
            priority: 0,
            submitted: desk.now,
            need,
            limit: None,
            preemptible: true,
            traffic,
        };
        desk.event(Event::Submitted(Box::new(job)));
        desk.decide();
        ids.push(id);
        desk.event(Event::Node(NodeId(5), Health::Draining));
    }
    let leaves = |job: JobId| {
        let mut leaves: Vec<u32> = desk.nodes(job).iter().map(|node| node / 2).collect();
        leaves.dedup();
        leaves
    };
    let (first, second) = (leaves(ids[0]), leaves(ids[1]));
    assert_eq!(first, [0, 1]);
    assert_eq!(second, [2, 3]);
}

#[test]
fn an_elastic_job_takes_no_more_than_its_queue_may_have() {
    let queue = Queue { limit_milli: Some(3000), ..Queue::named("small") };
    let mut desk = Desk::new("best-fit", 1, vec![queue]);
    let elastic = Need {
        groups: vec![Group { least_count: 1, ..Group::rigid("worker", Ask::of(pod(1)), 4) }],
        within: None,
    };
    let job = desk.submit(elastic, 0, None);
    desk.decide();
    assert!(desk.runs(job));
    assert_eq!(desk.book.used(QueueId(0)).gpu_milli, 3000);
}
