//! What was observed or is assumed broken, beside the immutable graph.

use std::collections::BTreeMap;

use weft_base::{Place, Rate};

use crate::{LinkId, Topology};

/// The state of one direction of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Lanes or links that are up, of the link's `count`.
    pub up: u16,
    /// A measured rate, where one was read.
    pub observed: Option<Rate>,
    /// Where that was read; `None` where the user said so.
    pub place: Option<Place>,
}

impl Health {
    /// So many lanes or links up, by the user's word.
    pub fn up(up: u16) -> Self {
        Self { up, observed: None, place: None }
    }
}

/// Health of the links that are not simply as built.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overlay {
    links: BTreeMap<LinkId, Health>,
}

impl Overlay {
    /// Records the state of one direction.
    pub fn set(&mut self, link: LinkId, health: Health) {
        self.links.insert(link, health);
    }

    /// Records the same state of both directions.
    pub fn set_both(&mut self, topology: &Topology, link: LinkId, health: Health) {
        self.links.insert(topology.link(link).twin, health.clone());
        self.links.insert(link, health);
    }

    /// The recorded state, if any.
    pub fn health(&self, link: LinkId) -> Option<&Health> {
        self.links.get(&link)
    }

    /// Lanes or links of one direction that are up.
    pub fn up(&self, topology: &Topology, link: LinkId) -> u16 {
        let count = topology.link(link).count;
        self.links.get(&link).map_or(count, |health| health.up.min(count))
    }

    /// What one direction carries now: the observed rate, else its share of lanes that are up.
    pub fn capacity(&self, topology: &Topology, link: LinkId) -> Rate {
        let built = topology.link(link);
        let observed = self.links.get(&link).and_then(|health| health.observed);
        observed.unwrap_or_else(|| {
            let share = u128::from(built.capacity.get()) * u128::from(self.up(topology, link));
            let now = share / u128::from(built.count.max(1));
            Rate::bytes_per_second(u64::try_from(now).unwrap_or(u64::MAX))
        })
    }

    /// The graph as it is now: narrower links with what they carry, dead ones gone. Nodes keep their ids, so
    /// that classes, routes and predictions of the degraded machine can be set beside those of the whole one.
    #[must_use]
    pub fn applied(&self, topology: &Topology) -> Topology {
        topology.with_links(|link| (self.up(topology, link), self.capacity(topology, link)))
    }
}
