//! Rabenseifner's algorithms, for any number of ranks.

use std::sync::Arc;

use super::{knows, phase, power_of_two};
use crate::movements::{
    DoublingGather, End, Fold, Gather, HalvingScatter, Nearest, RootGather, Scatter, Unfold,
};
use crate::{
    Algorithm, Buffer, Call, Collective, Groups, Movement, Phase, Plan, Shape, Terrain, Unsuitable, Window,
};

/// Pairs fold until a power of two is left; then recursive halving and doubling (all-reduce), or halving and a
/// gather to the root (reduce).
#[derive(Debug, Clone, Copy)]
pub struct Rabenseifner;

/// Ranks that stay after folding, and by how much they were exceeded.
pub(super) fn folded(ranks: u32) -> (u32, u32) {
    let stay = ranks.max(1).checked_ilog2().map_or(1, |power| 1 << power);
    (stay, ranks.max(1) - stay)
}

/// Phases between folding and unfolding of pairs, where there are any. `pieces` is all of the data.
pub(super) fn between(ranks: u32, pieces: u32, inner: Vec<Phase>) -> Vec<Phase> {
    let (_, excess) = folded(ranks);
    if excess == 0 {
        return inner;
    }
    let pairs = |movement: Arc<dyn Movement>| Phase {
        channel: 0,
        groups: Groups::even(2 * excess, 2, 1),
        window: Window::at(0, pieces),
        movement,
    };
    let mut phases = vec![pairs(Arc::new(Fold { into: Buffer::Output }))];
    phases.extend(inner);
    phases.push(pairs(Arc::new(Unfold)));
    phases
}

/// A phase of the ranks that stay after folding.
pub(super) fn staying(ranks: u32, window: Window, movement: impl Movement + 'static) -> Phase {
    Phase { channel: 0, groups: Groups::folded(ranks), window, movement: Arc::new(movement) }
}

impl Algorithm for Rabenseifner {
    fn name(&self) -> &'static str {
        "rabenseifner"
    }

    fn title(&self) -> &'static str {
        "pairs fold, recursive halving, then doubling or a gather to the root (Rabenseifner, 2004)"
    }

    fn collectives(&self) -> &'static [Collective] {
        &[Collective::AllReduce, Collective::Reduce]
    }

    fn needs(&self) -> &'static str {
        "for a reduce a power of two of ranks"
    }

    fn suits(&self, call: &Call, terrain: &Terrain) -> Result<(), Unsuitable> {
        knows(self, call, terrain)?;
        // A root that was folded away would be a step behind everyone.
        if call.collective == Collective::Reduce { power_of_two(self, terrain) } else { Ok(()) }
    }

    fn suited_plan(&self, call: &Call, terrain: &Terrain, _shape: Shape) -> Plan {
        let ranks = terrain.ranks();
        let (pieces, excess) = folded(ranks);
        let window = Window::at(0, 1);
        if call.collective == Collective::Reduce {
            let (sums, in_place) = (Buffer::Scratch(0), call.in_place);
            let (local, end) = (Buffer::Input, End::Chunk(sums));
            let data = Scatter { local, sums, end, in_place: false, folded: 0 };
            let halving = HalvingScatter { data, nearest: Nearest::Least };
            let gather = RootGather { sums, root: call.root.get() };
            // Alone, in place, there is nothing to do.
            let threads = if ranks == 1 && in_place {
                Vec::new()
            } else {
                vec![vec![phase(ranks, 0, window.clone(), halving), phase(ranks, 0, window, gather)]]
            };
            return Plan { ranks, pieces, scratch: 1, threads };
        }
        let data = Scatter { folded: excess, ..Scatter::all_reduce(call.in_place) };
        let nearest = Nearest::Most;
        let inner = vec![
            staying(ranks, window.clone(), HalvingScatter { data, nearest }),
            staying(ranks, window, DoublingGather { data: Gather::Placed, nearest }),
        ];
        Plan { pieces, threads: vec![between(ranks, pieces, inner)], ..Plan::empty(ranks) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithms::testing::traffic;

    #[test]
    fn six_ranks_fold_to_four() {
        // 0 and 2 give all 400 bytes and get the result; 1 and 3 move 2 x 3/4 of it and give the result; so do 4 and 5
        // without pairs.
        let call = Call::bytes(Collective::AllReduce, 400);
        let traffic = traffic(&Rabenseifner.plan(&call, &Terrain::flat(6)), &call);
        let rows: Vec<_> = traffic.iter().map(|rank| (rank.steps, rank.sent_bytes)).collect();
        assert_eq!(rows, [(2, 400), (6, 1000), (2, 400), (6, 1000), (4, 600), (4, 600)]);
    }

    #[test]
    fn a_reduce_halves_and_gathers() {
        // Of 8 ranks each gives 4 + 2 + 1 eighths; then what it has goes towards rank 5: in the first step from ranks
        // at odd distance 1 eighth, then 2, then 4.
        let call = Call { root: crate::Rank::new(5), ..Call::bytes(Collective::Reduce, 80) };
        let traffic = traffic(&Rabenseifner.plan(&call, &Terrain::flat(8)), &call);
        let sent: Vec<_> = traffic.iter().map(|rank| rank.sent_bytes - 70).collect();
        // 5 ^ 0 = 101b, 100b, 111b, 110b, 001b, 000b, 011b, 010b: by the lowest bit 1, 4, 1, 2, 1, none, 1, 2.
        assert_eq!(sent, [10, 40, 10, 20, 10, 0, 10, 20]);
        assert_eq!(traffic[5].steps, 6);
    }
}
