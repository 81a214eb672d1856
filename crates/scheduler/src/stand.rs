//! What is free on a node, GPU by GPU.

use crate::cluster::{Shape, Taints};
use crate::fleet::{GPUS_MOST, Pod, WHOLE_MILLI};
use crate::job::Ask;
use crate::room::{Held, Room};

/// Whether pods may come to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Health {
    /// They may.
    #[default]
    Up,
    /// Those that are there stay, others do not come.
    Draining,
    /// Those that were there are lost.
    Down,
}

/// GPUs that a member has on its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Gpus {
    /// Bit `n` is GPU `n` of the node.
    pub mask_row: u16,
    /// Slots of memory of a partition, a bit each; 0 for whole GPUs and shares.
    pub slots_row: u8,
}

impl Gpus {
    /// Whole GPUs, or the one that is shared.
    pub fn whole(mask_row: u16) -> Self {
        Self { mask_row, slots_row: 0 }
    }

    /// Their numbers on the node.
    pub fn each(self) -> impl Iterator<Item = usize> {
        (0..GPUS_MOST).filter(move |gpu| self.mask_row >> gpu & 1 == 1)
    }
}

/// What is free on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stand {
    /// Thousandths of a core.
    pub cpu_milli: u32,
    /// Memory of the host.
    pub memory_mib: u32,
    /// Thousandths of each GPU that nobody has, sick ones too; 0 beyond those that the node has.
    pub gpus_milli: [u16; GPUS_MOST],
    /// Slots of memory of each GPU that partitions have.
    pub slots_row: [u8; GPUS_MOST],
    /// GPUs that must not be used, a bit each.
    pub sick_row: u16,
    /// Whether pods may come.
    pub health: Health,
    /// Members by what they have: a share, or 1, 2, 4, 8 GPUs.
    held_count: [u16; 5],
}

impl Stand {
    /// An empty node of that shape.
    pub fn empty(shape: &Shape) -> Self {
        let mut gpus_milli = [0; GPUS_MOST];
        gpus_milli.iter_mut().take(usize::from(shape.kind.gpu_count)).for_each(|gpu| *gpu = WHOLE_MILLI);
        Self {
            cpu_milli: shape.kind.cpu_milli,
            memory_mib: shape.kind.memory_mib,
            gpus_milli,
            slots_row: [0; GPUS_MOST],
            sick_row: 0,
            health: Health::Up,
            held_count: [0; 5],
        }
    }

    /// Thousandths of a GPU that a share or a whole pod could have of it.
    pub fn usable_milli(&self, gpu: usize) -> u16 {
        let is_sick = self.sick_row >> gpu & 1 == 1;
        if is_sick || self.slots_row[gpu] != 0 { 0 } else { self.gpus_milli[gpu] }
    }

    /// GPUs that nobody has and that are well, a bit each.
    pub fn whole_row(&self) -> u16 {
        let is_whole = |gpu: &usize| self.usable_milli(*gpu) == WHOLE_MILLI;
        (0..GPUS_MOST).filter(is_whole).fold(0, |mask, gpu| mask | 1 << gpu)
    }

    /// As scorers see it: GPUs in order of what is free.
    pub fn room(&self, shape_row: usize) -> Room {
        let mut gpus_milli: [u16; GPUS_MOST] = std::array::from_fn(|gpu| self.usable_milli(gpu));
        gpus_milli.sort_unstable_by(|a, b| b.cmp(a));
        let held = self.held_count.iter().enumerate().filter(|(_, count)| **count > 0);
        let held = Held(held.fold(0, |bits, (bit, _)| bits | 1 << bit));
        Room { kind: shape_row, cpu_milli: self.cpu_milli, memory_mib: self.memory_mib, gpus_milli, held }
    }

    /// Places of a partition on a GPU that are free.
    pub fn places<'s>(&self, gpu: usize, ask: &Ask, shape: &'s Shape) -> impl Iterator<Item = u8> + use<'s> {
        let slice = slice(ask, shape);
        let (taken, free) = (self.slots_row[gpu], self.gpus_milli[gpu]);
        let is_cut = taken != 0 || free == WHOLE_MILLI;
        let is_sick = self.sick_row >> gpu & 1 == 1;
        let of_slice = slice.filter(|slice| is_cut && !is_sick && slice.milli <= free);
        of_slice
            .into_iter()
            .flat_map(|slice| slice.places.iter().copied())
            .filter(move |place| place & taken == 0)
    }

    /// How many members like this fit, one after another. Models are not looked at.
    pub fn count(&self, ask: &Ask, shape: &Shape, taints: Taints) -> u32 {
        if self.health != Health::Up || !taints.within(ask.tolerates) {
            return 0;
        }
        let pod = &ask.pod;
        let host = quotient(self.cpu_milli, pod.cpu_milli).min(quotient(self.memory_mib, pod.memory_mib));
        host.min(self.gpu_count(ask, shape))
    }

    fn gpu_count(&self, ask: &Ask, shape: &Shape) -> u32 {
        let pod = &ask.pod;
        if ask.slice.is_some() {
            return (0..GPUS_MOST).map(|gpu| self.slice_count(gpu, ask, shape)).sum();
        }
        match pod.gpu_count {
            0 => u32::MAX,
            1 => (0..GPUS_MOST).map(|gpu| u32::from(self.usable_milli(gpu) / pod.gpu_milli.max(1))).sum(),
            count if ask.one_numa => {
                let on = |numa: u8| numa_mask(shape, numa) & self.whole_row();
                (0..=numa_last(shape)).map(|numa| on(numa).count_ones() / u32::from(count)).sum()
            }
            count => self.whole_row().count_ones() / u32::from(count),
        }
    }

    /// Partitions that fit on a GPU, taken from the first place on.
    fn slice_count(&self, gpu: usize, ask: &Ask, shape: &Shape) -> u32 {
        let mut stand = self.clone();
        let mut found = 0;
        while let Some(place) = stand.places(gpu, ask, shape).next() {
            stand.slots_row[gpu] |= place;
            stand.gpus_milli[gpu] -= slice(ask, shape).map_or(0, |slice| slice.milli);
            found += 1;
        }
        found
    }

    /// Whether those very GPUs and the host have room for the member.
    pub fn allows(&self, ask: &Ask, shape: &Shape, gpus: Gpus) -> bool {
        let pod = &ask.pod;
        let host = self.cpu_milli >= pod.cpu_milli && self.memory_mib >= pod.memory_mib;
        let count = if gpus.mask_row.count_ones() == u32::from(pod.gpu_count) { host } else { false };
        let each = |gpu: usize| match &ask.slice {
            Some(_) => self.places(gpu, ask, shape).any(|place| place == gpus.slots_row),
            None => gpus.slots_row == 0 && self.usable_milli(gpu) >= pod.gpu_milli,
        };
        let no_slots = ask.slice.is_some() || gpus.slots_row == 0;
        count && no_slots && gpus.each().all(each)
    }

    /// Takes what the member asks for. It must be allowed.
    pub fn take(&mut self, ask: &Ask, shape: &Shape, gpus: Gpus) {
        self.cpu_milli -= ask.pod.cpu_milli;
        self.memory_mib -= ask.pod.memory_mib;
        for gpu in gpus.each() {
            self.gpus_milli[gpu] -= taken_milli(ask, shape);
            self.slots_row[gpu] |= gpus.slots_row;
        }
        if let Some(bit) = held_bit(&ask.pod) {
            self.held_count[bit] += 1;
        }
    }

    /// Gives it back.
    pub fn give(&mut self, ask: &Ask, shape: &Shape, gpus: Gpus) {
        self.cpu_milli += ask.pod.cpu_milli;
        self.memory_mib += ask.pod.memory_mib;
        for gpu in gpus.each() {
            self.gpus_milli[gpu] += taken_milli(ask, shape);
            self.slots_row[gpu] &= !gpus.slots_row;
        }
        if let Some(bit) = held_bit(&ask.pod) {
            self.held_count[bit] -= 1;
        }
    }
}

fn held_bit(pod: &Pod) -> Option<usize> {
    let bits = Held::of(pod).0;
    (bits != 0).then(|| bits.trailing_zeros() as usize)
}

fn taken_milli(ask: &Ask, shape: &Shape) -> u16 {
    if ask.slice.is_some() { slice(ask, shape).map_or(0, |slice| slice.milli) } else { ask.pod.gpu_milli }
}

fn quotient(free: u32, asked: u32) -> u32 {
    free.checked_div(asked).unwrap_or(u32::MAX)
}

/// The partition that an ask names, if GPUs of the shape can be cut so.
fn slice<'s>(ask: &Ask, shape: &'s Shape) -> Option<&'s crate::cluster::Slice> {
    let name = ask.slice.as_ref()?;
    shape.slices.iter().find(|slice| slice.name == *name)
}

/// GPUs of a NUMA node, a bit each.
pub fn numa_mask(shape: &Shape, numa_row: u8) -> u16 {
    let gpus = 0..usize::from(shape.kind.gpu_count);
    gpus.filter(|gpu| shape.numa_row[*gpu] == numa_row).fold(0, |mask, gpu| mask | 1 << gpu)
}

/// The highest number of a NUMA node that has GPUs.
pub fn numa_last(shape: &Shape) -> u8 {
    shape.numa_row.iter().take(usize::from(shape.kind.gpu_count)).copied().max().unwrap_or(0)
}
