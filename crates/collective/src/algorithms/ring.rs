//! The ring: everyone talks to two neighbours only.

use std::sync::Arc;

use super::{knows, lane};
use crate::movements::{
    Direction, Gather, Numbering, Reached, RingGather, RingScatter, Scatter, Tree, TreeDown, TreeUp,
};
use crate::{
    Algorithm, Call, Collective, Groups, Movement, Phase, Plan, Rank, Shape, Terrain, Unsuitable, Window,
};

/// Rings over all ranks, one for each channel: bandwidth-optimal, latency linear in the ranks. Over hosts there are as
/// many as ranks in a host, and each goes from host to host on rails of its own.
#[derive(Debug, Clone, Copy)]
pub struct Ring;

/// The same, every other channel the other way around.
#[derive(Debug, Clone, Copy)]
pub struct BidirectionalRing;

const COLLECTIVES: &[Collective] = &[
    Collective::AllReduce,
    Collective::AllGather,
    Collective::ReduceScatter,
    Collective::Broadcast,
    Collective::Reduce,
    Collective::Barrier,
];

/// Rings that go one way or both.
struct Rings {
    both_ways: bool,
}

impl Rings {
    fn direction(&self, channel: u16) -> Direction {
        if self.both_ways && channel % 2 == 1 { Direction::Down } else { Direction::Up }
    }

    /// One for each rank of a host where there are several hosts, else `alone`.
    fn shape(call: &Call, terrain: &Terrain, alone: u16) -> Shape {
        let channels = rails(terrain).and_then(|rails| u16::try_from(rails).ok()).unwrap_or(1);
        let alike = call.collective == Collective::Barrier;
        Shape::of(call).channels(if alike { alone } else { channels.max(alone) })
    }

    fn plan(&self, call: &Call, terrain: &Terrain, shape: Shape) -> Plan {
        let scratch = match call.collective {
            Collective::ReduceScatter | Collective::Reduce => 1,
            Collective::AllReduce
            | Collective::AllGather
            | Collective::Broadcast
            | Collective::AllToAll
            | Collective::SendRecv
            | Collective::Barrier => 0,
        };
        let mut plan = Plan { scratch, ..Plan::empty(terrain.ranks()) };
        for channel in 0..shape.channels {
            let (phases, pieces) = self.channel(call, terrain, shape, channel);
            plan.pieces = pieces;
            plan.threads.push(phases);
        }
        plan
    }

    /// What one channel does, and into how many pieces a part is cut for all of them.
    fn channel(&self, call: &Call, terrain: &Terrain, shape: Shape, channel: u16) -> (Vec<Phase>, u32) {
        let (ranks, direction) = (terrain.ranks(), self.direction(channel));
        let (window, pieces) = lane(call.collective, ranks, shape.channels, channel);
        let (groups, numbering) = match rails(terrain) {
            Some(rails) => (along_rails(ranks, rails, channel), Numbering::ByRank),
            None => (Groups::all(ranks), Numbering::ByPosition),
        };
        let (tree, chunks) = (Tree::Chain(direction), shape.pipeline);
        let root = groups.seat(call.root).map_or(0, |seat| seat.position);
        let chain = || Window::at(u32::from(channel) * chunks, 1);
        let of_chain = u32::from(shape.channels) * chunks;
        let phase =
            |window, movement: Arc<dyn Movement>| Phase { channel, groups: groups.clone(), window, movement };
        let scatter = |data| -> Arc<dyn Movement> { Arc::new(RingScatter { data, direction, numbering }) };
        let gather = |data| -> Arc<dyn Movement> { Arc::new(RingGather { data, direction, numbering }) };
        match call.collective {
            Collective::AllReduce | Collective::Barrier => {
                let first = phase(window.clone(), scatter(Scatter::all_reduce(call.in_place)));
                (vec![first, phase(window, gather(Gather::Placed))], pieces)
            }
            Collective::ReduceScatter => (vec![phase(window, scatter(Scatter::part(call.in_place)))], pieces),
            Collective::AllGather => (vec![phase(window, gather(Gather::part(call.in_place)))], pieces),
            Collective::Broadcast => {
                let reached = Reached::input(call.in_place);
                let down = TreeDown { tree, root, chunks, reached };
                (vec![phase(chain(), Arc::new(down))], of_chain)
            }
            Collective::Reduce => {
                let up = TreeUp::reduce(tree, root, chunks, call.in_place);
                (vec![phase(chain(), Arc::new(up))], of_chain)
            }
            Collective::AllToAll | Collective::SendRecv => (Vec::new(), 1),
        }
    }
}

/// Ranks of each host, where there are several hosts with several ranks each, in order.
fn rails(terrain: &Terrain) -> Option<u32> {
    terrain.even(0).filter(|size| *size > 1 && *size < terrain.ranks())
}

/// All ranks, host after host, so that each host is left from the rail on which the next one is entered. Other
/// channels use other rails: each rail of a host is entered and left once by as many channels as there are rails.
///
/// A host of several ranks cannot be left by the rank at which it was entered, so that two rails alternate from host
/// to host, and an odd number of hosts needs a third; where there are only two, one step goes from rail to rail.
fn along_rails(ranks: u32, rails: u32, channel: u16) -> Groups {
    let hosts = ranks / rails;
    let first = u32::from(channel) % rails;
    let left_by = |host: u32| match (host + 1 == hosts && !hosts.is_multiple_of(2), host % 2) {
        (true, _) => (first + 2) % rails,
        (false, 0) => first,
        (false, _) => (first + 1) % rails,
    };
    let mut order = Vec::with_capacity(ranks as usize);
    let mut entered = left_by(hosts - 1);
    for host in 0..hosts {
        let wanted = left_by(host);
        let left = if wanted == entered { (entered + 1) % rails } else { wanted };
        let down = left == (entered + 1) % rails;
        let step = if down { rails - 1 } else { 1 };
        let around = (0..rails).map(|steps| (entered + steps * step) % rails);
        let within = around.filter(|rail| *rail != left).chain([left]);
        order.extend(within.map(|rail| Rank::new(host * rails + rail)));
        entered = wanted;
    }
    Groups::listed(ranks, vec![order])
}

impl Algorithm for Ring {
    fn name(&self) -> &'static str {
        "ring"
    }

    fn title(&self) -> &'static str {
        "a ring over all ranks; bandwidth-optimal (Patarasuk and Yuan, 2009)"
    }

    fn collectives(&self) -> &'static [Collective] {
        COLLECTIVES
    }

    fn suits(&self, call: &Call, terrain: &Terrain) -> Result<(), Unsuitable> {
        knows(self, call, terrain)
    }

    fn shape(&self, call: &Call, terrain: &Terrain) -> Shape {
        Rings::shape(call, terrain, 1)
    }

    fn suited_plan(&self, call: &Call, terrain: &Terrain, shape: Shape) -> Plan {
        Rings { both_ways: false }.plan(call, terrain, shape)
    }
}

impl Algorithm for BidirectionalRing {
    fn name(&self) -> &'static str {
        "ring-bidirectional"
    }

    fn title(&self) -> &'static str {
        "rings over all ranks, half of the data in each direction (Patarasuk and Yuan, 2009)"
    }

    fn collectives(&self) -> &'static [Collective] {
        COLLECTIVES
    }

    fn suits(&self, call: &Call, terrain: &Terrain) -> Result<(), Unsuitable> {
        knows(self, call, terrain)
    }

    fn shape(&self, call: &Call, terrain: &Terrain) -> Shape {
        Rings::shape(call, terrain, 2)
    }

    fn suited_plan(&self, call: &Call, terrain: &Terrain, shape: Shape) -> Plan {
        Rings { both_ways: true }.plan(call, terrain, shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::testing::{traffic, verified};
    use crate::{Rank, Terrain};

    #[test]
    fn all_reduce_takes_two_rounds() {
        // 2 (8 - 1) steps, 2 x 7/8 of 8,000 bytes.
        let call = Call::bytes(Collective::AllReduce, 8000);
        let traffic = traffic(&Ring.plan(&call, &Terrain::flat(8)), &call);
        assert!(traffic.iter().all(|rank| (rank.steps, rank.sent_bytes, rank.peers) == (14, 14_000, 1)));
        // In both directions: the same bytes, half of them to each neighbour.
        let traffic =
            crate::algorithms::testing::traffic(&BidirectionalRing.plan(&call, &Terrain::flat(8)), &call);
        assert!(traffic.iter().all(|rank| (rank.steps, rank.sent_bytes, rank.peers) == (14, 14_000, 2)));
    }

    #[test]
    fn all_gather_and_reduce_scatter_take_one_round() {
        for collective in [Collective::AllGather, Collective::ReduceScatter] {
            let call = Call::bytes(collective, 1000);
            let traffic = traffic(&Ring.plan(&call, &Terrain::flat(5)), &call);
            assert!(traffic.iter().all(|rank| (rank.steps, rank.sent_bytes) == (4, 4000)));
        }
    }

    #[test]
    fn a_broadcast_goes_down_a_chain_in_chunks() {
        // From rank 2 of 4 in 3 chunks: 2 sends them, 3 and 0 pass each on one step later, 1 is the last.
        let call = Call { root: Rank::new(2), ..Call::bytes(Collective::Broadcast, 300) };
        let shape = Shape { channels: 1, pipeline: 3 };
        let traffic = traffic(&Ring.plan_with(&call, &Terrain::flat(4), shape), &call);
        let rows: Vec<_> = traffic.iter().map(|rank| (rank.steps, rank.sent_bytes)).collect();
        assert_eq!(rows, [(4, 300), (3, 0), (3, 300), (4, 300)]);
    }

    #[test]
    fn channels_and_chunks_are_right() {
        for (channels, pipeline) in [(1, 3), (2, 1), (3, 4)] {
            let shape = Some(Shape { channels, pipeline });
            assert!(verified(&Ring, &[1, 2, 5], shape) > 100);
            assert!(verified(&BidirectionalRing, &[1, 2, 5], shape) > 100);
        }
    }

    /// The rail from which each host is left and that on which the next one is entered, along a channel.
    fn crossings(hosts: u32, rails: u32, channel: u16) -> Vec<(u32, u32)> {
        let ring = along_rails(hosts * rails, rails, channel);
        let ranks: Vec<u32> =
            (0..hosts * rails).map(|position| ring.member(0, position).unwrap().get()).collect();
        let mut sorted = ranks.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..hosts * rails), "each rank once");
        let next = |at: usize| ranks[(at + 1) % ranks.len()];
        let crossings: Vec<(u32, u32)> = (0..ranks.len())
            .filter(|at| ranks[*at] / rails != next(*at) / rails)
            .map(|at| (ranks[at] % rails, next(at) % rails))
            .collect();
        assert_eq!(crossings.len(), hosts as usize, "each host in one piece");
        crossings
    }

    #[test]
    fn channels_go_from_host_to_host_on_rails_of_their_own() {
        // Four hosts of 8: channel 0 leaves the first by rail 0, the second by rail 1, and so on.
        assert_eq!(crossings(4, 8, 0), [(0, 0), (1, 1), (0, 0), (1, 1)]);
        assert_eq!(crossings(4, 8, 7), [(7, 7), (0, 0), (7, 7), (0, 0)]);
        // An odd number of hosts needs a third rail; with only two, one step changes them.
        assert_eq!(crossings(3, 8, 0), [(0, 0), (1, 1), (2, 2)]);
        assert_eq!(crossings(3, 2, 0), [(1, 0), (1, 1), (0, 0)]);
        for (hosts, rails) in [(2, 8), (3, 8), (4, 4), (5, 3), (6, 2)] {
            let all: Vec<_> =
                (0..rails).map(|rail| crossings(hosts, rails, u16::try_from(rail).unwrap())).collect();
            for host in 0..hosts as usize {
                let mut left: Vec<u32> = all.iter().map(|channel| channel[host].0).collect();
                assert!(all.iter().all(|channel| channel[host].0 == channel[host].1));
                left.sort_unstable();
                assert!(left.into_iter().eq(0..rails), "each rail of each host once");
            }
        }
    }

    #[test]
    fn rings_over_hosts_are_right() {
        let mut proved = 0;
        for (hosts, per_host) in [(2, 2), (2, 4), (3, 2), (3, 3), (4, 3), (1, 6), (6, 1)] {
            let terrain = Terrain::hosts(hosts, per_host);
            for algorithm in [&Ring as &dyn Algorithm, &BidirectionalRing] {
                for collective in COLLECTIVES {
                    for call in crate::algorithms::testing::calls(*collective, hosts * per_host) {
                        for channels in [1, 3, algorithm.shape(&call, &terrain).channels] {
                            let shape = algorithm.shape(&call, &terrain).channels(channels);
                            let plan = algorithm.plan_with(&call, &terrain, shape);
                            if let Err(violation) = crate::verify(&plan, &call) {
                                panic!("{hosts} x {per_host}, {channels} channels, {call:?}: {violation}");
                            }
                            proved += 1;
                        }
                    }
                }
            }
        }
        assert!(proved > 700, "{proved}");
    }
}
