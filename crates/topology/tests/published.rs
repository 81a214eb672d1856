//! Switches that publications say a fabric takes.

use weft_catalogue::{Network, NetworkDesign};
use weft_topology::network_counts;

fn switches(network: &Network, hosts: u32, rails: u16) -> Vec<u64> {
    network_counts(network, hosts, rails).expect("it can be counted").switch_counts
}

/// Fire-Flyer (SC 2024): switches of 40 ports at 200G.
fn hdr() -> Network {
    Network::new(NetworkDesign::FatTree, 40)
}

#[test]
fn fire_flyers_own_network_has_122_switches() {
    // Two zones of 800 access points, 40 leaves and 20 spines each, and two switches between them.
    let zone = switches(&hdr(), 800, 1);
    assert_eq!(zone, [40, 20]);
    assert_eq!(2 * zone.iter().sum::<u64>() + 2, 122);
}

#[test]
fn three_tiers_for_as_many_access_points_have_200() {
    assert_eq!(switches(&hdr(), 1600, 1), [80, 80, 40]);
}

#[test]
fn three_tiers_for_ten_thousand_access_points_have_1320() {
    // The paper: 500 leaves, 500 spines, 320 cores. 25 pods of 20 spines; in each of 20 groups 500 uplinks over 16
    // cores, 31 or 32 each. The fewest that hold them are 13 a group, the fewest that join all evenly 20.
    let paper = Network { cores: Some(320), ..hdr() };
    assert_eq!(switches(&paper, 10_000, 1), [500, 500, 320]);
    assert_eq!(switches(&hdr(), 10_000, 1), [500, 500, 400]);
    assert!(network_counts(&Network { cores: Some(240), ..hdr() }, 10_000, 1).is_err());
    assert!(network_counts(&Network { cores: Some(260), ..hdr() }, 10_000, 1).is_ok());
}

#[test]
fn a_sheet_with_two_tiers_for_16384_gpus_is_impossible() {
    // Two tiers of radix 64 end at 64 x 64 / 2 = 2,048; 4,096 GPUs take 320 switches, not 192.
    let ndr = Network::new(NetworkDesign::RailOptimized, 64);
    assert_eq!(switches(&ndr, 256, 8), [64, 32]);
    assert_eq!(switches(&ndr, 512, 8), [128, 128, 64]);
    assert_eq!(switches(&ndr, 512, 8).iter().sum::<u64>(), 320);
}
