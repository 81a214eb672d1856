//! Between which hosts an algorithm sends, and over which of their NICs.

use weft_simulator::streams::Hop;

use crate::nccl::choice::{Algorithm, Choice};

/// A NIC of a node, both by their place.
pub(super) type End = (u32, usize);

/// What streams a choice makes between hosts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pattern {
    pub shape: Shape,
    /// Channels that a large message is spread over.
    pub channels: u16,
    /// Channels of the search, which share out the NICs.
    pub found: u16,
    pub nodes: u32,
    pub nics: usize,
    /// Bytes that all hops of one place carry together, for each byte of the message.
    pub bytes_per_byte: f64,
}

/// Who sends to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Each node to the next.
    Ring,
    /// Two binary trees, up and down.
    Trees,
    /// All to all, on the NIC of the same number at both ends.
    Rails,
    /// All to all, each NIC to each.
    Pairs,
}

/// More hops than that are not routed one by one: of all-to-all some rounds stand for all.
const MOST_HOPS: u64 = 40_000;

impl Pattern {
    /// Of a choice on nodes of `nics` NICs; `None` where it sends nothing between hosts, or what is not known.
    pub fn of(choice: &Choice, channels: u16, nics: usize, bus_factor: f64) -> Option<Self> {
        let (shape, bytes_per_byte) = match choice.algorithm {
            Algorithm::Ring | Algorithm::Nvls => (Shape::Ring, bus_factor),
            Algorithm::Tree | Algorithm::NvlsTree => (Shape::Trees, 1.0),
            Algorithm::Direct => {
                // With NVLink, GPUs hand what is for another rail to the one that is on it (PXN).
                let hands_on = choice.kind <= weft_topology::NcclPath::Nvb;
                let per_pair = choice.ranks_per_node * choice.ranks_per_node / f64::from(choice.ranks);
                (if hands_on { Shape::Rails } else { Shape::Pairs }, per_pair)
            }
            Algorithm::CollnetDirect | Algorithm::CollnetChain | Algorithm::Pat | Algorithm::Symmetric => {
                return None;
            }
        };
        let (found, nodes) = (choice.channels.max(1), choice.nodes);
        (nodes > 1 && nics > 0).then_some(Self {
            shape,
            channels: channels.max(1),
            found,
            nodes,
            nics,
            bytes_per_byte,
        })
    }

    /// What is called so many of, in words.
    pub fn noun(&self) -> &'static str {
        match self.shape {
            Shape::Ring => "rings",
            Shape::Trees => "trees",
            Shape::Rails | Shape::Pairs => "all pairs of hosts",
        }
    }

    /// All hops, stream by stream.
    pub fn streams(&self) -> Vec<Vec<Hop<End>>> {
        match self.shape {
            Shape::Ring => (0..self.channels).map(|channel| self.ring(channel)).collect(),
            Shape::Trees => (0..self.channels).map(|channel| self.tree(channel)).collect(),
            Shape::Rails | Shape::Pairs => vec![self.pairs()],
        }
    }

    /// The NIC of a channel: those of the search take them in turn, and others are copies of those.
    fn nic(&self, channel: u16) -> usize {
        let (place, found) = (usize::from(channel % self.found), usize::from(self.found));
        if found < self.nics { place * self.nics / found } else { place % self.nics }
    }

    fn ring(&self, channel: u16) -> Vec<Hop<End>> {
        let nic = self.nic(channel);
        let weight = self.bytes_per_byte / f64::from(self.channels);
        let hop = |node| Hop { from: (node, nic), to: ((node + 1) % self.nodes, nic), channel, weight };
        (0..self.nodes).map(hop).collect()
    }

    fn tree(&self, channel: u16) -> Vec<Hop<End>> {
        let nic = self.nic(channel);
        let weight = self.bytes_per_byte / f64::from(self.channels);
        let is_second = channel >= self.channels.div_ceil(2);
        let mut hops = Vec::new();
        for node in 1..self.nodes {
            let (below, above) =
                (self.place(node, is_second), self.place(parent(self.nodes, node), is_second));
            for (from, to) in [(below, above), (above, below)] {
                hops.push(Hop { from: (from, nic), to: (to, nic), channel, weight });
            }
        }
        hops
    }

    /// Where a node of a tree is: the second tree is the first one mirrored, or moved by one where nodes are odd.
    fn place(&self, node: u32, is_second: bool) -> u32 {
        match (is_second, self.nodes % 2) {
            (false, _) => node,
            (true, 0) => self.nodes - 1 - node,
            (true, _) => (node + 1) % self.nodes,
        }
    }

    fn pairs(&self) -> Vec<Hop<End>> {
        let nics: Vec<(usize, usize)> = match self.shape {
            Shape::Pairs => (0..self.nics).flat_map(|a| (0..self.nics).map(move |b| (a, b))).collect(),
            Shape::Ring | Shape::Trees | Shape::Rails => (0..self.nics).map(|nic| (nic, nic)).collect(),
        };
        let of_round = u64::from(self.nodes) * nics.len() as u64;
        let all = u64::from(self.nodes) - 1;
        let rounds = (MOST_HOPS / of_round).clamp(1, all);
        #[expect(clippy::cast_precision_loss, reason = "counts of hosts and NICs")]
        let weight = self.bytes_per_byte / nics.len() as f64 * (all as f64 / rounds as f64);
        let mut hops = Vec::new();
        for round in 0..rounds {
            let shift = u32::try_from(1 + round * all / rounds).unwrap_or(1);
            for node in 0..self.nodes {
                let to = (node + shift) % self.nodes;
                let ends = nics.iter().map(|(a, b)| ((node, *a), (to, *b)));
                hops.extend(ends.map(|(from, to)| Hop { from, to, channel: 0, weight }));
            }
        }
        hops
    }
}

/// The node above one in the binary tree that keeps the order: odd ones are leaves, node 0 is the root.
fn parent(nodes: u32, node: u32) -> u32 {
    let bit = 1 << node.trailing_zeros();
    let above = (node ^ bit) | (bit << 1);
    if above < nodes { above } else { node ^ bit }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(shape: Shape, nodes: u32) -> Pattern {
        Pattern { shape, channels: 4, found: 2, nodes, nics: 2, bytes_per_byte: 1.0 }
    }

    /// Each node sends and receives on a ring once per channel.
    #[test]
    fn a_ring_passes_every_node_on_the_same_nic() {
        let streams = pattern(Shape::Ring, 3).streams();
        let ends: Vec<(End, End)> = streams[1].iter().map(|hop| (hop.from, hop.to)).collect();
        assert_eq!(ends, [((0, 1), (1, 1)), ((1, 1), (2, 1)), ((2, 1), (0, 1))]);
        assert!((streams[3][0].weight - 0.25).abs() < 1e-12 && streams[3][0].from.1 == 1);
    }

    /// Six nodes: 4 is below 0, 2 below 4 and so on; N - 1 edges up and as many down, and nobody is inside both trees.
    #[test]
    fn trees_join_all_nodes() {
        assert_eq!((1..6).map(|node| parent(6, node)).collect::<Vec<_>>(), [2, 4, 2, 0, 4]);
        let streams = pattern(Shape::Trees, 6).streams();
        let receivers = |stream: &[Hop<End>]| {
            let mut above: Vec<u32> = stream.iter().step_by(2).map(|hop| hop.to.0).collect();
            above.sort_unstable();
            above.dedup();
            above
        };
        assert_eq!((streams.len(), streams[0].len()), (4, 10));
        assert_eq!((receivers(&streams[0]), receivers(&streams[3])), (vec![0, 2, 4], vec![1, 3, 5]));
    }

    /// Four nodes of two NICs: three rounds of eight hops on rails, of sixteen between all NICs; each pair has a
    /// half or a quarter of what two hosts have for each other.
    #[test]
    fn all_to_all_has_all_pairs() {
        let rails = &pattern(Shape::Rails, 4).streams()[0];
        assert_eq!(rails.len(), 24);
        assert!((rails.iter().map(|hop| hop.weight).sum::<f64>() - 12.0).abs() < 1e-9);
        let pairs = &pattern(Shape::Pairs, 4).streams()[0];
        assert_eq!(pairs.len(), 48);
        assert!((pairs.iter().map(|hop| hop.weight).sum::<f64>() - 12.0).abs() < 1e-9);
        // Of 1,024 nodes some rounds stand for all: the bytes stay.
        let many = &pattern(Shape::Rails, 1024).streams()[0];
        assert!(many.len() <= 40_000);
        assert!((many.iter().map(|hop| hop.weight).sum::<f64>() / (1024.0 * 1023.0) - 1.0).abs() < 1e-9);
    }
}
