//! Ways through the network: all shortest ones against an oracle, and what static choices pick.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::fabric::joined;
use common::{all, topology};
use petgraph::algo::{all_simple_paths, dijkstra};
use petgraph::graph::{DiGraph, NodeIndex};
use proptest::prelude::*;
use weft_catalogue::LinkFamily;
use weft_topology::{
    Cable, Health, Link, LinkId, NetworkPaths, NodeId, NodeKind, Overlay, Pick, Spread, Topology,
};

fn small(hosts: u32, nics: u16, network: &str) -> Topology {
    topology(&format!("{hosts} x 1 h100-pcie + {nics} cx7 @ {network}"))
}

fn is_network(topology: &Topology, link: &Link) -> bool {
    topology.family(link) == LinkFamily::Network
}

/// All shortest ways as petgraph finds them, in order: simple paths of the length of the shortest, through switches.
fn oracle(topology: &Topology, from: NodeId, to: NodeId) -> Vec<Vec<LinkId>> {
    let index = |node: NodeId| NodeIndex::<u32>::new(node.index());
    let usable =
        |node: NodeId| node == from || node == to || topology.node(node).kind == NodeKind::NetworkSwitch;
    let mut graph: DiGraph<(), LinkId> = DiGraph::new();
    for _ in topology.nodes() {
        graph.add_node(());
    }
    let ids: Vec<NodeId> = topology.nodes().map(|(id, _)| id).collect();
    for (id, link) in topology.links().filter(|(_, link)| is_network(topology, link)) {
        if usable(link.from) && usable(link.to) {
            graph.add_edge(index(link.from), index(link.to), id);
        }
    }
    let steps = dijkstra(&graph, index(from), Some(index(to)), |_| 1usize).get(&index(to)).copied();
    let Some(steps) = steps.filter(|steps| *steps > 0) else { return Vec::new() };
    let link = |a: NodeIndex, b: NodeIndex| {
        let mut between = topology.links_from(ids[a.index()]).filter(|(_, link)| link.to == ids[b.index()]);
        between.next().expect("neighbours").0
    };
    let paths = all_simple_paths::<Vec<_>, _, std::hash::RandomState>(
        &graph,
        index(from),
        index(to),
        0,
        Some(steps - 1),
    );
    let links = paths.map(|nodes| nodes.windows(2).map(|pair| link(pair[0], pair[1])).collect::<Vec<_>>());
    let mut links: Vec<Vec<LinkId>> = links.filter(|links| links.len() == steps).collect();
    links.sort();
    links
}

/// Whether a way leads from `from` to `to` over links that exist, cable by cable.
fn assert_leads(topology: &Topology, path: &[Cable], from: NodeId, to: NodeId) {
    let mut at = from;
    for cable in path {
        let link = topology.link(cable.link);
        assert_eq!(link.from, at);
        assert!(cable.number < link.count);
        at = link.to;
    }
    assert_eq!(at, to);
}

const FABRICS: &[(u32, u16, &str)] = &[
    (6, 1, "single"),
    (24, 2, "rail-optimized(leaf 8)"),
    (20, 1, "fat-tree(leaf 6)"),
    (40, 1, "fat-tree(leaf 8)"),
    (33, 1, "fat-tree(leaf 8, spine-oversubscription 3:1)"),
    (12, 2, "rail-only(leaf 8)"),
    (12, 2, "fat-tree(leaf 8x200G, planes 2)"),
    (40, 1, "dragonfly+(leaf 8)"),
    (24, 1, "dragonfly+(leaf 8, groups 3)"),
    (9, 2, "torus(3x3)"),
    (16, 1, "torus(4x4, leaf 8x200G, planes 2)"),
    (12, 1, "torus(2x2x3)"),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn all_shortest_ways_are_found_and_no_others(
        which in 0..FABRICS.len(),
        ends in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        broken in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let (hosts, nics, network) = FABRICS[which];
        let built = small(hosts, nics, network);
        // Some links are down, so that what was regular no longer is.
        let links: Vec<LinkId> =
            built.links().filter(|(_, link)| is_network(&built, link)).map(|(id, _)| id).collect();
        let mut overlay = Overlay::default();
        let broken: Vec<LinkId> = broken.into_iter().map(|link| *link.get(&links)).collect();
        for link in &broken {
            overlay.set_both(&built, *link, Health::up(0));
        }
        let fabric = overlay.applied(&built);
        let all_nics = joined(&built);
        let (from, to) = (*ends.0.get(&all_nics), *ends.1.get(&all_nics));
        let expected = oracle(&fabric, from, to);
        let mut paths = NetworkPaths::new(&fabric);
        let found: Vec<Vec<LinkId>> = paths.alternatives(from, to).collect();
        prop_assert_eq!(&found, &expected, "{}", network);
        prop_assert_eq!(paths.count(from, to), expected.len() as u64);
        let steps = if from == to { Some(0) } else { expected.first().map(Vec::len) };
        prop_assert_eq!(paths.distance(from, to).map(|steps| steps as usize), steps);
        for pick in [Pick::Destination, Pick::Hash { flow_seed: 7 }] {
            let picked = paths.path(from, to, pick);
            prop_assert_eq!(picked.is_some(), !expected.is_empty());
            if let Some(path) = picked {
                assert_leads(&fabric, &path, from, to);
                let links: Vec<LinkId> = path.iter().map(|cable| cable.link).collect();
                prop_assert!(expected.contains(&links));
            }
        }
        // Those that avoid the broken links on the whole fabric are the same ways.
        let ends = |topology: &Topology, ways: Vec<Vec<LinkId>>| -> Vec<Vec<NodeId>> {
            ways.into_iter().map(|way| way.into_iter().map(|link| topology.link(link).to).collect()).collect()
        };
        let mut avoiding = NetworkPaths::avoiding(&built, broken);
        let avoided: Vec<Vec<LinkId>> = avoiding.alternatives(from, to).collect();
        prop_assert_eq!(ends(&built, avoided), ends(&fabric, found));
        // Each step carries the whole message, each way at least a little of it.
        let shares = paths.shares(from, to, Spread::Evenly);
        let used: BTreeSet<LinkId> = shares.iter().map(|(link, _)| *link).collect();
        prop_assert_eq!(used, expected.iter().flatten().copied().collect::<BTreeSet<_>>());
        let sum: f64 = shares.iter().map(|(_, share)| share).sum();
        let steps = expected.first().map_or(0, Vec::len);
        prop_assert!((sum - f64::from(u32::try_from(steps).expect("small"))).abs() < 1e-9);
    }
}

#[test]
fn alternatives_of_three_tiers_are_counted_by_hand() {
    // Radix 8, 128 hosts: pods of 4 leaves and 4 spines, 8 pods, 4 groups of 4 cores. Within a leaf 1 way, within
    // a pod 4, between pods 4 spines x 4 cores.
    let fabric = small(128, 1, "fat-tree(leaf 8)");
    let nics = joined(&fabric);
    let mut paths = NetworkPaths::new(&fabric);
    let counts =
        [0, 1, 4, 16, 127].map(|to| (paths.count(nics[0], nics[to]), paths.distance(nics[0], nics[to])));
    assert_eq!(counts, [(0, Some(0)), (1, Some(2)), (4, Some(4)), (16, Some(6)), (16, Some(6))]);
    // Sprayed: a quarter over each spine, a sixteenth over each core.
    let shares: Vec<f64> =
        paths.shares(nics[0], nics[16], Spread::Evenly).into_iter().map(|(_, share)| share).collect();
    let [quarter, sixteenth] = [[0.25; 4].to_vec(), [0.0625; 16].to_vec()];
    assert_eq!(
        shares,
        [vec![1.0], quarter.clone(), sixteenth.clone(), sixteenth, quarter, vec![1.0]].concat()
    );
    // As a forwarding table: the leaf has four links up, a core one link down.
    let leaf = fabric.link(paths.alternatives(nics[0], nics[16]).next().expect("a way")[0]).to;
    assert_eq!(paths.next_hops(leaf, nics[16]).len(), 4);
    assert_eq!(paths.next_hops(leaf, nics[1]), [fabric.links_from(leaf).nth(1).expect("a second NIC").0]);
    let core = *all(&fabric, NodeKind::NetworkSwitch).last().expect("cores come last");
    assert_eq!(paths.next_hops(core, nics[16]).len(), 1);
}

#[test]
fn shifts_meet_on_no_cable_of_a_full_fat_tree_if_routed_by_destination() {
    // Zahavi et al., "Optimized InfiniBand fat-tree routing for shift all-to-all communication patterns" (2010).
    // Three tiers of 8 ports; two of 16 ports with bundles of 2 (16 leaves would need 8 spines, 8 leaves need 4).
    for (hosts, network, shifts) in [
        (128, "fat-tree(leaf 8)", vec![1, 2, 4, 7, 16, 31, 64, 127]),
        (64, "fat-tree(leaf 16)", vec![1, 5, 8, 32, 63]),
    ] {
        let fabric = small(hosts, 1, network);
        let nics = joined(&fabric);
        let mut paths = NetworkPaths::new(&fabric);
        for shift in shifts {
            let mut used: BTreeSet<Cable> = BTreeSet::new();
            for (index, from) in nics.iter().enumerate() {
                let to = nics[(index + shift) % nics.len()];
                for cable in paths.path(*from, to, Pick::Destination).expect("a way") {
                    assert!(used.insert(cable), "{network}, shift by {shift}: two flows on one cable");
                }
            }
        }
        // By hash they do meet: 32 flows from leaf to leaf on as many uplinks are all apart with chance 32!/32^32.
        let hashed = |paths: &mut NetworkPaths<'_>| -> BTreeMap<Cable, u32> {
            let mut used = BTreeMap::new();
            for (index, from) in nics.iter().enumerate() {
                let to = nics[(index + nics.len() / 2) % nics.len()];
                for cable in paths.path(*from, to, Pick::Hash { flow_seed: index as u64 }).expect("a way") {
                    *used.entry(cable).or_default() += 1;
                }
            }
            used
        };
        let used = hashed(&mut paths);
        assert!(used.values().any(|flows| *flows > 1));
        assert_eq!(used, hashed(&mut NetworkPaths::new(&fabric)), "the same flows, the same ways");
    }
}

#[test]
fn hashes_use_all_cables_about_equally() {
    // 16 NICs on leaves of 8 ports down and up: 4 leaves... 32 hosts on radix 16: 4 leaves, 2 spines, bundles of 4.
    let fabric = small(32, 1, "fat-tree(leaf 16)");
    let nics = joined(&fabric);
    let mut paths = NetworkPaths::new(&fabric);
    let mut used: BTreeMap<Cable, u32> = BTreeMap::new();
    for flow in 0..8000 {
        let path = paths.path(nics[0], nics[31], Pick::Hash { flow_seed: flow }).expect("a way");
        *used.entry(path[1]).or_default() += 1;
    }
    // 8 cables, 1000 flows each; the standard deviation is about 30.
    assert_eq!(used.len(), 8);
    assert!(used.values().all(|flows| (850..1150).contains(flows)), "{used:?}");
}

#[test]
fn planes_are_used_in_turn_by_destination() {
    // 16 hosts on leaves of 8 ports: 4 leaves of 4 in each plane, 4 uplinks each.
    let fabric = small(16, 1, "fat-tree(leaf 8x200G, planes 2)");
    let nics = joined(&fabric);
    let mut paths = NetworkPaths::new(&fabric);
    let first: Vec<LinkId> =
        fabric.links_from(nics[0]).filter(|(_, link)| is_network(&fabric, link)).map(|(id, _)| id).collect();
    let taken: Vec<usize> = (4..12)
        .map(|to| paths.path(nics[0], nics[to], Pick::Destination).expect("a way")[0].link)
        .map(|link| first.iter().position(|known| *known == link).expect("a port"))
        .collect();
    assert_eq!(taken, [0, 1, 0, 1, 0, 1, 0, 1]);
    // The four NICs of one leaf: two in each plane, each over an uplink of its own.
    let uplinks: BTreeSet<Cable> =
        (4..8).map(|to| paths.path(nics[0], nics[to], Pick::Destination).expect("a way")[1]).collect();
    assert_eq!(uplinks.len(), 4);
}

#[test]
fn a_torus_is_crossed_dimension_by_dimension_the_short_way() {
    let fabric = small(60, 1, "torus(5x4x3)");
    let nics = joined(&fabric);
    let grid = &fabric.grids()[0];
    let mut paths = NetworkPaths::new(&fabric);
    let places = |path: &[Cable]| -> Vec<[Option<u16>; 3]> {
        let switches = path[..path.len() - 1].iter().map(|cable| fabric.link(cable.link).to);
        switches.map(|switch| [0, 1, 2].map(|dimension| grid.place(switch, dimension))).collect()
    };
    // Host n is at switch n: (0, 0, 0) and (3, 2, 1).
    let to = nics[3 + 5 * 2 + 20];
    let path = paths.path(nics[0], to, Pick::DimensionOrder).expect("a way");
    assert_leads(&fabric, &path, nics[0], to);
    let expected = [[0, 0, 0], [4, 0, 0], [3, 0, 0], [3, 1, 0], [3, 2, 0], [3, 2, 1]];
    assert_eq!(places(&path), expected.map(|place| place.map(Some)));
    // As short as any other; there are 5!/(2! 2! 1!) = 30 orders, and the 2 steps of 4 may go either way round.
    assert_eq!((paths.distance(nics[0], to), paths.count(nics[0], to)), (Some(7), 60));
    for from in &nics {
        for to in nics.iter().filter(|to| *to != from) {
            let path = paths.path(*from, *to, Pick::DimensionOrder).expect("a way");
            assert_leads(&fabric, &path, *from, *to);
            assert_eq!(paths.distance(*from, *to), u32::try_from(path.len()).ok());
        }
    }
    // Not in a torus, and not in a broken one.
    let mut overlay = Overlay::default();
    overlay.set_both(&fabric, path[1].link, Health::up(0));
    let broken = overlay.applied(&fabric);
    let mut paths = NetworkPaths::new(&broken);
    assert_eq!(paths.path(nics[0], to, Pick::DimensionOrder), None);
    assert!(paths.path(nics[0], to, Pick::Destination).is_some());
    let tree = small(8, 1, "single");
    let nics = joined(&tree);
    assert_eq!(NetworkPaths::new(&tree).path(nics[0], nics[1], Pick::DimensionOrder), None);
}

#[test]
fn there_is_no_way_across_rails_nor_to_itself() {
    let fabric = small(12, 2, "rail-only(leaf 8)");
    let nics = joined(&fabric);
    let mut paths = NetworkPaths::new(&fabric);
    assert_eq!((paths.distance(nics[0], nics[1]), paths.count(nics[0], nics[1])), (None, 0));
    assert_eq!(paths.path(nics[0], nics[1], Pick::Destination), None);
    assert!(paths.shares(nics[0], nics[1], Spread::Evenly).is_empty());
    assert_eq!(paths.distance(nics[0], nics[22]), Some(4));
    assert_eq!(paths.path(nics[0], nics[0], Pick::Destination), None);
    assert!(paths.next_hops(nics[0], nics[0]).is_empty());
    assert_eq!(paths.alternatives(nics[0], nics[0]).count(), 0);
}
