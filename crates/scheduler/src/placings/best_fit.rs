//! The node that is left with the least.

use super::{CPU_NORM, GPU_NORM, Place, Placing, Scorer, whole};
use crate::fleet::Pod;
use crate::room::Room;

/// The placing.
pub const PLACING: Placing = Placing {
    name: "best-fit",
    title: "the node that is left with the least CPU and GPU",
    learns: false,
    scorer: |_| Box::new(BestFit),
};

struct BestFit;

impl Scorer for BestFit {
    fn place(&mut self, room: &Room, pod: &Pod) -> Place {
        Place::fullest(room, pod, score(room, pod))
    }
}

fn score(room: &Room, pod: &Pod) -> f32 {
    let cpu = f64::from(room.cpu_milli - pod.cpu_milli) / CPU_NORM;
    let gpu = f64::from(room.gpu_milli() - pod.asked_milli()) / GPU_NORM;
    whole(100.0 * (1.0 - 0.5 * cpu - 0.5 * gpu))
}
