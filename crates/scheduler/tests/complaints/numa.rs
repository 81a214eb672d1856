//! GPUs on one NUMA node.

use weft_scheduler::job::{Ask, Group, Need};
use weft_scheduler::policy::Reason;

use crate::desk::{Desk, gang, need, pod, single, switched};

/// One pod whose GPUs must be on one NUMA node, as a kubelet with `single-numa-node` wants it.
fn local(gpu_count: u8) -> Need {
    let ask = Ask { one_numa: true, ..Ask::of(pod(gpu_count)) };
    need(vec![Group::rigid("pod", ask, 1)])
}

const SOCKETS: [u16; 2] = [0b0000_1111, 0b1111_0000];

fn is_local(mask: u16) -> bool {
    SOCKETS.iter().any(|socket| mask & !socket == 0)
}

/// kubernetes/kubernetes#84869: a node has four GPUs free, two on each socket; the scheduler counts four, and the kubelet
/// fails hundreds of pods with `TopologyAffinityError`.
#[test]
fn a_pod_is_not_sent_where_its_gpus_are_on_two_sockets() {
    let mut desk = Desk::new("best-fit", switched(2, 2));
    let first = [desk.start(local(2)), desk.start(gang(1, 4))];
    assert_eq!(first.map(|job| desk.node(job)), [0, 0]);
    // Two of the four end: two are free on each socket of node 0, and all of node 1.
    let halves = [desk.start(local(2)), desk.start(local(2))];
    desk.end(first[1]);
    desk.decide();
    let jobs: Vec<_> = (0..3).map(|_| desk.start(local(4))).collect();
    for job in jobs.iter().chain(&halves).filter(|job| desk.runs(**job)) {
        assert!(is_local(desk.mask(*job)), "{:#b} on {}", desk.mask(*job), desk.node(*job));
    }
    let free: u32 = [0, 1]
        .map(|node| desk.book.stand(weft_scheduler::cluster::NodeId(node)).whole_row().count_ones())
        .iter()
        .sum();
    assert_eq!(free as usize + 4 * desk.running(&jobs) + 2 + 4, 16);
}

/// pytorch/ci-infra#696: runners of one and two GPUs are sprinkled over both sockets; then no pod of four can come, though
/// four are free: it is rejected four times in 90 s.
#[test]
fn small_pods_fill_one_socket_before_the_other() {
    // GPU 4 is in use, all others are free: one more single pod should go beside it, not to the whole socket.
    let mut desk = Desk::new("best-fit", switched(1, 1));
    let jobs: Vec<_> = (0..8).map(|_| desk.start(gang(1, 1))).collect();
    for job in jobs {
        if desk.mask(job) != 1 << 4 {
            desk.end(job);
        }
    }
    for plain in [gang(1, 1), gang(1, 2)] {
        let small = desk.start(plain);
        assert_eq!(desk.mask(small) & SOCKETS[0], 0, "the lowest that are free are 0 and 1");
    }
    let four = desk.start(local(4));
    assert_eq!(desk.mask(four), SOCKETS[0]);
}

/// pytorch/ci-infra#652: a pod of all eight GPUs on a node of twice four, under `single-numa-node`: a placeholder is stuck
/// for four hours, and nobody says why.
#[test]
fn a_pod_larger_than_a_socket_is_known_never_to_fit() {
    let mut desk = Desk::new("fifo", switched(2, 2));
    let eight = desk.start(local(8));
    let behind = desk.start(gang(1, 8));
    assert!(desk.has_nothing(eight) && desk.runs(behind));
    assert!(matches!(desk.why(eight)[..], [Reason::Never(_)]));
}

/// Project-HAMi/HAMi#1286, NVIDIA/k8s-device-plugin#39: what one wants of a pod of two GPUs is one socket, where links do
/// not say otherwise. Three of one socket and two of the other are free.
#[test]
fn two_gpus_come_from_one_socket_though_three_are_free_on_the_other() {
    let mut desk = Desk::new("best-fit", single(8, |_, _| 0));
    let jobs: Vec<_> = (0..8).map(|_| desk.start(gang(1, 1))).collect();
    for gpu in [0, 2, 3, 5, 6] {
        let job = jobs.iter().find(|job| desk.runs(**job) && desk.mask(**job) == 1 << gpu).copied();
        desk.end(job.unwrap());
    }
    let two = desk.start(gang(1, 2));
    assert_eq!(desk.mask(two), 1 << 5 | 1 << 6, "so that three stay together");
    let three = desk.start(gang(1, 3));
    assert!(is_local(desk.mask(three)));
}
