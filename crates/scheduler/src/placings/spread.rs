//! Load balancing: the node of which least is in use.

use super::{Place, Placing, Scorer};
use crate::fleet::Pod;
use crate::room::Room;

/// The placing.
pub const PLACING: Placing = Placing {
    name: "spread",
    title: "the node of which most is free, and on it the emptiest GPU",
    learns: false,
    scorer: |setting| Box::new(Spread { kinds: setting.fleet.kinds.clone() }),
};

struct Spread {
    kinds: Vec<crate::fleet::NodeKind>,
}

impl Scorer for Spread {
    #[expect(clippy::cast_possible_truncation, reason = "shares of a node")]
    fn place(&mut self, room: &Room, pod: &Pod) -> Place {
        let kind = &self.kinds[room.kind];
        let share = |free: u32, all: u32| if all == 0 { 0.0 } else { f64::from(free) / f64::from(all) };
        let cpu = share(room.cpu_milli, kind.cpu_milli);
        let gpu = share(room.gpu_milli(), u32::from(kind.gpu_count) * 1000);
        // What the pod asks for counts: GPUs for pods with GPUs.
        let value = if pod.gpu_count == 0 { cpu } else { gpu };
        let emptiest = room.choices(pod).last().unwrap_or(0);
        Place { gpu: emptiest, value: value as f32 }
    }
}
