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

    /// The recorded state, if any.
    pub fn health(&self, link: LinkId) -> Option<&Health> {
        self.links.get(&link)
    }

    /// What one direction carries now: the observed rate, else its share of lanes that are up.
    pub fn capacity(&self, topology: &Topology, link: LinkId) -> Rate {
        let built = topology.link(link);
        let Some(health) = self.links.get(&link) else { return built.capacity };
        health.observed.unwrap_or_else(|| {
            let up = u64::from(health.up.min(built.count));
            Rate::bytes_per_second(built.capacity.get() / u64::from(built.count.max(1)) * up)
        })
    }
}
