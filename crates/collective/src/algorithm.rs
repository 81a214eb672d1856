//! Algorithms: each makes plans for the collectives it knows.

use thiserror::Error;

use crate::{Call, Collective, Plan, Terrain, algorithms};

/// Makes plans.
pub trait Algorithm: Sync {
    /// Its name in text and JSON: `ring`, `double-binary-tree`.
    fn name(&self) -> &'static str;

    /// What it is, in a sentence, with its source.
    fn title(&self) -> &'static str;

    /// The collectives for which it makes plans.
    fn collectives(&self) -> &'static [Collective];

    /// Whether it can plan this call on this terrain, and if not, why.
    fn suits(&self, call: &Call, terrain: &Terrain) -> Result<(), Unsuitable>;

    /// The plan. Asked only for calls that it suits; for others the plan is empty.
    fn plan(&self, call: &Call, terrain: &Terrain) -> Plan;
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
    /// The terrain lacks something.
    #[error("{algorithm} needs {needs}")]
    Terrain {
        /// Its name.
        algorithm: &'static str,
        /// What is missing: "hosts of the same size".
        needs: &'static str,
    },
    /// It moves only parts of the same size.
    #[error("{algorithm} moves parts of the same size only")]
    Uneven {
        /// Its name.
        algorithm: &'static str,
    },
}

/// All algorithms, in the order of the documentation.
pub const ALGORITHMS: &[&dyn Algorithm] = &[&algorithms::Ring, &algorithms::Synthesised];

/// The algorithm of that name.
pub fn algorithm(name: &str) -> Option<&'static dyn Algorithm> {
    ALGORITHMS.iter().copied().find(|algorithm| algorithm.name() == name)
}
