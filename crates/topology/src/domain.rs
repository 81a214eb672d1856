//! Routes that need no network switch, found once for all hosts or racks that are built alike.

use std::collections::BTreeMap;

use weft_catalogue::LinkFamily;

use crate::graph::{Link, LinkId, NodeId, NodeKind, Topology};
use crate::route::{Hop, Route, route_inside};

/// What network switches join, apart: a host, or a rack of hosts that share a GPU fabric. Routes within such domains
/// are those of [`route`](crate::route); domains that are built alike share them.
#[derive(Debug)]
pub struct Domains<'t> {
    topology: &'t Topology,
    /// The domain of each node; [`NONE`] for network switches.
    of_node: Vec<u32>,
    /// The position of each node in its domain.
    position: Vec<u32>,
    all: Vec<Domain>,
    /// By the first domain of its kind and the positions of both ends.
    routes: BTreeMap<(u32, u32, u32), Option<Route>>,
}

#[derive(Debug)]
struct Domain {
    /// In the order of their ids.
    nodes: Vec<NodeId>,
    /// The first domain that is built like this one.
    like: u32,
}

const NONE: u32 = u32::MAX;

/// A route as domains that are built alike share it.
#[derive(Debug, Clone, Copy)]
pub struct SharedRoute<'r> {
    /// The route in the first domain of its kind; [`SharedRoute::link`] gives the link that stands for one of its own.
    pub route: &'r Route,
    topology: &'r Topology,
    position: &'r [u32],
    nodes: &'r [NodeId],
}

impl SharedRoute<'_> {
    /// The link that is here what `link` is in the first domain of the kind.
    pub fn link(&self, link: LinkId) -> LinkId {
        let from = self.topology.link(link).from;
        let here = self.nodes[self.position[from.index()] as usize];
        let offset = link.index() - self.topology.first_link(from);
        LinkId::at(self.topology.first_link(here) + offset)
    }

    /// The same route with its own links.
    pub fn to_route(&self) -> Route {
        let own = |hop: &Hop| Hop { links: hop.links.iter().map(|link| self.link(*link)).collect(), ..*hop };
        Route { hops: self.route.hops.iter().map(own).collect(), ..*self.route }
    }
}

impl<'t> Domains<'t> {
    /// Finds the domains of a topology, and which of them are built alike; takes time linear in its links.
    pub fn new(topology: &'t Topology) -> Self {
        let mut found = Self {
            topology,
            of_node: vec![NONE; topology.nodes().len()],
            position: vec![0; topology.nodes().len()],
            all: Vec::new(),
            routes: BTreeMap::new(),
        };
        for (node, _) in topology.nodes() {
            if found.of_node[node.index()] == NONE && !is_switch(topology, node) {
                found.add(node);
            }
        }
        found.find_kinds();
        found
    }

    /// The route between two devices; `None` where it would need a network switch, where there is none, and from a
    /// device to itself.
    pub fn route(&mut self, from: NodeId, to: NodeId) -> Option<SharedRoute<'_>> {
        let domain = self.of_node[from.index()];
        if domain == NONE || domain != self.of_node[to.index()] {
            return None;
        }
        let like = self.all[domain as usize].like;
        let (a, b) = (self.position[from.index()], self.position[to.index()]);
        let (topology, first) = (self.topology, &self.all[like as usize].nodes);
        let route = self
            .routes
            .entry((like, a, b))
            .or_insert_with(|| route_inside(topology, first[a as usize], first[b as usize]));
        let nodes = &self.all[domain as usize].nodes;
        route.as_ref().map(|route| SharedRoute { route, topology, position: &self.position, nodes })
    }

    /// How many kinds of domains there are.
    pub fn kinds(&self) -> usize {
        (0..).zip(&self.all).filter(|(index, domain)| domain.like == *index).count()
    }

    /// Everything that is joined to `first`, as a domain.
    fn add(&mut self, first: NodeId) {
        let number = u32::try_from(self.all.len()).unwrap_or(NONE);
        self.of_node[first.index()] = number;
        let (mut nodes, mut done) = (vec![first], 0);
        while let Some(node) = nodes.get(done).copied() {
            done += 1;
            for (_, link) in self.topology.links_from(node).filter(|(_, link)| joins(self.topology, link)) {
                if std::mem::replace(&mut self.of_node[link.to.index()], number) == NONE {
                    nodes.push(link.to);
                }
            }
        }
        nodes.sort_unstable();
        for (position, node) in (0..).zip(&nodes) {
            self.position[node.index()] = position;
        }
        self.all.push(Domain { nodes, like: number });
    }

    fn find_kinds(&mut self) {
        let mut kinds: Vec<usize> = Vec::new();
        let mut last = 0;
        for domain in 0..self.all.len() {
            // Neighbours are most often alike.
            let known = kinds.get(last..=last).into_iter().flatten().chain(&kinds);
            let like = known.copied().find(|like| self.alike(*like, domain)).unwrap_or_else(|| {
                kinds.push(domain);
                domain
            });
            last = kinds.binary_search(&like).unwrap_or(0);
            self.all[domain].like = u32::try_from(like).unwrap_or(NONE);
        }
    }

    /// Whether two domains have the same devices with the same links between them, in the same order.
    fn alike(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.all[a].nodes, &self.all[b].nodes);
        let device = |node: NodeId| (self.topology.node(node).kind, self.topology.model(node));
        let links = |node: NodeId| {
            let own = self.topology.links_from(node).enumerate();
            own.filter(|(_, (_, link))| joins(self.topology, link)).map(|(offset, (_, link))| {
                let end = self.position[link.to.index()];
                (offset, end, link.kind, link.count, link.capacity, link.latency)
            })
        };
        a.len() == b.len()
            && a.iter().zip(b).all(|(a, b)| device(*a) == device(*b) && links(*a).eq(links(*b)))
    }
}

/// Whether a link leads to no network switch. Bridges for rendered frames carry no data of programs.
fn joins(topology: &Topology, link: &Link) -> bool {
    let network = is_switch(topology, link.from) || is_switch(topology, link.to);
    !network && topology.family(link) != LinkFamily::DisplayBridge
}

fn is_switch(topology: &Topology, node: NodeId) -> bool {
    topology.node(node).kind == NodeKind::NetworkSwitch
}
