//! Scores by hand on a node or two.

#![expect(clippy::float_cmp, reason = "scores are whole numbers")]

use std::sync::Arc;

use super::{PLACINGS, Placing, Setting};
use crate::fleet::{Fleet, Models, NodeKind, Pod, Typical};
use crate::room::Room;

fn fleet() -> Fleet {
    let kind = |cpu_milli, gpu_count, model| NodeKind { cpu_milli, memory_mib: 1 << 20, gpu_count, model };
    Fleet {
        models: vec!["A".to_owned(), "B".to_owned()],
        kinds: vec![kind(96_000, 8, 0), kind(64_000, 2, 1)],
        nodes: vec![0, 1],
    }
}

fn pod(cpu_milli: u32, gpu_count: u8, gpu_milli: u16) -> Pod {
    Pod { cpu_milli, memory_mib: 1024, gpu_count, gpu_milli, models: Models::ANY }
}

fn score(policy: &str, room: &Room, asked: &Pod, usual: &[Pod]) -> f32 {
    let (fleet, typical) = (fleet(), Typical::of(usual));
    let setting = Setting { fleet: Arc::new(fleet.clone()), typical: Arc::new(typical.clone()) };
    (Placing::named(policy).unwrap().scorer)(setting).place(room, asked).value
}

#[test]
fn each_has_its_own_name() {
    let names: std::collections::BTreeSet<&str> = PLACINGS.iter().map(|policy| policy.name).collect();
    assert_eq!(names.len(), PLACINGS.len());
    assert!(
        Placing::named("fgd").is_some_and(|policy| policy.name == "fgd") && Placing::named("fdg").is_none()
    );
}

#[test]
fn best_fit_and_dot_product_by_hand() {
    let room = Room::empty(&fleet(), 0);
    let asked = pod(12_800, 1, 1000);
    // CPU left 83,200 of 128,000, GPU left 7,000 of 8,000: 100 (1 - 0.325 - 0.4375) = 23.75.
    assert_eq!(score("best-fit", &room, &asked, &[]), 23.0);
    // 0.75 x 0.1 + 1 x 0.125 = 0.2, halved: 90.
    assert_eq!(score("dot-product", &room, &asked, &[]), 90.0);
}

#[test]
fn clustering_prefers_its_own_kind() {
    let empty = Room::empty(&fleet(), 0);
    let (share, whole) = (pod(1000, 1, 500), pod(1000, 1, 1000));
    let with_share = empty.with(&share, 0);
    let with_both = with_share.with(&whole, 0);
    assert_eq!(score("gpu-clustering", &empty, &share, &[]), 25.0);
    assert_eq!(score("gpu-clustering", &with_share, &share, &[]), 76.0);
    assert_eq!(score("gpu-clustering", &with_both, &share, &[]), 54.0);
    assert_eq!(score("gpu-clustering", &with_share, &whole, &[]), 1.0);
    assert_eq!(score("gpu-clustering", &with_share, &pod(1000, 0, 0), &[]), 0.0);
}

#[test]
fn packing_takes_used_gpus_then_used_nodes_then_small_empty_ones() {
    let empty = Room::empty(&fleet(), 0);
    let share = pod(1000, 1, 500);
    let used = empty.with(&share, 0);
    assert_eq!(score("gpu-packing", &used, &share, &[]), 95.0);
    assert_eq!(score("gpu-packing", &used, &pod(1000, 2, 1000), &[]), 48.0);
    assert_eq!(score("gpu-packing", &empty, &share, &[]), 25.0);
    assert_eq!(score("gpu-packing", &Room::empty(&fleet(), 1), &share, &[]), 31.0);
}

#[test]
fn fgd_puts_a_share_where_the_gap_is_of_use() {
    // Usual are halves: one on a fresh GPU leaves room for another, so nothing is lost: 100 / 2.
    let halves = [pod(1000, 1, 500)];
    let empty = Room::empty(&fleet(), 1);
    assert_eq!(score("fgd", &empty, &halves[0], &halves), 50.0);
    // Whole GPUs are usual: the other half of the GPU is lost, 500 thousandths: 100 / (1 + e^0.5).
    assert_eq!(score("fgd", &empty, &halves[0], &[pod(1000, 1, 1000)]), 37.0);
    // Both on one GPU: the half that was lost is in use, 100 / (1 + e^-0.5).
    let half = empty.with(&halves[0], 0);
    assert_eq!(score("fgd", &half, &halves[0], &[pod(1000, 1, 1000)]), 62.0);
}

#[test]
fn headroom_fills_gaps_before_it_breaks_a_gpu() {
    let usual = [pod(1000, 1, 1000), pod(1000, 1, 500), pod(1000, 1, 190)];
    let empty = Room::empty(&fleet(), 1);
    let gap = empty.with(&pod(1000, 1, 810), 0);
    let small = pod(1000, 1, 190);
    assert!(score("headroom", &gap, &small, &usual) > score("headroom", &empty, &small, &usual));
}

#[test]
fn what_is_scarce_is_charged_to_those_who_could_go_elsewhere() {
    let (fleet, bound) = (fleet(), Pod { models: Models(0b10), ..pod(1000, 1, 1000) });
    let typical = Typical::of(&[bound.clone(), pod(90_000, 8, 1000), pod(1000, 1, 1000)]);
    let setting = Setting { fleet: Arc::new(fleet.clone()), typical: Arc::new(typical.clone()) };
    let reserve = super::Reserve::new(&setting);
    let rooms: Vec<Room> = fleet.nodes.iter().map(|kind| Room::empty(&fleet, *kind)).collect();
    let stock = reserve.stock(rooms.iter(), &fleet);
    let free = pod(1000, 1, 1000);
    let after = rooms[0].with(&free, 0);
    let lost = reserve.lost(&rooms[0], &after, &free, &fleet);
    assert_eq!(lost, 1, "the only node for eight GPUs is broken");
    assert_eq!(
        reserve.lost(&rooms[0], &rooms[0].with(&pod(90_000, 8, 1000), 0), &pod(90_000, 8, 1000), &fleet),
        0
    );
    // A third of pods ask for eight GPUs: of 10 to come more than the one place that there is.
    let charges = reserve.charges(&stock, &free, 33.0);
    assert!(charges.of(lost, 0) > 49.0, "{charges:?}");
    assert!(charges.of(0, 1) > 1.5 && charges.of(0, 0) < 0.1, "{charges:?}");
    assert!(reserve.charges(&stock, &bound, 33.0).of(0, 1) < 0.1);
    assert!(reserve.charges(&stock, &free, 0.0).of(lost, 1) < 7.0);
}
