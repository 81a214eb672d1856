//! Policies, one file each: where a pod goes.

mod best_fit;
mod dot_product;
mod fgd;
mod gpu_clustering;
mod gpu_packing;
mod headroom;
mod random;

use crate::fleet::{Fleet, Pod, Typical};
use crate::room::Room;

pub use headroom::{Charges, Reserve, Stock};

/// What a policy may know beforehand.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'s> {
    /// The nodes.
    pub fleet: &'s Fleet,
    /// What pods are usual.
    pub typical: &'s Typical,
}

/// A policy.
pub struct Policy {
    /// What it is called.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub title: &'static str,
    /// Makes one for a cluster.
    pub scorer: for<'s> fn(Setting<'s>) -> Box<dyn Scorer + 's>,
}

/// All of them.
pub const POLICIES: &[Policy] = &[
    random::POLICY,
    dot_product::POLICY,
    gpu_clustering::POLICY,
    gpu_packing::POLICY,
    best_fit::POLICY,
    fgd::POLICY,
    headroom::POLICY,
];

impl Policy {
    /// The policy of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        POLICIES.iter().find(|policy| policy.name == name)
    }
}

/// Says how good a node is for a pod.
pub trait Scorer {
    /// Higher is better; asked only where the pod fits, and again only when the node has changed.
    fn score(&mut self, room: &Room, pod: &Pod) -> f32;

    /// The GPU for a pod of one GPU: the fullest on which it fits.
    fn gpu(&mut self, room: &Room, pod: &Pod) -> usize {
        room.choices(pod).next().unwrap_or(0)
    }

    /// Whether any node on which a pod fits is as good as any other, and any GPU.
    fn is_random(&self) -> bool {
        false
    }

    /// What is held back for pods still to come, if the policy holds anything back.
    fn reserve(&self) -> Option<Reserve> {
        None
    }
}

/// The GPU on which the room that is left has the best score, the first among equals, and the score.
fn best(room: &Room, pod: &Pod, mut score: impl FnMut(&Room) -> f32) -> (usize, f32) {
    let mut best = (0, f32::NEG_INFINITY);
    for at in room.choices(pod) {
        let found = score(&room.with(pod, at));
        if found > best.1 {
            best = (at, found);
        }
    }
    best
}

/// Thousandths of a core that counts as one, in scores.
const CPU_NORM: f64 = 128_000.0;
/// Thousandths of GPUs that count as one, in scores.
const GPU_NORM: f64 = 8000.0;

/// Scores are whole numbers, as those of Kubernetes are: what is cut off decides ties.
#[expect(clippy::cast_possible_truncation, reason = "scores are small")]
fn whole(score: f64) -> f32 {
    score.trunc() as f32
}

#[cfg(test)]
mod tests;
