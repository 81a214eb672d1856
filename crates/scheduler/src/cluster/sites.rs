//! Where nodes stand, from the NVLink domain to the spine.

use std::collections::BTreeMap;

use thiserror::Error;

use super::{Cluster, NodeId};

/// What members of a job are to have in common, from fine to coarse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// One server.
    Node,
    /// One NVLink domain, which may span servers (NVL72).
    Domain,
    /// One rack.
    Rack,
    /// One leaf switch, or group of rail leaves (scalable unit).
    Leaf,
    /// One group of spines (pod).
    Spine,
    /// The whole cluster.
    Cluster,
}

/// All of them, from fine to coarse.
pub const LEVELS: [Level; 6] =
    [Level::Node, Level::Domain, Level::Rack, Level::Leaf, Level::Spine, Level::Cluster];

impl Level {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Domain => "domain",
            Self::Rack => "rack",
            Self::Leaf => "leaf",
            Self::Spine => "spine",
            Self::Cluster => "cluster",
        }
    }

    /// The level of that word.
    pub fn named(word: &str) -> Option<Self> {
        LEVELS.into_iter().find(|level| level.word() == word)
    }
}

/// The domains in which a node is, each numbered from 0 over the whole cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Site {
    /// The NVLink domain.
    pub domain: u32,
    /// The rack.
    pub rack: u32,
    /// The leaf, or group of rail leaves.
    pub leaf: u32,
    /// The group of spines.
    pub spine: u32,
}

/// A domain lies in two coarser ones.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{} {number} lies in {} {} and in {} {}", level.word(), coarser.word(), two.0, coarser.word(), two.1)]
pub struct Misplaced {
    /// The level of the domain.
    pub level: Level,
    /// The domain.
    pub number: u32,
    /// The level of the two.
    pub coarser: Level,
    /// The two.
    pub two: (u32, u32),
}

pub fn check(cluster: &Cluster) -> Result<(), Misplaced> {
    for pair in LEVELS.windows(2) {
        let (level, coarser) = (pair[0], pair[1]);
        let mut parents: BTreeMap<u32, u32> = BTreeMap::new();
        for node in cluster.ids() {
            check_node(cluster, node, (level, coarser), &mut parents)?;
        }
    }
    Ok(())
}

fn check_node(
    cluster: &Cluster,
    node: NodeId,
    (level, coarser): (Level, Level),
    parents: &mut BTreeMap<u32, u32>,
) -> Result<(), Misplaced> {
    let (number, parent) = (cluster.domain(node, level), cluster.domain(node, coarser));
    let known = *parents.entry(number).or_insert(parent);
    if known == parent {
        return Ok(());
    }
    Err(Misplaced { level, number, coarser, two: (known, parent) })
}
