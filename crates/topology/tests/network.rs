//! Networks: counts of switches as published, and the same number of links everywhere.

mod common;

use common::fabric::tiers;
use common::{all, graph, machine, topology};
use proptest::prelude::*;
use weft_catalogue::{LinkFamily, Network, NetworkDesign};
use weft_topology::{NodeId, NodeKind, Topology, build};

/// Links of a switch to each kind of neighbour: NICs or the tier below, and the tier above.
fn ports(topology: &Topology, tiers: &[Vec<NodeId>], tier: usize, switch: NodeId) -> (u32, u32) {
    let above = tiers.get(tier + 1);
    topology.links_from(switch).fold((0, 0), |(down, up), (_, link)| {
        let is_up = above.is_some_and(|above| above.binary_search(&link.to).is_ok());
        let count = u32::from(link.count);
        if is_up { (down, up + count) } else { (down + count, up) }
    })
}

fn counts(line: &str) -> Vec<usize> {
    tiers(&topology(line)).iter().map(Vec::len).collect()
}

#[test]
fn superpods_have_the_switches_that_their_architectures_publish() {
    // DGX SuperPOD H100, reference architecture, table 4; B200 beyond 256 nodes has a third tier.
    for (hosts, expected) in [
        (31, vec![8, 4]),
        (63, vec![16, 8]),
        (95, vec![24, 16]),
        (127, vec![32, 16]),
        (256, vec![64, 32]),
        (512, vec![128, 128, 64]),
    ] {
        assert_eq!(
            counts(&format!("{hosts} x dgx-h100 @ rail-optimized(leaf 64x400G)")),
            expected,
            "{hosts}"
        );
    }
}

#[test]
fn a_rail_is_one_leaf_of_its_group_even_where_the_group_is_not_full() {
    let cluster = topology("31 x dgx-h100 @ rail-optimized(leaf 64x400G)");
    let leaves = &tiers(&cluster)[0];
    for (rail, leaf) in leaves.iter().enumerate() {
        let nics: Vec<u32> = cluster
            .links_from(*leaf)
            .filter(|(_, link)| cluster.node(link.to).kind == NodeKind::Nic)
            .map(|(_, link)| cluster.node(link.to).number)
            .collect();
        assert_eq!(nics, vec![u32::try_from(rail).expect("small"); 31]);
    }
}

#[test]
fn storage_nics_and_dpus_are_not_part_of_the_network() {
    let cluster = topology("4 x dgx-h100 @ single");
    let joined =
        |nic: NodeId| cluster.links_from(nic).any(|(_, link)| cluster.family(link) == LinkFamily::Network);
    let numbers: Vec<u32> = cluster
        .of_kind(NodeKind::Nic)
        .filter(|nic| joined(*nic))
        .map(|nic| cluster.node(nic).number)
        .collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7].repeat(4));
}

#[test]
fn a_network_that_does_not_fit_says_why() {
    let catalogue = weft_catalogue::Catalogue::embedded();
    // Files are read without a look at what they ask for; a one-liner is refused as it is read.
    let file = |hosts: u32, design, radix| {
        let mut machine = machine("dgx-h100");
        machine.host.count = hosts;
        machine.network = Some(Network::new(design, radix));
        build(&machine, catalogue).expect_err("does not fit").to_string()
    };
    assert_eq!(file(16, NetworkDesign::Single, 64), "128 NICs do not fit one switch of 64 ports");
    let text = file(64, NetworkDesign::FatTree, 8);
    assert!(text.contains("more than three tiers of 8-port switches (at most 32)"), "{text}");
    let mut bare = machine("4 x dgx-h100 @ single");
    bare.nics.clear();
    bare.pcie.iter_mut().for_each(|branch| branch.nics.clear());
    assert!(build(&bare, catalogue).expect_err("no NICs").to_string().contains("no NIC"));
}

#[test]
fn hosts_of_a_fat_tree_are_whole_on_one_leaf() {
    // 42 ports down hold 5 hosts of 8 NICs; 64 hosts take 13 leaves.
    let cluster = topology("64 x dgx-h100 @ fat-tree(leaf 64x400G, oversubscription 2:1)");
    assert_eq!(tiers(&cluster)[0].len(), 13);
    for host in 0..64 {
        let nics = all(&cluster, NodeKind::Nic);
        let mut leaves: Vec<NodeId> = nics
            .iter()
            .filter(|nic| cluster.node(**nic).host == Some(host))
            .flat_map(|nic| cluster.links_from(*nic))
            .filter(|(_, link)| cluster.family(link) == LinkFamily::Network)
            .map(|(_, link)| link.to)
            .collect();
        leaves.dedup();
        assert_eq!(leaves.len(), 1, "host {host}");
    }
}

#[test]
fn a_fat_tree_has_the_leaves_and_spines_that_are_asked_for() {
    // Eight hosts of four NICs would fit one switch of 36 ports: spread over two leaves, each has 18 ports up.
    let cluster = topology("8 x dgx-1 @ fat-tree(leaf 36x100G, leaves 2)");
    let switches = tiers(&cluster);
    assert_eq!((switches[0].len(), switches[1].len()), (2, 1));
    let spread = topology("8 x dgx-1 @ fat-tree(leaf 36x100G, leaves 2, spines 4)");
    let switches = tiers(&spread);
    assert_eq!((switches[0].len(), switches[1].len()), (2, 4));
    let links = |leaf: NodeId| {
        let up = spread.links_from(leaf).filter(|(_, link)| switches[1].contains(&link.to));
        up.map(|(_, link)| link.count).collect::<Vec<_>>()
    };
    assert_eq!(links(switches[0][0]), [5, 5, 4, 4]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_switch_of_a_tier_has_as_many_links_up_and_no_more_than_its_ports(
        hosts in 1u32..160,
        radix in prop_oneof![Just(16u16), Just(32), Just(36), Just(40), Just(64)],
        share in 1u16..4,
        rail in any::<bool>(),
    ) {
        let mut cluster = machine("1 x 4 a100-sxm4-40gb @ mesh(4) + 4 cx6 @ fat-tree");
        cluster.host.count = hosts;
        let network = cluster.network.as_mut().expect("a network");
        (network.radix, network.oversubscription) = (radix, share);
        network.design = if rail { NetworkDesign::RailOptimized } else { NetworkDesign::FatTree };
        let topology = graph(&cluster);
        let tiers = tiers(&topology);
        let nics = topology
            .of_kind(NodeKind::Nic)
            .filter(|nic| topology.links_from(*nic).any(|(_, link)| topology.family(link) == LinkFamily::Network));
        prop_assert_eq!(nics.count(), 4 * hosts as usize);
        prop_assert_eq!(tiers.iter().map(Vec::len).sum::<usize>(), all(&topology, NodeKind::NetworkSwitch).len());
        for (tier, switches) in tiers.iter().enumerate() {
            let top = tier + 1 == tiers.len();
            let first_up = ports(&topology, &tiers, tier, switches[0]).1;
            for switch in switches {
                let (down, up) = ports(&topology, &tiers, tier, *switch);
                prop_assert_eq!(up, first_up);
                prop_assert!(down + up <= u32::from(radix));
                if top {
                    prop_assert_eq!(up, 0);
                } else if tier == 0 {
                    // The leaf's up-links are what is left of its ports: down to up is the share asked for.
                    let most_down = u32::from(radix) * u32::from(share) / (u32::from(share) + 1);
                    prop_assert_eq!(up, u32::from(radix) - most_down);
                    prop_assert!(down <= most_down);
                } else {
                    prop_assert!(up >= down, "spines are not oversubscribed");
                }
                // Each switch above gets the same number of links.
                let counts: Vec<u16> = topology
                    .links_from(*switch)
                    .filter(|(_, link)| tiers.get(tier + 1).is_some_and(|above| above.binary_search(&link.to).is_ok()))
                    .map(|(_, link)| link.count)
                    .collect();
                prop_assert!(counts.windows(2).all(|pair| pair[0] == pair[1]));
            }
        }
    }
}

#[test]
fn a_small_cluster_has_exactly_these_nodes_and_links() {
    // A DGX H100: 2 CPUs with memory, 10 host bridges, 8 PCIe switches, 8 GPUs, 10 NICs, 4 NVSwitches: 44
    // nodes. Links: 1 between sockets, 2 to memory, 10 bridges, 8 uplinks, 8 GPUs, 10 NICs, 8 x 4 NVLink
    // bundles: 71. 64 hosts on 16 leaves of 32 NICs; 32 uplinks each, on 8 spines.
    let cluster = topology("64 x dgx-h100 @ rail-optimized(leaf 64x400G)");
    assert_eq!(cluster.hosts(), 64);
    assert_eq!(cluster.nodes().len(), 64 * 44 + 16 + 8);
    let two_way = 64 * 71 + 64 * 8 + 16 * 8;
    assert_eq!(cluster.links().len(), 2 * two_way);
    assert_eq!(tiers(&cluster).iter().map(Vec::len).collect::<Vec<_>>(), [16, 8]);
    // Two builds are equal to the last link.
    let again = topology("64 x dgx-h100 @ rail-optimized(leaf 64x400G)");
    assert!(cluster.links().eq(again.links()) && cluster.nodes().eq(again.nodes()));
}
