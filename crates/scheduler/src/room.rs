//! What is free on a node.

use crate::fleet::{Fleet, GPUS_MOST, NodeKind, Pod, WHOLE_MILLI};

/// Kinds of pods that a node has had, as bits: what GPU clustering looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Held(pub u8);

impl Held {
    /// A share, or 1, 2, 4 or 8 whole GPUs; nothing of pods without GPU.
    pub fn of(pod: &Pod) -> Self {
        Self(match pod.gpu_count {
            0 => 0,
            1 if pod.is_share() => 1,
            1 => 2,
            2 => 4,
            3 | 4 => 8,
            _ => 16,
        })
    }
}

/// What is free on a node. GPUs are in order of what is free on them, most first: which is which does not matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Room {
    /// The kind of the node, by number of `Fleet::kinds`.
    pub kind: usize,
    /// Thousandths of a core.
    pub cpu_milli: u32,
    /// Memory of the host.
    pub memory_mib: u32,
    /// Thousandths of each GPU; 0 beyond those that the node has.
    pub gpus_milli: [u16; GPUS_MOST],
    /// Pods that it has.
    pub held: Held,
}

impl Room {
    /// An empty node of that kind.
    pub fn empty(fleet: &Fleet, kind: usize) -> Self {
        let NodeKind { cpu_milli, memory_mib, gpu_count, .. } = fleet.kinds[kind];
        let mut gpus_milli = [0; GPUS_MOST];
        gpus_milli.iter_mut().take(usize::from(gpu_count)).for_each(|gpu| *gpu = WHOLE_MILLI);
        Self { kind, cpu_milli, memory_mib, gpus_milli, held: Held::default() }
    }

    /// Thousandths that are free on all GPUs.
    pub fn gpu_milli(&self) -> u32 {
        self.gpus_milli.iter().map(|gpu| u32::from(*gpu)).sum()
    }

    /// GPUs that nobody uses.
    pub fn whole_count(&self) -> u32 {
        self.gpus_milli.iter().map(|gpu| u32::from(*gpu == WHOLE_MILLI)).sum()
    }

    /// Whether the pod can be there: CPU, memory, model and GPUs.
    pub fn fits(&self, pod: &Pod, fleet: &Fleet) -> bool {
        if self.cpu_milli < pod.cpu_milli || self.memory_mib < pod.memory_mib {
            return false;
        }
        match pod.gpu_count {
            0 => true,
            _ if !pod.models.holds(fleet.kinds[self.kind].model) => false,
            1 => self.gpus_milli[0] >= pod.gpu_milli,
            count => self.whole_count() >= u32::from(count),
        }
    }

    /// GPUs on which a pod of one GPU can be, the fullest first, one of those that are equally full; 0 for other pods.
    pub fn choices(&self, pod: &Pod) -> impl DoubleEndedIterator<Item = usize> + use<'_> {
        let (needed, single) = (pod.gpu_milli, pod.gpu_count == 1);
        (0..GPUS_MOST).rev().filter(move |at| {
            let free = self.gpus_milli[*at];
            let differs = self.gpus_milli.get(at + 1) != Some(&free);
            if single { free >= needed && differs } else { *at == 0 }
        })
    }

    /// The same with the pod, on GPU `at` if it asks for one. It must fit.
    #[must_use]
    pub fn with(&self, pod: &Pod, at: usize) -> Self {
        let mut room = *self;
        room.cpu_milli -= pod.cpu_milli;
        room.memory_mib -= pod.memory_mib;
        if pod.gpu_count == 1 {
            room.gpus_milli[at] -= pod.gpu_milli;
        } else {
            let whole = room.gpus_milli.iter_mut().filter(|gpu| **gpu == WHOLE_MILLI);
            whole.take(usize::from(pod.gpu_count)).for_each(|gpu| *gpu = 0);
        }
        room.gpus_milli.sort_unstable_by(|a, b| b.cmp(a));
        room.held.0 |= Held::of(pod).0;
        room
    }

    /// How many pods like this one would fit, one after another.
    pub fn count(&self, pod: &Pod, fleet: &Fleet) -> u32 {
        if !self.fits(pod, fleet) {
            return 0;
        }
        let host = (self.cpu_milli / pod.cpu_milli.max(1)).min(self.memory_mib / pod.memory_mib.max(1));
        host.min(match pod.gpu_count {
            0 => u32::MAX,
            1 => self.gpus_milli.iter().map(|gpu| u32::from(gpu / pod.gpu_milli.max(1))).sum(),
            count => self.whole_count() / u32::from(count),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Room;
    use crate::fleet::{Fleet, Models, NodeKind, Pod};

    fn fleet() -> Fleet {
        let kind = NodeKind { cpu_milli: 16_000, memory_mib: 1000, gpu_count: 4, model: 0 };
        Fleet { models: vec!["T4".to_owned()], kinds: vec![kind], nodes: vec![0] }
    }

    fn pod(gpu_count: u8, gpu_milli: u16) -> Pod {
        Pod { cpu_milli: 1000, memory_mib: 10, gpu_count, gpu_milli, models: Models::ANY }
    }

    #[test]
    fn a_share_leaves_a_gap_and_whole_gpus_do_not_use_it() {
        let fleet = fleet();
        let room = Room::empty(&fleet, 0).with(&pod(1, 810), 3);
        assert_eq!(room.gpus_milli[..4], [1000, 1000, 1000, 190]);
        assert_eq!(room.choices(&pod(1, 190)).collect::<Vec<_>>(), [3, 2]);
        assert_eq!(room.choices(&pod(1, 200)).collect::<Vec<_>>(), [2]);
        assert!(room.fits(&pod(2, 1000), &fleet) && !room.fits(&pod(4, 1000), &fleet));
        let room = room.with(&pod(2, 1000), 0);
        assert_eq!(room.gpus_milli[..4], [1000, 190, 0, 0]);
        assert_eq!((room.cpu_milli, room.memory_mib, room.gpu_milli()), (14_000, 980, 1190));
        assert_eq!(room.count(&pod(1, 95), &fleet), 12);
        assert_eq!(room.count(&pod(0, 0), &fleet), 14);
    }

    #[test]
    fn a_pod_bound_to_other_models_does_not_fit() {
        let fleet = fleet();
        let bound = Pod { models: Models(0b10), ..pod(1, 500) };
        assert!(!Room::empty(&fleet, 0).fits(&bound, &fleet));
        let host_only = Pod { models: Models(0b10), ..pod(0, 0) };
        assert!(Room::empty(&fleet, 0).fits(&host_only, &fleet));
    }
}
