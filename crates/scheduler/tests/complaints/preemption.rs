//! Who is put out for whom.

use weft_scheduler::STRATEGIES;
use weft_scheduler::book::Queue;
use weft_scheduler::cluster::Level;
use weft_scheduler::job::{Ask, Group, JobId, QueueId};
use weft_scheduler::policy::{Policy as _, Reason};

use crate::desk::{Desk, gang, host, need, one, pod, racked, seconds, share, single, switched, within};

fn queue(name: &str, own_milli: u64) -> Queue {
    Queue { own_milli, ..Queue::named(name) }
}

/// One node of so many GPUs, which all reach each other.
fn box_of(gpu_count: u8) -> weft_scheduler::cluster::Cluster {
    single(gpu_count, |_, _| 1)
}

/// kai-scheduler/KAI-Scheduler#1591: every domain is full of less important work; the check before the search drops them
/// all, so a gang that must be in one domain puts nobody out.
#[test]
fn a_tied_gang_takes_one_full_domain_from_the_less_important() {
    let mut desk = Desk::new("priority", racked(6, 2));
    let low: Vec<JobId> = (0..6).map(|_| desk.start(gang(1, 8))).collect();
    let high = desk.submit_important(within(gang(2, 8), Level::Rack), 1);
    desk.decide();
    assert!(desk.runs(high));
    assert_eq!(desk.domains(high, Level::Rack).len(), 1);
    assert_eq!((desk.evictions.len(), desk.running(&low)), (2, 4));
}

/// kubernetes-sigs/kueue#10089: its queue has no quota left, and its domain no room: both can be had by putting others
/// out, of its own queue and of another. Nodes 0 and 1 are one rack, 2 and 3 another; A and B take turns on them.
#[test]
fn quota_and_room_can_both_be_had_by_putting_others_out() {
    let queues = vec![Queue { limit_milli: Some(16_000), ..Queue::named("A") }, Queue::named("B")];
    let mut desk = Desk::with_queues("priority", racked(4, 2), queues);
    let low: Vec<JobId> = [0, 1, 0, 1].map(|queue| desk.submit_to(queue, gang(1, 8))).to_vec();
    desk.decide();
    assert_eq!(low.iter().map(|job| desk.node(*job)).collect::<Vec<_>>(), [0, 1, 2, 3]);
    let high = desk.submit_as(QueueId(0), within(gang(2, 8), Level::Rack), 1, None);
    desk.decide();
    assert!(desk.runs(high), "{:?}", desk.why(high));
    assert!(!desk.runs(low[0]) && !desk.runs(low[2]), "A has 16 GPUs at most");
    assert_eq!(desk.evictions.len(), 3, "and one of B stood in the rack");
}

/// kubernetes-sigs/kueue#14723: the one that puts others out finds another domain better in the next round, and those that
/// left the first have left in vain.
#[test]
fn who_puts_others_out_goes_where_they_left() {
    let mut desk = Desk::new("priority", racked(4, 2));
    let low: Vec<JobId> = (0..4).map(|_| desk.start(gang(1, 8))).collect();
    desk.is_slow_to_leave = true;
    let high = desk.submit_important(within(gang(2, 8), Level::Rack), 1);
    desk.decide();
    let leaving = desk.evictions.clone();
    let others: Vec<JobId> = low.into_iter().filter(|job| !leaving.contains(job)).collect();
    let target = desk.node(leaving[0]) / 2;
    desk.leaves(leaving[0]);
    for job in others {
        desk.end(job);
    }
    desk.decide();
    assert!(!desk.runs(high));
    desk.leaves(leaving[1]);
    desk.decide();
    assert!(desk.runs(high));
    assert_eq!(desk.domains(high, Level::Rack).into_iter().collect::<Vec<_>>(), [target]);
    assert_eq!(desk.evictions.len(), 2);
}

/// kubernetes-sigs/kueue#13797: of two that are put out one leaves early, comes back to what it left, and is put out
/// again; then the other does.
#[test]
fn who_left_early_does_not_come_back_before_the_last_has_left() {
    for strategy in ["priority", "fair"] {
        let queues = vec![queue("lender", 16_000), queue("borrower", 0)];
        let mut desk = Desk::with_queues(strategy, switched(2, 2), queues);
        let low = [desk.submit_to(1, gang(1, 8)), desk.submit_to(1, gang(1, 8))];
        desk.decide();
        desk.is_slow_to_leave = true;
        let high = desk.submit_as(QueueId(0), gang(2, 8), 1, None);
        desk.decide();
        assert_eq!(desk.evictions.len(), 2, "{strategy}");
        for (time, victim) in [(30, low[1]), (600, low[0])] {
            desk.now = seconds(time);
            desk.leaves(victim);
            desk.decide();
            assert!(desk.has_nothing(victim), "{strategy}: it has come back");
        }
        assert!(desk.runs(high), "{strategy}");
        assert_eq!(desk.evictions.len(), 2, "{strategy}");
    }
}

/// kubernetes-sigs/kueue#3779: A and B may take back 3 of 6 GPUs, the third queue nothing. A has 5, the third 1; another
/// pod of A puts the third out, which comes back since its share is smaller, and so on for ever.
#[test]
fn who_has_more_than_its_own_puts_nobody_out() {
    let queues = vec![queue("A", 3000), queue("B", 3000), queue("best-effort", 0)];
    let mut desk = Desk::with_queues("fair", box_of(6), queues);
    let first = desk.submit_to(0, gang(1, 5));
    let best_effort = desk.submit_to(2, gang(1, 1));
    desk.decide();
    let second = desk.submit_to(0, gang(1, 1));
    desk.run_until(600);
    assert!(desk.all_run(&[first, best_effort]) && !desk.runs(second));
    assert_eq!(desk.evictions, []);
}

/// kai-scheduler/KAI-Scheduler#1750, kubernetes-sigs/kueue#3779 in its other half: what B may take back is in one job of A
/// that is larger than what A has beyond its own. It gives way, once.
#[test]
fn a_queue_gets_its_own_back_from_one_large_job() {
    let queues = vec![queue("A", 3000), queue("B", 3000), queue("best-effort", 0)];
    let mut desk = Desk::with_queues("fair", box_of(6), queues);
    let large = desk.submit_to(0, gang(1, 5));
    let best_effort = desk.submit_to(2, gang(1, 1));
    desk.decide();
    let own = desk.submit_to(1, gang(1, 3));
    desk.run_until(600);
    assert!(desk.all_run(&[own, best_effort]) && !desk.runs(large));
    assert_eq!(desk.evictions, [large]);
}

/// kai-scheduler/KAI-Scheduler#1750: of 7 GPUs a queue has 2 that are its own, another has 5 where 2 are its own. The
/// first is looked at first, may not be touched, and with that the search ends.
#[test]
fn a_queue_that_keeps_its_own_does_not_hide_one_that_borrows() {
    let child = |name: &str, own_milli| Queue { parent: Some(QueueId(0)), ..queue(name, own_milli) };
    let parent = queue("organisation", 6000);
    let queues = vec![parent, child("reclaimer", 4000), child("batch", 2000), queue("protected", 2000)];
    let mut desk = Desk::with_queues("fair", box_of(7), queues);
    let batch: Vec<JobId> = (0..5).map(|_| desk.submit_to(2, gang(1, 1))).collect();
    desk.decide();
    desk.now = seconds(60);
    let protected = desk.submit_as(QueueId(3), gang(1, 2), -5, None);
    desk.decide();
    let reclaimer = desk.submit_to(1, gang(1, 2));
    desk.decide();
    assert!(desk.all_run(&[protected, reclaimer]));
    assert_eq!(desk.running(&batch), 3);
}

/// kubernetes/kubernetes#70622: more are put out than need be. Three jobs of 1, 2 and 5 GPUs, the one of 5 first; four
/// GPUs are needed.
#[test]
fn no_more_are_put_out_than_need_be() {
    let mut desk = Desk::new("priority", switched(1, 1));
    let low = [5, 2, 1].map(|count| {
        desk.now = desk.now + seconds(10);
        desk.start(gang(1, count))
    });
    let high = desk.submit_important(gang(1, 4), 1);
    desk.decide();
    assert!(desk.runs(high));
    assert_eq!(desk.evictions, [low[0]], "the latest two would not have been enough");
}

/// kubernetes/kubernetes#70622, with its priorities 1 to 4: of those that could stay the more important stays. Jobs of 3,
/// 3 and 5 GPUs; eight are needed: 5 and either of 3.
#[test]
fn the_more_important_of_two_victims_is_spared() {
    let mut desk = Desk::new("priority", box_of(11));
    let jobs = [(1, 3), (2, 3), (3, 5)].map(|(priority, count)| {
        let job = desk.submit_important(gang(1, count), priority);
        desk.decide();
        job
    });
    let high = desk.submit_important(gang(1, 8), 4);
    desk.decide();
    assert!(desk.all_run(&[high, jobs[1]]));
    // In the end the right ones run even if the wrong ones were put out: the wrong one comes back for the right one.
    assert_eq!(desk.evictions, [jobs[0], jobs[2]]);
}

/// kubernetes/kubernetes#129136: the node with the more important victim is chosen. The less important one has run for an
/// hour, so that putting it out costs more.
#[test]
fn the_node_with_the_least_important_victims_is_chosen() {
    let mut desk = Desk::new("priority", switched(2, 2));
    let old = desk.submit_important(gang(1, 8), 1);
    desk.decide();
    desk.now = seconds(3600);
    let new = desk.submit_important(gang(1, 8), 2);
    desk.decide();
    desk.now = seconds(3660);
    let high = desk.submit_important(gang(1, 8), 3);
    desk.decide();
    assert!(desk.all_run(&[high, new]));
    assert_eq!(desk.evictions, [old]);
}

/// kubernetes-sigs/kueue#6929, #6947, #8064: one job that can never fit puts others out for ever, keeps all others waiting,
/// or is tried forty times a second.
#[test]
fn a_job_that_can_never_fit_disturbs_nobody() {
    for strategy in STRATEGIES {
        let mut desk = Desk::new(strategy.name, racked(4, 2));
        let low: Vec<JobId> = (0..3).map(|_| desk.submit(gang(1, 8))).collect();
        desk.decide();
        let never = desk.submit_important(within(gang(3, 8), Level::Rack), 100);
        desk.decide();
        let behind = desk.submit(gang(1, 8));
        desk.decide();
        assert!(desk.all_run(&low) && desk.runs(behind), "{}", strategy.name);
        assert_eq!(desk.evictions, [], "{}", strategy.name);
        assert!(matches!(desk.why(never)[..], [Reason::Never(_)]), "{}", strategy.name);
    }
    let mut desk = Desk::new("priority", racked(4, 2));
    desk.submit_important(within(gang(3, 8), Level::Rack), 100);
    desk.decide();
    assert_eq!(desk.planner.again(), None, "there is nothing to try again");
}

/// kubernetes-sigs/kueue#6929 with quota: a job that asks for more than its queue may ever have stops the line.
#[test]
fn a_job_beyond_the_limit_of_its_queue_does_not_stop_the_line() {
    let queues = vec![Queue { limit_milli: Some(8000), ..Queue::named("small") }, Queue::named("other")];
    let mut desk = Desk::with_queues("fifo", switched(4, 4), queues);
    let beyond = desk.submit_to(0, gang(2, 8));
    let behind = [desk.submit_to(0, gang(1, 8)), desk.submit_to(1, gang(1, 8))];
    desk.decide();
    assert!(desk.all_run(&behind) && !desk.runs(beyond));
    assert!(matches!(desk.why(beyond)[..], [Reason::Quota { limit_milli: 8000, .. }]));
}

/// kubernetes-sigs/kueue#3210: whoever counts quota alone puts out jobs on nodes where that does not help. Each node has
/// one job that would go and one that stays.
#[test]
fn nobody_is_put_out_where_that_does_not_help() {
    let mut desk = Desk::new("priority", switched(3, 3));
    let stays: Vec<JobId> = (0..3).map(|_| desk.submit_important(gang(1, 5), 9)).collect();
    desk.decide();
    let goes: Vec<JobId> = (0..3).map(|_| desk.submit_important(gang(1, 3), 0)).collect();
    desk.decide();
    let waits = [desk.submit_important(gang(1, 8), 5), desk.submit_important(gang(4, 3), 5)];
    desk.decide();
    assert!(desk.all_run(&stays) && desk.all_run(&goes));
    assert!(waits.iter().all(|job| desk.has_nothing(*job)));
    assert_eq!(desk.evictions, []);
    let helped = desk.submit_important(gang(3, 3), 5);
    desk.decide();
    assert!(desk.runs(helped) && desk.evictions.len() == 3, "nine GPUs on three nodes do help");
}

/// kubernetes-sigs/kueue#10497, marin-community/marin#6675: what keeps a pod of eight GPUs off the node is one that has the
/// GPUs and one that has the cores; only the first is put out.
#[test]
fn a_pod_without_gpus_gives_way_too() {
    let mut desk = Desk::new("priority", switched(1, 1));
    let low = [desk.start(gang(1, 8)), desk.start(one(host(80_000)))];
    let large = Group::rigid("large", Ask::of(weft_scheduler::Pod { cpu_milli: 48_000, ..pod(8) }), 1);
    let high = desk.submit_as(QueueId(0), need(vec![large]), 1, None);
    desk.decide();
    assert!(desk.runs(high));
    assert_eq!(desk.running(&low), 0);
}

/// kubernetes-sigs/kueue#14998: two that put others out in one round choose the same victims, and the second gets nothing.
#[test]
fn two_that_put_others_out_at_once_choose_different_victims() {
    let mut desk = Desk::new("priority", switched(2, 2));
    let low = [desk.start(gang(1, 8)), desk.start(gang(1, 8))];
    desk.is_slow_to_leave = true;
    let high = [desk.submit_important(gang(1, 8), 1), desk.submit_important(gang(1, 8), 1)];
    desk.decide();
    assert_eq!(desk.evictions.len(), 2);
    assert_ne!(desk.evictions[0], desk.evictions[1]);
    for job in low {
        desk.leaves(job);
    }
    desk.decide();
    assert!(desk.all_run(&high));
    assert_ne!(desk.node(high[0]), desk.node(high[1]));
}

/// kai-scheduler/KAI-Scheduler#1369: a request for parts of two GPUs is counted as one part, and exceeds what its queue
/// may have: twice 0.6 GPU of 1.
#[test]
fn parts_of_two_gpus_count_twice() {
    let queues = vec![Queue { limit_milli: Some(1000), ..Queue::named("small") }];
    let mut desk = Desk::with_queues("best-fit", switched(1, 1), queues);
    let part = Group::rigid("part", Ask::of(share(600)), 2);
    let two = desk.start(need(vec![part.clone()]));
    assert!(!desk.runs(two));
    assert!(matches!(desk.why(two)[..], [Reason::Quota { used_milli: 0, limit_milli: 1000, .. }]));
    let one = desk.start(need(vec![Group { least_count: 1, most_count: 1, ..part }]));
    assert!(desk.runs(one));
    assert_eq!(desk.book.used(QueueId(0)).gpu_milli, 600);
}

/// volcano-sh/volcano#2337: an important gang does not put others out. A less important one of the same shape waits
/// already, which could not.
#[test]
fn an_important_gang_puts_out_whom_its_like_could_not() {
    let mut desk = Desk::new("priority", switched(2, 2));
    let low = desk.start(gang(2, 8));
    let like = desk.start(gang(2, 8));
    assert!(desk.runs(low) && desk.has_nothing(like));
    let high = desk.submit_important(gang(2, 8), 1);
    desk.decide();
    assert!(desk.runs(high));
    assert_eq!(desk.evictions, [low]);
}

/// volcano-sh/volcano#2337 once more: the less important one was only coming up when the important one was looked at.
#[test]
fn who_was_coming_up_can_be_put_out_once_it_is_up() {
    let mut desk = Desk::new("priority", switched(1, 1));
    desk.is_slow_to_start = true;
    let low = desk.start(gang(1, 8));
    let high = desk.submit_important(gang(1, 8), 1);
    desk.decide();
    assert_eq!(desk.evictions, []);
    desk.is_slow_to_start = false;
    desk.comes_up(low);
    desk.decide();
    assert!(desk.runs(high));
}
