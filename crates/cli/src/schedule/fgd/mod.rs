//! The study of FGD: every trace under every policy, and as text.

mod text;

use weft_scheduler::study::{Run, Study, halves};
use weft_scheduler::{Fleet, Placing, Pod, Typical};

pub use text::{average, text};

use super::each;

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

/// Plays every trace under every policy.
pub fn play<'p>(plan: &Plan<'p>) -> Vec<Outcome<'p>> {
    let work: Vec<(&Trace, &'static Placing)> = plan
        .traces
        .iter()
        .flat_map(|trace| plan.policies.iter().map(move |policy| (trace, *policy)))
        .collect();
    each(&work, |(trace, policy)| Outcome { trace: &trace.name, policy, runs: runs(plan, trace, policy) })
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
