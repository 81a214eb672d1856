//! Jobs whose members only run together.

use weft_scheduler::STRATEGIES;
use weft_scheduler::job::{Ask, Group};
use weft_scheduler::policy::Event;
use weft_scheduler::stand::Health;
use weft_scheduler::{Models, Pod};

use crate::desk::{Desk, gang, need, pod, racked, seconds, switched};

/// kubernetes-sigs/scheduler-plugins#114, #117, kubeflow/trainer#165: of two gangs each gets half of its members placed,
/// and both wait for ever. Six nodes, two gangs of four.
#[test]
fn two_gangs_that_do_not_fit_together_run_one_after_the_other() {
    for strategy in STRATEGIES {
        let mut desk = Desk::new(strategy.name, switched(6, 2));
        let gangs = [desk.submit(gang(4, 8)), desk.submit(gang(4, 8))];
        desk.decide();
        assert!(desk.runs(gangs[0]), "{}", strategy.name);
        assert!(desk.has_nothing(gangs[1]), "{}", strategy.name);
        desk.end(gangs[0]);
        desk.decide();
        assert!(desk.runs(gangs[1]), "{}", strategy.name);
    }
}

/// koordinator-sh/koordinator#872: A and B are one gang, C and D another; in the order A, C, B, D the groups A and C take
/// everything.
#[test]
fn groups_of_a_gang_come_up_together_or_not_at_all() {
    for strategy in STRATEGIES {
        let mut desk = Desk::new(strategy.name, switched(4, 4));
        let group = |name: &str| Group::rigid(name, Ask::of(pod(8)), 2);
        let first = desk.submit(need(vec![group("A"), group("B")]));
        let second = desk.submit(need(vec![group("C"), group("D")]));
        desk.decide();
        assert!(desk.runs(first) && desk.has_nothing(second), "{}", strategy.name);
        assert_eq!(desk.ranks(first).len(), 4);
        desk.end(first);
        desk.decide();
        assert!(desk.runs(second), "{}", strategy.name);
    }
}

/// kubernetes-sigs/scheduler-plugins#713 (as #114): nine members of ten have their places, the tenth finds none, and the
/// nine keep others out.
#[test]
fn a_gang_that_waits_holds_nothing() {
    let mut desk = Desk::new("best-fit", switched(9, 3));
    let ten = desk.start(gang(10, 8));
    assert!(desk.has_nothing(ten));
    let others: Vec<_> = (0..9).map(|_| desk.start(gang(1, 8))).collect();
    assert!(desk.all_run(&others));
}

/// kubernetes-sigs/kube-batch#158: small jobs always find room before a large one does. A job of one node comes every 50
/// seconds and takes 100; at 10 s a gang of both nodes comes. The first small job ends at 100 s.
#[test]
fn a_large_gang_is_not_starved_by_a_stream_of_small_jobs() {
    let started = |strategy: &str| {
        let mut desk = Desk::new(strategy, switched(2, 2));
        desk.submit_limited(gang(1, 8), 100);
        desk.run_until(10);
        let large = desk.submit_limited(gang(2, 8), 100);
        for time in (50..2000).step_by(50) {
            desk.run_until(time);
            desk.submit_limited(gang(1, 8), 100);
            desk.decide();
            if desk.runs(large) {
                return Some(desk.book.entry(large).since);
            }
        }
        None
    };
    assert_eq!(started("best-fit"), None, "whoever fits goes first");
    for strategy in ["easy", "conservative", "fifo", "weft"] {
        assert_eq!(started(strategy), Some(seconds(100)), "{strategy}");
    }
}

/// kubernetes-sigs/scheduler-plugins#358, #364: a member of a gang of five is made anew, and is rejected since fewer than
/// five are pending.
#[test]
fn a_member_that_is_made_anew_joins_its_gang() {
    let mut desk = Desk::new("best-fit", switched(6, 6));
    let job = desk.start(gang(5, 8));
    let before = desk.ranks(job);
    desk.health(before[2], Health::Down);
    desk.decide();
    assert!(desk.runs(job));
    let after = desk.ranks(job);
    let kept: Vec<bool> = before.iter().zip(&after).map(|(a, b)| a == b).collect();
    assert_eq!(kept, [true, true, false, true, true]);
    assert_eq!(desk.binds.last().unwrap().members.len(), 1, "the other four were not pending");
}

/// kubernetes/kubernetes#138765: the first pod of a gang takes the device that only the second can use, and the gang fails
/// though both fit.
#[test]
fn a_member_that_can_choose_leaves_what_another_needs() {
    let mut cluster = switched(2, 2);
    let mut other = cluster.shapes[0].clone();
    other.kind.model = 1;
    cluster.models.push("A100".to_owned());
    cluster.shapes.push(other);
    cluster.nodes[1].shape = 1;
    for (can_choose, only) in [(Models::ANY, Models(0b01)), (Models::ANY, Models(0b10))] {
        for strategy in ["best-fit", "topology", "weft"] {
            let mut desk = Desk::new(strategy, cluster.clone());
            let group = |name: &str, models| Group::rigid(name, Ask::of(Pod { models, ..pod(8) }), 1);
            let job = desk.start(need(vec![group("chooses", can_choose), group("bound", only)]));
            assert!(desk.runs(job), "{strategy}, {only:?}");
        }
    }
}

/// kubernetes/kubernetes#138765 once more: each pod prefers one device and can do with another. There is one of each.
#[test]
fn a_gang_may_have_some_members_on_what_it_prefers_less() {
    let mut cluster = switched(2, 2);
    let mut other = cluster.shapes[0].clone();
    other.kind.model = 1;
    cluster.models.push("A100".to_owned());
    cluster.shapes.push(other);
    cluster.nodes[1].shape = 1;
    let mut desk = Desk::new("best-fit", cluster);
    let ask = Ask { fallback: vec![Models(0b10)], ..Ask::of(Pod { models: Models(0b01), ..pod(8) }) };
    let job = desk.start(need(vec![Group::rigid("worker", ask, 2)]));
    assert!(desk.runs(job));
}

/// volcano-sh/volcano#1959: two GPUs are free, the gang of two stays pending. They are on two nodes, and a third pod of
/// the same gang would not fit.
#[test]
fn a_gang_that_fits_exactly_starts() {
    for strategy in STRATEGIES {
        let mut desk = Desk::new(strategy.name, switched(2, 1));
        desk.submit(gang(2, 7));
        desk.decide();
        let three = desk.start(gang(3, 1));
        assert!(desk.has_nothing(three), "{}", strategy.name);
        desk.event(Event::Ended(three, weft_scheduler::policy::End::Cancelled));
        let two = desk.start(gang(2, 1));
        assert!(desk.runs(two), "{}", strategy.name);
    }
}

/// koordinator-sh/koordinator#1790, volcano-sh/volcano#3291: all members but one have room, the last one must put another
/// job out; the gang's check forbids that, or the free nodes are not counted, and it waits for ever.
#[test]
fn a_gang_of_which_one_member_lacks_room_puts_one_job_out() {
    let mut desk = Desk::new("priority", switched(4, 2));
    let low = desk.start(gang(1, 8));
    let high = desk.submit_important(gang(4, 8), 1);
    desk.decide();
    assert!(desk.runs(high));
    assert_eq!(desk.evictions, [low]);
}

/// armadaproject/armada#2268: of a gang that is put out some members stay where they were, since nobody knows their nodes.
#[test]
fn a_gang_that_is_put_out_leaves_all_its_nodes() {
    let mut desk = Desk::new("priority", racked(2, 1));
    let low = desk.start(gang(2, 8));
    let high = desk.submit_important(gang(1, 8), 1);
    desk.decide();
    assert!(desk.runs(high) && desk.has_nothing(low));
    let other = desk.start(gang(1, 8));
    assert!(desk.runs(other), "the second node is free");
    assert!(desk.agrees());
}
