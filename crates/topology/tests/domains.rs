//! Routes that hosts built alike share, beside a search for each pair.

mod common;

use common::topology;
use weft_topology::{Domains, Health, NodeKind, Overlay, Topology, route};

/// Compares about a thousand pairs, or all where there are fewer.
fn assert_as_searched(topology: &Topology) {
    let mut domains = Domains::new(topology);
    let devices: Vec<_> =
        topology.nodes().filter(|(_, node)| matches!(node.kind, NodeKind::Gpu | NodeKind::Nic)).collect();
    let every = (devices.len() * devices.len() / 1000).max(1) | 1;
    for (index, (from, _)) in devices.iter().enumerate() {
        for (to, _) in devices.iter().skip(index % every).step_by(every) {
            let shared = domains.route(*from, *to).map(|shared| shared.to_route());
            let switched = |hop: &weft_topology::Hop| {
                hop.links
                    .iter()
                    .any(|link| topology.node(topology.link(*link).to).kind == NodeKind::NetworkSwitch)
            };
            let searched = route(topology, *from, *to).filter(|route| !route.hops.iter().any(switched));
            assert_eq!(shared, searched, "{} to {}", topology.name(*from), topology.name(*to));
        }
    }
}

#[test]
fn shared_routes_are_those_that_a_search_finds_for_each_pair() {
    for line in [
        "3 x dgx-h100 @ rail-optimized(leaf 64x400G)",
        "2 x dgx-a100",
        "2 x gb200-nvl72 @ rail-optimized(leaf 64x400G)",
        "3 x 4 h100-pcie @ pcie5x16 + 2 cx7 @ fat-tree(leaf 8)",
    ] {
        assert_as_searched(&topology(line));
    }
}

#[test]
fn a_host_with_a_narrow_link_is_of_a_kind_of_its_own() {
    let whole = topology("4 x dgx-h100 @ rail-optimized(leaf 64x400G)");
    assert_eq!(Domains::new(&whole).kinds(), 1);
    let gpu = whole.find("host2/GPU3").expect("a GPU");
    let (link, _) = whole.links_from(gpu).next().expect("a link");
    let mut overlay = Overlay::default();
    overlay.set_both(&whole, link, Health::up(1));
    let narrow = overlay.applied(&whole);
    assert_eq!(Domains::new(&narrow).kinds(), 2);
    assert_as_searched(&narrow);
    // Without the link altogether those after it move up.
    overlay.set_both(&whole, link, Health::up(0));
    assert_as_searched(&overlay.applied(&whole));
}
