//! What reaches each link when senders send without regard to each other.

use std::collections::BTreeMap;

use super::{Links, Moving};
use crate::engine::{Engine, PathId, ResourceId};

/// Rates at which each message reaches the links of its way. A link that gets more than it carries lets through the
/// same part of each.
pub(super) struct Queues {
    /// For each link what reaches it and what it carries.
    pub at: BTreeMap<ResourceId, Load>,
    /// For each message its links, and the bytes of data per second that reach them.
    pub arrivals: Vec<Vec<(ResourceId, f64)>>,
    /// For each message what of it arrives.
    pub delivered_share: Vec<f64>,
}

/// At one link, in bytes per second.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub reaches: f64,
    pub carries: f64,
}

impl Load {
    /// The part that it lets through.
    fn passes(self) -> f64 {
        if self.reaches > self.carries { self.carries / self.reaches } else { 1.0 }
    }
}

impl Queues {
    /// Messages that each send at one of these rates. Repeated until nothing changes: what one link
    /// lets through is what reaches the next.
    pub fn new(engine: &Engine, links: &Links, messages: &[Moving], rates_bytes_per_s: &[f64]) -> Self {
        let way = |path: PathId| -> Vec<(ResourceId, f64)> {
            let uses = engine.uses(path).into_iter().filter(|used| links.contains(used.resource));
            uses.map(|used| (used.resource, used.weight)).collect()
        };
        let ways: Vec<_> = messages.iter().map(|message| way(message.path)).collect();
        let mut at: BTreeMap<ResourceId, Load> = BTreeMap::new();
        let (mut arrivals, mut delivered_share) = (Vec::new(), Vec::new());
        let longest = ways.iter().map(Vec::len).max().unwrap_or(0);
        // A way of k links is settled after k rounds, where no links wait for each other in a circle.
        for _ in 0..=longest {
            let before = std::mem::take(&mut at);
            (arrivals, delivered_share) = (Vec::new(), Vec::new());
            for (way, rate) in ways.iter().zip(rates_bytes_per_s) {
                let (mut left, mut reached) = (1.0, Vec::new());
                for (link, weight) in way {
                    let carries = engine.capacity(*link).as_gigabytes() * 1e9;
                    at.entry(*link).or_insert(Load { reaches: 0.0, carries }).reaches += rate * left * weight;
                    reached.push((*link, rate * left));
                    left *= before.get(link).map_or(1.0, |load| load.passes());
                }
                arrivals.push(reached);
                delivered_share.push(left);
            }
        }
        Self { at, arrivals, delivered_share }
    }
}

/// What a message reaches on a path that it has for itself, in bytes per second.
pub(super) fn alone_bytes_per_s(engine: &Engine, path: PathId) -> f64 {
    let share = |used: &crate::engine::Use| engine.capacity(used.resource).as_gigabytes() * 1e9 / used.weight;
    engine.uses(path).iter().map(share).fold(f64::INFINITY, f64::min)
}
