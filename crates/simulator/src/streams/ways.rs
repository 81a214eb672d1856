//! Ways that the switches of a topology choose.

use weft_base::Rate;
use weft_topology::{LinkId, NodeId, NodeKind, Topology};

use super::{CableId, Finder, Hop, Laid};
use crate::machine::{Choice, Crossing, Step, Ways};

/// Ways through the network of a topology.
pub struct ChosenWays<'t> {
    topology: &'t Topology,
    ways: Ways<'t>,
    choice: Choice,
}

/// What stands for all cables of a bundle.
const ALL: u64 = 0xffff;

impl<'t> ChosenWays<'t> {
    /// Looks over the network once.
    pub fn new(topology: &'t Topology, choice: Choice) -> Self {
        Self { topology, ways: Ways::new(topology), choice }
    }

    /// Chooses otherwise from now on.
    pub fn choose(&mut self, choice: Choice) {
        self.choice = choice;
    }

    fn is_between_switches(&self, link: LinkId) -> bool {
        let link = self.topology.link(link);
        [link.from, link.to].iter().all(|end| self.topology.node(*end).kind == NodeKind::NetworkSwitch)
    }

    /// Whether one switch joins both ends: then nothing is shared that is not theirs.
    fn is_local(&self, hop: &Hop<NodeId>) -> bool {
        let switches = |nic: NodeId| self.topology.links_from(nic).map(|(_, link)| link.to);
        let is_switch = |node: &NodeId| self.topology.node(*node).kind == NodeKind::NetworkSwitch;
        switches(hop.from).filter(is_switch).any(|own| switches(hop.to).any(|other| own == other))
    }
}

impl Finder<NodeId> for ChosenWays<'_> {
    fn cables(&mut self, hop: &Hop<NodeId>) -> Option<Vec<Laid>> {
        if self.is_local(hop) {
            return Some(Vec::new());
        }
        let crossing = Crossing { from: hop.from, to: hop.to, channel: hop.channel };
        let way = self.ways.over(self.choice, crossing)?;
        let between = way.steps.into_iter().filter(|step| self.is_between_switches(step.link));
        let laid = |step: Step| {
            let link = self.topology.link(step.link);
            let (number, rate) = match step.port {
                Some(port) => (u64::from(port), link.capacity.get() / u64::from(link.count.max(1))),
                None => (ALL, link.capacity.get()),
            };
            let cable = CableId((step.link.index() as u64) << 16 | number);
            Laid { cable, rate: Rate::bytes_per_second(rate), share: step.share }
        };
        Some(between.map(laid).collect())
    }

    fn name(&self, CableId(cable): CableId) -> String {
        let index = usize::try_from(cable >> 16).unwrap_or(usize::MAX);
        let link = self.topology.links().nth(index).map(|(_, link)| *link);
        link.map_or_else(String::new, |link| {
            format!("{} to {}", self.topology.name(link.from), self.topology.name(link.to))
        })
    }
}
