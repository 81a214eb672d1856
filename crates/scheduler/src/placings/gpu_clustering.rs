//! Pods beside pods of their own kind (Gandiva, OSDI'18, as FGD's study uses it).

use super::{Place, Placing, Scorer};
use crate::fleet::Pod;
use crate::room::{Held, Room};

/// The placing.
pub const PLACING: Placing = Placing {
    name: "gpu-clustering",
    title: "nodes that hold pods of as many GPUs, the fullest first",
    learns: false,
    scorer: |_| Box::new(Clustering),
};

struct Clustering;

impl Scorer for Clustering {
    fn place(&mut self, room: &Room, pod: &Pod) -> Place {
        Place::fullest(room, pod, score(room, pod))
    }
}

fn score(room: &Room, pod: &Pod) -> f32 {
    let kind = Held::of(pod);
    if kind == Held::default() {
        return 0.0;
    }
    let company = match room.held {
        held if held == kind => 75,
        held if held.0 & kind.0 != 0 => 50,
        Held(0) => 25,
        Held(_) => 0,
    };
    let fullness = 25 * (8000 - room.gpu_milli()) / 8000;
    super::whole(f64::from(company + fullness))
}
