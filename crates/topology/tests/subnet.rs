//! Networks of one-liners as subnets: counts by hand, and the graph that comes back.

use weft_catalogue::Catalogue;
use weft_topology::{Delivery, ForwardingTable, NodeKind, Routes, Subnet, SubnetNodeKind, build, oneliner};

fn subnet(line: &str) -> Subnet {
    let catalogue = Catalogue::embedded();
    let machine = oneliner::parse(line, catalogue).expect("a machine in one line");
    Subnet::of(&build(&machine, catalogue).expect("a machine that can be built").topology, catalogue)
}

/// 8 hosts of 2 rails on 4-port leaves: 2 hosts a group, 4 groups of 2 leaves; 2 uplinks each need 4 spines... of
/// three tiers. With 8-port leaves: 4 hosts a group, 2 groups of 2 leaves, 16 uplinks on 2 spines.
const RAILS: &str = "8 x 2 h100-sxm5-80gb @ nvswitch3(4) + 2 cx6 @ rail-optimized(leaf 8)";

#[test]
fn a_rail_optimized_network_has_its_switches_cables_and_rails() {
    let subnet = subnet(RAILS);
    let tiers = subnet.tiers();
    let count = |tier| tiers.iter().filter(|own| **own == Some(tier)).count();
    assert_eq!((count(0), count(1)), (4, 2));
    assert_eq!(subnet.of_kind(SubnetNodeKind::Adapter).count(), 16);
    assert_eq!(subnet.links.len(), 16 + 16);
    assert_eq!((subnet.hosts().len(), subnet.rails()), (8, Some(2)));
    for leaf in subnet.leaves() {
        assert_eq!((leaf.down, leaf.up, leaf.oversubscription()), (4, 4, Some(1.0)));
        // Four HDR cables of 25 GB/s.
        assert_eq!(leaf.up_rate.get(), 100_000_000_000);
    }
    assert_eq!(subnet.nodes[0].name, "leaf-0");
    assert!(subnet.nodes.iter().any(|node| node.name == "host-7 mlx5_1"));
    assert_eq!(subnet.check(), []);
}

#[test]
fn hosts_face_the_first_ports_of_a_leaf_and_each_port_has_one_cable() {
    let subnet = subnet(RAILS);
    let mut ends: Vec<(u32, u16)> =
        subnet.links.iter().flat_map(|link| [link.a, link.b]).map(|end| (end.node, end.port)).collect();
    ends.sort_unstable();
    let count = ends.len();
    ends.dedup();
    assert_eq!(ends.len(), count);
    for link in subnet.links.iter().filter(|link| subnet.node(&link.b).kind == SubnetNodeKind::Adapter) {
        assert!(link.a.port <= 4, "{link:?}");
    }
}

#[test]
fn oversubscription_is_down_by_up() {
    let subnet =
        subnet("8 x 2 h100-sxm5-80gb @ nvswitch3(4) + 2 cx6 @ rail-optimized(leaf 6, oversubscription 2:1)");
    // Of 6 ports 4 go down and 2 up.
    assert!(subnet.leaves().iter().all(|leaf| leaf.oversubscription() == Some(2.0)));
    // Whole hosts on each leaf of a fat tree: no rails.
    let tree = self::subnet("8 x 2 h100-sxm5-80gb @ nvswitch3(4) + 2 cx6 @ fat-tree(leaf 8)");
    assert_eq!(tree.rails(), None);
}

#[test]
fn the_graph_has_the_hosts_switches_and_rates_again() {
    let catalogue = Catalogue::embedded();
    let subnet = subnet(RAILS);
    let graph = subnet.topology(catalogue);
    assert_eq!((graph.hosts(), graph.of_kind(NodeKind::Nic).count()), (8, 16));
    assert_eq!(graph.of_kind(NodeKind::NetworkSwitch).count(), 6);
    let leaf = graph.find("leaf-0").unwrap();
    let spine = graph.find("spine-1").unwrap();
    let up: Vec<_> = graph.links_from(leaf).filter(|(_, link)| link.to == spine).collect();
    // Four uplinks on two spines: two cables of 25 GB/s to each, as one link.
    assert_eq!((up.len(), up[0].1.count, up[0].1.capacity.get()), (1, 2, 50_000_000_000));
    assert_eq!(graph.kind(up[0].1.kind).name, "infiniband-hdr");
    // And once more: the same cables, by ends.
    let again = Subnet::of(&graph, catalogue);
    assert_eq!((again.nodes.len(), again.links.len()), (subnet.nodes.len(), subnet.links.len()));
}

#[test]
fn packets_are_followed_to_their_end() {
    let mut subnet = subnet("2 x 1 h100-pcie + 1 cx6 @ single(leaf 4)");
    for (index, link) in subnet.links.iter_mut().enumerate() {
        link.b.lid = Some(u16::try_from(index + 2).unwrap());
    }
    subnet.nodes[0].lid = Some(1);
    let table = |ports: &[(u16, u8)]| ForwardingTable {
        switch: subnet.nodes[0].guid,
        ports: ports.to_vec(),
        ..ForwardingTable::default()
    };
    // Switch 0, adapters 1 and 2 on its ports 1 and 2; LIDs 2 and 3.
    let walk = |ports: &[(u16, u8)], lid| {
        let table = table(ports);
        Routes::new(&subnet, [&table]).walk(1, 1, lid)
    };
    assert_eq!(walk(&[(3, 2)], 3), (vec![0, 2], Delivery::Delivered { node: 2 }));
    assert_eq!(walk(&[(3, 2)], 1), (vec![0], Delivery::Delivered { node: 0 }));
    assert_eq!(walk(&[(3, 1)], 3), (vec![0], Delivery::Looped { node: 1 }));
    assert_eq!(walk(&[(3, 255)], 3), (vec![0], Delivery::Dropped { node: 0 }));
    assert_eq!(walk(&[], 3), (vec![0], Delivery::Dropped { node: 0 }));
    assert_eq!(walk(&[(9, 2)], 9), (vec![0, 2], Delivery::Astray { node: 2 }));
    assert_eq!(walk(&[], 2), (vec![], Delivery::Delivered { node: 1 }));
}
