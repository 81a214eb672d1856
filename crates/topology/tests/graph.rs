//! Properties of any graph, with petgraph as the oracle for paths.

mod common;

use common::{graph, machine, node, rate, topology};
use petgraph::algo::{dijkstra, has_path_connecting};
use petgraph::graph::{NodeIndex, UnGraph};
use proptest::prelude::*;
use weft_base::{Rate, Span};
use weft_catalogue::LinkFamily;
use weft_topology::{GraphBuilder, NodeId, NodeKind, Topology, route, widest};

/// A graph as drawn at random: kinds of nodes, and two-way links with their rates.
#[derive(Debug, Clone)]
struct Sketch {
    kinds: Vec<NodeKind>,
    links: Vec<(usize, usize, u64)>,
}

fn sketch() -> impl Strategy<Value = Sketch> {
    let kind = prop_oneof![
        4 => Just(NodeKind::PcieSwitch),
        1 => Just(NodeKind::Gpu),
        1 => Just(NodeKind::Nic),
        1 => Just(NodeKind::Memory),
    ];
    prop::collection::vec(kind, 2..14).prop_flat_map(|kinds| {
        let nodes = 0..kinds.len();
        let link = (nodes.clone(), nodes, 1_u64..6);
        let links = prop::collection::vec(link, 0..30);
        (Just(kinds), links).prop_map(|(kinds, links)| Sketch {
            kinds,
            links: links.into_iter().filter(|(a, b, _)| a != b).collect(),
        })
    })
}

fn build(sketch: &Sketch) -> (Topology, Vec<NodeId>) {
    let mut graph = GraphBuilder::with_capacity(sketch.kinds.len(), sketch.links.len());
    let pcie = graph.kind("pcie4", "PCI Express 4.0", LinkFamily::Pcie);
    let nodes: Vec<NodeId> = (0u32..)
        .zip(&sketch.kinds)
        .map(|(number, kind)| graph.node(*kind, number, Some(0), Some(0)))
        .collect();
    for (a, b, gigabytes) in &sketch.links {
        let capacity = Rate::bytes_per_second(gigabytes * 1_000_000_000);
        graph.connect(nodes[*a], nodes[*b], pcie, 1, capacity, Span::picoseconds(1));
    }
    (graph.finish(), nodes)
}

/// The same graph for the oracle, of the links that `keep` admits.
fn oracle(sketch: &Sketch, keep: impl Fn(usize, usize, u64) -> bool) -> UnGraph<(), ()> {
    let mut graph = UnGraph::with_capacity(sketch.kinds.len(), sketch.links.len());
    let nodes: Vec<NodeIndex> = sketch.kinds.iter().map(|_| graph.add_node(())).collect();
    for (a, b, _) in sketch.links.iter().filter(|(a, b, rate)| keep(*a, *b, *rate)) {
        graph.add_edge(nodes[*a], nodes[*b], ());
    }
    graph
}

proptest! {
    #[test]
    fn twins_are_two_directions_of_one_link(sketch in sketch()) {
        let (topology, _) = build(&sketch);
        prop_assert_eq!(topology.links().len(), 2 * sketch.links.len());
        for (id, link) in topology.links() {
            let twin = topology.link(link.twin);
            prop_assert_eq!(twin.twin, id);
            prop_assert!(link.twin != id);
            prop_assert_eq!((twin.from, twin.to), (link.to, link.from));
            prop_assert_eq!((twin.capacity, twin.count, twin.kind), (link.capacity, link.count, link.kind));
        }
    }

    #[test]
    fn links_from_all_nodes_are_all_links_in_order(sketch in sketch()) {
        let (topology, nodes) = build(&sketch);
        let mut seen = Vec::new();
        for node in nodes {
            for (id, link) in topology.links_from(node) {
                prop_assert_eq!(link.from, node);
                prop_assert_eq!(topology.link(id), link);
                seen.push(id);
            }
        }
        prop_assert_eq!(seen, topology.links().map(|(id, _)| id).collect::<Vec<_>>());
    }

    #[test]
    fn a_route_is_as_short_as_any_through_what_traffic_may_pass(sketch in sketch(), ends in (0usize..14, 0usize..14)) {
        let (from, to) = (ends.0 % sketch.kinds.len(), ends.1 % sketch.kinds.len());
        let (topology, nodes) = build(&sketch);
        let found = route(&topology, nodes[from], nodes[to]);
        // Within a host only switches forward; the last try may also pass NICs.
        let passes = |node: usize, nics: bool| {
            node == from || node == to || sketch.kinds[node] == NodeKind::PcieSwitch
                || (nics && sketch.kinds[node] == NodeKind::Nic)
        };
        let hops = |nics: bool| {
            let graph = oracle(&sketch, |a, b, _| passes(a, nics) && passes(b, nics));
            dijkstra(&graph, NodeIndex::new(from), Some(NodeIndex::new(to)), |_| 1_usize).get(&NodeIndex::new(to)).copied()
        };
        let expected = hops(false).or_else(|| hops(true)).filter(|_| from != to);
        prop_assert_eq!(found.as_ref().map(|route| route.hops.len()), expected);
        if let Some(found) = found {
            let narrowest = found.hops.iter().map(|hop| hop.rate).min();
            prop_assert_eq!(Some(found.rate), narrowest);
            prop_assert_eq!(found.hops[found.bottleneck].rate, found.rate);
            for pair in found.hops.windows(2) {
                // Every link of a step continues one of the step before.
                let reached = |node| pair[0].links.iter().any(|link| topology.link(*link).to == node);
                prop_assert!(pair[1].links.iter().all(|link| reached(topology.link(*link).from)));
            }
            // The way back is as wide, since every link is.
            let back = route(&topology, nodes[to], nodes[from]).expect("a way back");
            prop_assert_eq!(back.rate, found.rate);
        }
    }

    #[test]
    fn the_widest_way_is_the_largest_rate_that_still_connects(sketch in sketch(), ends in (0usize..14, 0usize..14)) {
        let (from, to) = (ends.0 % sketch.kinds.len(), ends.1 % sketch.kinds.len());
        let (topology, nodes) = build(&sketch);
        let connects = |least: u64| {
            let graph = oracle(&sketch, |_, _, rate| rate >= least);
            has_path_connecting(&graph, NodeIndex::new(from), NodeIndex::new(to), None)
        };
        let expected = (1..6).rev().find(|least| connects(*least)).filter(|_| from != to);
        let found = widest(&topology, nodes[from], nodes[to]);
        prop_assert_eq!(found.as_ref().map(|(rate, _)| rate.get() / 1_000_000_000), expected);
        if let Some((rate, links)) = found {
            prop_assert_eq!(links.iter().map(|link| topology.link(*link).capacity).min(), Some(rate));
            prop_assert_eq!(topology.link(links[0]).from, nodes[from]);
            prop_assert_eq!(links.last().map(|link| topology.link(*link).to), Some(nodes[to]));
            for pair in links.windows(2) {
                prop_assert_eq!(topology.link(pair[0]).to, topology.link(pair[1]).from);
            }
        }
    }
}

#[test]
fn two_cards_in_x8_slots_are_bound_by_their_slots() {
    // PCIe 4: 16 GT/s x 8 lanes x 128/130 / 8 = 15.75 GB/s; two hops over one host bridge.
    let topology = topology("2 rtx-4090 @ pcie4x8");
    let route = route(&topology, node(&topology, "GPU0"), node(&topology, "GPU1")).expect("a way");
    assert_eq!((route.rate.to_string().as_str(), route.hops.len(), route.bottleneck), ("15.75 GB/s", 2, 0));
}

#[test]
fn across_sockets_the_narrower_of_port_and_socket_link_binds() {
    // Broadwell: 2 QPI of 19.2 GB/s = 38.4 GB/s, wider than PCIe 3 x16 = 15.75 GB/s: the port binds.
    let server = topology("8 p40 + 2 xeon-broadwell");
    let way = route(&server, node(&server, "GPU0"), node(&server, "GPU7")).expect("a way");
    let families: Vec<LinkFamily> =
        way.hops.iter().map(|hop| server.family(server.link(hop.links[0]))).collect();
    let [port, root, socket] = [LinkFamily::Pcie, LinkFamily::OnPackage, LinkFamily::Socket];
    assert_eq!(families, [port, root, socket, root, port]);
    assert_eq!(way.hops[2].rate, rate("38.4 GB/s"));
    assert_eq!((way.bottleneck, way.rate.to_string().as_str()), (0, "15.75 GB/s"));
    // Ice Lake on four sockets: one UPI for each pair, 22.4 GB/s, narrower than PCIe 4 x16 = 31.51 GB/s.
    let server = topology("8 a40 + 4 xeon-ice-lake");
    let way = route(&server, node(&server, "GPU0"), node(&server, "GPU7")).expect("a way");
    assert_eq!((way.rate, way.bottleneck), (rate("22.4 GB/s"), 2));
}

/// A matrix of a virtual machine may show every device on a node of its own. A search of all links between all
/// nodes for each pair would take minutes for a hundred of them.
#[test]
#[expect(clippy::disallowed_methods, reason = "this test is about time")]
fn a_route_between_two_of_many_joined_sockets_is_found_at_once() {
    let mut described = machine("4 a40 + 4 xeon-ice-lake");
    described.host.sockets = 120;
    described.gpus[0].count = 120;
    described.pcie.clear();
    let large = graph(&described);
    let gpus: Vec<NodeId> = large.of_kind(NodeKind::Gpu).collect();
    let start = std::time::Instant::now();
    for to in &gpus[1..] {
        assert_eq!(route(&large, gpus[0], *to).expect("a way").hops.len(), 5);
    }
    println!("119 routes in {:?}", start.elapsed());
    let bound = std::time::Duration::from_millis(if cfg!(debug_assertions) { 200 } else { 20 });
    assert!(start.elapsed() < bound, "{:?}", start.elapsed());
}

#[test]
fn over_the_network_the_nearest_nic_of_each_end_is_used() {
    let cluster = topology("32 x dgx-h100 @ rail-optimized(leaf 64x400G)");
    let (a, b) = (node(&cluster, "host0/GPU3"), node(&cluster, "host31/GPU3"));
    let way = route(&cluster, a, b).expect("a way");
    // GPU, switch, NIC, leaf, NIC, switch, GPU: 400 Gb/s is 50 GB/s, less than PCIe 5 x16.
    assert_eq!((way.hops.len(), way.rate, way.bottleneck), (6, rate("50 GB/s"), 2));
    let nic = cluster.link(way.hops[1].links[0]).to;
    assert_eq!(cluster.name(nic), "host0/NIC3");
    // Another rail is two hops further, over the spines.
    let other = node(&cluster, "host31/GPU4");
    assert_eq!(route(&cluster, a, other).expect("a way").hops.len(), 8);
}

#[test]
fn nodes_are_found_by_the_names_of_the_input() {
    let pair = topology("2 rtx-3090 + nvlink-bridge");
    let gpu1 = node(&pair, "GPU1");
    let labelled = pair.labelled([(gpu1, "0000:41:00.0".to_owned())]);
    assert_eq!((labelled.find("0000:41:00.0"), labelled.find("GPU1")), (Some(gpu1), None));
    assert_eq!(labelled.name(gpu1), "0000:41:00.0");
}
