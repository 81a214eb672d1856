//! Recursive doubling: few steps, all data in each.

use super::rabenseifner::{between, folded, staying};
use super::{knows, phase, power_of_two};
use crate::movements::{Doubling, DoublingGather, Gather, Nearest};
use crate::{Algorithm, Call, Collective, Plan, Shape, Terrain, Unsuitable, Window};

/// Recursive doubling: the least latency for small messages. All-reduce and barrier for any number of ranks,
/// all-gather for powers of two.
#[derive(Debug, Clone, Copy)]
pub struct RecursiveDoubling;

impl Algorithm for RecursiveDoubling {
    fn name(&self) -> &'static str {
        "recursive-doubling"
    }

    fn title(&self) -> &'static str {
        "pairs at distances 1, 2, 4 exchange all that they have (Thakur, Rabenseifner and Gropp, 2005)"
    }

    fn collectives(&self) -> &'static [Collective] {
        &[Collective::AllReduce, Collective::AllGather, Collective::Barrier]
    }

    fn needs(&self) -> &'static str {
        "for an all-gather a power of two of ranks"
    }

    fn suits(&self, call: &Call, terrain: &Terrain) -> Result<(), Unsuitable> {
        knows(self, call, terrain)?;
        if call.collective == Collective::AllGather { power_of_two(self, terrain) } else { Ok(()) }
    }

    fn suited_plan(&self, call: &Call, terrain: &Terrain, _shape: Shape) -> Plan {
        let ranks = terrain.ranks();
        let window = Window::at(0, 1);
        if call.collective == Collective::AllGather {
            let (data, nearest) = (Gather::part(call.in_place), Nearest::Least);
            let threads = vec![vec![phase(ranks, 0, window, DoublingGather { data, nearest })]];
            return Plan { threads, ..Plan::empty(ranks) };
        }
        let (_, folded) = folded(ranks);
        let doubling = Doubling { folded, in_place: call.in_place };
        let threads = vec![between(ranks, 1, vec![staying(ranks, window, doubling)])];
        Plan { scratch: 2, threads, ..Plan::empty(ranks) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::testing::traffic;

    #[test]
    fn all_data_goes_log2_times() {
        let call = Call::bytes(Collective::AllReduce, 100);
        let traffic8 = traffic(&RecursiveDoubling.plan(&call, &Terrain::flat(8)), &call);
        assert!(traffic8.iter().all(|rank| (rank.steps, rank.sent_bytes) == (3, 300)));
        // Of 9 ranks, 0 folds into 1.
        let traffic9 = traffic(&RecursiveDoubling.plan(&call, &Terrain::flat(9)), &call);
        let rows: Vec<_> = traffic9.iter().map(|rank| (rank.steps, rank.sent_bytes)).collect();
        assert_eq!(rows[..3], [(2, 100), (5, 400), (3, 300)]);
    }
}
