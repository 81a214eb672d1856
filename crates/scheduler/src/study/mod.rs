//! The study of FGD (Weng et al., ATC'23): pods come in random order and stay, until more has been asked for than there
//! is; what of the GPUs is then allocated?
//!
//! A policy decides at once, one pod at a time, without knowledge of later ones. A pod that fits somewhere is placed, one
//! that fits nowhere is dropped, none moves.

mod run;

use std::sync::Arc;

use rand::seq::SliceRandom as _;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::fleet::{Fleet, Pod, Typical};
use crate::placings::{Placing, Setting};

use run::Runner;

/// Thousandths of GPUs are asked for until they are this many percent of those that there are.
pub const LAST_PERCENT: u32 = 130;
/// Percent asked for at which a run is looked at.
pub const PERCENTS: [u32; 12] = [80, 85, 90, 92, 94, 95, 96, 98, 100, 110, 120, 130];

/// One trace under one policy.
#[derive(Clone, Copy)]
pub struct Study<'s> {
    /// The nodes.
    pub fleet: &'s Fleet,
    /// The pods that come, in any order.
    pub pods: &'s [Pod],
    /// What the policy knows of them.
    pub typical: &'s Typical,
    /// The policy.
    pub policy: &'static Placing,
}

/// One order of arrivals.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// What its order comes from.
    pub seed: u64,
    /// Percent of GPUs that are not allocated, at each of `PERCENTS`.
    pub unallocated_percent: Vec<f64>,
    /// Pods that fit nowhere.
    pub dropped_count: u32,
    /// Those of them that asked for eight GPUs, until as much was asked for as there is.
    pub dropped_large_count: u32,
}

/// A mean over seeds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    /// The mean.
    pub mean_percent: f64,
    /// The standard deviation of the population.
    pub deviation_percent: f64,
}

impl Study<'_> {
    /// Plays one order after the other.
    pub fn runs(&self, seeds: impl Iterator<Item = u64>) -> Vec<Run> {
        let (fleet, typical) = (Arc::new(self.fleet.clone()), Arc::new(self.typical.clone()));
        let setting = Setting { fleet, typical };
        let mut runner = Runner::new(self, (self.policy.scorer)(setting));
        seeds.map(|seed| runner.run(seed)).collect()
    }
}

/// Of all runs, at `PERCENTS[at]`.
pub fn mean(runs: &[Run], at: usize) -> Mean {
    let values: Vec<f64> = runs.iter().map(|run| run.unallocated_percent[at]).collect();
    let count = runs.iter().map(|_| 1.0).sum::<f64>().max(1.0);
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count;
    Mean { mean_percent: mean, deviation_percent: variance.sqrt() }
}

/// Random numbers of a seed: the order of pods, the order in which equal nodes are taken, and what is drawn.
fn random(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// Numbers of pods in the order in which they come: all once, then some again until enough is asked for.
fn arrivals(pods: &[Pod], wanted_milli: u64, random: &mut ChaCha8Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..pods.len()).collect();
    order.shuffle(random);
    let mut asked: u64 = pods.iter().map(|pod| u64::from(pod.asked_milli())).sum();
    // Pods that ask for nothing would come for ever.
    while asked > 0 && asked < wanted_milli {
        let again = random.random_range(0..pods.len());
        asked += u64::from(pods[again].asked_milli());
        order.push(again);
    }
    order
}

/// Every second pod of a shuffled list, and the others: to learn from one half and try on the other.
pub fn halves(pods: &[Pod], seed: u64) -> (Vec<Pod>, Vec<Pod>) {
    let mut order: Vec<&Pod> = pods.iter().collect();
    order.shuffle(&mut random(seed));
    let half = order.len() / 2;
    (
        order[..half].iter().map(|pod| (*pod).clone()).collect(),
        order[half..].iter().map(|pod| (*pod).clone()).collect(),
    )
}

#[cfg(test)]
mod tests;
