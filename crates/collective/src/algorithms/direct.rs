//! The full mesh: everyone talks to everyone.

use super::{knows, lane, phase};
use crate::movements::{
    Aside, Collect, DirectGather, DirectScatter, Exchange, Fan, Gather, Keep, Peers, Scatter, SendRecv, Share,
};
use crate::{Algorithm, Buffer, Call, Collective, Counts, Phase, Plan, Shape, Terrain, Unsuitable, Window};

/// Each part goes straight to where it is wanted, all at once; everyone begins with its next neighbour. What is added
/// must wait at its receiver until its turn comes, so messages need to be buffered.
#[derive(Debug, Clone, Copy)]
pub struct Direct;

/// Phases of an all-to-all, which in place begins by putting the input aside.
pub(super) fn all_to_all(call: &Call, ranks: u32, channel: u16, window: Window, peers: Peers) -> Vec<Phase> {
    let (from, into, aside) = (Buffer::Input, Buffer::Output, Buffer::Scratch(0));
    if !call.in_place {
        return vec![phase(ranks, channel, window, Exchange { from, into, keep: Keep::Copy, peers })];
    }
    vec![
        phase(ranks, channel, window.clone(), Aside { from, into: aside }),
        phase(ranks, channel, window, Exchange { from: aside, into, keep: Keep::InPlace, peers }),
    ]
}

/// In place, blocks of different sizes would lie across each other.
pub(super) fn placed(algorithm: &dyn Algorithm, call: &Call) -> Result<(), Unsuitable> {
    match call.counts {
        Counts::PerPair(_) if call.in_place => Err(Unsuitable::InPlace { algorithm: algorithm.name() }),
        Counts::Even(_) | Counts::PerRank(_) | Counts::PerPair(_) => Ok(()),
    }
}

impl Direct {
    /// What one channel does.
    fn channel(call: &Call, ranks: u32, shape: Shape, channel: u16) -> (Vec<Phase>, u32) {
        let in_place = call.in_place;
        let (window, pieces) = lane(call.collective, ranks, shape.channels, channel);
        let channels = u32::from(shape.channels);
        let whole = || Window::at(u32::from(channel), 1);
        let root = call.root.get();
        match call.collective {
            Collective::AllReduce => {
                let scatter = DirectScatter { data: Scatter::all_reduce(in_place) };
                let gather = DirectGather { data: Gather::Placed };
                let first = phase(ranks, channel, window.clone(), scatter);
                (vec![first, phase(ranks, channel, window, gather)], pieces)
            }
            Collective::ReduceScatter => {
                let scatter = DirectScatter { data: Scatter::part(in_place) };
                (vec![phase(ranks, channel, window, scatter)], pieces)
            }
            Collective::AllGather => {
                let gather = DirectGather { data: Gather::part(in_place) };
                (vec![phase(ranks, channel, window, gather)], pieces)
            }
            Collective::AllToAll => (all_to_all(call, ranks, channel, window, Peers::All), pieces),
            Collective::Broadcast => {
                let (from, share, copies) = (Buffer::Input, Share::All, !in_place);
                let fan = Fan { root: call.root, share, from, copies };
                (vec![phase(ranks, channel, whole(), fan)], channels)
            }
            Collective::Reduce => {
                (vec![phase(ranks, channel, whole(), Collect { root, in_place })], channels)
            }
            Collective::SendRecv => {
                let between = SendRecv { from: root, to: call.peer.get() };
                (vec![phase(ranks, channel, whole(), between)], channels)
            }
            Collective::Barrier => (Vec::new(), 1),
        }
    }
}

impl Algorithm for Direct {
    fn name(&self) -> &'static str {
        "direct"
    }

    fn title(&self) -> &'static str {
        "full mesh: each part goes straight to where it is wanted, all at once (MPICH's scattered exchange; \
         MSCCL's all-pairs)"
    }

    fn collectives(&self) -> &'static [Collective] {
        &[
            Collective::AllReduce,
            Collective::AllGather,
            Collective::ReduceScatter,
            Collective::Broadcast,
            Collective::Reduce,
            Collective::AllToAll,
            Collective::SendRecv,
        ]
    }

    fn needs(&self) -> &'static str {
        "in place parts of the same size; buffered messages where it adds"
    }

    fn suits(&self, call: &Call, terrain: &Terrain) -> Result<(), Unsuitable> {
        knows(self, call, terrain)?;
        placed(self, call)
    }

    fn suited_plan(&self, call: &Call, terrain: &Terrain, shape: Shape) -> Plan {
        let ranks = terrain.ranks();
        let scratch = u16::from(
            call.collective == Collective::ReduceScatter
                || (call.collective == Collective::AllToAll && call.in_place),
        );
        let mut plan = Plan { scratch, ..Plan::empty(ranks) };
        for channel in 0..shape.channels {
            let (phases, pieces) = Self::channel(call, ranks, shape, channel);
            plan.pieces = pieces;
            plan.threads.push(phases);
        }
        plan
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::algorithms::testing::{traffic, verified};
    use crate::{Op, Rank};

    #[test]
    fn each_part_goes_once() {
        // All-gather and all-to-all: one step, 5 parts to others. All-reduce: 5/6 of the data to add, in 5 steps,
        // and 5/6 to hand out.
        let rows = |collective, bytes| {
            let call = Call::bytes(collective, bytes);
            let traffic = traffic(&Direct.plan(&call, &Terrain::flat(6)), &call);
            assert!(traffic.iter().all(|rank| *rank == traffic[0]));
            (traffic[0].steps, traffic[0].messages, traffic[0].sent_bytes)
        };
        assert_eq!(rows(Collective::AllGather, 10), (1, 5, 50));
        assert_eq!(rows(Collective::AllToAll, 10), (1, 5, 50));
        assert_eq!(rows(Collective::ReduceScatter, 10), (5, 5, 50));
        assert_eq!(rows(Collective::AllReduce, 60), (6, 10, 100));
    }

    #[test]
    fn peers_are_staggered() {
        let call = Call::bytes(Collective::AllToAll, 1);
        let plan = Direct.plan(&call, &Terrain::flat(4));
        let mut ops = Vec::new();
        plan.steps(Rank::new(2), 0).next_into(&mut ops);
        let to: Vec<_> = ops
            .iter()
            .filter_map(|op| if let Op::Send { to, .. } = op { Some(to.get()) } else { None })
            .collect();
        assert_eq!(to, [3, 0, 1]);
    }

    #[test]
    fn uneven_parts_go_as_they_are_but_not_in_place() {
        let counts = Counts::PerPair(Arc::from([9, 1, 2, 9]));
        let call = Call { counts, ..Call::bytes(Collective::AllToAll, 0) };
        let traffic = traffic(&Direct.plan(&call, &Terrain::flat(2)), &call);
        assert_eq!([traffic[0].sent_bytes, traffic[1].sent_bytes], [1, 2]);
        let call = Call { in_place: true, ..call };
        let refused = Direct.suits(&call, &Terrain::flat(2)).unwrap_err();
        assert_eq!(refused.to_string(), "direct works in place on parts of the same size only");
    }

    #[test]
    fn channels_are_right() {
        assert!(verified(&Direct, &[1, 2, 5], Some(Shape { channels: 3, pipeline: 1 })) > 100);
    }
}
