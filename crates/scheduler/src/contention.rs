//! Jobs that share uplinks slow each other.
//!
//! The fabric is what spans leaves: an uplink and a downlink of each leaf and of each group of spines, and the adapters of
//! a node. Each job is one flow of the simulator's engine that uses those that it crosses, so that all jobs at once get
//! their max-min fair rates; a step is what a job computes and what it sends at that rate.

use std::collections::BTreeMap;

use weft_base::{Bytes, Rate, Span};
use weft_simulator::{Engine, FlowId, ResourceId, Tag, Use};

use crate::cluster::{Cluster, Level};
use crate::job::{Job, JobId, Need, Pattern, Traffic};
use crate::policy::Member;

/// Bandwidths, each of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uplinks {
    /// All adapters of a node.
    pub node: Rate,
    /// All uplinks of a leaf.
    pub leaf: Rate,
    /// All uplinks of a group of spines.
    pub spine: Rate,
}

/// What a job's members send across the border of each domain of a level, in the rate at which one node sends.
fn crossings_at(cluster: &Cluster, traffic: Traffic, members: &[Member], level: Level) -> Vec<(u32, f64)> {
    let mut nodes: Vec<_> = members.iter().map(|member| member.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let mut by_domain: BTreeMap<u32, u32> = BTreeMap::new();
    for node in &nodes {
        *by_domain.entry(cluster.domain(*node, level)).or_default() += 1;
    }
    if by_domain.len() < 2 {
        return Vec::new();
    }
    let all = f64::from(u32::try_from(nodes.len()).unwrap_or(u32::MAX));
    let crossing = |count: f64| match traffic.pattern {
        Pattern::Ring => 1.0,
        Pattern::AllToAll => count * (all - count) / (all - 1.0),
    };
    by_domain.into_iter().map(|(domain, count)| (domain, crossing(f64::from(count)))).collect()
}

/// What a job sends across the border of each leaf, in the rate at which one node sends; nothing if it stays under one.
pub fn crossings(cluster: &Cluster, traffic: Option<Traffic>, members: &[Member]) -> Vec<(u32, f64)> {
    traffic.map(|traffic| crossings_at(cluster, traffic, members, Level::Leaf)).unwrap_or_default()
}

/// A job that works.
struct Worker {
    flow: FlowId,
    /// Resources that it crosses.
    crossed: Vec<usize>,
    /// Its step without and with communication at full rate.
    compute_share: f64,
    exposed_share: f64,
    ideal_share: f64,
    is_alone: bool,
}

/// How fast jobs run that share uplinks.
pub struct Contention {
    engine: Engine,
    uplinks: Uplinks,
    /// Up and down of each leaf, then up and down of each group of spines.
    leaf_count: usize,
    first: Option<ResourceId>,
    workers: BTreeMap<JobId, Worker>,
    /// Jobs on each resource.
    on: Vec<Vec<JobId>>,
}

/// So much that no flow ends while it is looked at.
const ENDLESS: Bytes = Bytes::new(1 << 60);

impl Contention {
    /// Of a fabric.
    pub fn new(uplinks: Uplinks) -> Self {
        Self {
            engine: Engine::new(),
            uplinks,
            leaf_count: 0,
            first: None,
            workers: BTreeMap::new(),
            on: Vec::new(),
        }
    }

    fn build(&mut self, cluster: &Cluster) {
        let count = |level| cluster.domain_count(level) as usize;
        self.leaf_count = count(Level::Leaf);
        self.first = Some(self.engine.add_resources(self.uplinks.leaf, 2 * self.leaf_count));
        let spines = 2 * count(Level::Spine);
        self.engine.add_resources(self.uplinks.spine, spines);
        self.on = vec![Vec::new(); 2 * self.leaf_count + spines];
    }

    /// A job works on these places from now on. Gives others whose speed may have changed.
    pub fn begins(&mut self, cluster: &Cluster, id: JobId, job: &Job, members: &[Member]) -> Vec<JobId> {
        if self.first.is_none() {
            self.build(cluster);
        }
        let Some(traffic) = job.traffic else { return Vec::new() };
        let (compute_share, exposed_share) = {
            let exposed = f64::from(traffic.exposed_milli.min(1000)) / 1000.0;
            (1.0 - exposed, exposed)
        };
        let is_on_one_node = members.windows(2).all(|pair| pair[0].node == pair[1].node);
        let mut uses = Vec::new();
        for (level, first) in [(Level::Leaf, 0), (Level::Spine, 2 * self.leaf_count)] {
            for (domain, weight) in crossings_at(cluster, traffic, members, level) {
                let at = first + 2 * domain as usize;
                uses.extend([at, at + 1].map(|resource| (resource, weight)));
            }
        }
        let of =
            |(resource, weight): &(usize, f64)| Use { resource: self.resource(*resource), weight: *weight };
        let uses_of_engine: Vec<Use> = uses.iter().map(of).collect();
        let path = self.engine.add_path(&uses_of_engine, Span::ZERO, Some(self.uplinks.node));
        let flow = self.engine.start(path, ENDLESS, Tag::from(id.0));
        let crossed: Vec<usize> = uses.into_iter().map(|(resource, _)| resource).collect();
        for resource in &crossed {
            self.on[*resource].push(id);
        }
        let ideal_share = if fits_one_node(cluster, &job.need) { compute_share } else { 1.0 };
        let worker = Worker {
            flow,
            crossed,
            compute_share,
            exposed_share,
            ideal_share: ideal_share.max(f64::MIN_POSITIVE),
            is_alone: is_on_one_node,
        };
        let others = self.near(&worker.crossed, id);
        self.workers.insert(id, worker);
        others
    }

    /// A job no longer works. Gives others whose speed may have changed.
    pub fn stops(&mut self, id: JobId) -> Vec<JobId> {
        let Some(worker) = self.workers.remove(&id) else { return Vec::new() };
        self.engine.cancel(worker.flow);
        for resource in &worker.crossed {
            self.on[*resource].retain(|other| *other != id);
        }
        self.near(&worker.crossed, id)
    }

    /// The speed of a job over that on its ideal place, with nobody in the way: more than 0, at most 1.
    pub fn speed_share(&mut self, id: JobId) -> f64 {
        let Some(worker) = self.workers.get(&id) else { return 1.0 };
        if worker.is_alone {
            return (worker.ideal_share / worker.compute_share.max(f64::MIN_POSITIVE)).min(1.0);
        }
        let rate = self.engine.rate_bytes_per_s(worker.flow);
        let full = Rate::as_gigabytes(self.uplinks.node) * 1e9;
        let step = worker.compute_share + worker.exposed_share * full / rate.max(1.0);
        (worker.ideal_share / step).min(1.0)
    }

    fn resource(&self, at: usize) -> ResourceId {
        ResourceId::new(at + self.first.map_or(0, ResourceId::index))
    }

    /// Jobs that share a resource with those on these, directly or through others: their rates hang together.
    fn near(&self, crossed: &[usize], but: JobId) -> Vec<JobId> {
        let mut seen = vec![false; self.on.len()];
        let mut found: std::collections::BTreeSet<JobId> = std::collections::BTreeSet::new();
        let mut to_see = crossed.to_vec();
        while let Some(resource) = to_see.pop() {
            if std::mem::replace(&mut seen[resource], true) {
                continue;
            }
            for job in self.on[resource].iter().filter(|job| **job != but) {
                if found.insert(*job)
                    && let Some(worker) = self.workers.get(job)
                {
                    to_see.extend(&worker.crossed);
                }
            }
        }
        found.into_iter().collect()
    }
}

/// Whether an empty node of some shape holds all members.
fn fits_one_node(cluster: &Cluster, need: &Need) -> bool {
    let most = cluster.shapes.iter().map(|shape| u64::from(shape.kind.gpu_count) * 1000).max().unwrap_or(0);
    need.gpu_milli() <= most
}

#[cfg(test)]
mod tests {
    use weft_base::{Moment, Rate};

    use super::{Contention, Uplinks, crossings};
    use crate::cluster::{Cluster, NodeId};
    use crate::fleet::{Models, NodeKind, Pod};
    use crate::job::{Ask, Group, Job, JobId, Need, Pattern, QueueId, Traffic};
    use crate::policy::Member;
    use crate::stand::Gpus;

    /// Four leaves of four nodes under one spine.
    fn cluster() -> Cluster {
        let kind = NodeKind { cpu_milli: 1000, memory_mib: 1000, gpu_count: 8, model: 0 };
        Cluster::uniform("H100", kind, 16, 4, 4)
    }

    fn contention(leaf_gigabytes: f64) -> Contention {
        let rate = Rate::from_gigabytes;
        Contention::new(Uplinks { node: rate(400.0), leaf: rate(leaf_gigabytes), spine: rate(1600.0) })
    }

    fn on(nodes: &[u32]) -> Vec<Member> {
        nodes.iter().map(|node| Member { group: 0, node: NodeId(*node), gpus: Gpus::whole(0xFF) }).collect()
    }

    fn job(exposed_milli: u16, pattern: Pattern, member_count: u32) -> Job {
        let pod = Pod { cpu_milli: 0, memory_mib: 0, gpu_count: 8, gpu_milli: 1000, models: Models::ANY };
        Job {
            name: String::new(),
            queue: QueueId(0),
            priority: 0,
            submitted: Moment::ZERO,
            need: Need { groups: vec![Group::rigid("w", Ask::of(pod), member_count)], within: None },
            limit: None,
            preemptible: true,
            traffic: Some(Traffic { exposed_milli, pattern }),
        }
    }

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }

    #[test]
    fn rings_over_the_same_uplinks_get_half_each() {
        // Leaves of four nodes with uplinks of 400 GB/s, as much as one node sends (4:1).
        let mut contention = contention(400.0);
        let (cluster, ring) = (cluster(), job(400, Pattern::Ring, 2));
        assert!(contention.begins(&cluster, JobId(0), &ring, &on(&[0, 4])).is_empty());
        close(contention.speed_share(JobId(0)), 1.0);
        // A ring within a leaf is in nobody's way.
        assert!(contention.begins(&cluster, JobId(1), &ring, &on(&[1, 2])).is_empty());
        // A second ring over leaves 0 and 1: each has 200 of 400 GB/s, so a step is 0.6 + 0.4 * 2.
        assert_eq!(contention.begins(&cluster, JobId(2), &ring, &on(&[3, 5])), [JobId(0)]);
        close(contention.speed_share(JobId(0)), 1.0 / 1.4);
        close(contention.speed_share(JobId(1)), 1.0);
        close(contention.speed_share(JobId(2)), 1.0 / 1.4);
        assert_eq!(contention.stops(JobId(2)), [JobId(0)]);
        close(contention.speed_share(JobId(0)), 1.0);
    }

    #[test]
    fn all_to_all_sends_more_over_uplinks_than_a_ring() {
        let cluster = cluster();
        let nodes = on(&[0, 1, 4, 5]);
        let all = job(300, Pattern::AllToAll, 4);
        // Each of two nodes of a leaf sends two of its three parts to the other leaf: 2 * 2 / 3.
        let found = crossings(&cluster, all.traffic, &nodes);
        assert_eq!(found.len(), 2);
        close(found[0].1, 4.0 / 3.0);
        assert!(crossings(&cluster, all.traffic, &on(&[0, 1])).is_empty());
        // Uplinks of 400 GB/s let it have 300 GB/s per node: 0.7 + 0.3 * 4/3.
        let mut contention = contention(400.0);
        contention.begins(&cluster, JobId(0), &all, &nodes);
        close(contention.speed_share(JobId(0)), 1.0 / 1.1);
    }

    #[test]
    fn a_job_that_would_fit_on_one_node_pays_for_being_apart() {
        let mut contention = contention(1600.0);
        let (cluster, small) = (cluster(), job(250, Pattern::Ring, 1));
        contention.begins(&cluster, JobId(0), &small, &on(&[0]));
        close(contention.speed_share(JobId(0)), 1.0);
        contention.begins(&cluster, JobId(1), &small, &on(&[1, 2]));
        close(contention.speed_share(JobId(1)), 0.75);
    }
}
