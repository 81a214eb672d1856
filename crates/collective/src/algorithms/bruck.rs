//! Bruck's algorithms.

use super::{even, knows, phase};
use crate::movements::{BruckExchange, BruckGather, Dissemination, Gather};
use crate::{Algorithm, Call, Collective, Plan, Shape, Terrain, Unsuitable, Window};

/// Distances that double, for any number of ranks: all-gather, all-to-all, and the dissemination barrier.
#[derive(Debug, Clone, Copy)]
pub struct Bruck;

impl Algorithm for Bruck {
    fn name(&self) -> &'static str {
        "bruck"
    }

    fn title(&self) -> &'static str {
        "distances of 1, 2, 4 for any number of ranks (Bruck, Ho, Kipnis, Upfal and Weathersby, 1997; \
         barrier: Hensgen, Finkel and Manber, 1988)"
    }

    fn collectives(&self) -> &'static [Collective] {
        &[Collective::AllGather, Collective::AllToAll, Collective::Barrier]
    }

    fn needs(&self) -> &'static str {
        "for an all-to-all parts of the same size"
    }

    fn suits(&self, call: &Call, terrain: &Terrain) -> Result<(), Unsuitable> {
        knows(self, call, terrain)?;
        if call.collective == Collective::AllToAll { even(self, call) } else { Ok(()) }
    }

    fn suited_plan(&self, call: &Call, terrain: &Terrain, _shape: Shape) -> Plan {
        let ranks = terrain.ranks();
        let window = Window::at(0, 1);
        let (phase, scratch) = match call.collective {
            Collective::AllGather => {
                (phase(ranks, 0, window, BruckGather { data: Gather::part(call.in_place) }), 0)
            }
            Collective::AllToAll => (phase(ranks, 0, window, BruckExchange), 2),
            Collective::Barrier
            | Collective::AllReduce
            | Collective::ReduceScatter
            | Collective::Broadcast
            | Collective::Reduce
            | Collective::SendRecv => (phase(ranks, 0, window, Dissemination), 1),
        };
        Plan { scratch, threads: vec![vec![phase]], ..Plan::empty(ranks) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::testing::traffic;

    #[test]
    fn ten_ranks_take_four_steps() {
        // All-gather: 1 + 2 + 4 + 2 = 9 parts. All-to-all: of slots 0 to 9 five have bit 0, four bit 1, four bit 2
        // and two bit 3. ceil(log2 10) = 4 in each.
        let rows = |collective| {
            let call = Call::bytes(collective, 10);
            let traffic = traffic(&Bruck.plan(&call, &Terrain::flat(10)), &call);
            assert!(traffic.iter().all(|rank| *rank == traffic[0]));
            (traffic[0].exchanges, traffic[0].messages, traffic[0].sent_bytes)
        };
        assert_eq!(rows(Collective::AllGather), (4, 4, 90));
        assert_eq!(rows(Collective::AllToAll), (4, 4, 150));
        assert_eq!(rows(Collective::Barrier), (4, 4, 40));
    }
}
