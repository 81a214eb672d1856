//! What becomes of a gang when some of its nodes fail.

use weft_scheduler::book::Stage;
use weft_scheduler::cluster::{Level, NodeId};
use weft_scheduler::job::{Ask, Group};
use weft_scheduler::stand::Health;

use crate::desk::{Desk, gang, need, pod, racked, required, switched, within};

/// kubernetes-sigs/kueue#5230: one node fails, and the whole workload is scheduled anew.
#[test]
fn one_failed_node_is_replaced_and_the_others_stay() {
    let mut desk = Desk::new("topology", racked(8, 4));
    let job = desk.start(within(gang(3, 8), Level::Rack));
    let (before, rack) = (desk.ranks(job), desk.domains(job, Level::Rack));
    desk.health(before[1], Health::Down);
    desk.decide();
    assert!(desk.runs(job));
    let after = desk.ranks(job);
    assert_eq!((after[0], after[2]), (before[0], before[2]));
    assert_eq!(desk.domains(job, Level::Rack), rack);
    assert_eq!((desk.evictions.len(), desk.book.entry(job).evicted_count), (0, 0));
}

/// kubernetes-sigs/kueue#9210: the replacement is sent to a node by its rank among the pods, where another member of the
/// same gang is. Two members to a node.
#[test]
fn a_replacement_does_not_go_where_a_sibling_is() {
    let mut desk = Desk::new("best-fit", switched(3, 3));
    let job = desk.start(gang(4, 4));
    assert_eq!(desk.ranks(job), [0, 0, 1, 1]);
    desk.health(0, Health::Down);
    desk.decide();
    assert!(desk.runs(job) && desk.agrees());
    assert_eq!(desk.ranks(job), [2, 2, 1, 1]);
    let numbers: Vec<u32> = desk.binds.last().unwrap().members.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [0, 1]);
}

/// kubernetes-sigs/kueue#5212: two nodes fail at the same time, and the whole workload is put out although there are two
/// to replace them. If there is only one, half a replacement must not hold it.
#[test]
fn several_failures_at_once_are_replaced_together_or_not_at_all() {
    for (node_count, is_enough) in [(6, true), (5, false)] {
        let mut desk = Desk::new("best-fit", switched(node_count, 8));
        let job = desk.start(gang(4, 8));
        desk.health(0, Health::Down);
        desk.health(1, Health::Down);
        desk.decide();
        assert_eq!(desk.runs(job), is_enough);
        assert_eq!(desk.evictions.is_empty(), is_enough);
        assert!(is_enough || desk.has_nothing(job), "the three that are left are free");
        let other = desk.start(gang(if is_enough { 1 } else { 3 }, 8));
        assert_eq!(desk.runs(other), !is_enough);
    }
}

/// ray-project/ray#63740, volcano-sh/volcano#3877: if a part of it is lost, a gang that is tied to a rack stays there,
/// even if the placing likes another rack better; if all is lost, it goes to another.
#[test]
fn a_partial_loss_stays_in_the_rack_and_a_total_loss_leaves_it() {
    let mut desk = Desk::new("best-fit", racked(6, 3));
    let job = desk.start(within(gang(2, 8), Level::Rack));
    assert_eq!(desk.ranks(job), [0, 1]);
    // Half a node elsewhere is a better fit for the lost member of four GPUs than the empty node of the rack.
    let filler = desk.start(within(gang(3, 4), Level::Rack));
    assert!(desk.runs(filler));
    desk.health(1, Health::Down);
    desk.decide();
    assert_eq!(desk.ranks(job), [0, 2]);
    desk.end(filler);
    desk.health(0, Health::Down);
    desk.health(2, Health::Down);
    desk.decide();
    assert!(desk.runs(job));
    assert_eq!(desk.domains(job, Level::Rack).into_iter().collect::<Vec<_>>(), [1]);
}

/// volcano-sh/volcano#3877, kubernetes-sigs/kueue#6913: members that have to be close in sets; what replaces one has to be
/// close to the rest of its own set, not of any.
#[test]
fn a_replacement_stays_with_its_set() {
    let mut desk = Desk::new("best-fit", racked(6, 3));
    let pairs = Some((2, required(Level::Rack)));
    let group = Group { sets: pairs, ..Group::rigid("worker", Ask::of(pod(8)), 4) };
    let job = desk.start(need(vec![group]));
    let before = desk.ranks(job);
    let racks = |ranks: &[u32]| ranks.iter().map(|node| node / 3).collect::<Vec<_>>();
    assert_eq!(racks(&before), [0, 0, 1, 1]);
    desk.health(before[3], Health::Down);
    desk.decide();
    assert!(desk.runs(job));
    let after = desk.ranks(job);
    assert_eq!(racks(&after), [0, 0, 1, 1], "a node of rack 0 is free, and has the lower number");
    assert_ne!(after[3], before[3]);
}

/// kubernetes-sigs/kueue#14092: the replacement is sent to the same node that refuses it, again and again, until all
/// retries are used up.
#[test]
fn a_replacement_that_is_refused_goes_elsewhere() {
    for node_count in [4, 3] {
        let mut desk = Desk::new("best-fit", switched(node_count, 4));
        let job = desk.start(gang(2, 8));
        desk.refusing.insert(NodeId(2));
        desk.health(0, Health::Down);
        desk.decide();
        if node_count == 4 {
            assert_eq!(desk.ranks(job), [3, 1]);
            assert_eq!(desk.binds.len(), 3);
        } else {
            assert!(desk.has_nothing(job), "with no other place it does not hold the node that is left");
            desk.run_until(600);
            assert!(desk.binds.len() <= 12, "{} tries in ten minutes", desk.binds.len());
        }
    }
}

/// kubernetes-sigs/kueue#9615: a node fails after pods were assigned to it and before they came up, and they are stuck.
#[test]
fn a_node_that_fails_while_members_come_up_is_replaced() {
    let mut desk = Desk::new("best-fit", switched(3, 3));
    desk.is_slow_to_start = true;
    let job = desk.start(gang(2, 8));
    desk.health(0, Health::Down);
    desk.decide();
    desk.is_slow_to_start = false;
    desk.comes_up(job);
    desk.decide();
    assert!(desk.runs(job) && desk.agrees());
    assert_eq!(desk.ranks(job), [2, 1]);
}

/// kubeflow/trainer#2185: the node of a pod that is being put out fails, the pod never goes, and who waits for its place
/// waits for ever.
#[test]
fn who_waits_for_a_place_on_a_node_that_fails_looks_for_another() {
    let mut desk = Desk::new("priority", switched(2, 2));
    let low = [desk.start(gang(1, 8)), desk.start(gang(1, 8))];
    desk.is_slow_to_leave = true;
    let high = desk.submit_important(gang(1, 8), 1);
    desk.decide();
    let stuck = desk.evictions[0];
    let other = if stuck == low[0] { low[1] } else { low[0] };
    let failed = desk.node(stuck);
    desk.health(failed, Health::Down);
    desk.decide();
    assert_eq!(desk.evictions, [stuck, other]);
    desk.leaves(other);
    desk.decide();
    assert!(desk.runs(high));
    assert_eq!(desk.node(high), 1 - failed);
    assert!(matches!(desk.book.entry(stuck).stage, Stage::Leaving(_)), "its pod has not gone");
}
