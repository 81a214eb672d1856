//! Studies of policies: played on all cores, and as text.

mod text;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use weft_scheduler::study::{Run, Study, halves};
use weft_scheduler::{Fleet, Placing, Pod, Typical};

pub use text::{average, text};

/// Pods of one table.
pub struct Trace {
    /// What the table is called.
    pub name: String,
    /// The pods.
    pub pods: Vec<Pod>,
}

/// What policies learn the usual pods from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Learn {
    /// All pods of the trace.
    All,
    /// One half; the other comes.
    Half,
}

/// What is played.
pub struct Plan<'p> {
    /// The nodes.
    pub fleet: &'p Fleet,
    /// The pods that come.
    pub traces: &'p [Trace],
    /// The policies.
    pub policies: &'p [&'static Placing],
    /// Orders of arrivals.
    pub seed_count: u64,
    /// The first of their seeds.
    pub first_seed: u64,
    /// What is known of the pods.
    pub learn: Learn,
}

/// One trace under one policy.
pub struct Outcome<'p> {
    /// The trace.
    pub trace: &'p str,
    /// The policy.
    pub policy: &'static Placing,
    /// All orders.
    pub runs: Vec<Run>,
}

/// Plays every trace under every policy, as many at once as there are cores; the order of the outcomes is the plan's.
pub fn play<'p>(plan: &Plan<'p>) -> Vec<Outcome<'p>> {
    let work: Vec<(&Trace, &'static Placing)> = plan
        .traces
        .iter()
        .flat_map(|trace| plan.policies.iter().map(move |policy| (trace, *policy)))
        .collect();
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let cores = thread::available_parallelism().map_or(1, usize::from).min(work.len());
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some((trace, policy)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let runs = runs(plan, trace, policy);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push(Outcome {
                        trace: &trace.name,
                        policy,
                        runs,
                    });
                }
            });
        }
    });
    let mut outcomes = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    let place = |outcome: &Outcome<'_>| {
        work.iter()
            .position(|(trace, policy)| trace.name == outcome.trace && policy.name == outcome.policy.name)
    };
    outcomes.sort_by_key(place);
    outcomes
}

fn runs(plan: &Plan<'_>, trace: &Trace, policy: &'static Placing) -> Vec<Run> {
    let seeds = plan.first_seed..plan.first_seed.saturating_add(plan.seed_count);
    match plan.learn {
        Learn::All => {
            let typical = Typical::of(&trace.pods);
            Study { fleet: plan.fleet, pods: &trace.pods, typical: &typical, policy }.runs(seeds)
        }
        Learn::Half => {
            let one = |seed: u64| {
                let (learnt, pods) = halves(&trace.pods, seed);
                let typical = Typical::of(&learnt);
                Study { fleet: plan.fleet, pods: &pods, typical: &typical, policy }
                    .runs(seed..seed.saturating_add(1))
            };
            seeds.flat_map(one).collect()
        }
    }
}
