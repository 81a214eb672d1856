//! All-reduce: how ranks can be taken apart so that what must go between the parts takes longest.
//!
//! Without switches that add or copy, what n parts add and share takes at least 2 (n - 1) messages between them for
//! each element, so that the bound is that of Tutte and Nash-Williams (1961) on spanning trees, of which each carries
//! sums up and copies down. The worst way to take the ranks apart is found by a greedy of maximum flows (Cunningham
//! 1985) within Newton's method.

use super::{Cut, Fraction, Limit, MOST_RANKS_TAKEN_APART, Reason, one, tighter};
use crate::Terrain;
use crate::flow::Network;
use crate::graph::{Graph, Way};

/// More than any flow; twice of it still fits.
const NO_LIMIT: u128 = 1 << 120;

pub(super) fn all_reduce(terrain: &Terrain, graph: &Graph) -> Limit {
    let ranks = graph.ranks as u128;
    let (capacity, side) = one::narrowest(graph);
    let cut = Limit {
        busbw_in_units: Fraction::new(capacity * 2 * (ranks - 1), ranks),
        cuts: vec![Cut::around(terrain, &side)],
        reason: Reason::MessageLeaves,
    };
    match exchange(terrain, graph) {
        Some(parts) => tighter(parts, cut),
        None => cut,
    }
}

/// The bound by parts; `None` where switches that add or copy join all ranks.
fn exchange(terrain: &Terrain, graph: &Graph) -> Option<Limit> {
    let (joined, place) = join_at_capable_switches(terrain, graph);
    if joined.ranks < 2 {
        return None;
    }
    let mut best = Parts::singles(&joined);
    if joined.ranks <= MOST_RANKS_TAKEN_APART {
        best = worst(&joined);
    } else {
        for level in terrain.levels() {
            let mut groups: Vec<Vec<usize>> = Vec::new();
            for (rank, group) in level.group_of.iter().enumerate() {
                groups.resize(groups.len().max(*group as usize + 1), Vec::new());
                groups[*group as usize].push(place[rank]);
            }
            let parts = Parts::of(&joined, &unite(joined.ranks, &groups));
            if parts.sides.len() > 1 && parts.rate() < best.rate() {
                best = parts;
            }
        }
    }
    let ranks = graph.ranks as u128;
    let busbw = Fraction::new(best.capacity * (ranks - 1), (best.sides.len() as u128 - 1) * ranks);
    let side = |side: &Vec<bool>| -> Vec<bool> { place.iter().map(|joined| side[*joined]).collect() };
    let cuts = best.sides.iter().map(|inside| Cut::around(terrain, &side(inside))).collect();
    Some(Limit { busbw_in_units: busbw, cuts, reason: Reason::PartsExchange })
}

/// The parts for which what leaves them is least, for each part but one.
fn worst(graph: &Graph) -> Parts {
    let mut best = Parts::singles(graph);
    while let Some(worse) = take_apart(graph, best.rate()) {
        best = Parts::of(graph, &worse);
    }
    best
}

/// What parts can exchange at most, by the worst way to take at least two ranks apart.
pub(crate) fn exchanged(graph: &Graph) -> Fraction {
    worst(graph).rate()
}

/// Parts, the side of each one's narrowest cut, and what leaves all of them together.
struct Parts {
    sides: Vec<Vec<bool>>,
    capacity: u128,
}

impl Parts {
    fn of(graph: &Graph, parts: &[Vec<usize>]) -> Self {
        let surroundings = Surroundings::new(graph);
        let sides: Vec<Vec<bool>> = parts.iter().map(|part| surroundings.around(part)).collect();
        let capacity = sides.iter().map(|side| graph.leaving(side)).sum();
        Self { sides, capacity }
    }

    /// Single ranks, each with no switch on its side, so that none is searched for.
    fn singles(graph: &Graph) -> Self {
        let alone = |rank| (0..graph.vertices).map(|vertex| vertex == rank).collect();
        let capacity = graph.degrees()[..graph.ranks].iter().map(|(leaving, _)| leaving).sum();
        Self { sides: (0..graph.ranks).map(alone).collect(), capacity }
    }

    fn rate(&self) -> Fraction {
        Fraction::new(self.capacity, self.sides.len().max(2) as u128 - 1)
    }
}

/// Finds for groups of ranks the side of the narrowest cut that leaves them and keeps all others outside.
struct Surroundings<'g> {
    graph: &'g Graph,
    network: Network,
    /// For each rank the arc from the source and that to the sink, both closed.
    arcs: Vec<(usize, usize)>,
}

impl<'g> Surroundings<'g> {
    fn new(graph: &'g Graph) -> Self {
        let mut network = graph.network(1, 2);
        let (source, sink) = (graph.vertices, graph.vertices + 1);
        let arcs = |rank| (network.add(source, rank, 0), network.add(rank, sink, 0));
        let arcs = (0..graph.ranks).map(arcs).collect();
        Self { graph, network, arcs }
    }

    fn around(&self, inside: &[usize]) -> Vec<bool> {
        let mut network = self.network.clone();
        let mut is_inside = vec![false; self.graph.ranks];
        for &rank in inside {
            is_inside[rank] = true;
        }
        for (&(from_source, to_sink), inside) in self.arcs.iter().zip(is_inside) {
            network.set(if inside { from_source } else { to_sink }, NO_LIMIT);
        }
        network.push(self.graph.vertices, self.graph.vertices + 1, u128::MAX);
        let mut side = network.reached(self.graph.vertices);
        side.truncate(self.graph.vertices);
        side
    }
}

/// The narrowest cuts around the groups of all levels, but those that hold all ranks.
pub(super) fn around_groups(terrain: &Terrain, graph: &Graph) -> Vec<Vec<bool>> {
    let surroundings = Surroundings::new(graph);
    let mut sides = Vec::new();
    for level in terrain.levels() {
        let groups = level.group_of.iter().max().map_or(0, |last| *last + 1);
        for group in 0..groups {
            let of_group = |rank: &usize| level.group_of.get(*rank) == Some(&group);
            let inside: Vec<usize> = (0..graph.ranks).filter(of_group).collect();
            if !inside.is_empty() && inside.len() < graph.ranks {
                sides.push(surroundings.around(&inside));
            }
        }
    }
    sides
}

/// Parts for which what leaves them is less than `rate` times their number less one, if there are any: those where it
/// is least.
///
/// Each rank gets the largest number so that no set of ranks has more than what leaves it, less `rate`. Where a set has
/// exactly as much, its ranks belong together.
fn take_apart(graph: &Graph, rate: Fraction) -> Option<Vec<Vec<usize>>> {
    let sink = graph.vertices;
    let rate_scaled = i128::try_from(rate.numerator).ok()?;
    let mut numbers: Vec<i128> = Vec::new();
    let mut together: Vec<Vec<usize>> = Vec::new();
    for rank in 0..graph.ranks {
        let mut network = graph.network(rate.denominator, 1);
        for (earlier, number) in numbers.iter().enumerate() {
            if *number > 0 {
                network.add(rank, earlier, number.unsigned_abs());
            } else {
                network.add(earlier, sink, number.unsigned_abs());
            }
        }
        for later in rank + 1..graph.ranks {
            network.add(later, sink, NO_LIMIT);
        }
        let least = i128::try_from(network.push(rank, sink, u128::MAX)).ok()?;
        let positive: i128 = numbers.iter().filter(|number| **number > 0).sum();
        numbers.push(least - positive - rate_scaled);
        let reached = network.reached(rank);
        together.push((0..=rank).filter(|other| reached[*other]).collect());
    }
    let whole: i128 = numbers.iter().sum();
    (whole + rate_scaled < 0).then(|| unite(graph.ranks, &together))
}

/// Sets that share a member become one; members in no set stay alone.
fn unite(members: usize, sets: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut parent: Vec<usize> = (0..members).collect();
    for set in sets {
        for pair in set.windows(2) {
            let (one, other) = (first_of(&mut parent, pair[0]), first_of(&mut parent, pair[1]));
            parent[one.max(other)] = one.min(other);
        }
    }
    let mut united = vec![Vec::new(); members];
    for member in 0..members {
        united[first_of(&mut parent, member)].push(member);
    }
    united.retain(|set| !set.is_empty());
    united
}

/// The first member of a member's set, with the way to it made shorter.
fn first_of(parent: &mut [usize], mut member: usize) -> usize {
    while parent[member] != member {
        parent[member] = parent[parent[member]];
        member = parent[member];
    }
    member
}

/// Switches that add or copy make one message of many, so that none can be counted at them: each becomes one with
/// its neighbours. Gives the graph, with those that hold ranks first, and the place of each vertex in it.
fn join_at_capable_switches(terrain: &Terrain, graph: &Graph) -> (Graph, Vec<usize>) {
    let capable = |vertex: usize| {
        let switch = vertex.checked_sub(graph.ranks).and_then(|index| terrain.switches().get(index));
        switch.is_some_and(|switch| switch.reduces || switch.multicasts)
    };
    let near = |way: &&Way| capable(way.from) || capable(way.to);
    let pairs: Vec<Vec<usize>> = graph.edges.iter().filter(near).map(|way| vec![way.from, way.to]).collect();
    let united = unite(graph.vertices, &pairs);
    let holds_rank = |set: &&Vec<usize>| set.iter().any(|vertex| *vertex < graph.ranks);
    let (with_ranks, others): (Vec<_>, Vec<_>) = united.iter().partition(holds_rank);
    let mut place = vec![0; graph.vertices];
    for (index, set) in with_ranks.iter().chain(&others).enumerate() {
        for &vertex in *set {
            place[vertex] = index;
        }
    }
    let moved = |way: &Way| Way { from: place[way.from], to: place[way.to], capacity: way.capacity };
    let joined = Graph::new(with_ranks.len(), united.len(), graph.edges.iter().map(moved).collect());
    (joined, place)
}
