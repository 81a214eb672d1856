//! Which GPUs of a node a pod gets.

use weft_scheduler::cluster::{DeviceControl, NodeId};
use weft_scheduler::stand::Gpus;

use crate::desk::{Desk, controlled, gang, highest, linked, lowest, one, pod, single, switched};

/// GPUs 0-2, 1-3, 4-5 and 6-7 have 12 links, others only reach each other through the host.
fn crossed(a: usize, b: usize) -> u16 {
    let pairs = [(0, 2), (1, 3), (4, 5), (6, 7)];
    if pairs.contains(&(a, b)) { 300 } else { 0 }
}

fn paired(a: usize, b: usize) -> u16 {
    if a / 2 == b / 2 { 100 } else { 0 }
}

/// NVIDIA/k8s-device-plugin#546: pods of two GPUs get them across NVLink pairs. The pairs are those of the complaint's
/// `nvidia-smi topo -m`.
#[test]
fn two_gpus_of_a_pod_are_a_linked_pair() {
    let cluster = single(8, crossed);
    assert!(!linked(&cluster, lowest(0xff, Gpus::whole(0b11))), "the first two are no pair");
    let mut desk = Desk::new("best-fit", cluster);
    for _ in 0..4 {
        let job = desk.start(gang(1, 2));
        assert!(linked(desk.book.cluster(), desk.mask(job)), "{:#b}", desk.mask(job));
    }
}

/// NVIDIA/k8s-device-plugin#1193: four pods of one GPU get 0, 2, 4 and 6, and the two pods of two GPUs that follow get
/// no pair.
#[test]
fn single_gpu_pods_take_leftovers_first() {
    let mut desk = Desk::new("best-fit", single(8, paired));
    let singles: Vec<_> = (0..4).map(|_| desk.start(gang(1, 1))).collect();
    for _ in 0..2 {
        let job = desk.start(gang(1, 2));
        assert!(linked(desk.book.cluster(), desk.mask(job)), "{:#b}", desk.mask(job));
    }
    // One GPU of a pair comes free, and one pair: the next single pod takes what is no pair, wherever it is.
    let last = *singles.iter().max_by_key(|job| desk.mask(**job)).unwrap();
    let pair = desk.mask(last) | desk.mask(last) >> 1;
    let first: Vec<_> = singles.into_iter().filter(|job| desk.mask(*job) & pair == 0).collect();
    desk.end(last);
    for job in first {
        desk.end(job);
    }
    let free = desk.book.stand(NodeId(0)).whole_row();
    assert!(linked(desk.book.cluster(), lowest(free, Gpus::whole(0b11))), "the lowest GPU is of a pair");
    let leftover = desk.start(gang(1, 1));
    let two = desk.start(gang(1, 2));
    assert!(linked(desk.book.cluster(), desk.mask(two)), "{:#b} after {leftover:?}", desk.mask(two));
}

/// NVIDIA/k8s-device-plugin#436: of four GPUs two have a bridge; the pod of two should get those, though single pods came
/// before it.
#[test]
fn a_lone_bridge_is_kept_for_two() {
    let mut desk = Desk::new("best-fit", single(4, |a, b| if (a, b) == (0, 1) { 100 } else { 0 }));
    let before = desk.start(gang(1, 1));
    let two = desk.start(gang(1, 2));
    assert_eq!((desk.mask(two), desk.mask(before) & 0b11), (0b11, 0));
}

/// NVIDIA/k8s-device-plugin#439: all links read as unknown, so two GPUs are taken from two sockets, 2 and 6.
#[test]
fn without_known_links_a_pod_stays_on_one_socket() {
    let mut desk = Desk::new("best-fit", single(8, |_, _| 0));
    let jobs: Vec<_> = (0..8).map(|_| desk.start(gang(1, 1))).collect();
    for gpu in [2, 4, 6] {
        let job = jobs.iter().find(|job| desk.runs(**job) && desk.mask(**job) == 1 << gpu).copied();
        desk.end(job.unwrap());
    }
    let two = desk.start(gang(1, 2));
    assert_eq!(desk.mask(two), 1 << 4 | 1 << 6, "2 is on the other socket");
}

/// Cambricon/cambricon-k8s-device-plugin#22: 16 cards in two halves; pods of 8 and of 4 get cards of both.
#[test]
fn eight_of_sixteen_cards_are_one_half() {
    let half = |a: usize, b: usize| if a / 8 == b / 8 { 50 } else { 0 };
    let mut desk = Desk::new("best-fit", single(16, half));
    let small = desk.start(gang(1, 4));
    let large = desk.start(gang(1, 8));
    let other = desk.start(gang(1, 4));
    for job in [small, large, other] {
        assert!(linked(desk.book.cluster(), desk.mask(job)), "{:#b}", desk.mask(job));
    }
}

/// Project-HAMi/HAMi#442, #2080, tkestack/gpu-manager#37: the kubelet gives other GPUs than the scheduler chose, and the
/// scheduler's ledger stays wrong. So a GPU that falls off the bus seems to be another job's.
#[test]
fn the_book_follows_the_kubelet_where_that_chooses() {
    for control in [DeviceControl::Hint, DeviceControl::NodeOnly] {
        let mut desk = Desk::new("best-fit", controlled(single(8, paired), control));
        desk.choice = highest;
        let (first, second) = (desk.start(gang(1, 2)), desk.start(gang(1, 2)));
        assert!(desk.agrees());
        assert_eq!((desk.mask(first), desk.mask(second)), (0b1100_0000, 0b0011_0000));
        desk.gpu(0, 5, false);
        desk.decide();
        assert_eq!(desk.mask(first), 0b1100_0000, "GPU 5 was not its");
        assert_eq!(desk.mask(second), 0b0001_1000, "it came up on others, which the kubelet chose");
        assert!(desk.agrees());
    }
}

/// volcano-sh/volcano-vgpu-device-plugin#93: two pods come together, and the kubelet asks for one what was meant for the
/// other.
#[test]
fn pods_that_come_together_may_get_each_others_gpus() {
    let mut desk = Desk::new("best-fit", controlled(single(4, paired), DeviceControl::Hint));
    desk.choice = lowest;
    desk.is_slow_to_start = true;
    let (first, second) = (desk.submit(gang(1, 2)), desk.submit(gang(1, 2)));
    desk.decide();
    assert_eq!((desk.mask(first), desk.mask(second)), (0b0011, 0b1100), "as the scheduler wants it");
    desk.comes_up(second);
    desk.comes_up(first);
    assert_eq!((desk.mask(first), desk.mask(second)), (0b1100, 0b0011), "as it is");
    assert!(desk.all_run(&[first, second]) && desk.agrees());
}

/// Project-HAMi/HAMi#1741: eight GPUs are chosen, the kubelet's answer covers five. The pod has not got what it asked for,
/// the other three GPUs are not its, and trying again at once would only repeat that.
#[test]
fn a_pod_with_fewer_gpus_than_it_asked_for_does_not_count_as_running() {
    let mut desk = Desk::new("best-fit", controlled(switched(1, 1), DeviceControl::NodeOnly));
    desk.choice = |free, asked| lowest(free, Gpus::whole(asked.mask_row & 0b1_1111));
    let job = desk.start(gang(1, 8));
    assert!(!desk.runs(job));
    desk.run_until(600);
    assert!(desk.binds.len() <= 12, "{} binds in ten minutes", desk.binds.len());
    desk.choice = lowest;
    desk.run_until(1200);
    assert!(desk.runs(job) && desk.agrees());
    let other = desk.start(one(pod(1)));
    assert!(!desk.runs(other), "all eight are taken");
}
