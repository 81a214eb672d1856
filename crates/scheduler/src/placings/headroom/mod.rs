//! Ours: where the room for usual pods shrinks least, with room held back for pods that fit in few places.
//!
//! Three parts, each with its constants below:
//! 1. How many more of each usual pod a node could hold, by a concave count: the last place for a kind of pod is worth
//!    more than the tenth. Larger pods weigh more.
//! 2. What is left of each GPU, by the share of usual pods that could use it, again concave: what few can use is almost
//!    as good as what many can, what nobody can use is lost.
//! 3. Nodes on which a pod of eight GPUs still fits, and GPU models that some pods are bound to, cost those that could go
//!    elsewhere as soon as the pods still to be expected would need all of them (`Reserve`).

mod reserve;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use super::{Place, Placing, Scorer, Setting};
use crate::fleet::{Pod, WHOLE_MILLI};
use crate::room::{Held, Room};

pub use reserve::{Charges, Reserve, Stock};

/// The placing.
pub const PLACING: Placing = Placing {
    name: "headroom",
    title: "ours: the node where room for usual pods shrinks least; room that is scarce is held back",
    learns: true,
    scorer: |setting| Box::new(Headroom { setting, known: IndexMap::default() }),
};

/// How concave the count of further pods is: 1 counts each alike.
const COUNT_EXPONENT: f64 = 0.7;
/// How much more a larger pod weighs, as a power of its GPUs.
const SIZE_EXPONENT: f64 = 0.7;
/// How much what is left of a GPU weighs beside the count.
const LEFT_FACTOR: f64 = 2.0;
/// How concave the share of pods is that could use what is left.
const LEFT_EXPONENT: f64 = 0.1;
/// Rooms that are remembered; more and all are worked out anew.
const KNOWN_MOST: usize = 1 << 20;

struct Headroom {
    setting: Setting,
    known: IndexMap<Room, f64, FxBuildHasher>,
}

impl Headroom {
    /// What the room is worth, in a unit of its own.
    fn worth(&mut self, room: &Room) -> f64 {
        let key = Room { held: Held::default(), ..*room };
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let found = self.work_out(room);
        if self.known.len() >= KNOWN_MOST {
            self.known.clear();
        }
        self.known.insert(key, found);
        found
    }

    fn work_out(&self, room: &Room) -> f64 {
        let fleet = &self.setting.fleet;
        let (mut worth, mut total) = (0.0, 0.0);
        let mut users = [0.0; crate::fleet::GPUS_MOST];
        for (pod, share) in self.setting.typical.most.iter().filter(|(pod, _)| pod.gpu_count > 0) {
            total += share;
            let count = room.count(pod, fleet);
            if count == 0 {
                continue;
            }
            let size = libm::pow(f64::from(pod.asked_milli()) / 1000.0, SIZE_EXPONENT);
            worth += share * size * libm::pow(f64::from(count), COUNT_EXPONENT);
            let least = if pod.gpu_count > 1 { WHOLE_MILLI } else { pod.gpu_milli };
            for (users, free) in users.iter_mut().zip(room.gpus_milli) {
                *users += if free >= least { *share } else { 0.0 };
            }
        }
        let left = users.iter().zip(room.gpus_milli).filter(|(users, _)| **users > 0.0);
        let left: f64 = left
            .map(|(users, free)| f64::from(free) / 1000.0 * libm::pow(users / total, LEFT_EXPONENT))
            .sum();
        worth + LEFT_FACTOR * left
    }
}

impl Scorer for Headroom {
    #[expect(clippy::cast_possible_truncation, reason = "single precision tells rooms apart")]
    fn place(&mut self, room: &Room, pod: &Pod) -> Place {
        let before = self.worth(room);
        Place::best(room, pod, |left| (self.worth(left) - before) as f32)
    }

    fn reserve(&self) -> Option<Reserve> {
        Some(Reserve::new(&self.setting))
    }
}
