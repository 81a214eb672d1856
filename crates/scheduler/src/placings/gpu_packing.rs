//! GPUs that are in use first, then nodes that are (Li et al., as FGD's study uses it).

use super::{Place, Placing, Scorer, whole};
use crate::fleet::{Pod, WHOLE_MILLI};
use crate::room::Room;

/// The placing.
pub const PLACING: Placing = Placing {
    name: "gpu-packing",
    title: "GPUs that are in use before free ones, used nodes before empty ones",
    learns: false,
    scorer: |_| Box::new(Packing),
};

struct Packing;

impl Scorer for Packing {
    fn place(&mut self, room: &Room, pod: &Pod) -> Place {
        Place::fullest(room, pod, score(room, pod))
    }
}

fn score(room: &Room, pod: &Pod) -> f32 {
    if pod.gpu_count == 0 {
        return 0.0;
    }
    let used = room.gpus_milli.iter().filter(|gpu| **gpu > 0 && **gpu < WHOLE_MILLI).count();
    // A GPU that is full is used too, and no longer seen among those with room: the node was touched then.
    let untouched = used == 0 && room.held.0 == 0;
    let gpu_count = room.whole_count();
    if untouched {
        return whole(f64::from((33 - gpu_count.min(33)).max(gpu_count)));
    }
    let taken: Vec<u16> = match pod.gpu_count {
        1 => room.choices(pod).next().map(|at| room.gpus_milli[at]).into_iter().collect(),
        count => vec![WHOLE_MILLI; usize::from(count)],
    };
    let free = u32::try_from(taken.iter().filter(|gpu| **gpu == WHOLE_MILLI).count()).unwrap_or(0);
    if free > 0 {
        return whole(f64::from((50 - free.min(50)).max(33)));
    }
    let percents: u32 = taken.iter().map(|gpu| u32::from(*gpu) / 10).sum();
    whole(f64::from((100 - (percents / 10).min(100)).max(50)))
}
