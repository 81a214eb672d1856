//! A schedule made for the terrain: spanning trees packed so densely that the narrowest cut is always busy.
//!
//! ForestColl (arXiv:2402.06787): the tightest cut gives the rate; capacities are counted in trees of that rate;
//! switches are taken out by splitting edges; trees are packed into what is left. All-gather and broadcast send along
//! the trees, reduce-scatter and reduce against them in the graph turned around, all-reduce does both. Beyond 32 ranks
//! that takes too long, and trees across hosts and trees inside them are put together.

mod forest;
mod hosts;
mod pack;
mod schedule;
mod split;
#[cfg(test)]
mod tests;

pub use forest::{Forest, Tree};

use crate::graph::Graph;
use crate::{Algorithm, Call, Collective, Effort, Plan, Shape, Terrain, Unsuitable};
use hosts::Hosts;
use schedule::{Schedule, chunks};

/// Packed spanning trees. The cost of packing all at once grows about with the fifth power of the ranks: as many maximum
/// flows as trees have edges together, each over all pairs of ranks. So more than 32 ranks must be those of hosts of the
/// same size, whose trees are put together of smaller ones.
#[derive(Debug, Clone, Copy)]
pub struct Synthesised;

/// Ranks beyond which it takes too long to pack all at once.
const MOST_AT_ONCE: u32 = 32;

/// Of the fifth power of the ranks: as much of it as takes as long to pack as a message takes to play. 32 ranks take
/// about a second on one core, in which 1.1 million messages are played.
const PACKED_PER_MESSAGE: u64 = 30;

/// Ranks of hosts beyond which there would be too many trees.
const MOST_RANKS: u32 = 256;

impl Algorithm for Synthesised {
    fn name(&self) -> &'static str {
        "synthesised"
    }

    fn title(&self) -> &'static str {
        "spanning trees packed into the terrain's graph, up to 32 ranks at once, bandwidth-optimal on any; beyond, put \
         together host by host (ForestColl, arXiv:2402.06787; Edmonds, 1973)"
    }

    fn collectives(&self) -> &'static [Collective] {
        &[
            Collective::AllReduce,
            Collective::AllGather,
            Collective::ReduceScatter,
            Collective::Broadcast,
            Collective::Reduce,
        ]
    }

    fn needs(&self) -> &'static str {
        "a terrain whose graph is known, at most 32 ranks, or 256 in hosts of the same size"
    }

    fn suits(&self, call: &Call, terrain: &Terrain) -> Result<(), Unsuitable> {
        let (algorithm, ranks) = (self.name(), terrain.ranks());
        let lacks = |needs| Err(Unsuitable::Terrain { algorithm, needs });
        if !self.collectives().contains(&call.collective) {
            return Err(Unsuitable::Collective { algorithm, collective: call.collective });
        }
        if ranks == 0 || ranks > MOST_RANKS {
            return Err(Unsuitable::Ranks { algorithm, needs: "at least 1 and at most 256 ranks", ranks });
        }
        if call.root.get() >= ranks {
            return lacks("a root that is one of the ranks");
        }
        if ranks > 1 && terrain.edges().is_empty() {
            return lacks("a terrain whose graph is known");
        }
        let graph = Graph::of(terrain);
        let root = call.root.index();
        match call.collective {
            Collective::Broadcast if !graph.reaches_all_ranks(root) => {
                lacks("a way from the root to every rank")
            }
            Collective::Reduce if !graph.reversed().reaches_all_ranks(root) => {
                lacks("a way from every rank to the root")
            }
            Collective::AllReduce | Collective::AllGather | Collective::ReduceScatter
                if !graph.is_connected() =>
            {
                lacks("a way from every rank to every other")
            }
            Collective::AllReduce
            | Collective::AllGather
            | Collective::ReduceScatter
            | Collective::Broadcast
            | Collective::Reduce
            | Collective::AllToAll
            | Collective::SendRecv
            | Collective::Barrier
                if ranks > MOST_AT_ONCE && by_host(&graph, terrain).is_none() =>
            {
                lacks("hosts of the same size that a network joins, for more than 32 ranks")
            }
            Collective::AllReduce
            | Collective::AllGather
            | Collective::ReduceScatter
            | Collective::Broadcast
            | Collective::Reduce
            | Collective::AllToAll
            | Collective::SendRecv
            | Collective::Barrier => Ok(()),
        }
    }

    fn least_effort(&self, call: &Call, terrain: &Terrain) -> Option<Effort> {
        let ranks = u64::from(terrain.ranks());
        let at_once = terrain.ranks() <= MOST_AT_ONCE;
        // Sums and copies each cross every edge of a tree; each rank has one at least where it has a part of its own.
        let (times, parts, trees_of_part) = match call.collective {
            // Packed at once, there may be more trees from some ranks than from others, and none from many.
            Collective::AllReduce if at_once => (2, 1, 1),
            Collective::AllReduce => (2, 1, ranks),
            Collective::AllGather | Collective::ReduceScatter => (1, ranks, 1),
            Collective::Broadcast | Collective::Reduce => (1, 1, 1),
            Collective::AllToAll | Collective::SendRecv | Collective::Barrier => return None,
        };
        let pieces = parts * trees_of_part * chunks(call, trees_of_part);
        Some(Effort {
            making_message_count: if at_once { ranks.pow(5) / PACKED_PER_MESSAGE } else { 0 },
            message_count: times * pieces * ranks.saturating_sub(1),
            thread_count: parts * trees_of_part,
        })
    }

    fn suited_plan(&self, call: &Call, terrain: &Terrain, _shape: Shape) -> Plan {
        // Connected graphs have trees; were there none, a plan that does nothing is better than half of one.
        self.planned(call, terrain).unwrap_or_else(|| Plan::empty(terrain.ranks()))
    }
}

impl Synthesised {
    fn planned(self, call: &Call, terrain: &Terrain) -> Option<Plan> {
        let spreads =
            matches!(call.collective, Collective::AllReduce | Collective::AllGather | Collective::Broadcast);
        let adding = if call.collective.reduces() { Some(self.adding(call, terrain)?) } else { None };
        let graph = Graph::of(terrain);
        let spreading = match &adding {
            Some(adding) if spreads && graph == graph.reversed() => Some(adding.clone()),
            Some(_) | None if spreads => Some(self.spreading(call, terrain)?),
            Some(_) | None => None,
        };
        let schedule = Schedule { call, ranks: terrain.ranks() as usize, adding, spreading };
        Some(schedule.program().into_plan())
    }

    /// The trees along which data are spread: from the root of a broadcast, otherwise from all ranks, and for an
    /// all-reduce more from some than from others where that helps. `None` where some rank cannot be reached.
    pub fn spreading(self, call: &Call, terrain: &Terrain) -> Option<Forest> {
        grow(call, &Graph::of(terrain), terrain)
    }

    /// The trees against which sums are made, to the root of a reduce, otherwise to all ranks. Hops are written from
    /// the root outwards, data go the other way.
    pub fn adding(self, call: &Call, terrain: &Terrain) -> Option<Forest> {
        grow(call, &Graph::of(terrain).reversed(), terrain)
    }
}

fn grow(call: &Call, graph: &Graph, terrain: &Terrain) -> Option<Forest> {
    let one_root = matches!(call.collective, Collective::Broadcast | Collective::Reduce);
    let root = one_root.then(|| call.root.index());
    if terrain.ranks() > MOST_AT_ONCE {
        return by_host(graph, terrain)?.forest(root);
    }
    let uneven = if call.collective == Collective::AllReduce { Forest::grow_uneven(graph) } else { None };
    uneven.or_else(|| Forest::grow(graph, root))
}

fn by_host<'g>(graph: &'g Graph, terrain: &Terrain) -> Option<Hosts<'g>> {
    Hosts::of(graph, terrain.even(0)? as usize)
}
