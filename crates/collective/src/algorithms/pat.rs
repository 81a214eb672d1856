//! Parallel aggregated trees.

use super::{knows, phase};
use crate::movements::{Gather, PatGather, PatScatter, Scatter};
use crate::{Algorithm, Call, Collective, Plan, Shape, Terrain, Unsuitable, Window};

/// PAT: a binomial tree for each part, all trees in the same steps. The least bytes in a logarithmic number of steps,
/// for any number of ranks; what goes far is little.
#[derive(Debug, Clone, Copy)]
pub struct Pat;

impl Algorithm for Pat {
    fn name(&self) -> &'static str {
        "pat"
    }

    fn title(&self) -> &'static str {
        "parallel aggregated trees, far distances with the smallest messages (Jeaugey, arXiv:2506.20252, 2025; NCCL 2.23)"
    }

    fn collectives(&self) -> &'static [Collective] {
        &[Collective::AllGather, Collective::ReduceScatter]
    }

    fn suits(&self, call: &Call, terrain: &Terrain) -> Result<(), Unsuitable> {
        knows(self, call, terrain)
    }

    fn suited_plan(&self, call: &Call, terrain: &Terrain, _shape: Shape) -> Plan {
        let ranks = terrain.ranks();
        let window = Window::at(0, 1);
        let (phase, scratch) = if call.collective == Collective::AllGather {
            (phase(ranks, 0, window, PatGather { data: Gather::part(call.in_place) }), 0)
        } else {
            (phase(ranks, 0, window, PatScatter { data: Scatter::part(call.in_place) }), 1)
        };
        Plan { scratch, threads: vec![vec![phase]], ..Plan::empty(ranks) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rank;
    use crate::algorithms::testing::{pairs, sent, traffic};

    #[test]
    fn the_least_bytes_in_log2_steps_for_any_number() {
        for (ranks, steps) in [(2, 1), (3, 2), (7, 3), (8, 3), (9, 4), (100, 7)] {
            for collective in [Collective::AllGather, Collective::ReduceScatter] {
                let call = Call::bytes(collective, 10);
                let plan = Pat.plan(&call, &Terrain::flat(ranks));
                let traffic = traffic(&plan, &call);
                let expected = (steps, steps, 10 * u64::from(ranks - 1));
                assert!(
                    traffic.iter().all(|rank| (rank.steps, rank.messages, rank.sent_bytes) == expected),
                    "{ranks}"
                );
                assert_eq!(pairs(&plan).len(), (ranks * steps) as usize);
            }
        }
    }

    #[test]
    fn far_messages_are_small() {
        // Of 11 ranks: 8 seats on 1 part, 4 seats on that of ranks 0 and 8 back: (11 - 4) / 8 rounded up is 1;
        // 2 seats on: (11 - 2) / 4 = 3 parts; 1 seat on: 5 parts. 1 + 1 + 3 + 5 = 10.
        let call = Call::bytes(Collective::AllGather, 1);
        let plan = Pat.plan(&call, &Terrain::flat(11));
        let (mut walk, mut ops) = (plan.steps(Rank::new(0), 0), Vec::new());
        while walk.next_into(&mut ops).is_some() {}
        let sends: Vec<_> =
            ops.iter().filter_map(sent).map(|(from, to)| (to.unwrap().get(), from.blocks())).collect();
        assert_eq!(sends, [(8, 1), (4, 1), (2, 3), (1, 5)]);
    }
}
