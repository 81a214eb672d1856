//! Strategies where jobs share uplinks, on 64 nodes under leaves of 4:1: `cargo run --release -p weft-scheduler --example compare`.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a benchmark"
)]

use std::time::Instant;

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use weft_base::{Moment, Period, Rate};
use weft_scheduler::book::Book;
use weft_scheduler::cluster::Cluster;
use weft_scheduler::contention::{Contention, Uplinks};
use weft_scheduler::job::{Ask, Group, Job, Need, Pattern, QueueId, Traffic};
use weft_scheduler::world::{Load, Setup, World};
use weft_scheduler::{Models, NodeKind, Planner, Pod, STRATEGIES};

/// Jobs of 1 to 64 GPUs that come at random, about as much as the cluster can do.
fn loads(seed: u64, gpu_count: f64, load: f64) -> Vec<Load> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut now = 0.0;
    (0..2000)
        .map(|at| {
            let gpus = 1_u32 << random.random_range(0..8_u32).min(random.random_range(0..8));
            let hours = 0.2 + 4.0 * random.random::<f64>().powi(2);
            now += -(1.0 - random.random::<f64>()).ln() * f64::from(gpus) * hours / (gpu_count * load);
            let members = gpus.div_ceil(8);
            let pod = Pod {
                cpu_milli: 1000,
                memory_mib: 1024,
                gpu_count: gpus.min(8) as u8,
                gpu_milli: 1000,
                models: Models::ANY,
            };
            let pattern = if random.random_bool(0.3) { Pattern::AllToAll } else { Pattern::Ring };
            let job = Job {
                name: format!("job-{at}"),
                queue: QueueId(0),
                priority: 0,
                submitted: Moment::milliseconds((now * 3.6e6) as u64),
                need: Need { groups: vec![Group::rigid("worker", Ask::of(pod), members)], within: None },
                limit: Some(Period::from_hours(hours * 1.5)),
                preemptible: true,
                traffic: Some(Traffic { exposed_milli: 300, pattern }),
            };
            Load::of(job, Period::from_hours(hours))
        })
        .collect()
}

fn main() {
    let kind = NodeKind { cpu_milli: 128_000, memory_mib: 1 << 20, gpu_count: 8, model: 0 };
    for strategy in STRATEGIES {
        let mut p99: f64 = 0.0;
        let (mut jct, mut slow, mut wait, mut cross, begin) = (0.0, 0.0, 0.0, 0, Instant::now());
        for seed in 1..=10 {
            let cluster = Cluster::uniform("H100", kind.clone(), 64, 8, 4);
            let uplinks = Uplinks {
                node: Rate::from_gigabytes(400.0),
                leaf: Rate::from_gigabytes(800.0),
                spine: Rate::from_gigabytes(1600.0),
            };
            let setup = Setup {
                loads: loads(seed, 512.0, 0.9),
                speed: Box::new(Contention::new(uplinks)),
                ..Setup::default()
            };
            let world =
                World::new(Book::new(cluster, Vec::new()), Box::new(Planner::new(strategy, seed)), setup);
            let record = world.run();
            assert_eq!(record.totals.done_count, 2000, "{}", strategy.name);
            jct += record.totals.completion.mean.as_hours() / 10.0;
            p99 = p99.max(record.totals.queueing.p99.as_hours());
            wait += record.totals.queueing.mean.as_hours() / 10.0;
            slow += record.totals.slowdown_ratio / 10.0;
            cross += record.totals.cross_leaf_count;
        }
        println!(
            "{:26} mean completion {jct:.3} h  wait {wait:.3} h  p99 {p99:6.2} h  slowdown {slow:.4}  cross-leaf {cross:5}  {:.1} s",
            strategy.name,
            begin.elapsed().as_secs_f64()
        );
    }
}
