//! Any node that fits.

use super::{Place, Placing, Scorer};
use crate::fleet::Pod;
use crate::room::Room;

/// The placing.
pub const PLACING: Placing = Placing {
    name: "random",
    title: "any node that fits, and any GPU",
    learns: false,
    scorer: |_| Box::new(Random),
};

struct Random;

impl Scorer for Random {
    fn place(&mut self, room: &Room, pod: &Pod) -> Place {
        Place::fullest(room, pod, 0.0)
    }

    fn is_random(&self) -> bool {
        true
    }
}
