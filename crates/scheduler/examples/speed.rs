//! How many decisions a second: `cargo run --release -p weft-scheduler --example speed`.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "a benchmark"
)]

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use weft_base::Moment;
use weft_scheduler::book::Book;
use weft_scheduler::cluster::{Cluster, Level};
use weft_scheduler::job::{Ask, Group, Job, JobId, Need, QueueId, Within};
use weft_scheduler::policy::{Budget, Command, End, Event, Outcome, Policy as _};
use weft_scheduler::{Models, NodeKind, Planner, Pod, Strategy};

struct Desk {
    book: Book,
    planner: Planner,
    running: VecDeque<(JobId, u64)>,
    held_milli: u64,
    spent: Duration,
    longest: Vec<Duration>,
    limit: bool,
    now: Moment,
}

fn pod(gpu_count: u8, gpu_milli: u16, cpu_milli: u32) -> Pod {
    Pod { cpu_milli, memory_mib: 4096, gpu_count, gpu_milli, models: Models::ANY }
}

impl Desk {
    fn new(strategy: &str, node_count: u32) -> Self {
        let kind = NodeKind { cpu_milli: 128_000, memory_mib: 1 << 20, gpu_count: 8, model: 0 };
        let cluster = Cluster::uniform("H100", kind, node_count, 128, 8);
        Self {
            book: Book::new(cluster, Vec::new()),
            planner: Planner::new(Strategy::named(strategy).unwrap(), 1),
            running: VecDeque::new(),
            held_milli: 0,
            spent: Duration::ZERO,
            longest: Vec::new(),
            limit: false,
            now: Moment::ZERO,
        }
    }

    fn event(&mut self, event: Event) {
        for change in self.book.apply(self.now, event) {
            self.planner.observe(&self.book, change);
        }
    }

    fn submit(&mut self, need: Need) {
        let limit =
            self.limit.then(|| Moment::milliseconds(3_600_000 * (1 + self.book.job_count() as u64 * 7 % 50)));
        let job = Job {
            name: String::new(),
            queue: QueueId(0),
            priority: 0,
            submitted: self.now,
            need,
            limit,
            preemptible: true,
            traffic: None,
        };
        self.event(Event::Submitted(Box::new(job)));
    }

    /// One change and what follows from it, timed.
    fn step(&mut self) {
        self.now = self.now + Moment::milliseconds(100);
        let begin = Instant::now();
        self.planner.decide(&mut self.book, self.now, Budget::ALL);
        let took = begin.elapsed();
        self.longest.push(took);
        while let Some(command) = self.book.command() {
            if let Command::Bind { decision, job, members } = command {
                let gpus: Vec<_> = members.iter().map(|(_, member)| member.gpus).collect();
                self.event(Event::Bound(decision, Outcome::Done(gpus)));
                let milli = self.book.entry(job).job.need.gpu_milli();
                self.held_milli += milli;
                self.running.push_back((job, milli));
            }
        }
    }

    fn end_oldest(&mut self) {
        let Some((job, milli)) = self.running.pop_front() else { return };
        self.held_milli -= milli;
        self.event(Event::Ended(job, End::Done));
    }
}

fn run(strategy: &str, what: &str, need_of: impl Fn(usize) -> Need, count: usize) {
    let mut desk = Desk::new(strategy, 5000);
    let all = desk.book.capacity().gpu_milli;
    let mut at = 0;
    while desk.held_milli * 100 < all * 85 {
        desk.submit(need_of(at));
        desk.step();
        at += 1;
    }
    desk.longest.clear();
    let begin = Instant::now();
    let first = desk.book.decisions().len();
    let _ = first;
    for _ in 0..count {
        while desk.held_milli * 100 > all * 90 {
            desk.end_oldest();
        }
        desk.submit(need_of(at));
        desk.step();
        at += 1;
    }
    let took = begin.elapsed();
    desk.longest.sort_unstable();
    let p99 = desk.longest[desk.longest.len() * 99 / 100];
    desk.spent += took;
    println!(
        "{strategy:12} {what:24} {:10.0} jobs/s   decide p99 {:8.1} us  held {:.1} %",
        count as f64 / took.as_secs_f64(),
        p99.as_secs_f64() * 1e6,
        desk.held_milli as f64 * 100.0 / all as f64
    );
}

fn large(strategy: &str, limit: bool) {
    let mut desk = Desk::new(strategy, 12_500);
    desk.limit = limit;
    let shapes: Vec<Need> = (0..60_u32)
        .map(|at| {
            let (members, gpus) =
                [(1, 1), (1, 2), (1, 4), (1, 8), (2, 8), (4, 8), (8, 8), (16, 8), (32, 8), (64, 8)]
                    [at as usize % 10];
            let group = Group::rigid("worker", Ask::of(pod(gpus, 1000, 4000 + 500 * (at / 10))), members);
            let level =
                if members > 1 { Some(Within { level: Level::Leaf, required: at % 3 == 0 }) } else { None };
            Need { groups: vec![group], within: level }
        })
        .collect();
    for at in 0..100_000 {
        desk.submit(shapes[at * 7 % 60].clone());
    }
    desk.step();
    let waiting = 100_000 - desk.running.len();
    for at in 0..waiting.min(2000) {
        desk.submit(shapes[at * 7 % 60].clone());
    }
    desk.step();
    desk.longest.clear();
    let queued = desk.book.job_count() - desk.running.len();
    for at in 0..5000 {
        if at % 2 == 0 {
            desk.end_oldest();
        } else {
            desk.submit(shapes[at * 11 % 60].clone());
        }
        desk.step();
    }
    desk.longest.sort_unstable();
    let at = |share: usize| desk.longest[(desk.longest.len() - 1) * share / 1000].as_secs_f64() * 1e6;
    println!(
        "{strategy:12} limits {limit} 100,000 GPUs, {queued} queued: decide after one change: median {:.1} us  p99 {:.1} us  most {:.1} us",
        at(500),
        at(990),
        at(1000)
    );
}

fn main() {
    let only = std::env::args().nth(1);
    if let Some(strategy) = only {
        return large(&strategy, true);
    }
    for strategy in ["topology", "weft"] {
        run(
            strategy,
            "single pods",
            |at| Need {
                groups: vec![Group::rigid(
                    "pod",
                    Ask::of(pod(1, if at % 4 == 0 { 500 } else { 1000 }, 4000 + 1000 * (at as u32 % 3))),
                    1,
                )],
                within: None,
            },
            50_000,
        );
        run(
            strategy,
            "gangs of 512, one leaf",
            |_| Need {
                groups: vec![Group::rigid("worker", Ask::of(pod(1, 1000, 4000)), 512)],
                within: Some(Within { level: Level::Leaf, required: true }),
            },
            500,
        );
        large(strategy, false);
        large(strategy, true);
    }
}
