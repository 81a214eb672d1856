//! The ring: everyone talks to two neighbours only.

use super::{knows, lane, phase};
use crate::movements::{
    Direction, Gather, Reached, RingGather, RingScatter, Scatter, Tree, TreeDown, TreeUp,
};
use crate::{Algorithm, Call, Collective, Phase, Plan, Shape, Terrain, Unsuitable, Window};

/// Rings over all ranks in order, one for each channel: bandwidth-optimal, latency linear in the ranks.
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

    fn plan(&self, call: &Call, ranks: u32, shape: Shape) -> Plan {
        let scratch = match call.collective {
            Collective::ReduceScatter | Collective::Reduce => 1,
            Collective::AllReduce
            | Collective::AllGather
            | Collective::Broadcast
            | Collective::AllToAll
            | Collective::SendRecv
            | Collective::Barrier => 0,
        };
        let mut plan = Plan { scratch, ..Plan::empty(ranks) };
        for channel in 0..shape.channels {
            let (phases, pieces) = self.channel(call, ranks, shape, channel);
            plan.pieces = pieces;
            plan.threads.push(phases);
        }
        plan
    }

    /// What one channel does, and into how many pieces a part is cut for all of them.
    fn channel(&self, call: &Call, ranks: u32, shape: Shape, channel: u16) -> (Vec<Phase>, u32) {
        let direction = self.direction(channel);
        let (window, pieces) = lane(call.collective, ranks, shape.channels, channel);
        let (tree, root, chunks) = (Tree::Chain(direction), call.root.get(), shape.pipeline);
        let chain = || Window::at(u32::from(channel) * chunks, 1);
        let of_chain = u32::from(shape.channels) * chunks;
        match call.collective {
            Collective::AllReduce | Collective::Barrier => {
                let data = Scatter::all_reduce(call.in_place);
                let first = phase(ranks, channel, window.clone(), RingScatter { data, direction });
                let data = Gather::Placed;
                (vec![first, phase(ranks, channel, window, RingGather { data, direction })], pieces)
            }
            Collective::ReduceScatter => {
                let data = Scatter::part(call.in_place);
                (vec![phase(ranks, channel, window, RingScatter { data, direction })], pieces)
            }
            Collective::AllGather => {
                let data = Gather::part(call.in_place);
                (vec![phase(ranks, channel, window, RingGather { data, direction })], pieces)
            }
            Collective::Broadcast => {
                let reached = Reached::input(call.in_place);
                let down = TreeDown { tree, root, chunks, reached };
                (vec![phase(ranks, channel, chain(), down)], of_chain)
            }
            Collective::Reduce => {
                let up = TreeUp::reduce(tree, root, chunks, call.in_place);
                (vec![phase(ranks, channel, chain(), up)], of_chain)
            }
            Collective::AllToAll | Collective::SendRecv => (Vec::new(), 1),
        }
    }
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

    fn suited_plan(&self, call: &Call, terrain: &Terrain, shape: Shape) -> Plan {
        Rings { both_ways: false }.plan(call, terrain.ranks(), shape)
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

    fn shape(&self, call: &Call, _terrain: &Terrain) -> Shape {
        Shape::of(call).channels(2)
    }

    fn suited_plan(&self, call: &Call, terrain: &Terrain, shape: Shape) -> Plan {
        Rings { both_ways: true }.plan(call, terrain.ranks(), shape)
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
}
