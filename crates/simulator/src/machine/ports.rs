//! Links that are bundled between the same two switches, as resources of their own.

use std::collections::BTreeMap;

use weft_topology::{LinkFamily, LinkId, Topology};

/// Where the ports of each bundle begin, counted from the first resource of the topology: after those of all
/// half-links.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ports {
    first: BTreeMap<LinkId, usize>,
    /// Of all half-links and ports.
    resources: usize,
    links: usize,
}

impl Ports {
    /// The ports of all bundles of network links.
    pub fn new(topology: &Topology) -> Self {
        let links = topology.links().len();
        let mut ports = Self { first: BTreeMap::new(), resources: links, links };
        for (id, link) in topology.links() {
            if topology.family(link) == LinkFamily::Network && link.count > 1 {
                ports.first.insert(id, ports.resources);
                ports.resources += usize::from(link.count);
            }
        }
        ports
    }

    /// The resource of a port, counted from the first of the topology; `None` where the link is no bundle.
    pub fn of(&self, link: LinkId, port: u16) -> Option<usize> {
        Some(self.first.get(&link)? + usize::from(port))
    }

    /// Whether a resource, counted from the first of the topology, is a port of a bundle.
    pub fn contains(&self, index: usize) -> bool {
        (self.links..self.resources).contains(&index)
    }

    /// Whether a link is a bundle.
    pub fn bundles(&self, link: LinkId) -> bool {
        self.first.contains_key(&link)
    }

    /// The bundle of a resource, counted from the first of the topology.
    pub fn bundle(&self, index: usize) -> Option<LinkId> {
        let before = self.first.iter().filter(|(_, first)| **first <= index);
        before.max_by_key(|(_, first)| **first).map(|(link, _)| *link).filter(|_| self.contains(index))
    }
}
