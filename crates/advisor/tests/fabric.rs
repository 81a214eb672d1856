//! Optics of published fabrics.

use weft_advisor::fabric::{Fabric, Layout, NotCounted, fabric};
use weft_catalogue::{Catalogue, Network, NetworkDesign};

fn layout(to_leaf: &str, fibre_only: bool) -> Layout {
    Layout {
        to_leaf: to_leaf.parse().expect("a length"),
        to_spine: "50 m".parse().expect("a length"),
        fibre_only,
    }
}

fn superpod(hosts: u32, to_leaf: &str, fibre_only: bool) -> Fabric {
    let network = Network::new(NetworkDesign::RailOptimized, 64);
    let layout = layout(to_leaf, fibre_only);
    fabric(&network, hosts, 8, "infiniband-ndr", &layout, Catalogue::embedded()).expect("it can be counted")
}

#[test]
fn a_superpod_of_127_nodes_has_a_module_and_a_half_twin_for_each_gpu() {
    let pod = superpod(127, "30 m", true);
    // 1,016 NICs. Switches have 1,016 + 4 of the fabric manager + 2 x 1,024 ends, two in a twin: 1,534 published; without
    // the manager 1,532.
    assert_eq!(pod.modules["mms4x00-ns400"], 1016);
    assert_eq!(pod.modules["mms4x00-ns"] + 4 / 2, 1534);
    assert!((1534.0 / 1016.0 - 1.51_f64).abs() < 0.001);
}

#[test]
fn optics_of_two_tiers_take_34_and_a_half_watts_a_gpu() {
    // 9 + 1.5 x 17, where every leaf is full.
    let pod = superpod(128, "30 m", true);
    assert_eq!((pod.modules["mms4x00-ns400"], pod.modules["mms4x00-ns"]), (1024, 1536));
    assert!((pod.optics_power.as_watts() / 1024.0 - 34.5).abs() < 1e-9);
}

#[test]
fn three_tiers_of_hdr_take_six_modules_a_gpu() {
    let network = Network::new(NetworkDesign::FatTree, 40);
    let layout = layout("30 m", true);
    let catalogue = Catalogue::embedded();
    let three = fabric(&network, 1600, 1, "infiniband-hdr", &layout, catalogue).expect("it can be counted");
    assert_eq!(three.modules.values().sum::<u64>(), 6 * 1600);
}

#[test]
fn copper_goes_as_far_as_it_can_and_fibre_from_there() {
    let cables = |to_leaf: &str| {
        superpod(128, to_leaf, false).wiring.iter().map(|wiring| wiring.cable.clone()).collect::<Vec<_>>()
    };
    assert_eq!(cables("2 m"), ["dac-400g", "fibre-400g"]);
    assert_eq!(cables("5 m"), ["aec-400g", "fibre-400g"]);
    assert_eq!(cables("20 m"), ["fibre-400g", "fibre-400g"]);
    // Copper to the hosts saves their modules and the halves of the twins: 17 W x 1,024 are left.
    let copper = superpod(128, "2 m", false);
    assert_eq!((copper.modules.len(), copper.modules["mms4x00-ns"]), (1, 1024));
    assert!((copper.optics_power.as_watts() - 17.0 * 1024.0).abs() < 1e-9);
    let network = Network::new(NetworkDesign::RailOptimized, 64);
    let far = layout("2 km", false);
    let refusal = fabric(&network, 4, 8, "infiniband-ndr", &far, Catalogue::embedded());
    assert!(matches!(refusal, Err(NotCounted::TooFar { .. })), "{refusal:?}");
}

#[test]
fn a_cluster_of_pcie_cards_costs_half_of_one_of_dgx() {
    // Fire-Flyer: 1,250 servers each; 122 switches in two zones, against three tiers of 1,320. The paper: 11,600 and
    // 23,000 units, 50.4 %.
    let catalogue = Catalogue::embedded();
    let price =
        |name: &str, count: u64| catalogue.price(name).expect("a price").amount.value.times(count).as_units();
    let count = |endpoints: u32, cores: Option<u16>| {
        let network = Network { cores, ..Network::new(NetworkDesign::FatTree, 40) };
        weft_topology::network_counts(&network, endpoints, 1).expect("it can be counted").all_switches()
    };
    let ours = 2 * count(800, None) + 2;
    let (layers, theirs) = (count(1600, None), count(10_000, Some(320)));
    assert_eq!((ours, layers, theirs), (122, 200, 1320));
    let pcie = price("fire-flyer-server", 1250) + price("fire-flyer-switch-two-tiers", ours);
    let dgx = price("fire-flyer-dgx-a100", 1250) + price("fire-flyer-switch-three-tiers", theirs);
    assert!((pcie - 11_600.0).abs() < 1.0 && (dgx - 23_000.0).abs() < 1.0, "{pcie} {dgx}");
    assert!((100.0 * pcie / dgx - 50.4).abs() < 0.05, "{}", 100.0 * pcie / dgx);
}
