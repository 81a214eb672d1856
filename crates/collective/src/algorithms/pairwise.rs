//! The pairwise exchange.

use super::direct::{all_to_all, placed};
use super::knows;
use crate::movements::Peers;
use crate::{Algorithm, Call, Collective, Plan, Shape, Terrain, Unsuitable, Window};

/// All-to-all with one peer in each step, so that nobody is sent to by two at once.
#[derive(Debug, Clone, Copy)]
pub struct Pairwise;

impl Algorithm for Pairwise {
    fn name(&self) -> &'static str {
        "pairwise"
    }

    fn title(&self) -> &'static str {
        "one peer a step: pairs for powers of two, else to one and from another (Thakur, Rabenseifner and Gropp, 2005)"
    }

    fn collectives(&self) -> &'static [Collective] {
        &[Collective::AllToAll]
    }

    fn needs(&self) -> &'static str {
        "in place parts of the same size"
    }

    fn suits(&self, call: &Call, terrain: &Terrain) -> Result<(), Unsuitable> {
        knows(self, call, terrain)?;
        placed(self, call)
    }

    fn suited_plan(&self, call: &Call, terrain: &Terrain, _shape: Shape) -> Plan {
        let ranks = terrain.ranks();
        let threads = vec![all_to_all(call, ranks, 0, Window::at(0, 1), Peers::One)];
        Plan { scratch: u16::from(call.in_place), threads, ..Plan::empty(ranks) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::testing::{pairs, traffic};

    #[test]
    fn each_step_has_one_peer() {
        for ranks in [7, 8] {
            let call = Call::bytes(Collective::AllToAll, 10);
            let plan = Pairwise.plan(&call, &Terrain::flat(ranks));
            let others = ranks - 1;
            let expected = (others, others, 10 * u64::from(others));
            let traffic = traffic(&plan, &call);
            assert!(traffic.iter().all(|rank| (rank.steps, rank.messages, rank.sent_bytes) == expected));
            assert_eq!(pairs(&plan).len(), (ranks * others) as usize);
        }
    }
}
