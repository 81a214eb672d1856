//! Packs spanning trees into a graph of ranks.
//!
//! Edmonds (1973): trees from given roots can be packed if every set of ranks without some of the roots is entered by
//! as many edges as trees. Trees grow together while that holds for what is left (Lovász 1976), as many alike at once
//! as possible (Bérczi and Frank 2010; ForestColl, arXiv:2402.06787).

use super::split::Wiring;
use crate::flow::Network;

/// Trees that are alike: from the root, edges in the order in which ranks join.
#[derive(Debug, Clone)]
pub(super) struct Batch {
    pub(super) root: usize,
    pub(super) count: u128,
    pub(super) edges: Vec<(usize, usize)>,
    /// Ranks that have joined, in order.
    joined: Vec<usize>,
    has: Vec<bool>,
}

impl Batch {
    fn new(root: usize, count: u128, ranks: usize) -> Self {
        let mut has = vec![false; ranks];
        has[root] = true;
        Self { root, count, edges: Vec::new(), joined: vec![root], has }
    }

    fn is_whole(&self) -> bool {
        self.joined.len() == self.has.len()
    }
}

/// All trees of the wiring's roots; `None` where they cannot be packed. The graph has no switches left.
pub(super) fn pack(wiring: &Wiring) -> Option<Vec<Batch>> {
    let ranks = wiring.ranks;
    let row = |from| (0..ranks).map(move |to| wiring.capacity(from, to)).collect();
    let mut left: Vec<Vec<u128>> = (0..ranks).map(row).collect();
    let mut batches: Vec<Batch> =
        wiring.roots.iter().map(|&(root, count)| Batch::new(root, count, ranks)).collect();
    while let Some(growing) = batches.iter().position(|batch| !batch.is_whole()) {
        let (from, to, amount) = next_edge(&left, &batches, growing)?;
        if amount < batches[growing].count {
            let mut rest = batches[growing].clone();
            rest.count -= amount;
            batches.insert(growing + 1, rest);
        }
        let batch = &mut batches[growing];
        batch.count = amount;
        batch.edges.push((from, to));
        batch.joined.push(to);
        batch.has[to] = true;
        left[from][to] -= amount;
    }
    Some(batches)
}

/// An edge by which a batch can grow, from as early a rank as possible so that trees stay flat, and for how many of
/// its trees.
fn next_edge(left: &[Vec<u128>], batches: &[Batch], growing: usize) -> Option<(usize, usize, u128)> {
    let batch = &batches[growing];
    for &from in &batch.joined {
        let mut ends: Vec<usize> =
            (0..left.len()).filter(|to| !batch.has[*to] && left[from][*to] > 0).collect();
        ends.sort_by_key(|&to| (std::cmp::Reverse(left[from][to]), (to + left.len() - from) % left.len()));
        for to in ends {
            let amount = room(left, batches, growing, (from, to)).min(left[from][to]).min(batch.count);
            if amount > 0 {
                return Some((from, to, amount));
            }
        }
    }
    None
}

/// How many trees of a batch can grow by an edge so that all batches can still be finished: how much more enters any
/// set with the edge's end but not its beginning than trees that are still wholly outside.
fn room(left: &[Vec<u128>], batches: &[Batch], growing: usize, (from, to): (usize, usize)) -> u128 {
    let ranks = left.len();
    let mut network = Network::new(ranks + batches.len());
    for (start, row) in left.iter().enumerate() {
        for (end, &capacity) in row.iter().enumerate().filter(|(_, capacity)| **capacity > 0) {
            network.add(start, end, capacity);
        }
    }
    let mut others = 0;
    for (index, batch) in batches.iter().enumerate() {
        // A whole tree is outside no set.
        if index == growing || batch.is_whole() {
            continue;
        }
        others += batch.count;
        if let [only] = batch.joined[..] {
            network.add(from, only, batch.count);
        } else {
            network.add(from, ranks + index, batch.count);
            for &rank in &batch.joined {
                network.add(ranks + index, rank, batch.count);
            }
        }
    }
    let most = others + batches[growing].count.min(left[from][to]);
    network.push(from, to, most).saturating_sub(others)
}
