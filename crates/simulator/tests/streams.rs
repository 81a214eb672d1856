//! Streams through networks: what meets there is counted by hand.
#![allow(missing_docs, clippy::unwrap_used, reason = "a test")]

mod common;

use common::net::topology;
use weft_simulator::machine::Choice;
use weft_simulator::streams::{ChosenWays, Finder, Hop, play};
use weft_topology::{NodeId, NodeKind, Topology};

fn nics(topology: &Topology) -> Vec<NodeId> {
    topology.of_kind(NodeKind::Nic).collect()
}

#[test]
fn one_switch_has_nothing_to_share_and_uplinks_have() {
    let ring = |nics: &[NodeId]| -> Vec<Hop<NodeId>> {
        let next = nics.iter().cycle().skip(1);
        let hop = |(from, to): (&NodeId, &NodeId)| Hop { from: *from, to: *to, channel: 0, weight: 1.0 };
        nics.iter().zip(next).map(hop).collect()
    };
    let one = topology("4 x 1 h100-pcie + 1 cx6 @ single");
    let meeting = play(&[ring(&nics(&one))], &mut ChosenWays::new(&one, Choice::ByDestination)).unwrap();
    assert_eq!((meeting.pace_bytes_per_s, meeting.crossing, meeting.cables), (None, 0, 0));

    // Two leaves of two hosts and one spine: the ring crosses twice, up and down each time, on four cables at 25 GB/s.
    let two = topology("4 x 1 h100-pcie + 1 cx6 @ fat-tree(leaf 4x200G, leaves 2)");
    let mut ways = ChosenWays::new(&two, Choice::ByDestination);
    let meeting = play(&[ring(&nics(&two))], &mut ways).unwrap();
    assert_eq!((meeting.crossing, meeting.cables, meeting.most), (2, 4, 1));
    assert!((meeting.pace_bytes_per_s.unwrap() / 25e9 - 1.0).abs() < 1e-6);
    assert!(ways.name(meeting.fullest).contains(" to "), "{}", ways.name(meeting.fullest));
}

/// Two hosts with four adapters on each of two leaves: the ring has four rails that cross, on sixteen uplinks to one
/// spine each way. All on cables of their own have a chance of 16·15·14·13/16⁴ = 0.667 at each of the two switches
/// that choose, in each of the two directions.
#[test]
fn a_hash_collides_as_often_as_balls_in_bins() {
    let two = topology("4 x 4 h100-pcie + 4 cx6 @ fat-tree(leaf 32x200G, leaves 2, spines 1)");
    let all = nics(&two);
    let streams: Vec<Vec<Hop<NodeId>>> = (0..4u16)
        .map(|rail| {
            let nic = |host: usize| all[4 * (host % 4) + usize::from(rail)];
            let hop = |host| Hop { from: nic(host), to: nic(host + 1), channel: rail, weight: 1.0 };
            (0..4).map(hop).collect()
        })
        .collect();
    let mut ways = ChosenWays::new(&two, Choice::Hash { seed: 0 });
    let free = (0..2000).filter(|seed| {
        ways.choose(Choice::Hash { seed: *seed });
        play(&streams, &mut ways).unwrap().most == 1
    });
    let share = f64::from(u32::try_from(free.count()).unwrap()) / 2000.0;
    let expected = all_four(16.0 * 15.0 * 14.0 * 13.0 / 65536.0);
    assert!((share - expected).abs() < 0.03, "{share} against {expected}");
}

/// Four independent choices, all without a collision.
fn all_four(once: f64) -> f64 {
    once * once * once * once
}
