//! Policies, one file each: where a pod goes.

mod best_fit;
mod dot_product;
mod fgd;
mod gpu_clustering;
mod gpu_packing;
mod headroom;
mod random;
mod spread;

use std::sync::Arc;

use crate::fleet::{Fleet, Pod, Typical};
use crate::room::Room;

pub use best_fit::PLACING as BEST_FIT;
pub use dot_product::PLACING as DOT_PRODUCT;
pub use fgd::PLACING as FGD;
pub use gpu_clustering::PLACING as GPU_CLUSTERING;
pub use gpu_packing::PLACING as GPU_PACKING;
pub use headroom::PLACING as HEADROOM;
pub use random::PLACING as RANDOM;
pub use spread::PLACING as SPREAD;

pub use headroom::{Charges, Reserve, Stock};

/// What a placing may know beforehand.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The nodes.
    pub fleet: Arc<Fleet>,
    /// What pods are usual.
    pub typical: Arc<Typical>,
}

/// A policy.
pub struct Placing {
    /// What it is called.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub title: &'static str,
    /// Whether it looks at what pods are usual.
    pub learns: bool,
    /// Makes one for a cluster.
    pub scorer: fn(Setting) -> Box<dyn Scorer>,
}

/// Those that the study of fragmentation compares.
pub const PLACINGS: &[Placing] = &[RANDOM, DOT_PRODUCT, GPU_CLUSTERING, GPU_PACKING, BEST_FIT, FGD, HEADROOM];

impl Placing {
    /// The policy of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        PLACINGS.iter().find(|policy| policy.name == name)
    }
}

/// Says how good a node is for a pod.
pub trait Scorer: Send {
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
