//! Which of the shortest ways over the network a message takes.

use std::collections::BTreeSet;

use weft_base::Span;
use weft_topology::{LinkId, NetworkPaths, NodeId, NodeKind, Pick, Spread, Topology};

use super::choice::{Choice, Crossing};

/// The ways of a network under a choice among them.
pub(crate) struct Ways<'t> {
    topology: &'t Topology,
    /// All of them.
    usual: NetworkPaths<'t>,
    /// Those around links that are to be avoided, if there are such.
    around: Option<NetworkPaths<'t>>,
}

/// A link of a way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Step {
    pub link: LinkId,
    /// Which of the links that are bundled in it; `None` where the message is spread over all of them.
    pub port: Option<u16>,
    /// The part of the message that takes it.
    pub share: f64,
}

/// A way from NIC to NIC.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NetworkWay {
    pub steps: Vec<Step>,
    /// The switches that a message passes one after the other; of those side by side the first.
    pub switches: Vec<NodeId>,
    /// Of the links.
    pub latency: Span,
}

impl<'t> Ways<'t> {
    pub fn new(topology: &'t Topology) -> Self {
        Self { topology, usual: NetworkPaths::new(topology), around: None }
    }

    /// Takes none of these links from now on where there is another way.
    pub fn avoid(&mut self, dead: BTreeSet<LinkId>) {
        self.around = (!dead.is_empty()).then(|| NetworkPaths::avoiding(self.topology, dead));
    }

    /// The way of a message; `None` where none leads there. Where all lead over links that are to be avoided, the one
    /// that it would usually take: it waits there.
    pub fn over(&mut self, choice: Choice, crossing: Crossing) -> Option<NetworkWay> {
        let topology = self.topology;
        let around = self.around.as_mut().and_then(|paths| over(topology, paths, choice, crossing));
        around.or_else(|| over(topology, &mut self.usual, choice, crossing))
    }
}

fn over(
    topology: &Topology,
    paths: &mut NetworkPaths<'_>,
    choice: Choice,
    crossing: Crossing,
) -> Option<NetworkWay> {
    let Crossing { from, to, .. } = crossing;
    let spread = match choice {
        Choice::ByDestination => return one(topology, paths, crossing, Pick::Destination),
        Choice::ByTable { seed } => {
            return one(topology, paths, crossing, Pick::Hash { flow_seed: crossing.table_hash(seed) });
        }
        Choice::Hash { seed } => {
            return one(topology, paths, crossing, Pick::Hash { flow_seed: crossing.hash(seed) });
        }
        Choice::Spray => Spread::Evenly,
        Choice::Adaptive => Spread::ByCapacity,
    };
    let first = paths.alternatives(from, to).next()?;
    let shares = paths.shares(from, to, spread).into_iter();
    let steps = shares.map(|(link, share)| Step { link, port: None, share }).collect();
    Some(way(topology, steps, first.into_iter()))
}

fn one(
    topology: &Topology,
    paths: &mut NetworkPaths<'_>,
    crossing: Crossing,
    pick: Pick,
) -> Option<NetworkWay> {
    let cables = paths.path(crossing.from, crossing.to, pick)?;
    let step = |cable: &weft_topology::Cable| Step { link: cable.link, port: Some(cable.number), share: 1.0 };
    let steps = cables.iter().map(step).collect();
    Some(way(topology, steps, cables.iter().map(|cable| cable.link)))
}

fn way(topology: &Topology, steps: Vec<Step>, links: impl Iterator<Item = LinkId>) -> NetworkWay {
    let (mut switches, mut latency) = (Vec::new(), Span::ZERO);
    for link in links {
        let link = topology.link(link);
        latency = latency + link.latency;
        if topology.node(link.to).kind == NodeKind::NetworkSwitch {
            switches.push(link.to);
        }
    }
    NetworkWay { steps, switches, latency }
}
