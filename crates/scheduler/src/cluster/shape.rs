//! What nodes are alike in: their parts, what joins their GPUs, and what their GPUs can be cut into.

use crate::fleet::{GPUS_MOST, NodeKind};

/// Who chooses the GPUs of a pod on its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum DeviceControl {
    /// The scheduler: Kubernetes with dynamic resource allocation, Slurm.
    #[default]
    Exact,
    /// The kubelet, which may follow what a device plugin prefers.
    Hint,
    /// The kubelet alone.
    NodeOnly,
}

/// A partition that a GPU can be cut into (MIG, a DRA partition).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// What it is called, `3g.20gb`.
    pub name: String,
    /// Slots of memory that it takes, a mask for each place where it may start: DRA's counters, one to a slot.
    pub places: Vec<u8>,
    /// Thousandths of the GPU that it takes.
    pub milli: u16,
}

/// How GPUs of a node are joined: relative bandwidth of each pair, in GB/s and one direction, 0 where only PCIe or the
/// host joins them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined(pub [[u16; GPUS_MOST]; GPUS_MOST]);

impl Joined {
    /// All pairs alike, as behind NVSwitches.
    pub fn all(gpu_count: u8, pair_gigabytes: u16) -> Self {
        Self::pairs(gpu_count, |_, _| pair_gigabytes)
    }

    /// Neighbours 0 and 1, 2 and 3, … by a bridge; others by nothing.
    pub fn bridges(gpu_count: u8, pair_gigabytes: u16) -> Self {
        Self::pairs(gpu_count, |a, b| if a / 2 == b / 2 { pair_gigabytes } else { 0 })
    }

    /// By what `of` says of each pair.
    pub fn pairs(gpu_count: u8, of: impl Fn(usize, usize) -> u16) -> Self {
        let mut joined = [[0; GPUS_MOST]; GPUS_MOST];
        let count = usize::from(gpu_count).min(GPUS_MOST);
        for (a, row) in joined.iter_mut().enumerate().take(count) {
            for (b, pair) in row.iter_mut().enumerate().take(count) {
                *pair = if a == b { 0 } else { of(a.min(b), a.max(b)) };
            }
        }
        Self(joined)
    }
}

/// Nodes that are alike when they are empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// CPU, memory, GPUs.
    pub kind: NodeKind,
    /// What joins its GPUs.
    pub joined: Joined,
    /// The NUMA node of each GPU.
    pub numa_row: [u8; GPUS_MOST],
    /// What its GPUs can be cut into; nothing for GPUs that cannot.
    pub slices: Vec<Slice>,
    /// Who chooses GPUs.
    pub control: DeviceControl,
}

impl Shape {
    /// GPUs that are all joined alike, half of them on each of two NUMA nodes.
    pub fn switched(kind: NodeKind) -> Self {
        let half = usize::from(kind.gpu_count).div_ceil(2).max(1);
        let mut numa_row = [0; GPUS_MOST];
        numa_row.iter_mut().skip(half).for_each(|numa| *numa = 1);
        Self {
            joined: Joined::all(kind.gpu_count, 1),
            kind,
            numa_row,
            slices: Vec::new(),
            control: DeviceControl::default(),
        }
    }
}
