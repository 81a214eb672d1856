//! Recursive halving and doubling.

use super::{knows, phase, power_of_two};
use crate::movements::{DoublingGather, Gather, HalvingScatter, Nearest, Scatter};
use crate::{Algorithm, Call, Collective, Plan, Shape, Terrain, Unsuitable, Window};

/// Recursive halving, doubling, or both: bandwidth-optimal in a logarithmic number of steps, for powers of two.
#[derive(Debug, Clone, Copy)]
pub struct HalvingDoubling;

impl Algorithm for HalvingDoubling {
    fn name(&self) -> &'static str {
        "halving-doubling"
    }

    fn title(&self) -> &'static str {
        "recursive halving, then recursive doubling; the nearest exchange most (Thakur, Rabenseifner and Gropp, 2005)"
    }

    fn collectives(&self) -> &'static [Collective] {
        &[Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter]
    }

    fn needs(&self) -> &'static str {
        "a power of two of ranks"
    }

    fn suits(&self, call: &Call, terrain: &Terrain) -> Result<(), Unsuitable> {
        knows(self, call, terrain)?;
        power_of_two(self, terrain)
    }

    fn suited_plan(&self, call: &Call, terrain: &Terrain, _shape: Shape) -> Plan {
        let ranks = terrain.ranks();
        let window = Window::at(0, 1);
        let (phases, pieces, scratch) = match call.collective {
            Collective::ReduceScatter => {
                let (data, nearest) = (Scatter::part(call.in_place), Nearest::Least);
                (vec![phase(ranks, 0, window, HalvingScatter { data, nearest })], 1, 1)
            }
            Collective::AllGather => {
                let (data, nearest) = (Gather::part(call.in_place), Nearest::Least);
                (vec![phase(ranks, 0, window, DoublingGather { data, nearest })], 1, 0)
            }
            Collective::AllReduce
            | Collective::Broadcast
            | Collective::Reduce
            | Collective::AllToAll
            | Collective::SendRecv
            | Collective::Barrier => {
                let (data, nearest) = (Scatter::all_reduce(call.in_place), Nearest::Most);
                let first = phase(ranks, 0, window.clone(), HalvingScatter { data, nearest });
                let second = DoublingGather { data: Gather::Placed, nearest };
                (vec![first, phase(ranks, 0, window, second)], ranks, 0)
            }
        };
        Plan { pieces, scratch, threads: vec![phases], ..Plan::empty(ranks) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::testing::traffic;

    #[test]
    fn all_reduce_takes_twice_log2_steps_and_the_least_bytes() {
        // 2 log2 16 = 8 steps; 2 x 15/16 of 1,600 bytes.
        let call = Call::bytes(Collective::AllReduce, 1600);
        let traffic = traffic(&HalvingDoubling.plan(&call, &Terrain::flat(16)), &call);
        assert!(traffic.iter().all(|rank| (rank.steps, rank.sent_bytes, rank.messages) == (8, 3000, 8)));
    }

    #[test]
    fn halves_take_log2_steps() {
        for collective in [Collective::AllGather, Collective::ReduceScatter] {
            // 3 steps with 1 + 2 + 4 parts of 10 bytes.
            let call = Call::bytes(collective, 10);
            let traffic = traffic(&HalvingDoubling.plan(&call, &Terrain::flat(8)), &call);
            assert!(traffic.iter().all(|rank| (rank.steps, rank.sent_bytes) == (3, 70)));
        }
    }

    #[test]
    fn other_numbers_are_refused() {
        let call = Call::bytes(Collective::AllReduce, 8);
        let refused = HalvingDoubling.suits(&call, &Terrain::flat(12)).unwrap_err();
        assert_eq!(refused.to_string(), "halving-doubling needs a power of two, not 12 ranks");
    }
}
