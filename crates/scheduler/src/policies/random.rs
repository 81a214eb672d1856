//! Any node that fits.

use super::{Place, Policy, Scorer};
use crate::fleet::Pod;
use crate::room::Room;

pub const POLICY: Policy =
    Policy { name: "random", title: "any node that fits, and any GPU", scorer: |_| Box::new(Random) };

struct Random;

impl Scorer for Random {
    fn place(&mut self, room: &Room, pod: &Pod) -> Place {
        Place::fullest(room, pod, 0.0)
    }

    fn is_random(&self) -> bool {
        true
    }
}
