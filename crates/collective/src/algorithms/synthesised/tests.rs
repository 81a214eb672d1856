//! Trees carry what the limit says, no edge carries more than it can, and plans are proved.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::limit::{Fraction, limit_of};
use crate::terrains::*;
use crate::{Counts, DataType, Edge, Rank, Switch, Vertex, verify};

const COLLECTIVES: [Collective; 5] = [
    Collective::AllGather,
    Collective::ReduceScatter,
    Collective::AllReduce,
    Collective::Broadcast,
    Collective::Reduce,
];

fn terrains() -> Vec<(&'static str, Terrain)> {
    let plain = Switch::default();
    vec![
        ("two", linked(2, &[(0, 1, 7)])),
        ("ring of 5", ring(5)),
        ("ring of 16", ring(16)),
        ("mesh of 8", mesh(8, 1)),
        ("DGX-1V", dgx_1v()),
        ("NVSwitch of 8", star(8, 18, plain)),
        ("NVSwitch of 16", star(16, 6, plain)),
        ("2 x 4", servers(2, 4, 18, 2, plain)),
        ("2 x 8", servers(2, 8, 18, 2, plain)),
        ("4 x 4", servers(4, 4, 9, 1, plain)),
        ("torus 3", torus(3)),
        ("torus 4", torus(4)),
        ("slow link", one_slow_link()),
    ]
}

/// Every tree spans, and what all carry together fits every edge. Gives what all carry.
fn checked(forest: &Forest, terrain: &Terrain) -> Fraction {
    let ranks = terrain.ranks() as usize;
    let mut crossings: BTreeMap<(usize, usize), u128> = BTreeMap::new();
    for tree in &forest.trees {
        let mut reached = vec![tree.root];
        for hop in &tree.hops {
            assert!(reached.contains(&hop[0]), "a hop from a rank that is not reached yet");
            let (last, before) = hop.split_last().unwrap();
            assert!(!reached.contains(last) && *last < ranks, "a hop to a rank that is reached already");
            assert!(before[1..].iter().all(|vertex| *vertex >= ranks), "a hop through a rank");
            reached.push(*last);
            for pair in hop.windows(2) {
                *crossings.entry((pair[0], pair[1])).or_default() += 1;
            }
        }
        assert_eq!(reached.len(), ranks);
    }
    let Fraction { numerator, denominator } = forest.tree_rate_in_units;
    for ((from, to), trees) in crossings {
        let edges =
            terrain.edges().iter().filter(|edge| (edge.from.0 as usize, edge.to.0 as usize) == (from, to));
        let capacity: u128 = edges.map(|edge| u128::from(edge.capacity)).sum();
        let load = Fraction::new(trees * numerator, denominator);
        assert!(load <= Fraction::new(capacity, 1), "{from} to {to}: {load:?} of {capacity}");
    }
    Fraction::new(numerator * forest.trees.len() as u128, denominator)
}

/// What all roots spread together, or all sums are made at: as the limit has it.
fn best_rate(terrain: &Terrain, collective: Collective, root: Rank) -> Fraction {
    let busbw = limit_of(terrain, collective, root, Rank::new(0)).unwrap().busbw_in_units;
    let ranks = u128::from(terrain.ranks());
    // Of n parts n - 1 cross each link as busbw counts. An all-reduce does it twice, and counts it twice.
    let one_root = matches!(collective, Collective::Broadcast | Collective::Reduce);
    let (above, below) = if one_root { (1, 1) } else { (ranks, ranks - 1) };
    Fraction::new(busbw.numerator * above, busbw.denominator * below)
}

/// The rates of the forests of all collectives, found and best.
fn rates(terrain: &Terrain) -> Vec<(Fraction, Fraction)> {
    let ranks = terrain.ranks() as usize;
    let turned = turned(terrain);
    [Collective::AllGather, Collective::ReduceScatter, Collective::Broadcast, Collective::Reduce]
        .into_iter()
        .map(|collective| {
            let call = Call { root: Rank::new(terrain.ranks() - 1), ..Call::bytes(collective, 1) };
            let (forest, terrain_of_trees) = if collective.reduces() {
                (Synthesised.adding(&call, terrain).unwrap(), &turned)
            } else {
                (Synthesised.spreading(&call, terrain).unwrap(), terrain)
            };
            let one_root = matches!(collective, Collective::Broadcast | Collective::Reduce);
            let roots = if one_root { vec![ranks - 1] } else { (0..ranks).collect() };
            let each = forest.trees.len() / roots.len();
            let planted: Vec<usize> = forest.trees.iter().map(|tree| tree.root).collect();
            let expected: Vec<usize> =
                roots.iter().flat_map(|root| std::iter::repeat_n(*root, each)).collect();
            assert_eq!(planted, expected);
            (checked(&forest, terrain_of_trees), best_rate(terrain, collective, call.root))
        })
        .collect()
}

/// The rate of an all-reduce, found and best. Links carry the same both ways, so that sums go back as copies come.
fn all_reduce_rate(terrain: &Terrain) -> (Fraction, Fraction) {
    let call = Call::bytes(Collective::AllReduce, 1);
    let forest = Synthesised.spreading(&call, terrain).unwrap();
    assert_eq!(Synthesised.adding(&call, terrain).as_ref(), Some(&forest));
    (checked(&forest, terrain), best_rate(terrain, Collective::AllReduce, Rank::new(0)))
}

fn turned(terrain: &Terrain) -> Terrain {
    let mut edges = terrain.edges().to_vec();
    for edge in &mut edges {
        std::mem::swap(&mut edge.from, &mut edge.to);
    }
    Terrain::flat(terrain.ranks()).with_graph(terrain.switches().to_vec(), edges)
}

fn prove(terrain: &Terrain, call: &Call, name: &str) {
    let what = call.collective.name();
    assert_eq!(Synthesised.suits(call, terrain), Ok(()), "{name} {what}");
    let plan = Synthesised.plan(call, terrain);
    let proof = verify(&plan, call).unwrap_or_else(|violation| panic!("{name} {what}: {violation}"));
    assert!(proof.rendezvous, "{name} {what} needs buffers");
}

#[test]
fn trees_reach_the_limit_exactly() {
    for (name, terrain) in terrains() {
        for (found, best) in rates(&terrain) {
            assert_eq!(found, best, "{name}");
        }
        let (found, best) = all_reduce_rate(&terrain);
        assert_eq!(found, best, "{name} all-reduce");
    }
}

/// Ten servers of four on two leaves, whose ways to the spine carry half of what hangs on them.
fn oversubscribed() -> Terrain {
    let (ranks, [one, other, spine]) = (40_u32, [50, 51, 52]);
    let mut ends: Vec<_> = (0..ranks).map(|rank| (rank, ranks + rank / 4, 18)).collect();
    ends.extend((0..ranks).map(|rank| (rank, if rank < 20 { one } else { other }, 2)));
    ends.extend([(one, spine, 20), (other, spine, 20)]);
    let group_of = (0..ranks).map(|rank| rank / 4).collect();
    Terrain::flat(ranks)
        .with_level(crate::Level { name: "host", group_of })
        .with_graph(vec![Switch::default(); 13], links(&ends))
}

#[test]
fn trees_of_hosts_reach_the_limit_beyond_32_ranks() {
    let plain = Switch::default();
    let cases = [
        ("8 x 8", servers(8, 8, 18, 2, plain)),
        ("16 x 8", servers(16, 8, 18, 2, plain)),
        ("oversubscribed", oversubscribed()),
    ];
    for (name, terrain) in cases {
        // All-gather, reduce-scatter, broadcast, reduce.
        for (found, best) in rates(&terrain) {
            assert_eq!(found, best, "{name}");
        }
        let (found, best) = all_reduce_rate(&terrain);
        assert_eq!(found, best, "{name} all-reduce");
        for collective in COLLECTIVES {
            let call = Call { root: Rank::new(9), ..Call::bytes(collective, 1_003) };
            prove(&terrain, &call, name);
        }
    }
}

#[test]
fn plans_are_proved_on_all_terrains() {
    for (name, terrain) in terrains() {
        for collective in COLLECTIVES {
            for in_place in [false, true] {
                let call = Call { in_place, root: Rank::new(1), ..Call::bytes(collective, 1_000_003) };
                prove(&terrain, &call, name);
            }
        }
    }
}
#[test]
fn plans_are_proved_for_all_numbers_of_ranks_and_awkward_sizes() {
    for ranks in 1..=16 {
        let terrain = if ranks % 2 == 0 { star(ranks, 4, Switch::default()) } else { ring(ranks) };
        for collective in COLLECTIVES {
            for elements in [0, 1, 13] {
                let call = Call { data_type: DataType::Half, ..Call::bytes(collective, elements) };
                prove(&terrain, &call, "any number");
            }
        }
    }
}

#[test]
fn parts_may_differ_in_size() {
    let counts: Arc<[u64]> = (0..8).map(|rank| rank * rank * 10_000).collect();
    for collective in [Collective::AllGather, Collective::ReduceScatter] {
        let call = Call { counts: Counts::PerRank(counts.clone()), ..Call::bytes(collective, 0) };
        prove(&dgx_1v(), &call, "uneven");
    }
}

#[test]
fn where_adding_and_spreading_need_different_trees_copies_wait_for_sums() {
    let edge = |from, to, capacity| Edge { from: Vertex(from), to: Vertex(to), capacity };
    let edges =
        vec![edge(0, 1, 1), edge(0, 2, 1), edge(1, 0, 2), edge(2, 0, 1), edge(1, 2, 5), edge(2, 1, 5)];
    let terrain = Terrain::flat(3).with_graph(Vec::new(), edges);
    let call = Call::bytes(Collective::AllReduce, 100_000);
    let (adding, spreading) = (Synthesised.adding(&call, &terrain), Synthesised.spreading(&call, &terrain));
    // The parts of 1 and 2 leave them over 2 + 1: 3 / 2 each, and a tree carries 1 / 2, which divides all capacities.
    // Sums for 1 and 2 come in over 1 + 1: 1 each.
    let trees = |forest: Option<Forest>| forest.map(|forest| (forest.trees.len(), forest.tree_rate_in_units));
    assert_eq!(trees(spreading), Some((9, Fraction::new(1, 2))));
    assert_eq!(trees(adding), Some((3, Fraction::new(1, 1))));
    prove(&terrain, &call, "different trees");
    // The other way around: 3 trees add for each root, 1 spreads.
    let edges = vec![edge(0, 1, 2), edge(1, 2, 3), edge(2, 0, 5), edge(0, 2, 2)];
    prove(&Terrain::flat(3).with_graph(Vec::new(), edges), &call, "more trees that add");
}

#[test]
fn a_calls_terrain_must_be_known_and_connected_and_not_too_large() {
    let needs = |terrain: &Terrain, collective| {
        Synthesised.suits(&Call::bytes(collective, 8), terrain).unwrap_err().to_string()
    };
    assert_eq!(
        needs(&Terrain::flat(4), Collective::AllGather),
        "synthesised needs a terrain whose graph is known"
    );
    let apart = linked(3, &[(0, 1, 5)]);
    assert_eq!(
        needs(&apart, Collective::AllReduce),
        "synthesised needs a way from every rank to every other"
    );
    assert_eq!(needs(&apart, Collective::Broadcast), "synthesised needs a way from the root to every rank");
    assert_eq!(
        needs(&ring(33), Collective::AllGather),
        "synthesised needs hosts of the same size that a network joins, for more than 32 ranks"
    );
    assert_eq!(
        needs(&ring(257), Collective::AllGather),
        "synthesised needs at least 1 and at most 256 ranks, not 257 ranks"
    );
    assert_eq!(needs(&ring(4), Collective::AllToAll), "synthesised has no plan for all-to-all");
}

#[test]
fn a_switch_that_sends_more_than_it_gets_is_used_as_far_as_it_goes() {
    // Rank 0's way to the switch has half of 4. What the switch sends, 3 x 4, shrinks to the 10 that it gets.
    let mut edges = links(&[(0, 3, 4), (1, 3, 4), (2, 3, 4)]);
    edges[0].capacity = 2;
    let terrain = Terrain::flat(3).with_graph(vec![Switch::default()], edges);
    let call = Call::bytes(Collective::AllGather, 1 << 20);
    let forest = Synthesised.spreading(&call, &terrain).unwrap();
    let rate = checked(&forest, &terrain);
    // Six deliveries share the 10, so that none is faster than 10 / 6, nor all three roots than 5.
    assert!(rate <= Fraction::new(5, 1) && rate > Fraction::new(48, 10), "{rate:?}");
    prove(&terrain, &call, "uneven switch");
}

/// Links by which every vertex hangs on an earlier one, and more between any two.
fn connected(most_ranks: u32, capacity: u64) -> impl Strategy<Value = Terrain> {
    (2..=most_ranks, 0..3usize).prop_flat_map(move |(ranks, switches)| {
        let vertices = ranks + u32::try_from(switches).unwrap();
        let backbone = prop::collection::vec((any::<u32>(), 1..=capacity), vertices as usize - 1);
        let more = prop::collection::vec((0..vertices, 0..vertices, 1..=capacity), 0..12);
        (backbone, more).prop_map(move |(backbone, more)| {
            let mut ends = more;
            ends.extend(
                (1..).zip(backbone).map(|(vertex, (any, capacity))| (vertex, any % vertex, capacity)),
            );
            Terrain::flat(ranks).with_graph(vec![Switch::default(); switches], links(&ends))
        })
    })
}

/// A ring of edges in one direction, and others.
fn one_way() -> impl Strategy<Value = Terrain> {
    (2..7u32).prop_flat_map(|ranks| {
        let around = prop::collection::vec(1..5u64, ranks as usize);
        let more = prop::collection::vec((0..ranks, 0..ranks, 1..5u64), 0..12);
        (around, more).prop_map(move |(around, more)| {
            let edge = |(from, to, capacity)| Edge { from: Vertex(from), to: Vertex(to), capacity };
            let around = (0..).zip(around).map(|(rank, capacity)| (rank, (rank + 1) % ranks, capacity));
            Terrain::flat(ranks).with_graph(Vec::new(), around.chain(more).map(edge).collect())
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn trees_reach_the_limit_of_any_connected_graph(terrain in connected(8, 4)) {
        for (found, best) in rates(&terrain) {
            prop_assert_eq!(found, best);
        }
        // Sums and copies one after the other may need longer than both at once would.
        let (found, best) = all_reduce_rate(&terrain);
        prop_assert!(found <= best && found >= rates(&terrain)[0].0);
    }

    #[test]
    fn trees_reach_the_limit_of_any_one_way_graph(terrain in one_way()) {
        for (found, best) in rates(&terrain) {
            prop_assert_eq!(found, best);
        }
    }

    #[test]
    fn few_trees_come_near_the_limit_of_any_capacities(terrain in connected(6, 1000)) {
        for (found, best) in rates(&terrain) {
            prop_assert!(found <= best);
            prop_assert!(found.value() > 0.95 * best.value(), "{:?} of {:?}", found, best);
        }
    }

    #[test]
    fn plans_are_proved_on_any_graph(
        terrain in prop_oneof![connected(8, 4), connected(5, 1000), one_way()],
        elements in 0..100_000u64,
        collective in prop::sample::select(&COLLECTIVES[..]),
        in_place: bool,
    ) {
        prove(&terrain, &Call { in_place, ..Call::bytes(collective, elements) }, "any");
    }
}

#[test]
fn what_is_known_of_a_plan_before_it_is_made_is_the_least_it_takes() {
    for (name, terrain) in terrains() {
        for collective in COLLECTIVES {
            for bytes in [1 << 10, 1 << 20, 64 << 20] {
                let call = Call::message(collective, bytes, terrain.ranks());
                if Synthesised.suits(&call, &terrain).is_err() {
                    continue;
                }
                let effort = Synthesised.least_effort(&call, &terrain).unwrap();
                let plan = Synthesised.plan(&call, &terrain);
                let of_rank = |rank| plan.work(&call, Rank::new(rank)).message_count;
                let messages: u64 = (0..terrain.ranks()).map(of_rank).sum();
                // Chunks are whole: of 5/3 one is left, so that three trees may have 3 where one has 5.
                let case = (name, collective.name(), bytes, effort, messages);
                assert!(effort.message_count <= 2 * messages, "{case:?}");
                assert!(effort.thread_count <= plan.threads.len() as u64, "{case:?}");
            }
        }
    }
    // 8^5 / 30; 8 parts of 8 MiB, each 64 chunks for each of 7 others, of one tree for each rank.
    let call = Call::message(Collective::AllGather, 64 << 20, 8);
    let effort = Synthesised.least_effort(&call, &mesh(8, 1)).unwrap();
    assert_eq!(effort, Effort { making_message_count: 1092, message_count: 8 * 64 * 7, thread_count: 8 });
}
