//! GPUs and nodes that fail, and that are well again.

use weft_scheduler::policy::Reason;
use weft_scheduler::stand::Health;

use crate::desk::{Desk, gang, host, linked, one, single, switched};

fn paired(a: usize, b: usize) -> u16 {
    if a / 2 == b / 2 { 100 } else { 0 }
}

/// NVIDIA/k8s-device-plugin#2038, NVIDIA/go-gpuallocator#66, kubernetes/kubernetes#97131: one GPU is lost from the bus, and
/// every pod of the node is refused: a thousand failed pods in five minutes, for three days.
#[test]
fn a_lost_gpu_does_not_make_its_node_useless() {
    let mut desk = Desk::new("best-fit", single(8, paired));
    desk.gpu(0, 2, false);
    let pairs: Vec<_> = (0..3).map(|_| desk.start(gang(1, 2))).collect();
    for pair in &pairs {
        assert!(linked(desk.book.cluster(), desk.mask(*pair)), "{:#b}", desk.mask(*pair));
    }
    let last = desk.start(gang(1, 1));
    assert_eq!(desk.mask(last), 1 << 3, "what is left of the pair");
    let waits = desk.start(gang(1, 1));
    assert!(desk.has_nothing(waits));
    assert_eq!(desk.binds.len(), 4, "nothing was sent there in vain");
}

/// kubernetes/kubernetes#92592, NVIDIA/k8s-device-plugin#519: of two GPUs the one in use fails. What can be had is then 1,
/// what is asked for is 1 already, so the healthy one is never used, and the pod stays on the broken one.
#[test]
fn the_healthy_gpu_is_used_when_the_other_fails_in_use() {
    let mut desk = Desk::new("best-fit", single(2, paired));
    let first = desk.start(gang(1, 1));
    assert_eq!(desk.mask(first), 0b01);
    desk.gpu(0, 0, false);
    desk.decide();
    assert!(desk.runs(first) && desk.agrees());
    assert_eq!(desk.mask(first), 0b10);
    let second = desk.start(gang(1, 1));
    assert!(desk.has_nothing(second));
    desk.end(first);
    desk.decide();
    assert_eq!(desk.mask(second), 0b10);
}

/// NVIDIA/k8s-device-plugin#1014, #234, NVIDIA/gpu-operator#1065: after an Xid 94 that is over the node has seven GPUs for
/// ever.
#[test]
fn a_gpu_that_is_well_again_is_used() {
    for strategy in ["best-fit", "fifo", "easy", "weft"] {
        let mut desk = Desk::new(strategy, switched(1, 1));
        desk.gpu(0, 3, false);
        let job = desk.start(gang(1, 8));
        let why = desk.why(job);
        assert!(matches!(why[..], [Reason::Lacks(_)]), "{strategy}: it could fit again, {why:?}");
        desk.gpu(0, 3, true);
        desk.decide();
        assert!(desk.runs(job), "{strategy}");
    }
}

/// volcano-sh/volcano#1818, #294: GPUs are lost while all are in use: the node has less than it gives, and the scheduler
/// over-commits it, or panics.
#[test]
fn a_node_with_fewer_gpus_than_it_had_given_out_keeps_no_more_pods_than_gpus() {
    let mut desk = Desk::new("best-fit", switched(2, 2));
    let jobs: Vec<_> = (0..8).map(|_| desk.start(gang(1, 1))).collect();
    let other = desk.start(gang(1, 5));
    assert!(desk.all_run(&jobs) && desk.runs(other));
    (0..4).for_each(|gpu| desk.gpu(0, gpu, false));
    desk.decide();
    assert_eq!(desk.running(&jobs), 7, "four stay, three come up on the other node");
    for job in jobs.iter().filter(|job| desk.runs(**job)) {
        assert!(desk.node(*job) == 1 || desk.mask(*job).trailing_zeros() >= 4);
    }
    assert!(desk.runs(other) && desk.agrees());
}

/// volcano-sh/volcano#1492: a node that was not ready is ready again, and is not seen.
#[test]
fn a_node_that_is_back_is_used() {
    for (strategy, before) in [("best-fit", Health::Down), ("fifo", Health::Down), ("easy", Health::Draining)]
    {
        let mut desk = Desk::new(strategy, switched(2, 2));
        desk.health(1, before);
        let job = desk.start(gang(2, 8));
        assert!(desk.has_nothing(job));
        desk.health(1, Health::Up);
        desk.decide();
        assert!(desk.runs(job), "{strategy}");
    }
}

/// kubernetes/kubernetes#128043, #125579, bottlerocket-os/bottlerocket#4250: a node is back before its device plugin, and
/// pods that need GPUs are sent there and fail.
#[test]
fn a_node_that_is_back_without_its_gpus_gets_only_pods_that_need_none() {
    let mut desk = Desk::new("best-fit", switched(1, 1));
    let job = desk.start(gang(1, 2));
    desk.health(0, Health::Down);
    (0..8).for_each(|gpu| desk.gpu(0, gpu, false));
    desk.decide();
    desk.health(0, Health::Up);
    let without = desk.start(one(host(1000)));
    assert!(desk.runs(without) && desk.has_nothing(job));
    assert_eq!(desk.binds.len(), 2);
    desk.gpu(0, 0, true);
    desk.decide();
    assert!(desk.has_nothing(job), "one is not two");
    desk.gpu(0, 1, true);
    desk.decide();
    assert!(desk.runs(job));
}

/// NVIDIA/k8s-device-plugin#519, kubernetes-sigs/kueue#12735: what is done about a doubtful node should not touch what runs
/// there, nor move it when the node is well again.
#[test]
fn a_node_that_drains_keeps_what_it_has_and_gets_nothing_new() {
    let mut desk = Desk::new("best-fit", switched(2, 2));
    let stays = desk.start(gang(1, 4));
    desk.health(0, Health::Draining);
    let other = desk.start(gang(1, 4));
    assert!(desk.runs(stays));
    assert_eq!((desk.node(stays), desk.node(other)), (0, 1), "the half-full node would have been the best");
    desk.health(0, Health::Up);
    let third = desk.start(gang(2, 4));
    assert!(desk.runs(third) && desk.runs(stays));
    assert_eq!(desk.evictions, []);
}
