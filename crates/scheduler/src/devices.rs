//! Which GPUs of a node a member gets: those that are joined best, and so that what is left stays joined.

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use crate::cluster::Shape;
use crate::fleet::{GPUS_MOST, WHOLE_MILLI};
use crate::job::Ask;
use crate::stand::{Gpus, Stand, numa_last, numa_mask};

/// Choices that were worked out before: shape, free GPUs, how many.
#[derive(Debug, Clone, Default)]
pub struct Chooser {
    known: IndexMap<(usize, u16, u8), u16, FxBuildHasher>,
}

impl Chooser {
    /// GPUs for a member on a node where one fits; `free_milli` is how much is free on the GPU that a share should have,
    /// if that has been decided.
    pub fn choose(
        &mut self,
        (shape, shape_row): (&Shape, usize),
        stand: &Stand,
        ask: &Ask,
        free_milli: Option<u16>,
    ) -> Option<Gpus> {
        if ask.slice.is_some() {
            return partition(shape, stand, ask);
        }
        match ask.pod.gpu_count {
            0 => Some(Gpus::default()),
            1 if ask.pod.gpu_milli < WHOLE_MILLI => self.share((shape, shape_row), stand, ask, free_milli),
            count => {
                let whole = stand.whole_row();
                let found = if ask.one_numa {
                    self.on_one_numa((shape, shape_row), whole, count)
                } else {
                    self.whole((shape, shape_row), whole, count)
                };
                found.map(Gpus::whole)
            }
        }
    }

    /// A share goes to the fullest GPU that has room, or to the one with as much free as was decided.
    fn share(
        &mut self,
        shape: (&Shape, usize),
        stand: &Stand,
        ask: &Ask,
        free_milli: Option<u16>,
    ) -> Option<Gpus> {
        let fits = |gpu: &usize| stand.usable_milli(*gpu) >= ask.pod.gpu_milli;
        let fullest = || (0..GPUS_MOST).filter(fits).map(|gpu| stand.usable_milli(gpu)).min();
        let free = free_milli.filter(|free| *free >= ask.pod.gpu_milli).or_else(fullest)?;
        if free == WHOLE_MILLI {
            return self.whole(shape, stand.whole_row(), 1).map(Gpus::whole);
        }
        (0..GPUS_MOST).find(|gpu| stand.usable_milli(*gpu) == free).map(|gpu| Gpus::whole(1 << gpu))
    }

    fn on_one_numa(&mut self, shape: (&Shape, usize), whole_row: u16, count: u8) -> Option<u16> {
        let masks = (0..=numa_last(shape.0)).map(|numa| numa_mask(shape.0, numa) & whole_row);
        // The fullest NUMA node that has enough.
        let best = masks
            .filter(|mask| mask.count_ones() >= u32::from(count))
            .min_by_key(|mask| mask.count_ones())?;
        self.whole(shape, best, count)
    }

    /// The best `count` of the free GPUs.
    pub fn whole(&mut self, (shape, shape_row): (&Shape, usize), free_row: u16, count: u8) -> Option<u16> {
        match free_row.count_ones().cmp(&u32::from(count)) {
            std::cmp::Ordering::Less => return None,
            std::cmp::Ordering::Equal => return Some(free_row),
            std::cmp::Ordering::Greater => {}
        }
        let key = (shape_row, free_row, count);
        if let Some(known) = self.known.get(&key) {
            return Some(*known);
        }
        let found = best_of(shape, free_row, count)?;
        self.known.insert(key, found);
        Some(found)
    }
}

/// How good a choice is: what joins its GPUs, then how few NUMA nodes it spans, then what joins those that are left, then
/// in how large parts they are on NUMA nodes.
type Worth = (u32, std::cmp::Reverse<u32>, u32, u32);

fn best_of(shape: &Shape, free_row: u16, count: u8) -> Option<u16> {
    let mut best: Option<(Worth, u16)> = None;
    // Subsets of the free GPUs, from the smallest number up.
    let mut subset = 0_u16;
    loop {
        if subset.count_ones() == u32::from(count) {
            let worth = worth(shape, subset, free_row & !subset);
            if best.is_none_or(|(known, _)| worth > known) {
                best = Some((worth, subset));
            }
        }
        subset = subset.wrapping_sub(free_row) & free_row;
        if subset == 0 {
            return best.map(|(_, found)| found);
        }
    }
}

fn worth(shape: &Shape, chosen: u16, left: u16) -> Worth {
    let parts =
        |mask: u16| (0..=numa_last(shape)).map(move |numa| (numa_mask(shape, numa) & mask).count_ones());
    let spanned = parts(chosen).filter(|part| *part > 0).count();
    let spanned = std::cmp::Reverse(u32::try_from(spanned).unwrap_or(u32::MAX));
    let largest = parts(left).map(|part| part * part).sum();
    (joined(shape, chosen), spanned, joined(shape, left), largest)
}

/// Sum of what joins each pair.
fn joined(shape: &Shape, mask: u16) -> u32 {
    let among = |gpu: &usize| mask >> gpu & 1 == 1;
    let of = |a: usize| (0..a).filter(among).map(move |b| u32::from(shape.joined.0[a][b])).sum::<u32>();
    (0..GPUS_MOST).filter(among).map(of).sum()
}

/// A partition goes where most can still be cut afterwards, on a GPU that is cut already rather than on a whole one.
fn partition(shape: &Shape, stand: &Stand, ask: &Ask) -> Option<Gpus> {
    let choices = (0..GPUS_MOST).flat_map(|gpu| stand.places(gpu, ask, shape).map(move |place| (gpu, place)));
    let worth = |(gpu, place): &(usize, u8)| {
        let taken = stand.slots_row[*gpu];
        let is_cut = taken != 0;
        (is_cut, still(shape, taken | place), std::cmp::Reverse(*gpu), std::cmp::Reverse(*place))
    };
    let (gpu, slots_row) = choices.max_by_key(worth)?;
    Some(Gpus { mask_row: 1 << gpu, slots_row })
}

/// Places that are left on a GPU, each weighed by the size of its partition.
fn still(shape: &Shape, taken: u8) -> u32 {
    let free = |places: &[u8]| places.iter().map(|place| u32::from(place & taken == 0)).sum::<u32>();
    shape.slices.iter().map(|slice| free(&slice.places) * u32::from(slice.milli)).sum()
}
