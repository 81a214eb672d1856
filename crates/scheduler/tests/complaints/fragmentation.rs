//! Free GPUs that nobody can use.

use weft_scheduler::STRATEGIES;
use weft_scheduler::book::Queue;
use weft_scheduler::job::{Ask, Group};
use weft_scheduler::policy::Reason;
use weft_scheduler::{Models, Pod};

use crate::desk::{Desk, gang, need, one, pod, seconds, switched};

/// kubernetes-sigs/kueue#4329: a quota of eight admits a pod of eight GPUs that exist as twice four; it pends, holds the
/// quota, and jobs behind it wait.
#[test]
fn eight_gpus_that_exist_as_twice_four_admit_no_pod_of_eight() {
    let queue = Queue { limit_milli: Some(16_000), ..Queue::named("team") };
    let mut desk = Desk::with_queues("easy", switched(2, 2), vec![queue]);
    // Pods of five cannot share a node; those of one take the rest of the sixth GPU.
    let first = [desk.submit_limited(gang(1, 5), 1000), desk.submit_limited(gang(1, 5), 2000)];
    let small = [desk.submit_limited(gang(1, 1), 1000), desk.submit_limited(gang(1, 1), 1000)];
    desk.decide();
    desk.end(small[0]);
    desk.end(small[1]);
    let free: u64 = 16_000 - desk.book.used(weft_scheduler::job::QueueId(0)).gpu_milli;
    assert_eq!(free, 6_000, "by the quota alone a pod of six could come");
    let six = desk.submit_limited(gang(1, 6), 100);
    let behind = [desk.submit_limited(gang(1, 3), 100), desk.submit_limited(gang(1, 3), 100)];
    desk.decide();
    assert!(desk.all_run(&first) && desk.has_nothing(six));
    assert!(matches!(desk.why(six)[..], [Reason::Lacks(_)]), "{:?}", desk.why(six));
    assert!(desk.all_run(&behind), "they are over before it can start");
    desk.run_until(1050);
    assert!(desk.runs(six));
}

/// marin-community/marin#6310: probes of nodes' health, a small pod on each idle node, keep gangs of 32 GPUs out for 20 to
/// 45 minutes.
#[test]
fn probes_on_idle_nodes_give_way_to_a_gang() {
    let mut desk = Desk::new("priority", switched(4, 4));
    let probe = Pod { cpu_milli: 60_000, ..pod(1) };
    let probes: Vec<_> = (0..4).map(|_| desk.submit_important(one(probe.clone()), -10)).collect();
    desk.decide();
    assert!(desk.all_run(&probes), "one on each node, since a node has cores for one");
    let gang = desk.submit_important(gang(4, 8), 0);
    desk.decide();
    assert!(desk.runs(gang));
    assert_eq!(desk.running(&probes), 0);
}

/// pytorch/ci-infra#696, kubernetes/kubernetes#65621: small pods are sprinkled over all nodes, so that none is left for a
/// pod that needs a whole one.
#[test]
fn small_pods_leave_whole_nodes() {
    // Clustering goes by the size of pods first, as published.
    let others = ["random", "spread", "gpu-clustering"];
    let packing = STRATEGIES.iter().filter(|strategy| !others.contains(&strategy.name));
    for strategy in packing {
        let mut desk = Desk::new(strategy.name, switched(4, 4));
        let small: Vec<_> = [1, 2, 1, 4].into_iter().map(|count| desk.start(gang(1, count))).collect();
        let large: Vec<_> = (0..3).map(|_| desk.start(gang(1, 8))).collect();
        assert!(desk.all_run(&small) && desk.all_run(&large), "{}", strategy.name);
    }
    let mut desk = Desk::new("spread", switched(4, 4));
    let small: Vec<_> = (0..4).map(|_| desk.start(gang(1, 1))).collect();
    assert!(desk.all_run(&small));
    let large = desk.start(gang(1, 8));
    assert!(!desk.runs(large), "as spreading would have it");
}

/// Project-HAMi/HAMi#2831, kubernetes/kubernetes#138765 in the small: pods that run anywhere take the only nodes on which
/// others run.
#[test]
fn a_pod_that_runs_on_any_model_leaves_the_rare_one() {
    let mut cluster = switched(2, 2);
    let mut old = cluster.shapes[0].clone();
    old.kind.model = 1;
    cluster.models.push("A100".to_owned());
    cluster.shapes.push(old);
    cluster.nodes[1].shape = 1;
    let mut desk = Desk::new("best-fit", cluster);
    // Tried on the A100 first, on the H100 otherwise.
    let ask = Ask { fallback: vec![Models(0b01)], ..Ask::of(Pod { models: Models(0b10), ..pod(8) }) };
    let any = || need(vec![Group::rigid("any", ask.clone(), 1)]);
    let bound = one(Pod { models: Models(0b01), ..pod(8) });
    let first = desk.start(any());
    let second = desk.start(bound);
    assert!(desk.all_run(&[first, second]));
    assert_eq!((desk.node(first), desk.node(second)), (1, 0), "the first node that fits is of the H100");
    // The second that could be anywhere waits, and runs on either.
    let third = desk.start(any());
    desk.end(second);
    desk.now = seconds(10);
    desk.decide();
    assert_eq!(desk.node(third), 0);
}
