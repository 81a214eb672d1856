//! How fast a job runs where it sits.

use super::record::Spans;
use crate::cluster::{Cluster, LEVELS, Level};
use crate::contention::Contention;
use crate::job::{Job, JobId};
use crate::policy::Member;

/// Says how fast jobs run. It hears who works where, so that it may let neighbours slow each other.
pub trait Speed: Send {
    /// A job works on these places from now on. Gives others whose speed may have changed.
    fn comes(&mut self, cluster: &Cluster, id: JobId, job: &Job, members: &[Member]) -> Vec<JobId>;

    /// A job no longer works where it did. Gives others whose speed may have changed.
    fn goes(&mut self, id: JobId) -> Vec<JobId>;

    /// The speed of a job that works, over that on the ideal placement: more than 0, at most 1.
    fn share(&mut self, id: JobId) -> f64;
}

/// All jobs run at full speed wherever they are.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ideal;

impl Speed for Ideal {
    fn comes(&mut self, _cluster: &Cluster, _id: JobId, _job: &Job, _members: &[Member]) -> Vec<JobId> {
        Vec::new()
    }

    fn goes(&mut self, _id: JobId) -> Vec<JobId> {
        Vec::new()
    }

    fn share(&mut self, _id: JobId) -> f64 {
        1.0
    }
}

/// A job is as fast as a table says for the finest level that holds all its members.
#[derive(Debug, Clone)]
pub struct ByLevel {
    /// Shares of the ideal speed, by level from node to cluster.
    table: [f64; LEVELS.len()],
    known: Vec<f64>,
}

impl ByLevel {
    /// Shares of the ideal speed for jobs within a node, a domain, a rack, a leaf, a spine group, the cluster.
    pub fn of(by_level_share: [f64; LEVELS.len()]) -> Self {
        Self { table: by_level_share, known: Vec::new() }
    }
}

impl Speed for ByLevel {
    fn comes(&mut self, cluster: &Cluster, id: JobId, _job: &Job, members: &[Member]) -> Vec<JobId> {
        let level = Spans::of(cluster, members).level();
        let row = LEVELS.iter().position(|known| *known == level).unwrap_or(LEVELS.len() - 1);
        if self.known.len() <= id.at() {
            self.known.resize(id.at() + 1, 1.0);
        }
        self.known[id.at()] = self.table[row];
        Vec::new()
    }

    fn goes(&mut self, _id: JobId) -> Vec<JobId> {
        Vec::new()
    }

    fn share(&mut self, id: JobId) -> f64 {
        self.known.get(id.at()).copied().unwrap_or(1.0)
    }
}

impl Speed for Contention {
    fn comes(&mut self, cluster: &Cluster, id: JobId, job: &Job, members: &[Member]) -> Vec<JobId> {
        self.begins(cluster, id, job, members)
    }

    fn goes(&mut self, id: JobId) -> Vec<JobId> {
        self.stops(id)
    }

    fn share(&mut self, id: JobId) -> f64 {
        self.speed_share(id)
    }
}

impl Spans {
    /// What members span.
    pub fn of(cluster: &Cluster, members: &[Member]) -> Self {
        let count = |level: Level| {
            let mut domains: Vec<u32> =
                members.iter().map(|member| cluster.domain(member.node, level)).collect();
            domains.sort_unstable();
            domains.dedup();
            u32::try_from(domains.len()).unwrap_or(u32::MAX)
        };
        Self {
            node_count: count(Level::Node),
            domain_count: count(Level::Domain),
            rack_count: count(Level::Rack),
            leaf_count: count(Level::Leaf),
            spine_count: count(Level::Spine),
        }
    }

    /// The finest level of which one domain holds all.
    pub fn level(self) -> Level {
        let counts = [
            (Level::Node, self.node_count),
            (Level::Domain, self.domain_count),
            (Level::Rack, self.rack_count),
            (Level::Leaf, self.leaf_count),
            (Level::Spine, self.spine_count),
        ];
        counts.into_iter().find(|(_, count)| *count <= 1).map_or(Level::Cluster, |(level, _)| level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::NodeId;
    use crate::fleet::NodeKind;
    use crate::stand::Gpus;

    #[test]
    fn the_finest_common_level_decides() {
        let kind = NodeKind { cpu_milli: 1000, memory_mib: 1, gpu_count: 8, model: 0 };
        // Nodes 0 and 1 under leaf 0, 2 and 3 under leaf 1, both under spine 0; 4 and 5 under leaf 2 and spine 1.
        let cluster = Cluster::uniform("H100", kind, 6, 2, 2);
        let on = |nodes: &[u32]| -> Vec<Member> {
            let member = |node: &u32| Member { group: 0, node: NodeId(*node), gpus: Gpus::whole(1) };
            nodes.iter().map(member).collect()
        };
        let level = |nodes: &[u32]| Spans::of(&cluster, &on(nodes)).level();
        assert_eq!(level(&[3, 3]), Level::Node);
        assert_eq!(level(&[0, 1]), Level::Leaf);
        assert_eq!(level(&[0, 2]), Level::Spine);
        assert_eq!(level(&[0, 4]), Level::Cluster);
        let spans = Spans::of(&cluster, &on(&[0, 1, 2, 4]));
        assert_eq!((spans.node_count, spans.leaf_count, spans.spine_count), (4, 3, 2));
    }
}
