//! From a graph to trees: how many, how fast, and over which ways.

use super::pack::pack;
use super::split::Wiring;
use crate::graph::{Graph, Way};
use crate::limit::{Fraction, common_divisor, exchanged, gather, spread};

/// Trees that spread data from their roots to all ranks, all at the same rate and all at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forest {
    /// What each tree carries, in the terrain's unit of capacity.
    pub tree_rate_in_units: Fraction,
    /// The trees, root after root.
    pub trees: Vec<Tree>,
}

/// One tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    /// Where it begins.
    pub root: usize,
    /// The ways from rank to rank, each after the one that leads to its beginning: the vertices along it, which are
    /// switches but for the ends.
    pub hops: Vec<Vec<usize>>,
}

/// Trees of all roots together. More would need more threads than machines have.
pub(super) const MOST_TREES: u128 = 512;

/// What a capacity is multiplied by before it is made smaller by a part of it.
const FINER: u128 = 1 << 10;

impl Forest {
    /// The best forest with as many trees from each rank, or from one; `None` where some rank cannot be reached.
    pub(super) fn grow(graph: &Graph, root: Option<usize>) -> Option<Self> {
        let roots: Vec<usize> = root.map_or_else(|| (0..graph.ranks).collect(), |root| vec![root]);
        if graph.ranks == 1 {
            return Some(Self::of_one_rank());
        }
        let (graph, finer) = balanced(graph);
        let rate = best_rate(&graph, root);
        if rate.numerator == 0 {
            return None;
        }
        let most = (MOST_TREES / roots.len() as u128).max(1);
        let scaled = exact(&graph, rate, most).or_else(|| nearly(&graph, rate, &roots, most))?;
        let counts = roots.iter().map(|&root| (root, scaled.trees_per_root)).collect();
        let rate = scaled.rate;
        let tree_rate = Fraction::new(rate.numerator, rate.denominator * finer * scaled.trees_per_root);
        Self::packed(&scaled.graph, counts, tree_rate)
    }

    /// The best forest with as many trees from each rank, or from one, a power of two of at most `most`; the fewest
    /// where more carry no more. `None` where some rank cannot be reached.
    pub(super) fn grow_few(graph: &Graph, root: Option<usize>, most: u128) -> Option<Self> {
        if graph.ranks == 1 {
            return Some(Self::of_one_rank());
        }
        let (graph, finer) = balanced(graph);
        let roots: Vec<usize> = root.map_or_else(|| (0..graph.ranks).collect(), |root| vec![root]);
        let rate = best_rate(&graph, root);
        if rate.numerator == 0 {
            return None;
        }
        let mut best: Option<(u128, Scaled)> = None;
        for trees in (0..=most.max(1).ilog2()).map(|power| 1 << power) {
            let (steps, scaled) = within(&graph, rate, &roots, trees)?;
            if best.as_ref().is_none_or(|(least, _)| steps < *least) {
                best = Some((steps, scaled));
            }
        }
        let (_, scaled) = best?;
        let counts = roots.iter().map(|&root| (root, scaled.trees_per_root)).collect();
        let rate = scaled.rate;
        let tree_rate = Fraction::new(rate.numerator, rate.denominator * finer * scaled.trees_per_root);
        Self::packed(&scaled.graph, counts, tree_rate)
    }

    /// A forest that reaches the limit of an all-reduce, sums first and copies then over the same trees, more of them
    /// from where there is more room. `None` where as many from each rank do as well, where links do not carry the same
    /// both ways, where sums and copies would have to go on at once, or where too many trees are needed.
    pub(super) fn grow_uneven(graph: &Graph) -> Option<Self> {
        if graph.ranks < 2 || *graph != graph.reversed() {
            return None;
        }
        let (all, each) = (exchanged(graph), gather(graph).rate());
        if all <= Fraction::new(each.numerator * graph.ranks as u128, each.denominator) {
            return None;
        }
        let scaled = mapped(graph, |capacity| capacity * all.denominator);
        let counts = fewest_roots(&scaled, all.numerator)?;
        let common =
            scaled.edges.iter().map(|way| way.capacity).chain(counts.iter().map(|(_, count)| *count));
        let common = common.fold(0, common_divisor);
        if all.numerator / common > MOST_TREES {
            return None;
        }
        let scaled = mapped(&scaled, |capacity| capacity / common);
        let counts = counts.iter().map(|(root, count)| (*root, count / common)).collect();
        Self::packed(&scaled, counts, Fraction::new(common, all.denominator))
    }

    fn packed(graph: &Graph, roots: Vec<(usize, u128)>, tree_rate_in_units: Fraction) -> Option<Self> {
        let mut wiring = Wiring::new(graph, roots);
        wiring.take_switches_out();
        let mut trees = Vec::new();
        for batch in &pack(&wiring)? {
            for _ in 0..batch.count {
                let hops = batch.edges.iter().map(|&(from, to)| wiring.take_one(from, to));
                trees.push(Tree { root: batch.root, hops: hops.collect::<Option<_>>()? });
            }
        }
        Some(Self { tree_rate_in_units, trees })
    }

    fn of_one_rank() -> Self {
        let tree = Tree { root: 0, hops: Vec::new() };
        Self { tree_rate_in_units: Fraction::default(), trees: vec![tree] }
    }
}

/// What a rank can spread, or each of all at once.
fn best_rate(graph: &Graph, root: Option<usize>) -> Fraction {
    match root {
        Some(root) => Fraction::new(spread(graph, root).0, 1),
        None => gather(graph).rate(),
    }
}

/// How many trees to begin at each rank, `all` together, so that all reach every rank; `None` where so few do not.
///
/// Ranks give up what they need not have, one after the other. That leads to the least sum in any order (Frank 1978:
/// what sets of ranks must have is supermodular where sets meet).
fn fewest_roots(graph: &Graph, all: u128) -> Option<Vec<(usize, u128)>> {
    let missing = |counts: &[(usize, u128)]| Wiring::new(graph, counts.to_vec()).missing_of(all);
    // As even as possible to begin with, since that spares trees.
    let even = |count| (0..graph.ranks).map(|rank| (rank, count)).collect::<Vec<_>>();
    let (mut low, mut high) = (0, all);
    while low < high {
        let middle = u128::midpoint(low, high);
        if missing(&even(middle)).is_some() { low = middle + 1 } else { high = middle }
    }
    let mut counts = even(high);
    for rank in 0..graph.ranks {
        let had = std::mem::take(&mut counts[rank].1);
        while counts[rank].1 < had
            && let Some(missing) = missing(&counts)
        {
            counts[rank].1 = (counts[rank].1 + missing).min(had);
        }
    }
    counts.retain(|(_, count)| *count > 0);
    (counts.iter().map(|(_, count)| count).sum::<u128>() == all).then_some(counts)
}

/// A graph whose capacities count trees.
struct Scaled {
    graph: Graph,
    trees_per_root: u128,
    /// What all trees of a root spread together.
    rate: Fraction,
}

/// The least number of trees that reach the rate exactly, if that is at most `most`.
fn exact(graph: &Graph, rate: Fraction, most: u128) -> Option<Scaled> {
    let common = graph.edges.iter().fold(rate.numerator, |common, way| common_divisor(common, way.capacity));
    let trees_per_root = rate.numerator / common;
    let scaled = |capacity: u128| capacity * rate.denominator / common;
    (trees_per_root <= most).then(|| Scaled { graph: mapped(graph, scaled), trees_per_root, rate })
}

/// A number of trees that nearly reaches the rate: the most, or somewhat fewer where that wastes less.
fn nearly(graph: &Graph, rate: Fraction, roots: &[usize], most: u128) -> Option<Scaled> {
    let counts = [most, most * 3 / 4, most / 2, most * 3 / 8, most / 4];
    let mut best: Option<(u128, Scaled)> = None;
    for trees in counts.into_iter().filter(|trees| *trees > 0) {
        let (steps, scaled) = within(graph, rate, roots, trees)?;
        if best.as_ref().is_none_or(|(least, _)| steps <= *least) {
            best = Some((steps, scaled));
        }
    }
    best.map(|(_, scaled)| scaled)
}

/// So many trees from each root: capacities are rounded down to whole trees, and trees are made larger in steps of
/// 1/256 until they are so few that all fit. With it, how many steps.
fn within(graph: &Graph, rate: Fraction, roots: &[usize], trees: u128) -> Option<(u128, Scaled)> {
    let scaled = |steps: u128| -> Option<Scaled> {
        // Trees of the rate / trees / (1 + steps / 256).
        let (above, below) = (trees * rate.denominator * (256 + steps), rate.numerator * 256);
        let graph = balanced_down(mapped(graph, |capacity| capacity * above / below));
        let counts = roots.iter().map(|&root| (root, trees)).collect();
        let holds = Wiring::new(&graph, counts).missing().is_none();
        let rate = Fraction::new(rate.numerator * 256, rate.denominator * (256 + steps));
        holds.then_some(Scaled { graph, trees_per_root: trees, rate })
    };
    let mut high = (1..=32).map(|doubling| 1_u128 << doubling).find(|steps| scaled(*steps).is_some())?;
    let mut low = 0;
    while low < high {
        let middle = u128::midpoint(low, high);
        if scaled(middle).is_some() { high = middle } else { low = middle + 1 }
    }
    scaled(high).map(|scaled| (high, scaled))
}

fn mapped(graph: &Graph, capacity: impl Fn(u128) -> u128) -> Graph {
    let way = |way: &Way| Way { capacity: capacity(way.capacity), ..*way };
    Graph::new(graph.ranks, graph.vertices, graph.edges.iter().map(way).collect())
}

/// The graph, in which no switch sends more than it gets, and what its capacities were multiplied by. A switch that
/// does not copy cannot send more; what leaves it is made less, each edge by the same part, which need not be the
/// best choice. Wherever links carry the same both ways, nothing changes.
fn balanced(graph: &Graph) -> (Graph, u128) {
    if is_balanced(graph) {
        return (graph.clone(), 1);
    }
    (balanced_down(mapped(graph, |capacity| capacity * FINER)), FINER)
}

fn is_balanced(graph: &Graph) -> bool {
    graph.degrees()[graph.ranks..].iter().all(|(leaving, entering)| leaving <= entering)
}

fn balanced_down(mut graph: Graph) -> Graph {
    while !is_balanced(&graph) {
        let degrees = graph.degrees();
        let less = |way: &Way| {
            let (leaving, entering) = degrees[way.from];
            let sends_more = way.from >= graph.ranks && leaving > entering;
            let capacity = if sends_more { way.capacity * entering / leaving } else { way.capacity };
            Way { capacity, ..*way }
        };
        graph = Graph::new(graph.ranks, graph.vertices, graph.edges.iter().map(less).collect());
    }
    graph
}
