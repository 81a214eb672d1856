//! Fragmentation gradient descent (Weng et al., ATC'23): the node where what usual pods cannot use grows least.

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use super::{Place, Placing, Scorer, Setting, whole};
use crate::fleet::{Pod, WHOLE_MILLI};
use crate::room::{Held, Room};

/// The placing.
pub const PLACING: Placing = Placing {
    name: "fgd",
    title: "the node where GPU that usual pods cannot use grows least",
    learns: true,
    scorer: |setting| Box::new(Fgd { setting, known: IndexMap::default() }),
};

struct Fgd {
    setting: Setting,
    known: IndexMap<Room, f64, FxBuildHasher>,
}

impl Fgd {
    /// Thousandths of the node's GPUs that a usual pod cannot use, on average. Memory is not looked at.
    fn fragment(&mut self, room: &Room) -> f64 {
        let key = Room { memory_mib: 0, held: Held::default(), ..*room };
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let found =
            self.setting.typical.most.iter().map(|(pod, share)| share * self.unusable(room, pod)).sum();
        self.known.insert(key, found);
        found
    }

    fn unusable(&self, room: &Room, pod: &Pod) -> f64 {
        let model = self.setting.fleet.kinds[room.kind].model;
        let all = f64::from(room.gpu_milli());
        if pod.gpu_count == 0 || !pod.models.holds(model) || room.cpu_milli < pod.cpu_milli {
            return all;
        }
        let least = if pod.gpu_count > 1 { WHOLE_MILLI } else { pod.gpu_milli };
        let is_wide = |gpu: &&u16| **gpu >= least;
        if room.gpus_milli.iter().filter(is_wide).count() < usize::from(pod.gpu_count) {
            return all;
        }
        room.gpus_milli.iter().filter(|gpu| !is_wide(gpu)).map(|gpu| f64::from(*gpu)).sum()
    }
}

impl Scorer for Fgd {
    fn place(&mut self, room: &Room, pod: &Pod) -> Place {
        let before = self.fragment(room);
        Place::best(room, pod, |left| {
            whole(100.0 / (1.0 + libm::exp((self.fragment(left) - before) / 1000.0)))
        })
    }
}
