//! Algorithms: each makes plans for the collectives it knows.

use thiserror::Error;

use crate::{Call, Collective, Counts, Plan, Rank, Terrain, algorithms};

/// Makes plans.
pub trait Algorithm: Sync {
    /// Its name in text and JSON: `ring`, `double-binary-tree`.
    fn name(&self) -> &'static str;

    /// What it is, in a sentence, with its source.
    fn title(&self) -> &'static str;

    /// The collectives for which it makes plans.
    fn collectives(&self) -> &'static [Collective];

    /// What it needs of calls and terrains, for the reference: `hosts of the same size`. Empty where it needs nothing.
    fn needs(&self) -> &'static str {
        ""
    }

    /// Whether it can plan this call on this terrain, and if not, why.
    fn suits(&self, call: &Call, terrain: &Terrain) -> Result<(), Unsuitable>;

    /// About what it takes at least to make a plan and to play it, known before it is made; `None` where plans are made
    /// at once, so that they can be counted themselves.
    fn least_effort(&self, _call: &Call, _terrain: &Terrain) -> Option<Effort> {
        None
    }

    /// The shape of the plan that it makes when none is asked for.
    fn shape(&self, call: &Call, _terrain: &Terrain) -> Shape {
        Shape::of(call)
    }

    /// The plan in the shape that it has by itself. For calls that it does not suit the plan is empty.
    fn plan(&self, call: &Call, terrain: &Terrain) -> Plan {
        self.plan_with(call, terrain, self.shape(call, terrain))
    }

    /// The plan in a given shape. Algorithms follow what of it applies to them.
    fn plan_with(&self, call: &Call, terrain: &Terrain, shape: Shape) -> Plan {
        if self.suits(call, terrain).is_err() {
            return Plan::empty(terrain.ranks());
        }
        self.suited_plan(call, terrain, shape)
    }

    /// The plan of a call that it suits. What calls for plans calls [`Algorithm::plan`] or [`Algorithm::plan_with`].
    fn suited_plan(&self, call: &Call, terrain: &Terrain, shape: Shape) -> Plan;
}

/// What a plan costs who makes it and plays it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effort {
    /// Making it takes about as long as playing so many messages.
    pub making_message_count: u64,
    /// Messages of all ranks.
    pub message_count: u64,
    /// Threads of a rank.
    pub thread_count: u64,
}

/// Into how much a plan is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Copies of the pattern side by side, each over its share of the data.
    pub channels: u16,
    /// Chunks of a channel that follow each other through a chain or a tree.
    pub pipeline: u32,
}

impl Shape {
    /// One channel, in chunks of 256 KiB, at most 64 of them.
    pub fn of(call: &Call) -> Self {
        const CHUNK_BYTES: u64 = 256 << 10;
        const CHUNKS_MAX: u64 = 64;
        let elements = match &call.counts {
            Counts::Even(elements) => *elements,
            Counts::PerRank(counts) | Counts::PerPair(counts) => counts.iter().copied().max().unwrap_or(0),
        };
        let bytes = elements.saturating_mul(call.data_type.size_bytes());
        let chunks = (bytes / CHUNK_BYTES).clamp(1, CHUNKS_MAX);
        Self { channels: 1, pipeline: u32::try_from(chunks).unwrap_or(1) }
    }

    /// With so many channels; at least 1.
    #[must_use]
    pub fn channels(self, channels: u16) -> Self {
        Self { channels: channels.max(1), ..self }
    }

    /// With so many chunks; at least 1.
    #[must_use]
    pub fn pipeline(self, chunks: u32) -> Self {
        Self { pipeline: chunks.max(1), ..self }
    }
}

/// Why an algorithm does not suit a call.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unsuitable {
    /// It has no plan for this collective.
    #[error("{algorithm} has no plan for {}", collective.name())]
    Collective {
        /// Its name.
        algorithm: &'static str,
        /// What was asked for.
        collective: Collective,
    },
    /// The number of ranks is not one that it handles.
    #[error("{algorithm} needs {needs}, not {ranks} ranks")]
    Ranks {
        /// Its name.
        algorithm: &'static str,
        /// What it needs: "a power of two".
        needs: &'static str,
        /// How many there are.
        ranks: u32,
    },
    /// The root or the receiver is none of the ranks.
    #[error("{algorithm} needs root and receiver among {ranks} ranks, not rank {rank}")]
    Root {
        /// Its name.
        algorithm: &'static str,
        /// Who is named.
        rank: Rank,
        /// How many there are.
        ranks: u32,
    },
    /// The terrain lacks something.
    #[error("{algorithm} needs {needs}")]
    Terrain {
        /// Its name.
        algorithm: &'static str,
        /// What is missing: "hosts of the same size".
        needs: &'static str,
    },
    /// It cannot work in place on such parts.
    #[error("{algorithm} works in place on parts of the same size only")]
    InPlace {
        /// Its name.
        algorithm: &'static str,
    },
    /// It moves only parts of the same size.
    #[error("{algorithm} moves parts of the same size only")]
    Uneven {
        /// Its name.
        algorithm: &'static str,
    },
}

/// All algorithms, in the order of the documentation.
pub const ALGORITHMS: &[&dyn Algorithm] = &[
    &algorithms::Ring,
    &algorithms::BidirectionalRing,
    &algorithms::DoubleTree,
    &algorithms::RecursiveDoubling,
    &algorithms::HalvingDoubling,
    &algorithms::Rabenseifner,
    &algorithms::Bruck,
    &algorithms::Pat,
    &algorithms::Direct,
    &algorithms::Pairwise,
    &algorithms::Hierarchy::TWO_LEVEL,
    &algorithms::Hierarchy::TWO_LEVEL_DIRECT,
    &algorithms::Hierarchy::TWO_LEVEL_TREE,
    &algorithms::Hierarchy::THREE_LEVEL,
    &algorithms::Rails,
    &algorithms::InSwitch::NVLS,
    &algorithms::InSwitch::SHARP,
    &algorithms::Hierarchy::NVLS_RING,
    &algorithms::Hierarchy::NVLS_TREE,
    &algorithms::Hierarchy::NVLS_SHARP,
    &algorithms::Synthesised,
];

/// The algorithm of that name.
pub fn algorithm(name: &str) -> Option<&'static dyn Algorithm> {
    ALGORITHMS.iter().copied().find(|algorithm| algorithm.name() == name)
}
