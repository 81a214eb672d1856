//! Network designs beside the fat tree: counts by hand, what reaches what, and no switch beyond its ports.

mod common;

use common::fabric::{cables, degree, distances, joined, tiers};
use common::{all, graph, machine, refusal, topology};
use petgraph::algo::ford_fulkerson;
use petgraph::graph::{DiGraph, NodeIndex};
use proptest::prelude::*;
use weft_catalogue::{LinkFamily, Network, NetworkDesign};
use weft_topology::{NodeKind, Topology};

/// Switches by tier.
fn switches(topology: &Topology) -> Vec<usize> {
    tiers(topology).iter().map(Vec::len).collect()
}

/// The most links of any shortest way between two NICs, and whether each pair has one.
fn diameter(topology: &Topology) -> (u32, bool) {
    let nics = joined(topology);
    let (mut most, mut connected) = (0, true);
    for from in &nics {
        let distances = distances(topology, *from);
        for to in &nics {
            match distances[to.index()] {
                Some(steps) => most = most.max(steps),
                None => connected = false,
            }
        }
    }
    (most, connected)
}

/// What the lower half of the hosts can send to the upper half, in links of the NICs' ports, by maximum flow.
fn bisection(topology: &Topology) -> u64 {
    let nic = joined(topology)[0];
    let port = topology.links_from(nic).find(|(_, link)| topology.family(link) == LinkFamily::Network);
    let port = port.expect("a joined NIC").1.capacity.get();
    let mut flow: DiGraph<(), u64> = DiGraph::new();
    for _ in 0..topology.nodes().len() + 2 {
        flow.add_node(());
    }
    let (source, sink) = (NodeIndex::new(topology.nodes().len()), NodeIndex::new(topology.nodes().len() + 1));
    for (_, link) in topology.links().filter(|(_, link)| topology.family(link) == LinkFamily::Network) {
        let links = link.capacity.get() / port;
        flow.add_edge(NodeIndex::new(link.from.index()), NodeIndex::new(link.to.index()), links);
    }
    for nic in joined(topology) {
        let node = NodeIndex::new(nic.index());
        let lower = topology.node(nic).host.expect("a host") < topology.hosts() / 2;
        if lower {
            flow.add_edge(source, node, 1000)
        } else {
            flow.add_edge(node, sink, 1000)
        };
    }
    ford_fulkerson(&flow, source, sink).0
}

/// Hosts of one GPU and `nics` NICs.
fn small(hosts: u32, nics: u16, network: &str) -> String {
    format!("{hosts} x 1 h100-pcie + {nics} cx7 @ {network}")
}

#[test]
fn rails_of_a_rail_only_network_are_networks_of_their_own() {
    // Small: one switch per rail, although all 16 NICs would fit one of 64 ports.
    let cluster = topology(&small(8, 2, "rail-only"));
    assert_eq!(switches(&cluster), [2]);
    for (rail, switch) in all(&cluster, NodeKind::NetworkSwitch).into_iter().enumerate() {
        let rails: Vec<u32> =
            cluster.links_from(switch).map(|(_, link)| cluster.node(link.to).number).collect();
        assert_eq!(rails, vec![u32::try_from(rail).expect("small"); 8]);
    }
    assert!(!diameter(&cluster).1, "two rails are not joined");
    // 128 DGX H100 on switches of 64 ports: per rail 4 leaves of 32 hosts, 128 uplinks, 2 spines.
    let cluster = topology("128 x dgx-h100 @ rail-only(leaf 64x400G)");
    let tiers = tiers(&cluster);
    assert_eq!(switches(&cluster), [8 * 4, 8 * 2]);
    assert_eq!((cables(&cluster, &tiers, None, 0), cables(&cluster, &tiers, Some(0), 1)), (1024, 1024));
    for nic in joined(&cluster) {
        let reached = distances(&cluster, nic);
        let rail = cluster.node(nic).number;
        let others = joined(&cluster).into_iter().filter(|other| reached[other.index()].is_some());
        let numbers: Vec<u32> = others.map(|other| cluster.node(other).number).collect();
        assert_eq!(numbers, vec![rail; 128]);
        if nic.index() > 200 {
            break;
        }
    }
}

#[test]
fn planes_are_like_networks_with_one_port_of_each_nic() {
    // 16 hosts of 2 NICs on switches of 8 ports: 8 leaves of 4 hosts... of rail-optimized: groups of 4 hosts, 2 leaves
    // each; 8 leaves, 32 uplinks, 4 spines. Twice that.
    let cluster = topology(&small(16, 2, "rail-optimized(leaf 8x200G, planes 2)"));
    assert_eq!(switches(&cluster), [16, 8]);
    let nic = joined(&cluster)[0];
    let ports: Vec<_> = cluster
        .links_from(nic)
        .filter(|(_, link)| cluster.family(link) == LinkFamily::Network)
        .map(|(_, link)| (link.count, link.capacity.get()))
        .collect();
    assert_eq!(ports, [(1, 25_000_000_000); 2], "NDR at half its lanes: 25 GB/s in each plane");
    assert_eq!(diameter(&cluster), (4, true));
    // Through switches alone no plane reaches another.
    let first = all(&cluster, NodeKind::NetworkSwitch)[0];
    let near = distances(&cluster, first);
    let reached =
        all(&cluster, NodeKind::NetworkSwitch).iter().filter(|node| near[node.index()].is_some()).count();
    assert_eq!(reached, 8 + 4);
    // 16 hosts of 2 NICs of 2 ports: half of them reach the others with all 32 ports.
    assert_eq!(bisection(&cluster), 32);
    // Without a rate the fastest port of which the NIC can run two: the 800G of ConnectX-8 are 2 x 400G.
    let cluster = topology("8 x hgx-b300-8 @ fat-tree(planes 2)");
    let nic = joined(&cluster)[0];
    let kinds: Vec<&str> = cluster
        .links_from(nic)
        .filter(|(_, link)| cluster.family(link) == LinkFamily::Network)
        .map(|(_, link)| cluster.kind(link.kind).name.as_str())
        .collect();
    assert_eq!(kinds, ["roce-400g"; 2]);
    assert_eq!(switches(&topology("4 x dgx-h100 @ single(planes 2)")), [2]);
}

#[test]
fn three_tiers_may_be_oversubscribed_at_both() {
    // Radix 8. Leaves 1:1: 4 down; 33 hosts of 1 NIC take 9 leaves, one more than two tiers hold. Spines 3:1: 6 down
    // and 2 up, so pods of 6 leaves and 4 spines: 2 pods, 8 spines, 16 spine uplinks; each of 4 groups of cores
    // takes 2 from each pod, in one switch.
    let cluster = topology(&small(33, 1, "fat-tree(leaf 8, spine-oversubscription 3:1)"));
    let tiers = tiers(&cluster);
    assert_eq!(switches(&cluster), [9, 8, 4]);
    assert_eq!(
        (0..3).map(|tier| cables(&cluster, &tiers, usize::checked_sub(tier, 1), tier)).collect::<Vec<_>>(),
        [33, 36, 16]
    );
    assert_eq!(diameter(&cluster), (6, true));
    // Leaves 3:1 too: 6 down, 2 up; 49 hosts take 9 leaves, pods have 2 spines.
    let cluster =
        topology(&small(49, 1, "fat-tree(leaf 8, oversubscription 3:1, spine-oversubscription 3:1)"));
    assert_eq!(switches(&cluster), [9, 4, 2]);
}

#[test]
fn cores_are_as_asked_for_and_none_is_overfull() {
    // Radix 8, 4 down: 40 hosts of 1 NIC are 10 leaves, 3 pods of 4 spines; 3 pods x 4 uplinks in each of 4 groups fit 2
    // cores of 8 ports, and 3 are as good: 4 links of a spine over 3 cores, one of them with two.
    let cluster = topology(&small(40, 1, "fat-tree(leaf 8, cores 12)"));
    assert_eq!(switches(&cluster), [10, 12, 12]);
    assert_eq!(
        all(&cluster, NodeKind::NetworkSwitch)
            .into_iter()
            .skip(22)
            .map(|core| degree(&cluster, core))
            .collect::<Vec<_>>(),
        [4; 12]
    );
    assert_eq!(switches(&topology(&small(40, 1, "fat-tree(leaf 8)"))), [10, 12, 8]);
    for (line, reason) in [
        ("fat-tree(leaf 8, cores 10)", "do not divide into 4 groups"),
        ("fat-tree(leaf 8, cores 4)", "8 to 16 do"),
        ("fat-tree(leaf 64, cores 4)", "need no third tier"),
        ("dragonfly+(leaf 8, cores 4)", "with a third tier"),
    ] {
        let finding = refusal(&small(40, 1, line)).to_string();
        assert!(finding.contains(reason), "{line}: {finding}");
    }
}

#[test]
fn a_dragonfly_plus_has_the_sizes_of_its_paper() {
    // Radix 8: groups of 4 leaves and 4 spines with 16 hosts and 16 global links, so 17 groups at most, 272 hosts,
    // one link between each two groups: Shpiner et al. give (k/2)^2 hosts a group and (k/2)^2 + 1 groups.
    let cluster = topology(&small(272, 1, "dragonfly+(leaf 8)"));
    let tiers = tiers(&cluster);
    assert_eq!(switches(&cluster), [17 * 4, 17 * 4]);
    assert_eq!(cables(&cluster, &tiers, None, 0), 272);
    assert_eq!(cables(&cluster, &tiers, Some(0), 1), 17 * 16);
    assert_eq!(cables(&cluster, &tiers, Some(1), 1), 17 * 16 / 2);
    assert!(all(&cluster, NodeKind::NetworkSwitch).into_iter().all(|switch| degree(&cluster, switch) == 8));
    // Leaf, spine, spine, leaf: three links between switches and one at each end.
    assert_eq!(diameter(&cluster), (5, true));
    let finding = refusal(&small(273, 1, "dragonfly+(leaf 8)")).to_string();
    assert!(finding.contains("each of 18 groups needs 17 links to the others"), "{finding}");
}

#[test]
fn groups_of_a_dragonfly_plus_are_as_asked_for() {
    // 64 hosts, radix 16: leaves of 8 hosts, 8 leaves, 4 groups of 2. 2 leaves of 8 uplinks need 2 spines of 8 down;
    // each has 8 global ports, 16 in a group, 5 to each of the 3 others.
    let cluster = topology(&small(64, 1, "dragonfly+(leaf 16, groups 4)"));
    let tiers = tiers(&cluster);
    assert_eq!(switches(&cluster), [8, 8]);
    assert_eq!((cables(&cluster, &tiers, Some(0), 1), cables(&cluster, &tiers, Some(1), 1)), (64, 6 * 5));
    assert_eq!(diameter(&cluster), (5, true));
    // Between two halves of two groups each: 2 x 2 pairs of 5 links.
    assert_eq!(bisection(&cluster), 20);
    // Twice as many leaves as the hosts fill, with as many spines as said: 4 leaves of 8 uplinks on 8 spines leave
    // those 12 ports each, 96 in a group.
    let cluster = topology(&small(64, 1, "dragonfly+(leaf 16, groups 4, leaves 4, spines 8)"));
    assert_eq!(switches(&cluster), [16, 32]);
    let tiers = self::tiers(&cluster);
    assert_eq!(cables(&cluster, &tiers, Some(1), 1), 6 * 32);
    assert!(tiers[0].iter().all(|leaf| degree(&cluster, *leaf) == 4 + 8));
    assert_eq!(bisection(&cluster), 32, "all that 32 hosts send");
}

#[test]
fn a_torus_joins_each_switch_to_its_neighbours() {
    // Gordon at SDSC: 4 x 4 x 4 switches of 36 ports with 16 hosts each, which leaves 3 links in each of 6 directions.
    let cluster = topology(&small(1024, 1, "torus(4x4x4, leaf 36)"));
    assert_eq!(switches(&cluster), [64]);
    let tiers = tiers(&cluster);
    assert_eq!((cables(&cluster, &tiers, None, 0), cables(&cluster, &tiers, Some(0), 0)), (1024, 64 * 3 * 3));
    assert!(tiers[0].iter().all(|switch| degree(&cluster, *switch) == 34));
    let grid = &cluster.grids()[0];
    assert_eq!((grid.sizes(), cluster.grids().len()), (&[4, 4, 4][..], 1));
    // Two steps in each dimension at most, and one link at each end.
    let far = distances(&cluster, joined(&cluster)[0]);
    assert_eq!(joined(&cluster).into_iter().map(|nic| far[nic.index()]).max(), Some(Some(6 + 2)));
    // Across: 16 rings are cut at two places with one link each, while 16 hosts on each side could send.
    let cluster = topology(&small(32, 1, "torus(4x8, leaf 36, links 1)"));
    assert_eq!(bisection(&cluster), 4 * 2);
    assert_eq!(diameter(&cluster), (2 + 4 + 2, true));
    // Two along a dimension: one neighbour, both directions in one bundle.
    let cluster = topology(&small(8, 2, "torus(2x2x2, links 3)"));
    let switch = all(&cluster, NodeKind::NetworkSwitch)[0];
    let bundles: Vec<u16> = cluster
        .links_from(switch)
        .filter(|(_, link)| cluster.node(link.to).kind == NodeKind::NetworkSwitch)
        .map(|(_, link)| link.count)
        .collect();
    assert_eq!(bundles, [6; 3]);
    assert_eq!(diameter(&cluster), (5, true));
    // All NICs of a host are at one switch; 8 hosts on 4 switches.
    let cluster = topology(&small(8, 2, "torus(2x2, planes 2)"));
    assert_eq!((switches(&cluster), cluster.grids().len()), (vec![8], 2));
    assert!(all(&cluster, NodeKind::NetworkSwitch).into_iter().all(|switch| {
        let nics = cluster.links_from(switch).filter(|(_, link)| cluster.node(link.to).kind == NodeKind::Nic);
        nics.count() == 4
    }));
}

#[test]
fn racks_are_domains_of_the_gpu_fabric_and_their_trays_hosts_of_the_network() {
    // 4 racks of 18 trays of 4 compute NICs: 72 hosts in groups of 32, 32 and 8; 3 x 4 leaves. 12 x 32 uplinks would
    // need 6 spines, 8 divide 32.
    let cluster = topology("4 x gb200-nvl72 @ rail-optimized");
    assert_eq!((cluster.hosts(), switches(&cluster)), (72, vec![12, 8]));
    assert_eq!(joined(&cluster).len(), 72 * 4);
    let domains = weft_topology::fabric_islands(&cluster);
    assert_eq!(domains.iter().map(Vec::len).collect::<Vec<_>>(), [72; 4]);
    // On rails of their own: 72 NICs a rail are 3 leaves; 96 uplinks would need 2 spines.
    assert_eq!(switches(&topology("4 x gb200-nvl72 @ rail-only")), [4 * 3, 4 * 2]);
    assert_eq!(switches(&topology("8 x gb200-nvl72 @ torus(4x4x3)")), [48]);
}

fn design() -> impl Strategy<Value = Network> {
    let torus = prop_oneof![Just(vec![2u16, 3]), Just(vec![3, 4]), Just(vec![2, 2, 3]), Just(vec![3, 3, 3])];
    let radix = prop_oneof![Just(12u16), Just(16), Just(24), Just(36), Just(64)];
    let kind = prop_oneof![
        Just(NetworkDesign::Single),
        Just(NetworkDesign::FatTree),
        Just(NetworkDesign::RailOptimized),
        Just(NetworkDesign::RailOnly),
        Just(NetworkDesign::DragonflyPlus),
        Just(NetworkDesign::Torus),
    ];
    let groups = proptest::option::of(2u16..5);
    (kind, radix, 1u16..4, 1u16..3, 1u16..3, torus, groups).prop_map(
        |(design, radix, share, spine_share, planes, sizes, groups)| {
            let mut network = Network::new(design, radix);
            network.planes = planes;
            match design {
                NetworkDesign::Torus => network.sizes = sizes,
                NetworkDesign::DragonflyPlus => {
                    (network.groups, network.oversubscription, network.spine_oversubscription) =
                        (groups, share, spine_share);
                }
                NetworkDesign::Single
                | NetworkDesign::FatTree
                | NetworkDesign::RailOptimized
                | NetworkDesign::RailOnly => network.oversubscription = share,
            }
            network
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn every_nic_reaches_every_other_and_no_switch_is_overfull(network in design(), hosts in 1u32..120, nics in 1u16..5) {
        let mut cluster = machine(&small(1, nics, "single"));
        cluster.host.count = hosts;
        cluster.network = Some(network.clone());
        let built = weft_topology::build(&cluster, weft_catalogue::Catalogue::embedded());
        let Ok(built) = built else {
            // What may not fit: too few or too many hosts for a design, never a panic.
            prop_assert!(network.design != NetworkDesign::RailOptimized || network.radix < 36);
            return Ok(());
        };
        let topology = built.topology;
        prop_assert_eq!(joined(&topology).len(), hosts as usize * usize::from(nics));
        for switch in all(&topology, NodeKind::NetworkSwitch) {
            prop_assert!(degree(&topology, switch) <= u32::from(network.radix), "{:?}", network);
        }
        let all_nics = joined(&topology);
        for nic in [all_nics[0], all_nics[all_nics.len() / 2], all_nics[all_nics.len() - 1]] {
            let ports = topology.links_from(nic).filter(|(_, link)| topology.family(link) == LinkFamily::Network);
            prop_assert_eq!(ports.count(), usize::from(network.planes));
            let reached = distances(&topology, nic);
            for other in &all_nics {
                let same_rail = topology.node(*other).number == topology.node(nic).number;
                let expected = network.design != NetworkDesign::RailOnly || same_rail;
                prop_assert_eq!(reached[other.index()].is_some(), expected, "{:?}", network);
                let most = match network.design {
                    NetworkDesign::Single => 2,
                    NetworkDesign::FatTree | NetworkDesign::RailOptimized | NetworkDesign::RailOnly => 6,
                    NetworkDesign::DragonflyPlus => 5,
                    NetworkDesign::Torus => 2 + network.sizes.iter().map(|size| u32::from(size / 2)).sum::<u32>(),
                };
                prop_assert!(reached[other.index()].is_none_or(|steps| steps <= most));
            }
        }
        // Arithmetic alone counts the same.
        let counts = weft_topology::network_counts(&network, hosts, nics).expect("what was built can be counted");
        prop_assert_eq!(counts.all_switches(), topology.of_kind(NodeKind::NetworkSwitch).count() as u64);
        let tiers = tiers(&topology);
        let between = |from: Option<usize>, to| u64::from(cables(&topology, &tiers, from, to));
        prop_assert_eq!(counts.host_link_count, between(None, 0));
        let laid: u64 = (0..tiers.len()).flat_map(|to| (0..=to).map(move |from| (from, to))).map(|(from, to)| between(Some(from), to)).sum();
        prop_assert_eq!(counts.all_switch_links(), laid, "{:?}", network);
        // The same bytes twice.
        let again = graph(&cluster);
        prop_assert!(topology.links().eq(again.links()));
    }
}
