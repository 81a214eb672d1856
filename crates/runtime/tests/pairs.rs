//! All pairs of a group, measured by threads.
#![allow(clippy::unwrap_used, reason = "tests may fail")]
#![cfg(target_os = "linux")]

use weft_base::Bytes;
use weft_runtime::measure::{PairSeries, PairsMeasured, pairs};
use weft_runtime::{Communicator, Joining, Place};

fn measured(ranks: u32, only_tcp: bool, rounds: &[Vec<(u32, u32)>]) -> Vec<PairsMeasured> {
    let file = std::env::temp_dir().join(format!("weft-pairs-{}-{ranks}-{only_tcp}", std::process::id()));
    std::thread::scope(|scope| {
        let member = |rank: u32| {
            let place = Place::File(file.clone());
            let joining = Joining { only_tcp, calibrates: false, ..Joining::new(place, rank, ranks) };
            scope.spawn(move || {
                let mut group = Communicator::join(&joining).unwrap();
                let series = PairSeries { bytes: Bytes::new(65_537), repeats: 3 };
                let found = pairs(&mut group, rounds, &series).unwrap();
                // What comes after it is not out of step.
                group.barrier().unwrap();
                found
            })
        };
        let members: Vec<_> = (0..ranks).map(member).collect();
        members.into_iter().map(|member| member.join().unwrap()).collect()
    })
}

#[test]
fn every_pair_is_measured_in_both_directions_and_all_ranks_learn_it() {
    // Four ranks by hand, and three, of which one pauses in each round.
    let four = vec![vec![(0, 3), (1, 2)], vec![(0, 1), (2, 3)], vec![(0, 2), (1, 3)]];
    let three = vec![vec![(1, 2)], vec![(0, 1)], vec![(0, 2)]];
    for (ranks, rounds) in [(4_u32, four), (3, three)] {
        for only_tcp in [false, true] {
            let all = measured(ranks, only_tcp, &rounds);
            for (from, to) in (0..4_usize).flat_map(|from| (0..4_usize).map(move |to| (from, to))) {
                let (inside, seen) = (from.max(to) < ranks as usize && from != to, all[0].get(from, to));
                assert_eq!(seen.is_some(), inside, "{from} to {to} of {ranks}");
                let Some(seen) = seen else { continue };
                assert_eq!(seen.wrong_count, 0, "{from} to {to}");
                let (least, most) = seen.range_bytes_per_s;
                assert!(0.0 < least && least <= seen.bytes_per_s && seen.bytes_per_s <= most, "{seen:?}");
                assert!(seen.latency_s > 0.0, "{seen:?}");
                let back = all[0].get(to, from).unwrap();
                assert_eq!(seen.latency_s.to_bits(), back.latency_s.to_bits());
                assert!(all.iter().all(|other| other.get(from, to) == Some(seen)));
            }
        }
    }
}

#[test]
fn what_is_in_no_round_is_not_measured() {
    let all = measured(2, false, &[]);
    assert_eq!(all[0].get(0, 1), None);
}
