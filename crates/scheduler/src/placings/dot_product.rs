//! What is free against what is asked for: the smaller their product the better (Tetris, SIGCOMM'14, as FGD's study uses
//! it).

use super::{CPU_NORM, GPU_NORM, Place, Placing, Scorer, whole};
use crate::fleet::Pod;
use crate::room::Room;

/// The placing.
pub const PLACING: Placing = Placing {
    name: "dot-product",
    title: "the node where free and asked CPU and GPU have the smallest product",
    learns: false,
    scorer: |_| Box::new(DotProduct),
};

struct DotProduct;

impl Scorer for DotProduct {
    fn place(&mut self, room: &Room, pod: &Pod) -> Place {
        Place::fullest(room, pod, score(room, pod))
    }
}

fn score(room: &Room, pod: &Pod) -> f32 {
    let cpu = f64::from(room.cpu_milli) * f64::from(pod.cpu_milli) / (CPU_NORM * CPU_NORM);
    let gpu = f64::from(room.gpu_milli()) * f64::from(pod.asked_milli()) / (GPU_NORM * GPU_NORM);
    whole(100.0 * (1.0 - f64::midpoint(cpu, gpu)))
}
