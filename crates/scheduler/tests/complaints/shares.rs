//! Parts of GPUs: fractions, and partitions of MIG.

use weft_scheduler::STRATEGIES;
use weft_scheduler::cluster::{Cluster, Slice};
use weft_scheduler::job::{Ask, Group, JobId, Need};

use crate::desk::{Desk, gang, need, one, share, single, switched};

/// Partitions of an A100 of 40 GB: places of memory where each may start (NVIDIA MIG user guide, table of profiles), and
/// its share of the seven compute slices.
fn profiles() -> Vec<Slice> {
    let slice = |name: &str, size: u32, starts: &[u32], seventh_count: u16| Slice {
        name: name.to_owned(),
        places: starts.iter().map(|start| u8::try_from(((1_u32 << size) - 1) << start).unwrap()).collect(),
        milli: 1000 * seventh_count / 7,
    };
    vec![
        slice("1g.5gb", 1, &[0, 1, 2, 3, 4, 5, 6], 1),
        slice("2g.10gb", 2, &[0, 2, 4], 2),
        slice("3g.20gb", 4, &[0, 4], 3),
        slice("4g.20gb", 4, &[0], 4),
        slice("7g.40gb", 8, &[0], 7),
    ]
}

fn cut(gpu_count: u8) -> Cluster {
    let mut cluster = single(gpu_count, |_, _| 1);
    cluster.shapes[0].slices = profiles();
    cluster
}

fn part(name: &str) -> Need {
    let milli = profiles().into_iter().find(|slice| slice.name == name).unwrap().milli;
    let ask = Ask { slice: Some(name.to_owned()), ..Ask::of(share(milli)) };
    need(vec![Group::rigid("part", ask, 1)])
}

fn start_all(desk: &mut Desk, names: &[&str]) -> Vec<JobId> {
    names.iter().map(|name| desk.start(part(name))).collect()
}

/// kai-scheduler/KAI-Scheduler#2153, #464: sixteen pods of half a GPU at once on eight GPUs give 4, 2, 2, 2, 1, 1, 1, 1,
/// and those on the fullest run out of memory; one by one it is right.
#[test]
fn half_gpu_pods_at_once_are_two_to_a_gpu() {
    for strategy in STRATEGIES {
        for is_at_once in [true, false] {
            let mut desk = Desk::new(strategy.name, switched(1, 1));
            desk.is_slow_to_start = is_at_once;
            let mut jobs = Vec::new();
            for _ in 0..16 {
                jobs.push(desk.submit(one(share(500))));
                if !is_at_once {
                    desk.decide();
                }
            }
            desk.decide();
            if is_at_once {
                for job in &jobs {
                    desk.comes_up(*job);
                }
            }
            assert!(desk.all_run(&jobs), "{}", strategy.name);
            let on = |gpu: u16| jobs.iter().filter(|job| desk.mask(**job) == 1 << gpu).count();
            assert_eq!((0..8).map(on).collect::<Vec<_>>(), [2; 8], "{}", strategy.name);
        }
    }
}

/// kai-scheduler/KAI-Scheduler#416: 24 pods of 2000 MiB are put on a GPU of 46,068 MiB. A part is 2000 / 46,068, rounded
/// up to thousandths: 44, of which 22 fit.
#[test]
fn parts_of_a_gpu_never_add_up_to_more_than_it() {
    let mut desk = Desk::new("best-fit", single(1, |_, _| 1));
    let part = u16::try_from(2_000_000_u32.div_ceil(46_068)).unwrap();
    let jobs: Vec<JobId> = (0..24).map(|_| desk.submit(one(share(part)))).collect();
    desk.decide();
    assert_eq!(desk.running(&jobs), 22);
    desk.end(jobs[0]);
    desk.decide();
    assert_eq!(desk.running(&jobs), 22, "as many again, and no more");
}

/// Project-HAMi/HAMi#2831: the smallest partitions are cut out of the middle, so that larger ones find no room though
/// enough is free. Three of 1g fit beside one of 4g; from the left they would take its only place.
#[test]
fn small_partitions_are_cut_from_the_edge() {
    let four = profiles().into_iter().find(|slice| slice.name == "4g.20gb").unwrap().places[0];
    assert!(four & 0b1 != 0, "the first place of 1g is in it");
    for names in [["1g.5gb", "1g.5gb", "1g.5gb", "4g.20gb"], ["2g.10gb", "1g.5gb", "4g.20gb", "1g.5gb"]] {
        let mut desk = Desk::new("best-fit", cut(1));
        let jobs = start_all(&mut desk, &names);
        // The last of the second list is the eighth of seven.
        let expected = if names[0] == "1g.5gb" { 4 } else { 3 };
        assert_eq!(desk.running(&jobs), expected, "{names:?}");
        assert!(desk.all_run(&jobs[..3]));
    }
}

/// Project-HAMi/HAMi#2831, kubernetes/kubernetes#138765: 3g can start in two places, 4g only in one of them.
#[test]
fn a_partition_with_a_choice_leaves_the_place_of_one_without() {
    let mut desk = Desk::new("best-fit", cut(1));
    let jobs = start_all(&mut desk, &["3g.20gb", "4g.20gb"]);
    assert!(desk.all_run(&jobs));
    let at = |job: JobId| desk.book.entry(job).seats[0].0.gpus.slots_row;
    assert_eq!((at(jobs[0]), at(jobs[1])), (0b1111_0000, 0b0000_1111), "the first place of 3g is that of 4g");
}

/// Project-HAMi/HAMi#2830, #948: a GPU that is cut has room, and another is cut for the next partition, so that nobody gets
/// a whole one.
#[test]
fn a_gpu_that_is_cut_is_used_up_before_another_is_cut() {
    let mut desk = Desk::new("best-fit", cut(2));
    let small = start_all(&mut desk, &["2g.10gb", "1g.5gb", "1g.5gb", "2g.10gb"]);
    let whole = desk.start(part("7g.40gb"));
    assert!(desk.all_run(&small) && desk.runs(whole));
    // What comes free is used again, in place.
    desk.end(small[0]);
    let again = desk.start(part("2g.10gb"));
    assert!(desk.runs(again));
    desk.end(whole);
    let gpu = desk.start(gang(1, 1));
    assert_eq!(desk.mask(gpu) & desk.mask(again), 0, "and the other is whole again");
}

/// Project-HAMi/HAMi#1054, #1044: partitions, parts and whole pods on one node get into each other's way: a GPU that is
/// shared is not cut, one that is cut is not shared.
#[test]
fn a_gpu_is_cut_or_shared_but_not_both() {
    let mut desk = Desk::new("best-fit", cut(3));
    let jobs = [desk.start(one(share(300))), desk.start(part("1g.5gb")), desk.start(gang(1, 1))];
    assert!(desk.all_run(&jobs));
    let masks = jobs.map(|job| desk.mask(job));
    assert_eq!(masks.iter().fold(0, |all, mask| all | mask), 0b111, "one each");
    let more = [desk.start(one(share(300))), desk.start(part("3g.20gb"))];
    assert_eq!(more.map(|job| desk.mask(job)), [masks[0], masks[1]]);
    let whole = desk.start(gang(1, 1));
    assert!(desk.has_nothing(whole));
}
