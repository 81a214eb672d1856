//! All-to-all along rails.

use std::sync::Arc;

use super::{even, knows};
use crate::movements::{Exchange, Keep, Peers};
use crate::{
    Algorithm, Buffer, Call, Collective, Groups, Movement, Phase, Plan, Shape, Terrain, Unsuitable, Window,
};

/// What is for rank g of another host first goes, inside the own host, to the rank g there, and then along its rail:
/// nothing crosses between rails, and each host sends each other host one message a rail.
#[derive(Debug, Clone, Copy)]
pub struct Rails;

impl Algorithm for Rails {
    fn name(&self) -> &'static str {
        "rails"
    }

    fn title(&self) -> &'static str {
        "inside hosts to the right rail, then along rails (PXN: NCCL 2.12, 2022)"
    }

    fn collectives(&self) -> &'static [Collective] {
        &[Collective::AllToAll]
    }

    fn needs(&self) -> &'static str {
        "hosts of the same size with ranks in order; parts of the same size"
    }

    fn suits(&self, call: &Call, terrain: &Terrain) -> Result<(), Unsuitable> {
        knows(self, call, terrain)?;
        even(self, call)?;
        match terrain.even(0) {
            Some(_) => Ok(()),
            None => Err(Unsuitable::Terrain {
                algorithm: self.name(),
                needs: "hosts of the same size with ranks in order",
            }),
        }
    }

    fn suited_plan(&self, _call: &Call, terrain: &Terrain, _shape: Shape) -> Plan {
        let ranks = terrain.ranks();
        let size = terrain.even(0).unwrap_or(1);
        let (hosts, aside, peers) = (ranks / size, Buffer::Scratch(0), Peers::All);
        let phase = |groups, window, movement: Exchange| {
            let movement: Arc<dyn Movement> = Arc::new(movement);
            Phase { channel: 0, groups, window, movement }
        };
        // The chunk for local rank g is that of all ranks g of all hosts; it ends where that of its sender would be.
        let inside = phase(
            Groups::even(ranks, size, 1),
            Window::at(0, 1).rows(hosts, size),
            Exchange { from: Buffer::Input, into: aside, keep: Keep::Copy, peers },
        );
        let along = phase(
            Groups::even(ranks, hosts, size),
            Window::at(0, size),
            Exchange { from: aside, into: Buffer::Output, keep: Keep::Copy, peers },
        );
        Plan { scratch: 1, threads: vec![vec![inside, along]], ..Plan::empty(ranks) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::testing::{pairs, traffic};

    #[test]
    fn nothing_crosses_between_rails() {
        // 3 hosts of 4: inside, to 3 others 3 parts each; along the rail to 2 others 4 parts each.
        let call = Call::bytes(Collective::AllToAll, 10);
        let plan = Rails.plan(&call, &Terrain::hosts(3, 4));
        let traffic = traffic(&plan, &call);
        assert!(traffic.iter().all(|rank| (rank.steps, rank.messages, rank.sent_bytes) == (2, 5, 170)));
        assert!(pairs(&plan).iter().all(|(from, to)| from / 4 == to / 4 || from % 4 == to % 4));
    }

    #[test]
    fn hosts_must_be_known() {
        let call = Call::bytes(Collective::AllToAll, 10);
        let refused = Rails.suits(&call, &Terrain::flat(8)).unwrap_err();
        assert_eq!(refused.to_string(), "rails needs hosts of the same size with ranks in order");
    }
}
