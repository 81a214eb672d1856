//! Limits by hand, and against all cuts of small graphs.

use petgraph::algo::ford_fulkerson;
use petgraph::graph::DiGraph;
use proptest::prelude::*;

use super::*;
use crate::flow::Network;
use crate::terrains::*;
use crate::{Edge, Switch, Vertex};

fn busbw(terrain: &Terrain, collective: Collective) -> Fraction {
    limit(terrain, collective).unwrap().busbw_in_units
}

fn words(terrain: &Terrain, collective: Collective) -> String {
    limit(terrain, collective).unwrap().words(&|capacity| capacity.to_string())
}

#[test]
fn all_gathers_are_limited_by_the_narrowest_cut_per_rank() {
    for (terrain, expected) in [
        // Two links lead into each rank.
        (ring(6), 2),
        // Seven links lead into each.
        (mesh(8, 1), 7),
        // Six lead into each; 6 lead out of a quad of 4, which would allow 6 x 7 / 4.
        (dgx_1v(), 6),
        // 4 NICs of 2 for the parts of 4 ranks, each of which is needed by 7 others: 8 x 7 / 4.
        (servers(2, 4, 18, 2, Switch::default()), 14),
        (torus(4), 4),
        // 13 leads into rank 0.
        (one_slow_link(), 13),
        (star(8, 450, Switch { reduces: true, multicasts: true }), 450),
    ] {
        assert_eq!(busbw(&terrain, Collective::AllGather), Fraction::new(expected, 1));
        assert_eq!(busbw(&terrain, Collective::ReduceScatter), Fraction::new(expected, 1));
    }
}

#[test]
fn all_reduces_are_limited_by_the_parts_that_must_exchange() {
    for (terrain, expected) in [
        // 6 ranks with 2 each: 12 x 5 / (6 x 5).
        (ring(6), Fraction::new(2, 1)),
        (dgx_1v(), Fraction::new(6, 1)),
        // Two groups with 8 each: 16 x 7 / (8 x 1).
        (servers(2, 4, 18, 2, Switch::default()), Fraction::new(14, 1)),
        // The switch adds: only once 450 per message leaves a rank, busbw counts 2 x 7 / 8 of it.
        (star(8, 450, Switch { reduces: true, multicasts: true }), Fraction::new(1575, 2)),
        // Sixteen servers whose inside adds by itself, 400 each: 6400 x 127 / (128 x 15).
        (servers(16, 8, 450, 50, Switch { reduces: true, multicasts: true }), Fraction::new(1270, 3)),
        // Rank 0 hangs on the others by 1: sums may all be made on one side. 2 x 3 / (4 x 1).
        (linked(4, &[(0, 1, 1), (1, 2, 9), (2, 3, 9), (1, 3, 9)]), Fraction::new(3, 2)),
    ] {
        assert_eq!(busbw(&terrain, Collective::AllReduce), expected);
    }
}

#[test]
fn one_root_or_pair_is_limited_by_its_maximum_flow() {
    let slow = one_slow_link();
    assert_eq!(busbw(&slow, Collective::Broadcast), Fraction::new(13, 1));
    let limit_at_1 = limit_of(&slow, Collective::Reduce, Rank::new(1), Rank::new(0)).unwrap();
    assert_eq!(limit_at_1.busbw_in_units, Fraction::new(13, 1));
    let send = limit_of(&slow, Collective::SendRecv, Rank::new(1), Rank::new(2)).unwrap();
    assert_eq!(send.busbw_in_units, Fraction::new(13, 1));
}

#[test]
fn all_to_alls_are_limited_by_cuts_between_hosts() {
    // 4 x 4 parts over 8, and busbw counts 7: 8 x 7 / 16.
    let terrain = servers(2, 4, 18, 2, Switch::default());
    assert_eq!(busbw(&terrain, Collective::AllToAll), Fraction::new(7, 2));
    assert_eq!(busbw(&mesh(8, 1), Collective::AllToAll), Fraction::new(7, 1));
}

#[test]
fn limits_are_said_in_words() {
    let terrain = servers(2, 4, 18, 2, Switch::default());
    let all_gather = words(&terrain, Collective::AllGather);
    assert_eq!(
        all_gather,
        "the parts of ranks 4-7 leave over 4 edges of 2 = 8, one for each of 4 of 8 ranks; busbw = 8 x 7 / 4"
    );
    assert_eq!(
        words(&one_slow_link(), Collective::ReduceScatter),
        "sums for 3 of 4 ranks leave rank 0 over 1 edge of 3 + 1 edge of 10 = 13; busbw = 13 x 3 / 3"
    );
}

#[test]
fn there_is_no_limit_of_what_is_not_known_or_does_not_move() {
    assert_eq!(limit(&Terrain::flat(4), Collective::AllGather), None);
    assert_eq!(limit(&ring(4), Collective::Barrier), None);
    assert_eq!(limit_of(&ring(4), Collective::Broadcast, Rank::new(4), Rank::new(0)), None);
    // Rank 2 is on its own.
    let apart = linked(3, &[(0, 1, 5)]);
    for collective in
        [Collective::AllGather, Collective::AllReduce, Collective::Broadcast, Collective::AllToAll]
    {
        assert_eq!(busbw(&apart, collective), Fraction::new(0, 1));
    }
}

#[test]
fn fractions_compare_by_value() {
    let mut fractions = [(7, 3), (2, 1), (9, 4), (0, 5), (u128::MAX, 2), (7, 4), (5, 3)];
    fractions.sort_by_key(|&(above, below)| Fraction::new(above, below));
    assert_eq!(fractions, [(0, 5), (5, 3), (7, 4), (2, 1), (9, 4), (7, 3), (u128::MAX, 2)]);
}

/// Any graph: ranks, switches, edges with capacities, one in four of them 0.
fn any_terrain() -> impl Strategy<Value = Terrain> {
    (2..6u32, 0..3usize).prop_flat_map(|(ranks, switches)| {
        let vertices = ranks + u32::try_from(switches).unwrap();
        let edge = (0..vertices, 0..vertices, 0..9u64);
        let edge = edge.prop_map(|(from, to, capacity)| Edge {
            from: Vertex(from),
            to: Vertex(to),
            capacity: capacity.saturating_sub(2),
        });
        prop::collection::vec(edge, 1..24)
            .prop_map(move |edges| Terrain::flat(ranks).with_graph(vec![Switch::default(); switches], edges))
    })
}

/// What leaves a side, how many ranks are inside, and which.
type Side = (u128, u32, u32);

/// All sides of cuts that have ranks on both.
fn all_cuts(terrain: &Terrain) -> Vec<Side> {
    let vertices = terrain.ranks() + u32::try_from(terrain.switches().len()).unwrap();
    let ranks = (1u32 << terrain.ranks()) - 1;
    let leaves = |side: u32, edge: &&Edge| side >> edge.from.0 & 1 == 1 && side >> edge.to.0 & 1 == 0;
    let cut = |side: u32| {
        let edges = terrain.edges().iter().filter(|edge| leaves(side, edge));
        (edges.map(|edge| u128::from(edge.capacity)).sum(), (side & ranks).count_ones(), side & ranks)
    };
    (0..1u32 << vertices).map(cut).filter(|(_, inside, _)| *inside > 0 && *inside < terrain.ranks()).collect()
}

/// The least sum of what leaves, over all ways to take ranks apart, as busbw.
fn least_exchange(cuts: &[Side], ranks: u32) -> Fraction {
    let around = |set: u32| cuts.iter().filter(|cut| cut.2 == set).map(|cut| cut.0).min().unwrap();
    let mut ways: Vec<Vec<u32>> = vec![Vec::new()];
    for rank in 0..ranks {
        let mut longer = Vec::new();
        for way in ways {
            for index in 0..way.len() {
                let mut way = way.clone();
                way[index] |= 1 << rank;
                longer.push(way);
            }
            longer.push(way.into_iter().chain([1 << rank]).collect());
        }
        ways = longer;
    }
    let busbw = |way: &Vec<u32>| {
        let total: u128 = way.iter().map(|set| around(*set)).sum();
        Fraction::new(total * u128::from(ranks - 1), u128::from(ranks) * (way.len() as u128 - 1))
    };
    ways.iter().filter(|way| way.len() > 1).map(busbw).min().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn flows_are_those_of_petgraph(terrain in any_terrain()) {
        let vertices = terrain.ranks() as usize + terrain.switches().len();
        let (mut ours, mut theirs) = (Network::new(vertices), DiGraph::<(), u64>::new());
        let nodes: Vec<_> = (0..vertices).map(|_| theirs.add_node(())).collect();
        for edge in terrain.edges() {
            let (from, to) = (edge.from.0 as usize, edge.to.0 as usize);
            ours.add(from, to, u128::from(edge.capacity));
            theirs.add_edge(nodes[from], nodes[to], edge.capacity);
        }
        let (flow, _) = ford_fulkerson(&theirs, nodes[0], nodes[1]);
        prop_assert_eq!(ours.push(0, 1, u128::MAX), u128::from(flow));
    }

    #[test]
    fn limits_are_the_least_over_all_cuts(terrain in any_terrain()) {
        let (cuts, ranks) = (all_cuts(&terrain), terrain.ranks());
        let others = u128::from(ranks - 1);
        let least = |of: &dyn Fn(&Side) -> Option<Fraction>| cuts.iter().filter_map(of).min().unwrap();
        let gathered = least(&|&(capacity, inside, _)| Some(Fraction::new(capacity * others, u128::from(inside))));
        prop_assert_eq!(busbw(&terrain, Collective::AllGather), gathered);
        let scattered =
            least(&|&(capacity, inside, _)| Some(Fraction::new(capacity * others, u128::from(ranks - inside))));
        prop_assert_eq!(busbw(&terrain, Collective::ReduceScatter), scattered);
        let spread = least(&|&(capacity, _, set)| (set & 1 == 1).then(|| Fraction::new(capacity, 1)));
        prop_assert_eq!(busbw(&terrain, Collective::Broadcast), spread);
        let reduced = least(&|&(capacity, _, set)| (set & 1 == 0).then(|| Fraction::new(capacity, 1)));
        prop_assert_eq!(busbw(&terrain, Collective::Reduce), reduced);
        let once = least(&|&(capacity, ..)| Some(Fraction::new(capacity * 2 * others, u128::from(ranks))));
        prop_assert_eq!(busbw(&terrain, Collective::AllReduce), once.min(least_exchange(&cuts, ranks)));
        let exchanged = least(&|&(capacity, inside, _)| {
            Some(Fraction::new(capacity * others, u128::from(inside * (ranks - inside))))
        });
        prop_assert!(busbw(&terrain, Collective::AllToAll) >= exchanged);
    }

    #[test]
    fn the_cuts_of_a_limit_carry_what_it_says(terrain in any_terrain()) {
        for collective in Collective::ALL {
            let Some(limit) = limit(&terrain, collective) else { continue };
            for cut in &limit.cuts {
                let carried: u64 = cut.edges.iter().map(|edge| edge.capacity).sum();
                prop_assert_eq!(u128::from(carried), cut.capacity);
                prop_assert_eq!(cut.inside.len() + cut.outside as usize, terrain.ranks() as usize);
                prop_assert!(!cut.inside.is_empty() && cut.outside > 0);
            }
        }
    }
}
