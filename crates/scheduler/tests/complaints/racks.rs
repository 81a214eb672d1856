//! Racks, leaves and NVLink domains.

use weft_scheduler::STRATEGIES;
use weft_scheduler::cluster::{Level, Taints};
use weft_scheduler::job::{Ask, Group, JobId};
use weft_scheduler::policy::Reason;
use weft_scheduler::{Models, Pod};

use crate::desk::{Desk, gang, host, near, need, pod, preferred, racked, required, single, switched, within};

/// volcano-sh/volcano#5189: the highest tier that is allowed is ignored, and a job that must be in one rack is in two.
#[test]
fn a_hard_limit_holds_however_much_is_free_elsewhere() {
    for strategy in STRATEGIES {
        let mut desk = Desk::new(strategy.name, racked(6, 3));
        // Two nodes are free in each rack.
        let blockers: Vec<JobId> = (0..6).map(|_| desk.start(gang(1, 8))).collect();
        for rack in 0..2 {
            let mut inside = blockers.iter().filter(|job| desk.runs(**job) && desk.node(**job) / 3 == rack);
            let two = [*inside.next().unwrap(), *inside.next().unwrap()];
            for job in two {
                desk.end(job);
            }
        }
        let job = desk.start(within(gang(3, 8), Level::Rack));
        assert!(desk.has_nothing(job), "{}", strategy.name);
        let why = desk.why(job);
        let [Reason::Lacks(lack)] = &why[..] else { panic!("{why:?}") };
        assert_eq!((lack.level, lack.best.iter().map(|(_, room)| *room).max()), (Level::Rack, Some(2)));
        let blocker = blockers.iter().find(|job| desk.runs(**job)).unwrap();
        desk.end(*blocker);
        desk.decide();
        assert_eq!(desk.domains(job, Level::Rack).len(), 1, "{}", strategy.name);
    }
}

/// volcano-sh/volcano#4343: three racks of two nodes, four workers that would like one rack. After the first two filled
/// one, all other nodes score the same, and the rest is on two racks.
#[test]
fn what_spills_over_is_kept_together_too() {
    for strategy in STRATEGIES {
        let mut desk = Desk::new(strategy.name, switched(6, 2));
        let job = desk.start(near(gang(4, 8), Level::Leaf));
        assert_eq!(desk.domains(job, Level::Leaf).len(), 2, "{}", strategy.name);
        // One node of each rack is half full, and the better fit for a member of half a node: six of them fit in two
        // racks, three in each.
        let mut desk = Desk::new(strategy.name, switched(6, 2));
        let mut halves: Vec<JobId> = (0..12).map(|_| desk.start(gang(1, 4))).collect();
        halves.sort_by_key(|job| desk.node(*job));
        for (at, job) in halves.into_iter().enumerate() {
            if at % 4 != 0 {
                desk.end(job);
            }
        }
        let job = desk.start(near(gang(6, 4), Level::Leaf));
        assert_eq!(desk.domains(job, Level::Leaf).len(), 2, "{}", strategy.name);
    }
}

/// volcano-sh/volcano#5205: nodes 4 and 6 of six are full, two to a rack; two workers that would like one rack are on
/// nodes 3 and 5.
#[test]
fn a_soft_limit_counts_from_the_first_member_on() {
    for strategy in STRATEGIES {
        let mut desk = Desk::new(strategy.name, switched(6, 2));
        let mut full: Vec<JobId> = (0..6).map(|_| desk.start(gang(1, 8))).collect();
        full.retain(|job| {
            [3, 5].contains(&desk.node(*job)) || {
                desk.end(*job);
                false
            }
        });
        assert_eq!(full.len(), 2);
        let job = desk.start(near(gang(2, 8), Level::Leaf));
        assert_eq!(desk.domains(job, Level::Leaf).into_iter().collect::<Vec<_>>(), [0], "{}", strategy.name);
    }
}

/// volcano-sh/volcano#5514: a master and two workers, both groups would like one rack each; the workers get two. One rack
/// has two nodes, the other one.
#[test]
fn a_group_that_likes_to_be_together_is_although_another_group_is_elsewhere() {
    let mut cluster = switched(4, 2);
    cluster.nodes.truncate(3);
    let mut desk = Desk::new("best-fit", cluster);
    let group = |name: &str, count| Group {
        within: Some(preferred(Level::Leaf)),
        ..Group::rigid(name, Ask::of(pod(8)), count)
    };
    let job = desk.start(need(vec![group("master", 1), group("worker", 2)]));
    assert_eq!(desk.ranks(job), [2, 0, 1]);
}

/// volcano-sh/volcano#4188: the workers of a server of models must be in one rack, the two that lead may be anywhere. Two
/// nodes are free in one rack and one in each of two others: those that lead must not take the two.
#[test]
fn only_those_are_tied_that_ask_for_it() {
    let mut cluster = racked(6, 2);
    cluster.nodes.remove(5);
    cluster.nodes.remove(3);
    let mut desk = Desk::new("best-fit", cluster);
    let leaders = Group::rigid("leader", Ask::of(pod(8)), 2);
    let workers = Group { within: Some(required(Level::Rack)), ..Group::rigid("worker", Ask::of(pod(8)), 2) };
    let job = desk.start(need(vec![leaders, workers]));
    assert_eq!(desk.ranks(job), [2, 3, 0, 1]);
}

/// kubernetes-sigs/kueue#7446: two nodes can take the leader; on one it costs fewer workers their places, on the other
/// there is less room for workers. Nodes have 11 and 8 cores; the leader needs 3, eight workers 2 each: on the first node
/// the leader leaves 4 places and the other has 4; on the second it leaves 2, and the first has 5.
#[test]
fn the_leader_goes_where_it_leaves_room_for_the_workers() {
    let mut cluster = racked(2, 2);
    cluster.shapes.push(cluster.shapes[0].clone());
    (cluster.shapes[0].kind.cpu_milli, cluster.shapes[1].kind.cpu_milli) = (11_000, 8_000);
    cluster.nodes[1].shape = 1;
    for strategy in STRATEGIES {
        let mut desk = Desk::new(strategy.name, cluster.clone());
        let leader = Group::rigid("leader", Ask::of(host(3000)), 1);
        let workers = Group::rigid("worker", Ask::of(host(2000)), 8);
        let job = desk.start(within(need(vec![leader, workers]), Level::Rack));
        assert!(desk.runs(job), "{}", strategy.name);
        assert_eq!(desk.ranks(job)[0], 0);
    }
}

/// kubernetes-sigs/kueue#10783: a rack has room for the workers, and for the leader, but not for both; it is chosen since
/// it is the tightest, and the assignment comes out empty.
#[test]
fn a_rack_that_holds_each_group_alone_but_not_both_is_passed_over() {
    let mut cluster = racked(6, 3);
    cluster.nodes.remove(2);
    let mut desk = Desk::new("topology", cluster);
    let leader = Group::rigid("leader", Ask::of(Pod { cpu_milli: 64_000, ..host(0) }), 1);
    let workers = Group::rigid("worker", Ask::of(Pod { cpu_milli: 64_000, ..pod(8) }), 2);
    let job = desk.start(within(need(vec![leader, workers]), Level::Rack));
    assert!(desk.runs(job));
    assert_eq!(desk.domains(job, Level::Rack).into_iter().collect::<Vec<_>>(), [1]);
}

/// kubernetes-sigs/kueue#15373, #15678: where the leader may run is not looked at, only where the workers may. The first
/// rack is tainted, the second in part; only workers bear the taint.
#[test]
fn the_leader_is_where_the_leader_may_be() {
    let mut cluster = racked(6, 3);
    cluster.taints.push("reserved".to_owned());
    for node in 0..5 {
        cluster.nodes[node].taints = Taints(0b1);
    }
    let mut desk = Desk::new("topology", cluster);
    let leader = Group::rigid("leader", Ask::of(pod(1)), 1);
    let bears = Ask { tolerates: Taints(0b1), ..Ask::of(pod(8)) };
    let job = desk.start(within(need(vec![leader.clone(), Group::rigid("worker", bears, 2)]), Level::Rack));
    assert!(desk.runs(job));
    assert_eq!(desk.ranks(job), [5, 3, 4]);
    let alone =
        desk.start(within(need(vec![Group { least_count: 9, most_count: 9, ..leader }]), Level::Rack));
    assert!(desk.has_nothing(alone), "seven are left on the only node that is not tainted");
}

/// volcano-sh/volcano#4331: jobs that each fit in a rack open all racks, and none is left for a larger one.
#[test]
fn a_small_job_goes_to_the_rack_with_least_room() {
    for strategy in STRATEGIES {
        let mut desk = Desk::new(strategy.name, racked(6, 2));
        let first = desk.start(within(gang(1, 8), Level::Rack));
        let second = desk.start(within(gang(1, 8), Level::Rack));
        assert_eq!(desk.node(first) / 2, desk.node(second) / 2, "{}", strategy.name);
        let large =
            [desk.start(within(gang(2, 8), Level::Rack)), desk.start(within(gang(2, 8), Level::Rack))];
        assert!(desk.all_run(&large), "{}", strategy.name);
    }
}

/// volcano-sh/volcano#4233: ranks talk in a ring; if they are strewn over two racks of three and two nodes the ring crosses
/// more than twice.
#[test]
fn ranks_that_follow_each_other_are_near_each_other() {
    for strategy in STRATEGIES {
        let mut cluster = switched(6, 3);
        cluster.nodes.truncate(5);
        let mut desk = Desk::new(strategy.name, cluster);
        let job = desk.start(gang(5, 8));
        let leaves: Vec<u32> = desk.ranks(job).into_iter().map(|node| node / 3).collect();
        let crossings = (0..5).filter(|rank| leaves[*rank] != leaves[(rank + 1) % 5]).count();
        assert_eq!(crossings, 2, "{}: {leaves:?}", strategy.name);
    }
}

/// kai-scheduler/KAI-Scheduler#577, kubernetes-sigs/kueue#10815: jobs of 16 and 17 nodes in one NVL72 of 18, of which some
/// are down: each domain is counted as if whole, or too few places are found in one that has them.
#[test]
fn a_job_of_many_nodes_gets_the_nvlink_domain_that_still_has_them() {
    let mut cluster = single(4, |_, _| 1);
    let node = cluster.nodes[0].clone();
    cluster.nodes = (0..54).map(|_| node.clone()).collect();
    for (at, node) in (0..).zip(&mut cluster.nodes) {
        (node.site.domain, node.site.rack) = (at / 18, at / 18);
    }
    let mut desk = Desk::new("topology", cluster);
    for down in [0, 1, 2, 20] {
        desk.health(down, weft_scheduler::stand::Health::Down);
    }
    let sets = Some((16, required(Level::Domain)));
    let group = Group { sets, ..Group::rigid("worker", Ask::of(Pod { models: Models::ANY, ..pod(4) }), 32) };
    let job = desk.start(need(vec![group]));
    assert_eq!(desk.domains(job, Level::Domain).into_iter().collect::<Vec<_>>(), [1, 2]);
    let small = desk.start(within(gang(15, 4), Level::Domain));
    assert_eq!(desk.domains(small, Level::Domain).into_iter().collect::<Vec<_>>(), [0]);
    desk.end(job);
    let whole = desk.start(within(gang(17, 4), Level::Domain));
    assert_eq!(desk.domains(whole, Level::Domain).into_iter().collect::<Vec<_>>(), [1], "17 of 18 are up");
}
