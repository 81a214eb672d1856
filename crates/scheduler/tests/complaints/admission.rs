//! What happens between the decision and the running pod.

use weft_scheduler::cluster::{DeviceControl, NodeId};
use weft_scheduler::job::{Ask, Group, QueueId};
use weft_scheduler::policy::{Event, Outcome};
use weft_scheduler::{Pod, book::Stage};

use crate::desk::{Desk, controlled, gang, lowest, need, one, pod, seconds, switched};

/// kubernetes/kubernetes#70010, squat/generic-device-plugin#33: the only node refuses a pod, and 1181 failed pods follow.
/// Ten minutes have room for tries after 1, 2, 4, … 256 s: nine, and the first.
#[test]
fn a_refused_pod_is_tried_less_and_less_often() {
    let mut desk = Desk::new("best-fit", switched(1, 1));
    desk.refusing.insert(NodeId(0));
    let job = desk.start(gang(1, 1));
    // Whatever else happens does not make it try again.
    for time in 1..600 {
        desk.run_until(time);
        desk.decide();
    }
    assert_eq!(desk.binds.len(), 10);
    desk.refusing.clear();
    desk.run_until(600 + 300);
    assert!(desk.runs(job));
}

/// kubernetes/kubernetes#120146, pytorch/ci-infra#696: the same node is the best for the pod again and again, while another
/// would take it.
#[test]
fn a_pod_that_a_node_refused_tries_another() {
    let mut desk = Desk::new("best-fit", switched(2, 2));
    let filler = desk.start(gang(1, 4));
    assert_eq!(desk.node(filler), 0, "so that node 0 is the better fit");
    desk.refusing.insert(NodeId(0));
    let job = desk.start(gang(1, 4));
    assert!(!desk.runs(job));
    desk.run_until(2);
    assert_eq!((desk.runs(job), desk.binds.len()), (true, 3));
    assert_eq!(desk.node(job), 1);
    let other = desk.start(gang(1, 1));
    assert_eq!(desk.binds.last().unwrap().members[0].1.node, NodeId(0), "who was not refused there may try");
    assert!(!desk.runs(other));
}

/// kubernetes/kubernetes#120146: one member of a gang is refused since the device plugin restarts; the pod ends as failed,
/// and the others wait with what they have.
#[test]
fn a_refused_member_costs_its_gang_a_wait_and_nothing_else() {
    let mut desk = Desk::new("best-fit", switched(3, 3));
    desk.refusing.insert(NodeId(1));
    let job = desk.start(gang(3, 8));
    assert_eq!(desk.book.entry(job).stage, Stage::Queued);
    assert!(desk.has_nothing(job));
    let short = desk.submit_limited(gang(1, 8), 1);
    desk.decide();
    assert!(desk.runs(short), "what it gave back is free");
    desk.refusing.clear();
    desk.run_until(60);
    assert!(desk.runs(job) && desk.agrees());
}

/// kubernetes/kubernetes#130145: a pod is deleted by force while it comes up; its devices stay allocated until the kubelet
/// restarts.
#[test]
fn what_ended_before_it_was_up_holds_nothing() {
    let mut desk = Desk::new("best-fit", switched(1, 1));
    desk.is_slow_to_start = true;
    let gone = desk.start(gang(1, 8));
    desk.end(gone);
    desk.is_slow_to_start = false;
    let next = desk.start(gang(1, 8));
    assert!(desk.runs(next));
    let late = desk.binds[0].clone();
    desk.event(Event::Bound(late.decision, Outcome::Done(vec![late.members[0].1.gpus])));
    desk.decide();
    assert!(desk.runs(next) && desk.has_nothing(gone));
}

/// kubernetes-sigs/dra-driver-nvidia-gpu#1162: an answer comes after its time is over, for a try that has been given up,
/// and takes what the next one has.
#[test]
fn an_answer_that_comes_too_late_changes_nothing() {
    let mut desk = Desk::new("best-fit", switched(2, 2));
    desk.is_slow_to_start = true;
    let job = desk.start(gang(1, 8));
    let first = desk.binds[0].clone();
    desk.event(Event::Bound(first.decision, Outcome::Expired));
    desk.now = seconds(10);
    desk.decide();
    let second = desk.binds[1].clone();
    assert_ne!(first.members[0].1.node, second.members[0].1.node);
    desk.event(Event::Bound(first.decision, Outcome::Done(vec![first.members[0].1.gpus])));
    assert!(!desk.runs(job), "the second has not answered");
    desk.event(Event::Bound(second.decision, Outcome::Done(vec![second.members[0].1.gpus])));
    assert!(desk.runs(job));
    assert_eq!(desk.node(job), second.members[0].1.node.0);
}

/// kai-scheduler/KAI-Scheduler#306: the GPU fits and the memory of the host does not: the pod ends as `OutOfmemory`. The
/// second is decided in the same round as the first.
#[test]
fn memory_counts_where_gpus_are_free() {
    let mut desk = Desk::new("best-fit", switched(2, 2));
    let large = || one(Pod { memory_mib: 600 << 10, ..pod(1) });
    let jobs = [desk.submit(large()), desk.submit(large()), desk.submit(large())];
    desk.decide();
    assert_eq!([desk.node(jobs[0]), desk.node(jobs[1])], [0, 1], "one to a node of 1 TiB");
    assert!(desk.has_nothing(jobs[2]));
    let small = desk.start(gang(1, 7));
    assert!(desk.runs(small), "seven GPUs are free beside it");
}

/// kai-scheduler/KAI-Scheduler#848: somebody else has a GPU of the node, which the scheduler does not know of; it sends pod
/// after pod there, which wait for the GPU. Here the kubelet refuses, and the rest is tried elsewhere.
#[test]
fn a_gpu_that_a_stranger_has_costs_one_try() {
    let mut desk = Desk::new("best-fit", controlled(switched(2, 2), DeviceControl::NodeOnly));
    desk.choice = lowest;
    desk.refusing.insert(NodeId(0));
    let group = Group::rigid("worker", Ask::of(pod(8)), 1);
    let job = desk.start(need(vec![group]));
    desk.run_until(5);
    assert!(desk.runs(job));
    assert_eq!((desk.node(job), desk.binds.len()), (1, 2));
}

/// kubernetes/kubernetes#70010 for one that puts others out: the node refuses it, the others come back, and are put out
/// again for the next try.
#[test]
fn nobody_is_put_out_again_for_a_pod_that_the_node_refuses() {
    let mut desk = Desk::new("priority", switched(1, 1));
    let low = desk.start(gang(1, 8));
    let high = desk.submit_as(QueueId(0), gang(1, 8), 1, None);
    desk.refused.insert(high);
    desk.decide();
    assert_eq!(desk.evictions, [low]);
    assert!(desk.runs(low) && !desk.runs(high), "it comes back while the other waits");
    desk.run_until(600);
    assert_eq!(desk.evictions, [low]);
}
