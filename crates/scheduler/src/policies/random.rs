//! Any node that fits.

use super::{Policy, Scorer};
use crate::fleet::Pod;
use crate::room::Room;

pub const POLICY: Policy =
    Policy { name: "random", title: "any node that fits, and any GPU", scorer: |_| Box::new(Random) };

struct Random;

impl Scorer for Random {
    fn score(&mut self, _: &Room, _: &Pod) -> f32 {
        0.0
    }

    fn is_random(&self) -> bool {
        true
    }
}
