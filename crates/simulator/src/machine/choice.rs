//! Which of the shortest ways a message takes.

use weft_topology::NodeId;

/// How a network chooses among equal ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// One way for each destination, the same for all senders: what a subnet manager computes for a fat tree
    /// (d-mod-k: the destination's number says the port at each tier).
    ByDestination,
    /// One way for each connection, by a hash of its ends (ECMP). Some links get several connections, others none.
    Hash {
        /// Of the hash.
        seed: u64,
    },
    /// Each message over all ways at once, in equal parts (packet spraying).
    Spray,
    /// Each message over all ways at once, in parts as large as what the ways carry (adaptive routing, settled).
    Adaptive,
}

/// A message's ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crossing {
    /// The NIC that sends.
    pub from: NodeId,
    /// The NIC that receives.
    pub to: NodeId,
    /// The connection between them.
    pub channel: u16,
}

impl Crossing {
    /// A number that looks random, of the connection and the seed: the finaliser of SplitMix64 (Steele, Lea and Flood,
    /// 2014) over each in turn. Switches mix their own number in.
    pub fn hash(self, seed: u64) -> u64 {
        let parts = [self.from.index() as u64, self.to.index() as u64, u64::from(self.channel)];
        parts.into_iter().fold(mixed(seed), |hash, part| mixed(hash ^ part))
    }
}

fn mixed(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
