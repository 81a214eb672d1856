//! Which of the shortest ways a message takes.

use weft_topology::NodeId;

/// How a network chooses among equal ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// One way for each destination, the same for all senders: what a subnet manager computes for a fat tree
    /// (d-mod-k: the destination's number says the port at each tier).
    ByDestination,
    /// One way for each destination, but as if at random: tables that were balanced over all destinations of a large
    /// network, of which a job uses few.
    ByTable {
        /// Of the tables.
        seed: u64,
    },
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

impl Choice {
    /// The same with another seed; those that choose nothing at random stay as they are.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        match self {
            Self::ByTable { .. } => Self::ByTable { seed },
            Self::Hash { .. } => Self::Hash { seed },
            Self::ByDestination | Self::Spray | Self::Adaptive => self,
        }
    }

    /// Whether another seed chooses other ways.
    pub fn is_random(self) -> bool {
        match self {
            Self::ByTable { .. } | Self::Hash { .. } => true,
            Self::ByDestination | Self::Spray | Self::Adaptive => false,
        }
    }
}

impl Crossing {
    /// The same of the receiver alone.
    pub fn table_hash(self, seed: u64) -> u64 {
        mixed(mixed(seed) ^ self.to.index() as u64)
    }

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
