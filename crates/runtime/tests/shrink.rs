//! Ranks die and are stopped, and those who are left go on as a smaller group, whose sums are right.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::wildcard_enum_match_arm, reason = "tests may fail")]
#![allow(clippy::disallowed_methods, reason = "the ranks are told by the environment who they are")]

#[path = "common/group.rs"]
mod group;
#[path = "common/member.rs"]
mod member;

use std::sync::Barrier;
use std::time::{Duration, Instant};

use group::{fresh_path, ranks};
use member::{DEADLINE, PATIENCE, Rig, adds_up};
use weft_runtime::Fault;

const OVER: [&str; 2] = ["shared", "tcp"];

/// Not a test of its own: what the other processes do.
#[test]
fn child() {
    member::child();
}

#[test]
fn those_who_are_left_go_on_whoever_dies() {
    for over in OVER {
        for victim in 0..3 {
            let mut rig = Rig::start(3, over, &fresh_path());
            let start = Instant::now();
            rig.signal(victim, "-KILL");
            let left: Vec<u32> = (0..3).filter(|rank| *rank != victim).collect();
            for rank in &left {
                let fault = rig.line(*rank, "fault ");
                assert!(fault.starts_with(&format!("rank {victim} is dead")), "{over}: {fault}");
                let shrunk = rig.line(*rank, "shrunk ");
                let list = format!("{},{} lost {victim}: ", left[0], left[1]);
                assert!(shrunk.starts_with(&list), "{over}: {shrunk}");
            }
            rig.all_right(&left);
            // Nobody waits for who is known to be dead.
            assert!(start.elapsed() < DEADLINE * 2, "{over}: {:?}", start.elapsed());
        }
    }
}

#[test]
fn a_second_death_is_survived_and_a_third() {
    for over in OVER {
        let mut rig = Rig::start(4, over, &fresh_path());
        for (victim, left) in [(1, vec![0, 2, 3]), (0, vec![2, 3]), (3, vec![2])] {
            rig.signal(victim, "-KILL");
            rig.all_right(&left);
        }
    }
}

#[test]
fn a_stopped_rank_is_left_out_and_disturbs_nobody_when_it_wakes() {
    for over in OVER {
        let mut rig = Rig::start(4, over, &fresh_path());
        rig.signal(2, "-STOP");
        let start = Instant::now();
        for rank in [0, 1, 3] {
            let fault = rig.line(rank, "fault ");
            assert!(fault.starts_with("rank 2 has not moved"), "{over}: {fault}");
        }
        rig.all_right(&[0, 1, 3]);
        // The deadline of the collective and that of the agreement.
        assert!(start.elapsed() < DEADLINE * 4, "{over}: {:?}", start.elapsed());
        rig.signal(2, "-CONT");
        let end = rig.line(2, "end ");
        assert!(end.starts_with("rank 2 is left out: "), "{over}: {end}");
        rig.signal(0, "-KILL");
        rig.all_right(&[1, 3]);
    }
}

#[test]
fn a_rank_that_dies_while_the_others_agree_is_left_out_too() {
    for over in OVER {
        let mut rig = Rig::start(4, over, &fresh_path());
        // Rank 3 does not answer, so that the others wait for it; then it dies.
        rig.signal(3, "-STOP");
        rig.signal(0, "-KILL");
        std::thread::sleep(Duration::from_millis(300));
        rig.signal(3, "-KILL");
        rig.all_right(&[1, 2]);
    }
}

#[test]
fn two_that_are_stopped_are_left_out_together_or_one_after_the_other() {
    for over in OVER {
        let mut rig = Rig::start(5, over, &fresh_path());
        rig.signal(0, "-STOP");
        rig.signal(4, "-STOP");
        rig.all_right(&[1, 2, 3]);
    }
}

#[test]
fn the_smaller_part_of_a_group_does_not_go_on_over_tcp() {
    // Rank 1 cannot know whether rank 0 is stopped or only cut off, and then the group may be there.
    let mut rig = Rig::start(2, "tcp", &fresh_path());
    rig.signal(0, "-STOP");
    let end = rig.line(1, "end ");
    assert!(end.starts_with("rank 1 is left out: 1 of 2 ranks are left here"), "{end}");
    // Over shared memory there is no cut.
    let mut rig = Rig::start(2, "shared", &fresh_path());
    rig.signal(0, "-STOP");
    rig.all_right(&[1]);
}

#[test]
fn without_a_death_all_go_on_and_who_asks_for_it_is_named() {
    for tcp in [false, true] {
        let path = fresh_path();
        let faults = ranks(3, |rank| {
            let mut group = member::group(&path, tcp, rank, 3, (Duration::from_secs(20), PATIENCE)).unwrap();
            let first = adds_up(&mut group, &[0, 1, 2]);
            let fault = if rank == 1 {
                first.unwrap();
                None
            } else {
                // Rank 1 may be done with the first, and ask, before this rank is.
                first.and_then(|()| adds_up(&mut group, &[0, 1, 2])).err()
            };
            let survivors = group.shrink(Duration::from_secs(20)).unwrap();
            assert_eq!((survivors.ranks(), survivors.rank.get(), survivors.lost.len()), (3, rank, 0));
            adds_up(&mut group, &[0, 1, 2]).unwrap();
            fault
        });
        for fault in [&faults[0], &faults[2]] {
            assert!(matches!(fault, Some(Fault::Abandoned { rank, .. }) if rank.get() == 1), "{fault:?}");
        }
    }
}

/// What this process has open, mapped and running: descriptors, mappings of shared memory, entries of `/dev/shm`,
/// threads.
fn held() -> [usize; 4] {
    let entries = |path: &str| std::fs::read_dir(path).map_or(0, Iterator::count);
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let shared = maps.lines().filter(|line| line.contains("weftwork")).count();
    [entries("/proc/self/fd"), shared, entries("/dev/shm"), entries("/proc/self/task")]
}

const LEAKS: &str = "WEFT_TEST_LEAKS";

/// Not a test of its own: ten groups of three become smaller twice and end, in a process in which nothing else happens.
#[test]
fn child_that_counts() {
    let Ok(over) = std::env::var(LEAKS) else { return };
    let before = held();
    for _ in 0..10 {
        let path = fresh_path();
        // Who leaves while another is still in a call makes that call fail: that is another test.
        let done = [3, 2, 1].map(Barrier::new);
        ranks(3, |rank| {
            let mut group =
                member::group(&path, over == "tcp", rank, 3, (Duration::from_secs(20), PATIENCE)).unwrap();
            adds_up(&mut group, &[0, 1, 2]).unwrap();
            done[0].wait();
            let mut ids = vec![0, 1, 2];
            for (last, done) in [2, 0].into_iter().zip(&done[1..]) {
                if rank == last {
                    return;
                }
                assert!(adds_up(&mut group, &ids).is_err());
                let survivors = group.shrink(Duration::from_secs(20)).unwrap();
                ids = survivors.former.iter().map(|former| ids[former.index()]).collect();
                adds_up(&mut group, &ids).unwrap();
                done.wait();
            }
        });
    }
    // A thread is still listed for a moment after it was joined, and other tests of this file come and go in /dev/shm.
    let patience = Instant::now() + Duration::from_secs(10);
    while held() != before && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(held(), before);
    println!("\ncounted");
}

#[test]
fn groups_that_became_smaller_leave_nothing_behind() {
    for over in OVER {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "child_that_counts", "--nocapture"]).env(LEAKS, over);
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        assert!(output.status.success() && text.contains("counted"), "{text}");
    }
}
