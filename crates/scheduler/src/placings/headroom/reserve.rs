//! Room that is held back: whole nodes for pods of eight GPUs, and GPU models for pods that are bound to them.

use crate::fleet::{Fleet, LARGE_COUNT, Models, Pod};
use crate::placings::Setting;
use crate::room::Room;

/// Kinds of large pods that are told apart; more are merged.
const LARGE_MOST: usize = 8;
/// What a large pod's last place costs: more than any room is worth.
const PLACE_CHARGE: f64 = 50.0;
/// Places held beyond those expected, in standard deviations of their number.
const PLACE_DEVIATIONS: f64 = 2.0;
/// How fast the charge sets in, in places.
const PLACE_WIDTH: f64 = 0.5;
/// What a GPU of a scarce model costs those who are not bound to it.
const MODEL_CHARGE: f64 = 2.0;
/// How much of a model's free GPUs pods can be expected to fill.
const MODEL_FILLED: f64 = 0.97;
/// How fast the charge sets in, as a share of what is free.
const MODEL_WIDTH: f64 = 0.05;

/// What is scarce, by the pods that are usual.
#[derive(Debug, Clone, PartialEq)]
pub struct Reserve {
    /// Large pods, the largest first, each with the share of pods that are at least as large.
    large: Vec<(Pod, f64)>,
    /// Models that some pods are bound to, with thousandths of a GPU that a pod asks of them on average.
    bound: Vec<(Models, f64)>,
    mean_milli: f64,
}

/// What there still is of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Stock {
    /// Nodes that have a place for each kind of large pod.
    places: Vec<f64>,
    /// Thousandths of GPUs of each model.
    free_milli: Vec<f64>,
}

/// What placing a pod costs beside what its room is worth.
#[derive(Debug, Clone, PartialEq)]
pub struct Charges {
    /// By the places that a node loses, as bits.
    by_lost: Vec<f32>,
    /// By the node's model.
    by_model: Vec<f32>,
}

impl Charges {
    /// For a node of `model` that loses `lost`.
    pub fn of(&self, lost: u8, model: u8) -> f32 {
        self.by_lost[usize::from(lost)] + self.by_model[usize::from(model)]
    }
}

impl Reserve {
    /// By what pods are usual.
    pub fn new(setting: &Setting) -> Self {
        let (typical, fleet) = (&setting.typical, &setting.fleet);
        Self {
            large: large(&typical.all),
            bound: bound(&typical.all, fleet),
            mean_milli: typical.mean_milli(),
        }
    }

    /// What an empty or used cluster has.
    pub fn stock<'r>(&self, rooms: impl Iterator<Item = &'r Room> + Clone, fleet: &Fleet) -> Stock {
        let places = self.large.iter().map(|(pod, _)| {
            let with = rooms.clone().filter(|room| room.fits(pod, fleet));
            with.map(|_| 1.0).sum()
        });
        let mut free_milli = vec![0.0; fleet.models.len()];
        let places = places.collect();
        for room in rooms {
            free_milli[usize::from(fleet.kinds[room.kind].model)] += f64::from(room.gpu_milli());
        }
        Stock { places, free_milli }
    }

    /// Places for large pods that a node loses to a pod that is smaller than them, as bits.
    pub fn lost(&self, before: &Room, after: &Room, pod: &Pod, fleet: &Fleet) -> u8 {
        let large = |other: &Pod| pod.gpu_count == LARGE_COUNT && pod.cpu_milli >= other.cpu_milli;
        let lost = |other: &Pod| !large(other) && before.fits(other, fleet) && !after.fits(other, fleet);
        self.large.iter().rev().fold(0, |bits, (other, _)| bits << 1 | u8::from(lost(other)))
    }

    /// Takes a pod off the stock.
    pub fn take(&self, stock: &mut Stock, before: &Room, after: &Room, fleet: &Fleet) {
        for ((pod, _), places) in self.large.iter().zip(&mut stock.places) {
            if before.fits(pod, fleet) && !after.fits(pod, fleet) {
                *places -= 1.0;
            }
        }
        let taken = before.gpu_milli() - after.gpu_milli();
        stock.free_milli[usize::from(fleet.kinds[before.kind].model)] -= f64::from(taken);
    }

    /// What `pod` is charged while `coming_gpu_count` GPUs are still expected to be asked for.
    #[expect(clippy::cast_possible_truncation, reason = "charges are small")]
    pub fn charges(&self, stock: &Stock, pod: &Pod, coming_gpu_count: f64) -> Charges {
        let coming_count = 1000.0 * coming_gpu_count / self.mean_milli.max(1.0);
        let each: Vec<f32> = self
            .large
            .iter()
            .zip(&stock.places)
            .map(|((_, share), places)| {
                let expected = coming_count * share;
                let short = expected + PLACE_DEVIATIONS * expected.sqrt() - places;
                (PLACE_CHARGE * rising(short / PLACE_WIDTH)) as f32
            })
            .collect();
        let most = |bits: usize| {
            let set = each.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
            set.map(|(_, charge)| *charge).fold(0.0, f32::max)
        };
        let by_lost = (0..1 << each.len()).map(most).collect();
        let mut by_model = vec![0.0f32; stock.free_milli.len()];
        for (models, asked) in
            self.bound.iter().filter(|(models, _)| pod.gpu_count > 0 && !pod.models.within(*models))
        {
            let holds = |at: &usize| models.0 >> at & 1 == 1;
            let free: f64 = (0..by_model.len()).filter(holds).map(|at| stock.free_milli[at]).sum();
            let short = coming_count * asked / (MODEL_FILLED * free + 1.0) - 1.0;
            let charge = MODEL_CHARGE * f64::from(pod.asked_milli()) / 1000.0 * rising(short / MODEL_WIDTH);
            (0..by_model.len()).filter(holds).for_each(|at| by_model[at] = by_model[at].max(charge as f32));
        }
        Charges { by_lost, by_model }
    }
}

/// From 0 to 1, a half at 0.
fn rising(at: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-at))
}

/// Pods of eight GPUs by CPU, the most first; neighbours are merged where there are too many kinds.
fn large(all: &[(Pod, f64)]) -> Vec<(Pod, f64)> {
    let mut kinds: Vec<(Pod, f64)> = Vec::new();
    for (pod, share) in all.iter().filter(|(pod, _)| pod.gpu_count == LARGE_COUNT) {
        match kinds.iter_mut().find(|(known, _)| known.cpu_milli == pod.cpu_milli) {
            Some((known, sum)) => {
                *sum += share;
                known.memory_mib = known.memory_mib.max(pod.memory_mib);
            }
            None => kinds.push((Pod { models: Models::ANY, ..pod.clone() }, *share)),
        }
    }
    kinds.sort_by_key(|(pod, _)| std::cmp::Reverse(pod.cpu_milli));
    let total: f64 = kinds.iter().map(|(_, share)| share).sum();
    let merged = if kinds.len() <= LARGE_MOST { 0.0 } else { total / 7.0 };
    let (mut found, mut sum, mut since) = (Vec::new(), 0.0, 0.0);
    let last = kinds.len();
    for (number, (pod, share)) in (1..).zip(kinds) {
        sum += share;
        since += share;
        if since >= merged || number == last {
            found.push((pod, sum));
            since = 0.0;
        }
    }
    found.truncate(LARGE_MOST);
    found
}

/// Sets of models that pods are bound to, and what two of them are together.
fn bound(all: &[(Pod, f64)], fleet: &Fleet) -> Vec<(Models, f64)> {
    let every = (1u32 << fleet.models.len()) - 1;
    let with_gpu = || all.iter().filter(|(pod, _)| pod.gpu_count > 0);
    let own: Vec<u32> = with_gpu().map(|(pod, _)| pod.models.0 & every).filter(|set| *set != every).collect();
    let mut sets: Vec<u32> = own.iter().flat_map(|a| own.iter().map(move |b| a | b)).collect();
    sets.sort_unstable();
    sets.dedup();
    sets.retain(|set| *set != every && *set != 0);
    let asked = |set: u32| {
        let those = with_gpu().filter(|(pod, _)| pod.models.0 & every & !set == 0);
        those.map(|(pod, share)| share * f64::from(pod.asked_milli())).sum()
    };
    sets.into_iter().map(|set| (Models(set), asked(set))).collect()
}
