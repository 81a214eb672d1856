//! The time of training steps: each workload in its best layout on a candidate.

use std::cell::RefCell;
use std::collections::BTreeMap;

use weft_catalogue::{Catalogue, Machine, NetworkDesign};
use weft_predictor::train::{
    Asked, Candidate as Best, Found, Pricer, Search, Site, Timeline, TrainError, built_hosts,
};
use weft_workload::{Layout, Memory, Space};

use crate::candidate::Candidate;
use crate::performance::{NoStep, Performance, StepTime, WorkloadStep};
use crate::workload::Workload;

/// Times workloads by their weights.
pub struct Training<'w> {
    workloads: Vec<Workload<'w>>,
    /// Candidates whose machines are equal are timed once.
    known: RefCell<BTreeMap<String, Result<StepTime, NoStep>>>,
    /// Collectives on equal hosts, whatever joins them.
    asked: RefCell<BTreeMap<String, Asked>>,
}

impl<'w> Training<'w> {
    /// At least one workload.
    pub fn new(workloads: Vec<Workload<'w>>) -> Self {
        Self { workloads, known: RefCell::default(), asked: RefCell::default() }
    }

    fn find(&self, candidate: &Candidate, catalogue: &Catalogue) -> Result<StepTime, NoStep> {
        let machine = candidate.cluster(candidate.hosts);
        let asked = self.asked.borrow_mut().entry(hardware(&machine)).or_default().clone();
        let site = Site::with(&machine, catalogue, &asked).map_err(|error| none(&error))?;
        let weights: f64 = self.workloads.iter().map(|workload| workload.weight).sum();
        let mut steps = Vec::with_capacity(self.workloads.len());
        for workload in &self.workloads {
            let step = one(workload, &site, candidate.asked_gpus);
            let step = step.map_err(|none| none.of(&workload.words(), self.workloads.len()))?;
            steps.push(WorkloadStep { share: workload.weight / weights, ..step });
        }
        Ok(mean(steps))
    }
}

impl Performance for Training<'_> {
    fn what(&self) -> String {
        let total: f64 = self.workloads.iter().map(|workload| workload.weight).sum();
        let words = |workload: &Workload<'_>| {
            let share = 100.0 * workload.weight / total;
            if self.workloads.len() == 1 {
                workload.words()
            } else {
                format!("{} ({share:.0} % of tokens)", workload.words())
            }
        };
        let words: Vec<String> = self.workloads.iter().map(words).collect();
        format!("a step of {}", words.join(" and "))
    }

    fn step(&self, candidate: &Candidate, catalogue: &Catalogue) -> Result<StepTime, NoStep> {
        let key = key(candidate);
        if let Some(known) = self.known.borrow().get(&key) {
            return known.clone();
        }
        let step = self.find(candidate, catalogue);
        self.known.borrow_mut().insert(key, step.clone());
        step
    }
}

/// The step of a workload bar by bar, in the layout that was found for it.
pub fn timeline(
    workload: &Workload<'_>,
    step: &WorkloadStep,
    candidate: &Candidate,
    catalogue: &Catalogue,
) -> Result<Timeline, TrainError> {
    let site = Site::new(&candidate.cluster(candidate.hosts), catalogue)?;
    let Workload { model, framework, precision, .. } = workload;
    Pricer::new(&site, step.gpus, model, *precision, framework)?.timeline(&step.layout)
}

/// The best layout, of as many of the GPUs as can be used best.
fn one(workload: &Workload<'_>, site: &Site<'_>, asked: u32) -> Result<WorkloadStep, NoStep> {
    let mut best: Option<(u32, Best, Option<f64>)> = None;
    let mut missed: Option<Found> = None;
    for gpus in usable(site.gpus, asked, workload.batch) {
        let Workload { model, framework, precision, .. } = workload;
        let pricer = Pricer::new(site, gpus, model, *precision, framework).map_err(|error| none(&error))?;
        let batch = (workload.batch, workload.sequence_tokens);
        let space = Space::new(model, framework, gpus, batch, site.domain_of(gpus));
        let found = Search { keep: 1, prune: true }.run(&pricer, &space, |_| {});
        let mut found = found.map_err(|error| none(&error))?;
        let Some(first) = found.best.pop() else {
            let nearer = |old: &Found| least(&found) < least(old);
            if missed.as_ref().is_none_or(nearer) {
                missed = Some(found);
            }
            continue;
        };
        if best.as_ref().is_none_or(|(_, best, _)| first.time.seconds < best.time.seconds) {
            let peak = site.peak_flops(*precision);
            let mfu = peak.map(|peak| first.time.model_flops / first.time.seconds / f64::from(gpus) / peak);
            best = Some((gpus, first, mfu));
        }
    }
    let Some((gpus, best, mfu)) = best else {
        return Err(NoStep::Impossible(
            missed.map_or_else(String::new, |found| misfit(&found, site, workload)),
        ));
    };
    Ok(WorkloadStep {
        name: workload.words(),
        share: 1.0,
        gpus,
        seconds: best.time.seconds,
        low_seconds: best.time.low_s,
        high_seconds: best.time.high_s,
        token_count: workload.step_tokens(),
        mfu_share: mfu,
        layout: best.layout,
        memory: best.memory,
        gpu_bytes: site.gpu_bytes(),
        breakdown: best.time.breakdown,
    })
}

/// What a candidate's time depends on: its hosts, and of its network what the model of steps looks at.
fn key(candidate: &Candidate) -> String {
    let Candidate { network, hosts, asked_gpus, .. } = candidate;
    let narrow = network.as_ref().map(|network| {
        let rail_only = network.design == NetworkDesign::RailOnly;
        let tiers = weft_topology::narrow_tiers(network, *hosts, candidate.rails).unwrap_or_default();
        (rail_only, tiers)
    });
    format!("{hosts} {asked_gpus} {narrow:?} {} {}", network.is_some(), hardware(&candidate.cluster(*hosts)))
}

/// What collectives depend on.
fn hardware(machine: &Machine) -> String {
    let Machine { gpus, nics, pcie, fabric, bridges, host, .. } = machine;
    let host = weft_catalogue::Host { count: built_hosts(machine), ..host.clone() };
    format!("{gpus:?} {nics:?} {pcie:?} {fabric:?} {bridges:?} {host:?}")
}

/// GPUs that may train: all, those asked for, and the most that the batch divides over with common sizes of a model.
fn usable(all: u32, asked: u32, batch: u32) -> Vec<u32> {
    let mut sizes = vec![all, asked.min(all)];
    sizes.extend(crate::sizing::ladder().take_while(|size| *size <= all).last());
    // Copies that divide the batch, each of a power of two GPUs.
    let copies = (1..=batch).filter(|copies| batch.is_multiple_of(*copies) && *copies <= all);
    sizes.extend(
        copies
            .map(|copies| copies << (all / copies).ilog2())
            .filter(|size| *size != all && size * 8 >= all * 7)
            .max(),
    );
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes.dedup();
    sizes
}

/// A step of the mean of all tokens.
fn mean(steps: Vec<WorkloadStep>) -> StepTime {
    // Steps of each, so that tokens are shared as asked.
    let counts: Vec<f64> = steps.iter().map(|step| step.share / step.token_count).collect();
    let all: f64 = counts.iter().sum();
    let sum = |of: fn(&WorkloadStep) -> f64| {
        steps.iter().zip(&counts).map(|(step, count)| of(step) * count).sum::<f64>() / all
    };
    let longest =
        steps.iter().zip(&counts).max_by(|a, b| (a.0.seconds * a.1).total_cmp(&(b.0.seconds * b.1)));
    StepTime {
        seconds: sum(|step| step.seconds),
        low_seconds: sum(|step| step.low_seconds),
        high_seconds: sum(|step| step.high_seconds),
        bound_seconds: None,
        bound_by: longest.map_or_else(String::new, |(step, _)| step.bound_by().to_owned()),
        token_count: Some(sum(|step| step.token_count)),
        workloads: steps,
    }
}

fn none(error: &TrainError) -> NoStep {
    match error {
        TrainError::NoRate { .. } => NoStep::Impossible(format!("cannot run it: {error}")),
        TrainError::Layout(_)
        | TrainError::Collective(_)
        | TrainError::Machine(_)
        | TrainError::NoGpu
        | TrainError::CrossesRails { .. }
        | TrainError::TooLong { .. }
        | TrainError::TooFewGpus { .. } => NoStep::Unknown(error.to_string()),
    }
}

/// Bytes of the layout that needs least.
fn least(found: &Found) -> f64 {
    found.nearest.as_ref().map_or(f64::MAX, |(_, memory)| memory.total())
}

/// Why no layout is left.
fn misfit(found: &Found, site: &Site<'_>, workload: &Workload<'_>) -> String {
    match (&found.cut, &found.nearest) {
        (Some(cut), _) => format!("cannot run it: {cut}"),
        (None, Some((layout, memory))) => overflow(layout, memory, site.gpu_bytes()),
        (None, None) => {
            format!("cannot run it: no layout of {} GPUs takes a batch of {}", site.gpus, workload.batch)
        }
    }
}

/// `does not fit, by 11.0 GiB of 74.5 GiB a GPU: optimizer 40.1 GiB, …`.
fn overflow(layout: &Layout, memory: &Memory, capacity: f64) -> String {
    let size = |bytes: f64| format!("{:.1} GiB", bytes / f64::from(1 << 30));
    let mut parts = memory.parts();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let most: Vec<String> =
        parts.iter().take(2).map(|(what, bytes)| format!("{} of {what}", size(*bytes))).collect();
    let by = size(memory.total() - capacity);
    format!(
        "does not fit, by {by} of {} a GPU, because of {} in the least layout ({layout})",
        size(capacity),
        most.join(" and ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_batch_does_not_divide_over_is_left_idle() {
        // 15 racks of 72: 1,024 were asked for; 1,080 have no copies that divide 1,024.
        assert_eq!(usable(1080, 1024, 1024), [1080, 1024]);
        assert_eq!(usable(1024, 1024, 1024), [1024]);
        // 1,000 sequences: 125 copies of 8.
        assert_eq!(usable(1024, 1024, 1000), [1024, 1000]);
    }
}
