//! Rules of the study on clusters that can be counted by hand.

use super::{PERCENTS, Study, arrivals, halves, mean, random};
use crate::fleet::{Fleet, Models, NodeKind, Pod, Typical};
use crate::placings::{PLACINGS, Placing};

fn fleet(nodes: usize) -> Fleet {
    let kind = NodeKind { cpu_milli: 8000, memory_mib: 8000, gpu_count: 2, model: 0 };
    Fleet { models: vec!["A".to_owned()], kinds: vec![kind], nodes: vec![0; nodes] }
}

fn pod(gpu_count: u8, gpu_milli: u16) -> Pod {
    Pod { cpu_milli: 1000, memory_mib: 1000, gpu_count, gpu_milli, models: Models::ANY }
}

fn at(percent: u32) -> usize {
    PERCENTS.iter().position(|known| *known == percent).unwrap()
}

#[test]
fn pods_come_once_and_then_again_until_enough_is_asked_for() {
    let pods = vec![pod(1, 500); 10];
    let order = arrivals(&pods, 13_000, &mut random(42));
    assert_eq!(order.len(), 26);
    let mut once = order[..10].to_vec();
    once.sort_unstable();
    assert_eq!(once, (0..10).collect::<Vec<_>>());
    assert_eq!(arrivals(&[pod(0, 0)], 1000, &mut random(1)).len(), 1);
}

#[test]
fn what_fits_is_placed_and_the_rest_is_dropped() {
    let (fleet, pods) = (fleet(10), vec![pod(1, 600); 40]);
    let typical = Typical::of(&pods);
    for policy in PLACINGS {
        let runs = Study { fleet: &fleet, pods: &pods, typical: &typical, policy }.runs(42..44);
        for run in &runs {
            // One pod of 600 on each of 20 GPUs, whatever the policy: 40 % stay free.
            assert!((run.unallocated_percent[at(100)] - 40.0).abs() < 1e-9, "{} {run:?}", policy.name);
            assert_eq!(run.dropped_count, 44 - 20, "{}", policy.name);
        }
        assert!((mean(&runs, at(130)).mean_percent - 40.0).abs() < 1e-9);
        assert!(mean(&runs, at(130)).deviation_percent < 1e-9);
    }
}

#[test]
fn runs_of_one_seed_are_equal_and_random_is_worse_than_ours() {
    let fleet = fleet(60);
    let pods: Vec<Pod> =
        [vec![pod(1, 500); 80], vec![pod(2, 1000); 20], vec![pod(1, 300); 60], vec![pod(1, 700); 40]]
            .concat();
    let typical = Typical::of(&pods);
    let study =
        |name| Study { fleet: &fleet, pods: &pods, typical: &typical, policy: Placing::named(name).unwrap() };
    assert_eq!(study("headroom").runs(1..3), study("headroom").runs(1..3));
    let at_all = |name| mean(&study(name).runs(1..9), at(100)).mean_percent;
    assert!(at_all("headroom") < at_all("random"), "{} {}", at_all("headroom"), at_all("random"));
}

#[test]
fn halves_have_no_pod_twice() {
    let pods: Vec<Pod> = (1..=101).map(|milli| pod(1, milli)).collect();
    let (learnt, tried) = halves(&pods, 7);
    assert_eq!((learnt.len(), tried.len()), (50, 51));
    assert!(learnt.iter().all(|pod| !tried.contains(pod)));
}
