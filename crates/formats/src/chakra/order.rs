//! The order in which the nodes of a trace can run: each after those it waits for, the lowest id first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Places of the nodes that one waits for: for their results, and because they call or order it.
pub(super) type Waits = [Vec<u32>; 2];

/// Positions in such an order, or the positions of nodes that wait for each other in a circle.
pub(super) fn order(ids: &[u64], waits: &[Waits], with_control: bool) -> Result<Vec<u32>, Vec<u32>> {
    let before = |node: usize| {
        let [data, control] = &waits[node];
        data.iter().chain(if with_control { &control[..] } else { &[] })
    };
    let (starts, next) = followers(waits.len(), before);
    let mut open: Vec<usize> = (0..waits.len()).map(|node| before(node).count()).collect();
    let ready = (0u32..).zip(ids).filter(|(node, _)| open[*node as usize] == 0);
    let mut heap: BinaryHeap<Reverse<(u64, u32)>> = ready.map(|(node, id)| Reverse((*id, node))).collect();
    let mut order = Vec::with_capacity(ids.len());
    while let Some(Reverse((_, node))) = heap.pop() {
        order.push(node);
        let node = node as usize;
        for next in &next[starts[node]..starts[node + 1]] {
            let count = &mut open[*next as usize];
            *count -= 1;
            if *count == 0 {
                heap.push(Reverse((ids[*next as usize], *next)));
            }
        }
    }
    if order.len() == ids.len() { Ok(order) } else { Err(circle(&open, before)) }
}

/// Who waits for each node, all in one list, and where in it those of each begin.
fn followers<'w, I: Iterator<Item = &'w u32>>(
    count: usize,
    before: impl Fn(usize) -> I,
) -> (Vec<usize>, Vec<u32>) {
    let mut starts = vec![0usize; count + 1];
    for node in 0..count {
        before(node).for_each(|before| starts[*before as usize + 1] += 1);
    }
    for node in 0..count {
        starts[node + 1] += starts[node];
    }
    let mut free = starts.clone();
    let mut next = vec![0u32; starts[count]];
    for (place, node) in (0..count).zip(0u32..) {
        for before in before(place) {
            let free = &mut free[*before as usize];
            next[*free] = node;
            *free += 1;
        }
    }
    (starts, next)
}

/// Goes back from a node that never got its turn to one that it waits for, until one comes again.
fn circle<'w, I: Iterator<Item = &'w u32>>(open: &[usize], before: impl Fn(usize) -> I) -> Vec<u32> {
    let Some(mut node) = open.iter().position(|count| *count > 0) else { return Vec::new() };
    let mut way: Vec<u32> = Vec::new();
    let mut seen: Vec<Option<usize>> = vec![None; open.len()];
    loop {
        if let Some(first) = seen[node] {
            let mut circle = way.split_off(first);
            circle.reverse();
            return circle;
        }
        seen[node] = Some(way.len());
        way.push(u32::try_from(node).unwrap_or(u32::MAX));
        let stuck = before(node).find(|before| open[**before as usize] > 0);
        match stuck {
            Some(before) => node = *before as usize,
            None => return way,
        }
    }
}
