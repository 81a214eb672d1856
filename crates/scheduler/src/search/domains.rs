//! Nodes of each domain, and domains within domains.

use super::Scope;
use crate::cluster::{Cluster, LEVELS, Level, NodeId};

/// Nodes by domain, on each level.
pub struct Domains {
    nodes: [Vec<Vec<NodeId>>; LEVELS.len()],
    widest: [u32; LEVELS.len()],
    are_as_finer: [bool; LEVELS.len()],
}

impl Domains {
    pub fn new(cluster: &Cluster) -> Self {
        let of = |level: Level| {
            let mut nodes = vec![Vec::new(); cluster.domain_count(level) as usize];
            for node in cluster.ids() {
                nodes[cluster.domain(node, level) as usize].push(node);
            }
            nodes
        };
        let nodes = LEVELS.map(of);
        let widest = LEVELS.map(|level| {
            let most = nodes[level as usize].iter().map(Vec::len).max().unwrap_or(0);
            u32::try_from(most).unwrap_or(u32::MAX)
        });
        // Domains are nested, so levels with as many domains have the same ones.
        let count = |level: usize| nodes[level].iter().filter(|nodes| !nodes.is_empty()).count();
        let are_as_finer =
            LEVELS.map(|level| level as usize > 0 && count(level as usize) == count(level as usize - 1));
        Self { nodes, widest, are_as_finer }
    }

    /// Nodes of the largest domain of a level.
    pub fn widest(&self, level: Level) -> u32 {
        self.widest[level as usize]
    }

    /// Whether a level has the same domains as the next finer one.
    pub fn is_as_finer(&self, level: Level) -> bool {
        self.are_as_finer[level as usize]
    }

    /// Nodes of a domain.
    pub fn nodes(&self, scope: Scope) -> &[NodeId] {
        self.nodes[scope.level as usize].get(scope.domain as usize).map_or(&[], Vec::as_slice)
    }

    /// Domains of a level in a scope, by number.
    pub fn within(&self, cluster: &Cluster, level: Level, scope: Scope) -> Vec<u32> {
        if scope.level == Level::Cluster {
            return (0..u32::try_from(self.nodes[level as usize].len()).unwrap_or(u32::MAX)).collect();
        }
        if level >= scope.level {
            // The scope lies in one of them.
            let first = self.nodes(scope).first();
            return first.map(|node| cluster.domain(*node, level)).into_iter().collect();
        }
        let mut found: Vec<u32> = self.nodes(scope).iter().map(|node| cluster.domain(*node, level)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}
