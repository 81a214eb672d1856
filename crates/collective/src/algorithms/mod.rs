//! One file for each algorithm.

mod bruck;
mod direct;
mod double_tree;
mod halving_doubling;
mod hierarchy;
mod in_switch;
mod pairwise;
mod pat;
mod rabenseifner;
mod rails;
mod recursive_doubling;
mod ring;
mod synthesised;

pub use bruck::Bruck;
pub use direct::Direct;
pub use double_tree::DoubleTree;
pub use halving_doubling::HalvingDoubling;
pub use hierarchy::{Across, Hierarchy, Within};
pub use in_switch::InSwitch;
pub use pairwise::Pairwise;
pub use pat::Pat;
pub use rabenseifner::Rabenseifner;
pub use rails::Rails;
pub use recursive_doubling::RecursiveDoubling;
pub use ring::{BidirectionalRing, Ring};
pub use synthesised::{Forest, Synthesised, Tree};

use std::sync::Arc;

use crate::{
    Algorithm, Call, Collective, Counts, Groups, Movement, Phase, Rank, Terrain, Unsuitable, Window,
};

/// Whether an algorithm knows the collective at all, and the terrain those who are named.
fn knows(algorithm: &dyn Algorithm, call: &Call, terrain: &Terrain) -> Result<(), Unsuitable> {
    let (collective, ranks, algorithm_name) = (call.collective, terrain.ranks(), algorithm.name());
    if !algorithm.collectives().contains(&collective) {
        return Err(Unsuitable::Collective { algorithm: algorithm_name, collective });
    }
    let named = match collective {
        Collective::Broadcast | Collective::Reduce => [call.root, call.root],
        Collective::SendRecv => [call.root, call.peer],
        Collective::AllReduce
        | Collective::AllGather
        | Collective::ReduceScatter
        | Collective::AllToAll
        | Collective::Barrier => return Ok(()),
    };
    match named.into_iter().find(|rank| rank.get() >= ranks) {
        Some(rank) => Err(Unsuitable::Root { algorithm: algorithm_name, rank, ranks }),
        None => Ok(()),
    }
}

/// Whether there is a power of two of ranks.
fn power_of_two(algorithm: &dyn Algorithm, terrain: &Terrain) -> Result<(), Unsuitable> {
    let ranks = terrain.ranks();
    if ranks.is_power_of_two() {
        return Ok(());
    }
    Err(Unsuitable::Ranks { algorithm: algorithm.name(), needs: "a power of two", ranks })
}

/// Whether all parts have the same size.
fn even(algorithm: &dyn Algorithm, call: &Call) -> Result<(), Unsuitable> {
    match call.counts {
        Counts::Even(_) => Ok(()),
        Counts::PerRank(_) | Counts::PerPair(_) => Err(Unsuitable::Uneven { algorithm: algorithm.name() }),
    }
}

/// A phase of all ranks as one group.
fn phase(ranks: u32, channel: u16, window: Window, movement: impl Movement + 'static) -> Phase {
    Phase { channel, groups: Groups::all(ranks), window, movement: Arc::new(movement) }
}

/// The window of one of some channels: of a buffer of one part a stretch of as many pieces as there are ranks, of one
/// part for each rank a piece of each part. With it, how many pieces a part has.
fn lane(collective: Collective, ranks: u32, channels: u16, channel: u16) -> (Window, u32) {
    let (channels, channel) = (u32::from(channels.max(1)), u32::from(channel));
    match collective {
        Collective::AllGather | Collective::ReduceScatter | Collective::AllToAll => {
            (Window::at(channel, 1).pitch(channels).part(channel), channels)
        }
        Collective::AllReduce
        | Collective::Broadcast
        | Collective::Reduce
        | Collective::SendRecv
        | Collective::Barrier => (Window::at(channel * ranks, 1), channels * ranks.max(1)),
    }
}

/// Steps that rank 0 takes in phases.
fn steps(phases: &[Phase]) -> u32 {
    let of = |phase: &Phase| phase.at(Rank::new(0)).map_or(0, |at| phase.movement.steps(&at));
    phases.iter().map(of).sum()
}

#[cfg(test)]
mod testing;

#[cfg(test)]
mod tests {
    use super::testing::{alike_steps, calls, operations, terrains};
    use crate::{ALGORITHMS, Call, Rank, Switch, Terrain, algorithm};

    #[test]
    fn names_are_unique_and_titles_name_a_source() {
        for entry in ALGORITHMS {
            let same = ALGORITHMS.iter().filter(|other| other.name() == entry.name());
            assert_eq!(same.count(), 1, "{}", entry.name());
            assert!(entry.title().contains(')'), "{}", entry.name());
        }
        assert!(algorithm("ring").is_some() && algorithm("hypercube").is_none());
    }

    #[test]
    fn steps_that_are_said_to_be_alike_have_the_same_peers_and_as_many_blocks() {
        let mut alike = std::collections::BTreeMap::new();
        for (entry, ranks) in ALGORITHMS.iter().flat_map(|entry| [1, 2, 3, 6, 8].map(|ranks| (*entry, ranks)))
        {
            for (terrain, _) in terrains(ranks) {
                for call in entry.collectives().iter().flat_map(|collective| calls(*collective, ranks)) {
                    if entry.suits(&call, &terrain).is_ok() {
                        let count = alike_steps(&entry.plan(&call, &terrain));
                        *alike.entry(entry.name()).or_insert(0) += count;
                    }
                }
            }
        }
        for name in ["ring", "ring-bidirectional", "two-level", "nvls-ring"] {
            assert!(alike[name] > 100, "{name}: {alike:?}");
        }
    }

    #[test]
    fn plans_of_131072_ranks_stay_folded() {
        // A rank's operations are read without those of others: what takes more than its own would not end here.
        let able = Switch { reduces: true, multicasts: true };
        let terrain = Terrain::switched(16_384, 8, (able, 9), (able, 1));
        for entry in ALGORITHMS {
            for collective in entry.collectives() {
                let call = Call::message(*collective, 1 << 30, terrain.ranks());
                if entry.suits(&call, &terrain).is_err() {
                    continue;
                }
                let plan = entry.plan(&call, &terrain);
                let phases: usize = plan.threads.iter().map(Vec::len).sum();
                assert!(phases <= 20, "{}: {phases} phases", entry.name());
                // Eight rings' two rounds of 131,071 steps with two operations each are the most.
                let most = operations(&plan, Rank::new(77_777));
                assert!(most <= 32 * 131_072, "{}: {most} operations", entry.name());
            }
        }
    }
}
