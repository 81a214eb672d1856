//! What flows between hosts lose to each other in the network: the simulator's answer, asked for where several
//! switches lie between hosts.

mod ends;
mod pattern;

use std::sync::Arc;

pub use weft_simulator::machine::Choice as Routing;
use weft_simulator::streams::{ChosenWays, Finder, Hop, Meeting, TableWays, play};
use weft_topology::{ForwardingTable, NodeId, Subnet, Topology};

use crate::nccl::cluster::Cluster;
use crate::nccl::nics::Net;
use ends::{adapters, nics};
use pattern::End;

pub(crate) use pattern::Pattern;

/// A network as it was discovered, in place of the one of the machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fabric {
    /// Switches, adapters and cables. Its hosts are the machine's, in the order of their names.
    pub subnet: Subnet,
    /// What its switches route; empty where that is not known.
    pub tables: Vec<ForwardingTable>,
    /// The same as a graph.
    pub graph: Topology,
}

/// The network between the hosts of a question.
#[derive(Debug, Clone)]
pub(crate) struct Between {
    net: Wires,
    choice: Routing,
}

#[derive(Debug, Clone)]
enum Wires {
    /// Those of the machine; for each node its NICs, those together that the library sees as one.
    Own(Vec<Vec<Vec<NodeId>>>),
    /// Those of a subnet, without tables.
    Found(Arc<Fabric>, Vec<Vec<Vec<NodeId>>>),
    /// Those of a subnet, with the tables of its switches; for each node its adapters.
    Routed(Arc<Fabric>, Vec<Vec<Vec<u32>>>),
}

/// What a pattern loses.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Crowd {
    /// Message bytes over time that the cables between switches allow, GB/s: what one network of twenty stays below,
    /// what half of them do, and what one of twenty exceeds. All three are the same where nothing is left to chance.
    pub algbw: [f64; 3],
    /// How it was found, as a sentence without a full stop.
    pub text: String,
}

/// Ways that are left to chance are drawn so often, less where that would be more hops than the second number.
const DRAWS: (usize, usize) = (128, 100_000);
/// Of a large network so few draws say enough.
const FEWEST_DRAWS: usize = 8;

impl Between {
    /// The network that joins the nodes; `None` where one switch does, or where it is not known.
    pub fn new(
        topology: &Topology,
        cluster: &Cluster,
        gpus: &[NodeId],
        (choice, fabric): (Option<Routing>, Option<&Arc<Fabric>>),
    ) -> Option<Self> {
        let net = &cluster.system.nics.first()?.net;
        let choice = choice.unwrap_or_else(|| usual(*net));
        let net = match fabric {
            Some(fabric) if fabric.tables.is_empty() => {
                Wires::Found(Arc::clone(fabric), nics(&fabric.graph, topology, cluster, gpus, Some(fabric))?)
            }
            Some(fabric) => Wires::Routed(Arc::clone(fabric), adapters(fabric, topology, cluster, gpus)?),
            None => Wires::Own(nics(topology, topology, cluster, gpus, None)?),
        };
        Some(Self { net, choice })
    }

    /// What each pattern loses on the machine that this is of; `None` for those that cross no cable between switches, or
    /// find no way.
    pub fn crowds(&self, topology: &Topology, patterns: &[Pattern]) -> Vec<Option<Crowd>> {
        match &self.net {
            Wires::Own(ends) => self.chosen(topology, ends, patterns),
            Wires::Found(fabric, ends) => self.chosen(&fabric.graph, ends, patterns),
            Wires::Routed(fabric, ends) => {
                let mut ways = TableWays::new(&fabric.subnet, &fabric.tables);
                let crowd = |pattern: &Pattern| {
                    let streams = at(&pattern.streams(), ends)?;
                    let meeting = play(&streams, &mut ways)?;
                    Crowd::of(pattern, &[meeting], "by the tables of the subnet", &ways)
                };
                patterns.iter().map(crowd).collect()
            }
        }
    }

    fn chosen(
        &self,
        topology: &Topology,
        ends: &[Vec<Vec<NodeId>>],
        patterns: &[Pattern],
    ) -> Vec<Option<Crowd>> {
        let mut ways = ChosenWays::new(topology, self.choice);
        let crowd = |pattern: &Pattern| {
            let streams = at(&pattern.streams(), ends)?;
            ways.choose(self.choice);
            let mut meetings = vec![play(&streams, &mut ways)?];
            let crossing = meetings[0].crossing.max(1);
            if self.choice.is_random() {
                let draws = (DRAWS.1 / crossing).clamp(FEWEST_DRAWS, DRAWS.0);
                for seed in (1..).take(draws - 1) {
                    ways.choose(self.choice.with_seed(seed));
                    meetings.extend(play(&streams, &mut ways));
                }
            }
            Crowd::of(pattern, &meetings, words(self.choice), &ways)
        };
        patterns.iter().map(crowd).collect()
    }
}

/// How a kind of network chooses among equal ways where nobody says it.
fn usual(net: Net) -> Routing {
    match net {
        Net::InfiniBand | Net::OmniPath => Routing::ByDestination,
        Net::Roce | Net::Tcp => Routing::Hash { seed: 0 },
        Net::Efa => Routing::Spray,
        Net::Slingshot => Routing::Adaptive,
    }
}

fn words(choice: Routing) -> &'static str {
    match choice {
        Routing::ByDestination => "one way for each destination, laid out for these hosts",
        Routing::ByTable { .. } => "one way for each destination, not laid out for these hosts",
        Routing::Hash { .. } => "one way for each connection, by hash",
        Routing::Spray => "packets sprayed over all ways",
        Routing::Adaptive => "adaptive routing",
    }
}

/// Streams between places as streams between NICs; `None` where a node has fewer. Of several NICs that are one each
/// sends its part to its like.
fn at<N: Copy>(streams: &[Vec<Hop<End>>], ends: &[Vec<Vec<N>>]) -> Option<Vec<Vec<Hop<N>>>> {
    let end = |(node, nic): End| ends.get(usize::try_from(node).ok()?)?.get(nic);
    let mut all = Vec::with_capacity(streams.len());
    for hops in streams {
        let mut laid = Vec::with_capacity(hops.len());
        for hop in hops {
            let (from, to) = (end(hop.from)?, end(hop.to)?);
            #[expect(clippy::cast_precision_loss, reason = "a GPU has few NICs")]
            let weight = hop.weight / from.len().max(1) as f64;
            let pairs = from.iter().zip(to);
            laid.extend(pairs.map(|(from, to)| Hop { from: *from, to: *to, channel: hop.channel, weight }));
        }
        all.push(laid);
    }
    Some(all)
}

impl Crowd {
    fn of<N>(pattern: &Pattern, meetings: &[Meeting], how: &str, names: &impl Finder<N>) -> Option<Self> {
        let mut sorted: Vec<&Meeting> =
            meetings.iter().filter(|one| one.pace_bytes_per_s.is_some()).collect();
        let pace = |one: &Meeting| one.pace_bytes_per_s.unwrap_or(f64::MAX);
        sorted.sort_by(|a, b| pace(a).total_cmp(&pace(b)));
        let last = sorted.len().checked_sub(1)?;
        let algbw = [last / 20, last / 2, last - last / 20].map(|index| pace(sorted[index]) / 1e9);
        let (middle, slowest) = (sorted[last / 2], sorted[last / 20]);
        let draws = if last > 0 {
            let quick = sorted[last - last / 20].most;
            format!("; over {} draws {quick} to {}", last + 1, slowest.most)
        } else {
            String::new()
        };
        let name = names.name(middle.fullest);
        let text = format!(
            "simulated, {how}: {} flows of {} share {} cables between switches, {} on the fullest ({name}{draws})",
            middle.crossing,
            pattern.noun(),
            middle.cables,
            middle.most
        );
        Some(Self { algbw, text })
    }
}
