//! How long the Philly trace takes under each strategy, and what comes out:
//! `cargo run --release -p weft-scheduler --example philly -- ../shared/traces/philly/philly.csv 80 required fifo best-fit`.

#![expect(clippy::disallowed_methods, clippy::print_stdout, reason = "a benchmark")]

use std::time::Instant;

use weft_base::Period;
use weft_formats::traces;
use weft_scheduler::book::Book;
use weft_scheduler::philly::{Locality, clusters};
use weft_scheduler::planner::Planner;
use weft_scheduler::strategies::STRATEGIES;
use weft_scheduler::world::{JobRecord, Load, Setup, World};

/// The mean wait of jobs of which `of` holds.
fn mean_wait(jobs: &[JobRecord], of: impl Fn(&JobRecord) -> bool) -> Period {
    let waits: Vec<Period> = jobs.iter().filter(|job| of(job)).filter_map(JobRecord::first_wait).collect();
    let sum: Period = waits.iter().copied().sum();
    Period::milliseconds(sum.get() / (waits.len() as u64).max(1))
}

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, size, locality, names @ ..] = &arguments[..] else {
        return Err("give the trace, the size in percent, `required` or `relaxed`, and strategies".to_owned());
    };
    let text = std::fs::read_to_string(path).map_err(|error| format!("failed to read {path}: {error}"))?;
    let size_percent: u32 = size.parse().map_err(|error| format!("failed to read the size: {error}"))?;
    let locality = if locality == Locality::Relaxed.word() { Locality::Relaxed } else { Locality::Required };
    let clusters = clusters(traces::philly(path, &text).rows);
    println!("strategy        seconds   waiting  mean wait of 1 GPU  of more than 4");
    for strategy in
        STRATEGIES.iter().filter(|one| names.is_empty() || names.iter().any(|name| name == one.name))
    {
        let (begun, mut jobs) = (Instant::now(), Vec::new());
        for cluster in &clusters {
            let loads = cluster.jobs(locality).map(|(job, work)| Load::of(job, work)).collect();
            let book = Book::new(cluster.nodes(size_percent), Vec::new());
            let policy = Box::new(Planner::new(strategy, 1));
            jobs.extend(World::new(book, policy, Setup { loads, ..Setup::default() }).run().jobs);
        }
        let waiting = jobs.iter().filter(|job| job.started.is_none()).count();
        println!(
            "{:<15} {:>7.2} {waiting:>9}  {:>18}  {:>14}",
            strategy.name,
            begun.elapsed().as_secs_f64(),
            mean_wait(&jobs, |job| job.gpu_milli == 1000).to_string(),
            mean_wait(&jobs, |job| job.gpu_milli > 4000).to_string(),
        );
    }
    Ok(())
}
