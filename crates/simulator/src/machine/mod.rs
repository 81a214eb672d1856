//! A topology as a network of the engine: each half-link is a resource, each pair of GPUs has a path.

mod choice;
mod exits;
mod ports;
mod terrain;
mod ways;

use std::collections::{BTreeMap, BTreeSet};

use weft_base::{Rate, Span};
use weft_collective::{Rank, Ranks};
use weft_topology::{Domains, LinkFamily, LinkId, Node, NodeId, NodeKind, Topology};

use crate::engine::{Engine, PathId, ResourceId, Use};
use crate::router::Router;

pub use choice::Choice;
pub(crate) use choice::Crossing;
pub use exits::Exits;
pub(crate) use ports::Ports;
pub use terrain::terrain;
pub(crate) use ways::{Step, Ways};

/// What the topology does not say of a model.
pub trait Facts {
    /// What a switch of that model adds to a way.
    fn switch_latency(&self, model: &str) -> Span;
    /// Whether a switch of that model adds numbers and copies flows.
    fn reduces(&self, model: &str) -> bool;
}

/// How messages cross a network, besides which way they go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Carriage {
    /// Bytes on a network link for each byte of a message: headers, and what is sent again.
    pub weight: f64,
    /// The most that one message reaches across a network.
    pub cap: Option<Rate>,
    /// What the hosts at both ends add to each message.
    pub latency: Span,
}

impl Carriage {
    /// Nothing but the bytes of the message.
    pub const BARE: Self = Self { weight: 1.0, cap: None, latency: Span::ZERO };
}

/// GPUs of a topology as ranks, and the ways between them.
pub struct Machine<'t> {
    topology: &'t Topology,
    facts: &'t dyn Facts,
    gpus: Vec<NodeId>,
    first: usize,
    exits: Exits,
    domains: Domains<'t>,
    ways: Ways<'t>,
    ports: Ports,
    choice: Choice,
    carriage: Carriage,
    /// What each node adds to a way.
    switching: Vec<Span>,
    /// The way that is being put together.
    way: Way,
}

/// A way as the engine takes it.
#[derive(Debug, Clone, Default)]
struct Way {
    uses: Vec<Use>,
    latency: Span,
}

/// Adds a resource for each half-link of a topology, in the order of their ids, and gives the first. After them follow
/// those of links that are bundled: a message whose way is chosen by hash or destination takes one of them, and shares
/// the bundle besides, so that what happens to the bundle happens to its links.
pub fn add_links(engine: &mut Engine, topology: &Topology) -> ResourceId {
    let first = ResourceId::new(engine.resources());
    for (_, link) in topology.links() {
        engine.add_resource(link.capacity);
    }
    let ports = Ports::new(topology);
    for (_, link) in topology.links().filter(|(id, _)| ports.bundles(*id)) {
        let one = Rate::bytes_per_second(link.capacity.get() / u64::from(link.count));
        engine.add_resources(one, usize::from(link.count));
    }
    first
}

/// The half-link of a resource, which may be one link of a bundle, where those of a topology begin at `first`; `None`
/// where it is none of them.
pub fn link_at(topology: &Topology, first: ResourceId, resource: ResourceId) -> Option<LinkId> {
    link_of(topology, &Ports::new(topology), resource.index().checked_sub(first.index())?)
}

/// What each node adds to a way that leads through it.
fn switching(topology: &Topology, facts: &dyn Facts) -> Vec<Span> {
    let mut known: BTreeMap<&str, Span> = BTreeMap::new();
    let of = |(id, node): (NodeId, &Node)| match node.kind {
        NodeKind::PcieSwitch | NodeKind::GpuSwitch | NodeKind::NetworkSwitch => topology
            .model(id)
            .map_or(Span::ZERO, |model| *known.entry(model).or_insert_with(|| facts.switch_latency(model))),
        NodeKind::Gpu | NodeKind::Nic | NodeKind::Cpu | NodeKind::Memory | NodeKind::HostBridge => Span::ZERO,
    };
    topology.nodes().map(of).collect()
}

fn link_of(topology: &Topology, ports: &Ports, index: usize) -> Option<LinkId> {
    topology.links().nth(index).map(|(link, _)| link).or_else(|| ports.bundle(index))
}

impl<'t> Machine<'t> {
    /// `gpus` as ranks, in that order, on links that begin at resource `first`.
    pub fn new(
        topology: &'t Topology,
        facts: &'t dyn Facts,
        first: ResourceId,
        gpus: Vec<NodeId>,
        (choice, carriage): (Choice, Carriage),
    ) -> Self {
        let mut domains = Domains::new(topology);
        let exits = Exits::new(topology, &mut domains, &gpus);
        Self {
            topology,
            facts,
            gpus,
            first: first.index(),
            exits,
            domains,
            ways: Ways::new(topology),
            ports: Ports::new(topology),
            choice,
            carriage,
            switching: switching(topology, facts),
            way: Way::default(),
        }
    }

    /// Chooses ways otherwise from now on; paths that were given before stay as they are.
    pub fn choose(&mut self, choice: Choice) {
        self.choice = choice;
    }

    /// The resource of a half-link.
    pub fn resource(&self, link: LinkId) -> ResourceId {
        ResourceId::new(self.first + link.index())
    }

    /// The half-link of a resource, which may be one link of a bundle; `None` where it is none of this topology's.
    pub fn link(&self, resource: ResourceId) -> Option<LinkId> {
        link_of(self.topology, &self.ports, resource.index().checked_sub(self.first)?)
    }

    /// Goes on from one device to another without network switches; whether there is such a way.
    fn go_inside(&mut self, from: NodeId, to: NodeId) -> bool {
        let Some(shared) = self.domains.route(from, to) else { return false };
        self.way.latency = self.way.latency + shared.route.latency;
        for hop in &shared.route.hops {
            // Links side by side lead to switches that are alike.
            if let Some(link) = hop.links.first() {
                let node = self.topology.link(shared.link(*link)).to;
                self.way.latency = self.way.latency + self.switching[node.index()];
            }
            for link in &hop.links {
                // They share a message by what they carry.
                let weight = self.topology.link(*link).capacity.as_gigabytes() / hop.rate.as_gigabytes();
                let resource = ResourceId::new(self.first + shared.link(*link).index());
                self.way.uses.push(Use { resource, weight });
            }
        }
        true
    }

    /// Goes over the network: out of the sender's NIC, in at the receiver's. Whether there is a way.
    fn go_across(&mut self, from: Rank, to: Rank, channel: u16) -> Option<()> {
        let (out, back) = (self.exits.of(from)?, self.exits.of(to)?);
        if !self.go_inside(self.gpus[from.index()], out) {
            return None;
        }
        let crossing = choice::Crossing { from: out, to: back, channel };
        let over = self.ways.over(self.choice, crossing)?;
        for step in over.steps {
            let weight = step.share * self.carriage.weight;
            self.way.uses.push(Use { resource: self.resource(step.link), weight });
            if let Some(index) = step.port.and_then(|port| self.ports.of(step.link, port)) {
                self.way.uses.push(Use { resource: ResourceId::new(self.first + index), weight });
            }
        }
        for switch in over.switches {
            self.way.latency = self.way.latency + self.switching[switch.index()];
        }
        self.way.latency = self.way.latency + over.latency + self.carriage.latency;
        self.go_inside(back, self.gpus[to.index()]).then_some(())
    }

    /// The switches that join all ranks of a group directly and can add and copy.
    fn adding_switches(&self, ranks: Ranks) -> Vec<NodeId> {
        let joins = |switch: NodeId| {
            let reduces = self.topology.model(switch).is_some_and(|model| self.facts.reduces(model));
            reduces
                && ranks.iter().all(|rank| {
                    let gpu = self.gpus.get(rank.index());
                    gpu.is_some_and(|gpu| self.topology.links_from(*gpu).any(|(_, link)| link.to == switch))
                })
        };
        let Some(first) = self.gpus.get(ranks.first.index()) else { return Vec::new() };
        let mut found: Vec<NodeId> =
            self.topology.links_from(*first).map(|(_, link)| link.to).filter(|node| joins(*node)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Links of all ranks of a group to or from the switches that join them, each with its share of a message.
    fn star(
        &self,
        ranks: impl Iterator<Item = Rank>,
        switches: &[NodeId],
        upwards: bool,
    ) -> (Vec<Use>, Span) {
        let (mut uses, mut latency) = (Vec::new(), Span::ZERO);
        for gpu in ranks.filter_map(|rank| self.gpus.get(rank.index())) {
            let ports: Vec<(LinkId, Rate)> = self
                .topology
                .links_from(*gpu)
                .filter(|(_, link)| switches.contains(&link.to))
                .map(|(id, link)| (if upwards { id } else { link.twin }, link.capacity))
                .collect();
            let total: Rate = ports.iter().map(|(_, rate)| *rate).sum();
            for (link, rate) in ports {
                latency = latency.max(self.topology.link(link).latency);
                let weight = rate.as_gigabytes() / total.as_gigabytes();
                uses.push(Use { resource: self.resource(link), weight });
            }
        }
        (uses, latency)
    }
}

impl Router for Machine<'_> {
    fn avoid(&mut self, dead: &BTreeSet<ResourceId>) {
        let topology = self.topology;
        let is_dead = |link: LinkId| dead.contains(&self.resource(link));
        let dead: BTreeSet<LinkId> =
            topology.links().map(|(link, _)| link).filter(|link| is_dead(*link)).collect();
        self.exits.avoid(|nic| {
            let mut ports =
                topology.links_from(nic).filter(|(_, link)| topology.family(link) == LinkFamily::Network);
            ports.all(|(id, link)| dead.contains(&id) || dead.contains(&link.twin))
        });
        self.ways.avoid(dead);
    }

    fn path(&mut self, engine: &mut Engine, from: Rank, to: Rank, channel: u16) -> Option<PathId> {
        let (a, b) = (*self.gpus.get(from.index())?, *self.gpus.get(to.index())?);
        self.way.uses.clear();
        self.way.latency = Span::ZERO;
        if self.go_inside(a, b) {
            return Some(engine.add_path(&self.way.uses, self.way.latency, None));
        }
        self.go_across(from, to, channel)?;
        Some(engine.add_path(&self.way.uses, self.way.latency, self.carriage.cap))
    }

    fn multicast(&mut self, engine: &mut Engine, from: Rank, to: Ranks) -> Option<PathId> {
        let switches = self.adding_switches(to);
        let switching = self.switching[switches.first()?.index()];
        let (mut uses, up) = self.star(std::iter::once(from), &switches, true);
        let (down, back) = self.star(to.iter().filter(|rank| *rank != from), &switches, false);
        uses.extend(down);
        Some(engine.add_path(&uses, up + switching + back, None))
    }

    fn reduction(&mut self, engine: &mut Engine, to: Rank, of: Ranks) -> Option<PathId> {
        let switches = self.adding_switches(of);
        let switching = self.switching[switches.first()?.index()];
        let (mut uses, up) = self.star(of.iter().filter(|rank| *rank != to), &switches, true);
        let (down, back) = self.star(std::iter::once(to), &switches, false);
        uses.extend(down);
        Some(engine.add_path(&uses, up + switching + back, None))
    }
}
