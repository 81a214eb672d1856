//! Pairs over the fastest links that can be given out at once.

use weft_base::Rate;
use weft_topology::{NodeId, NodeKind, Topology, nccl_path, route};

/// GPUs up to which the largest number is found whatever the links; beyond, they are paired one after the other.
const EXACT_MAX: usize = 16;

/// How many pairs of `free` GPUs have the fastest path that any two GPUs of the machine have, no GPU in two of them.
pub(super) fn fast(topology: &Topology, free: &[NodeId]) -> usize {
    let all: Vec<NodeId> = topology.of_kind(NodeKind::Gpu).collect();
    let quality = |a: NodeId, b: NodeId| {
        let rate = route(topology, a, b).map_or(Rate::ZERO, |route| route.rate);
        (std::cmp::Reverse(nccl_path(topology, a, b)), rate)
    };
    let pairs = all.iter().enumerate().flat_map(|(index, a)| all[index + 1..].iter().map(move |b| (*a, *b)));
    let Some(best) = pairs.map(|(a, b)| quality(a, b)).max() else { return 0 };
    let next: Vec<u32> = free
        .iter()
        .map(|a| {
            let joined = free.iter().enumerate().filter(|(_, b)| a != *b && quality(*a, **b) == best);
            joined.fold(0_u32, |mask, (index, _)| mask | 1_u32.checked_shl(narrow(index)).unwrap_or(0))
        })
        .collect();
    if free.len() <= EXACT_MAX { most(&next) } else { one_by_one(free, |a, b| quality(a, b) == best) }
}

fn narrow(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// The largest matching, over all sets of nodes that are used up (bit i: node i).
fn most(next: &[u32]) -> usize {
    let size = 1_usize << next.len();
    let mut pairs: Vec<u8> = vec![0; size];
    for used in 1..size {
        let lowest = used.trailing_zeros() as usize;
        let rest = used & (used - 1);
        let mut best = pairs[rest];
        for other in (lowest + 1)..next.len() {
            if rest & (1 << other) != 0 && next[lowest] & (1 << other) != 0 {
                best = best.max(pairs[rest & !(1 << other)] + 1);
            }
        }
        pairs[used] = best;
    }
    pairs.last().copied().map_or(0, usize::from)
}

fn one_by_one(free: &[NodeId], is_fast: impl Fn(NodeId, NodeId) -> bool) -> usize {
    let mut left = free.to_vec();
    let mut found = 0;
    while let Some(gpu) = left.pop() {
        if let Some(other) = left.iter().position(|other| is_fast(gpu, *other)) {
            left.swap_remove(other);
            found += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::most;

    #[test]
    fn matchings_are_the_largest() {
        // A path of four nodes has two pairs, though the middle one alone would leave none; a star has one.
        assert_eq!(most(&[0b0010, 0b0101, 0b1010, 0b0100]), 2);
        assert_eq!(most(&[0b1110, 0b0001, 0b0001, 0b0001]), 1);
        // Five that are all joined: two pairs.
        let all = |index: u32| 0b1_1111 & !(1 << index);
        assert_eq!(most(&[all(0), all(1), all(2), all(3), all(4)]), 2);
        assert_eq!(most(&[]), 0);
    }
}
