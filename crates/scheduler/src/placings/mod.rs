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
pub struct Placing {
    /// What it is called.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub title: &'static str,
    /// Makes one for a cluster.
    pub scorer: for<'s> fn(Setting<'s>) -> Box<dyn Scorer + 's>,
}

/// All of them.
pub const PLACINGS: &[Placing] = &[
    random::PLACING,
    dot_product::PLACING,
    gpu_clustering::PLACING,
    gpu_packing::PLACING,
    best_fit::PLACING,
    fgd::PLACING,
    headroom::PLACING,
];

impl Placing {
    /// The policy of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        PLACINGS.iter().find(|policy| policy.name == name)
    }
}

/// Says how good a node is for a pod.
pub trait Scorer {
    /// Where on the node the pod goes, and how good that is; asked only where the pod fits, and again only when the
    /// node has changed.
    fn place(&mut self, room: &Room, pod: &Pod) -> Place;

    /// Whether any node on which a pod fits is as good as any other, and any GPU.
    fn is_random(&self) -> bool {
        false
    }

    /// What is held back for pods still to come, if the policy holds anything back.
    fn reserve(&self) -> Option<Reserve> {
        None
    }
}

/// A pod on a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// The GPU of a pod of one GPU, by place in `Room::gpus_milli`; 0 for other pods.
    pub gpu: usize,
    /// How good the node is for it: higher is better.
    pub value: f32,
}

impl Place {
    /// On the fullest GPU on which the pod fits.
    fn fullest(room: &Room, pod: &Pod, value: f32) -> Self {
        Self { gpu: room.choices(pod).next().unwrap_or(0), value }
    }

    /// On the GPU where the room that is left has the best score, the first among equals.
    fn best(room: &Room, pod: &Pod, mut score: impl FnMut(&Room) -> f32) -> Self {
        let mut best = Self { gpu: 0, value: f32::NEG_INFINITY };
        for gpu in room.choices(pod) {
            let found = score(&room.with(pod, gpu));
            if found > best.value {
                best = Self { gpu, value: found };
            }
        }
        best
    }
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
