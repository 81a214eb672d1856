//! What happens between flows besides fair shares: asked by a session whenever its flows have changed.

mod flood;
mod openings;
mod overshoot;
mod pauses;
mod queues;

use weft_base::Time;
use weft_topology::{Link, LinkFamily, Topology};

use crate::engine::{Engine, FlowId, PathId, ResourceId};
use crate::machine::Ports;

pub use flood::{Flood, FloodLimits};
pub use overshoot::{Overshoot, OvershootLimits};
pub use pauses::Pauses;

/// A message under way, and the path on which its session started it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moving {
    /// In the engine.
    pub flow: FlowId,
    /// Before any control sent it over another.
    pub path: PathId,
}

/// What a control has counted so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counts {
    /// Packets that a full buffer threw away.
    pub lost_packets_count: f64,
    /// Bytes of data that were sent again.
    pub sent_again_bytes: f64,
    /// How often a message was held up by a pause that was not meant for it.
    pub victims_count: u64,
}

/// Something that changes what flows get.
pub trait Control {
    /// Called when messages have begun or ended, and at the time for which it asked. Gives the time at which it wants
    /// to be called again; `None` where the next change of the messages is early enough.
    fn react(&mut self, engine: &mut Engine, moving: &[Moving]) -> Option<Time>;

    /// What it has counted.
    fn counts(&self) -> Counts;
}

/// Which resources of an engine are links of a network, as against those inside hosts. Of a bundle each link counts.
#[derive(Debug, Clone, Default)]
pub struct Links {
    first: usize,
    single: Vec<bool>,
    ports: Ports,
}

impl Links {
    /// The links of a topology whose resources begin at `first`, as [`add_links`](crate::machine::add_links) adds them.
    pub fn of(topology: &Topology, first: ResourceId) -> Self {
        let single = |link: &Link| topology.family(link) == LinkFamily::Network && link.count == 1;
        let single = topology.links().map(|(_, link)| single(link)).collect();
        Self { first: first.index(), single, ports: Ports::new(topology) }
    }

    /// Whether a resource is a link of the network.
    pub fn contains(&self, resource: ResourceId) -> bool {
        resource.index().checked_sub(self.first).is_some_and(|index| {
            self.single.get(index).copied().unwrap_or_else(|| self.ports.contains(index))
        })
    }
}
