//! Every algorithm with a message of 64 MiB.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail")]

use std::time::Duration;

use weft_collective::{ALGORITHMS, Call, Collective, Counts, Rank, Terrain};
use weft_runtime::transports::shared_memory::{Settings, SharedMemory};
use weft_runtime::{Choice, Communicator, Element, Reduction};

/// Numbers of 32 bits in 64 MiB.
const ALL: usize = 16 << 20;

/// What a rank brings at a place: all places and all ranks differ.
fn brought(rank: u32, at: usize) -> i32 {
    u32::try_from(at).unwrap().wrapping_mul(rank * 2 + 1).cast_signed()
}

/// The sum of what all ranks bring: their factors are 1, 3, 5 and so on, whose sum is a square.
fn sum(ranks: u32, at: usize) -> i32 {
    u32::try_from(at).unwrap().wrapping_mul(ranks * ranks).cast_signed()
}

/// A rank's part of a call, and whether it ends with what it must.
fn plays(group: &mut Communicator<SharedMemory>, collective: Collective, (rank, ranks): (u32, u32)) -> bool {
    let part = ALL / ranks as usize;
    let own = |count: usize| (0..count).map(|at| brought(rank, at)).collect::<Vec<i32>>();
    let is =
        |data: &[i32], right: &dyn Fn(usize) -> i32| (0..).zip(data).all(|(at, number)| *number == right(at));
    match collective {
        Collective::AllReduce => {
            let mut data = own(ALL);
            group.all_reduce(&mut data, Reduction::Sum).unwrap();
            is(&data, &|at| sum(ranks, at))
        }
        Collective::Reduce => {
            let mut data = own(ALL);
            group.reduce(&mut data, Reduction::Sum, Rank::new(0)).unwrap();
            rank > 0 || is(&data, &|at| sum(ranks, at))
        }
        Collective::ReduceScatter => {
            let (all, mut mine) = (own(ALL), vec![0; part]);
            group.reduce_scatter(&all, &mut mine, Reduction::Sum).unwrap();
            is(&mine, &|at| sum(ranks, rank as usize * part + at))
        }
        Collective::AllGather => {
            let (mine, mut all) = (own(part), vec![0; ALL]);
            group.all_gather(&mine, &mut all).unwrap();
            is(&all, &|at| brought(u32::try_from(at / part).unwrap(), at % part))
        }
        Collective::Broadcast => {
            let mut data = own(ALL);
            group.broadcast(&mut data, Rank::new(ranks - 1)).unwrap();
            is(&data, &|at| brought(ranks - 1, at))
        }
        Collective::AllToAll => {
            let (from, mut into) = (own(ALL), vec![0; ALL]);
            group.all_to_all(&from, &mut into).unwrap();
            is(&into, &|at| brought(u32::try_from(at / part).unwrap(), rank as usize * part + at % part))
        }
        Collective::SendRecv | Collective::Barrier => true,
    }
}

fn call(collective: Collective, ranks: u32) -> Call {
    let whole = matches!(collective, Collective::AllReduce | Collective::Reduce | Collective::Broadcast);
    let count = if whole { ALL } else { ALL / ranks as usize };
    let counts = Counts::Even(count as u64);
    Call { counts, data_type: Element::I32.data_type(), in_place: whole, ..Call::bytes(collective, 0) }
}

#[test]
fn every_algorithm_moves_64_mebibytes() {
    let mut played = 0;
    for ranks in [2, 4] {
        let terrain = Terrain::flat(ranks);
        let cases: Vec<(&str, Collective)> = ALGORITHMS
            .iter()
            .flat_map(|entry| entry.collectives().iter().map(move |collective| (entry, *collective)))
            .filter(|(entry, collective)| entry.suits(&call(*collective, ranks), &terrain).is_ok())
            .map(|(entry, collective)| (entry.name(), collective))
            .collect();
        played += cases.len();
        let settings = Settings::default();
        let region = SharedMemory::create(ranks as usize, &settings).unwrap();
        std::thread::scope(|scope| {
            for rank in 0..ranks {
                let (region, cases, settings) = (&region, &cases, &settings);
                scope.spawn(move || {
                    let (me, patience) = (Rank::new(rank), Duration::from_secs(60));
                    let transport = SharedMemory::join(region, me, patience, settings).unwrap();
                    let choice = Choice::Named("ring".to_owned());
                    let mut group = Communicator::new(me, Terrain::flat(ranks), transport, choice);
                    for (algorithm, collective) in cases {
                        group.choose(Choice::Named((*algorithm).to_owned()));
                        let is_right = plays(&mut group, *collective, (rank, ranks));
                        assert!(is_right, "{algorithm}, {}, rank {rank} of {ranks}", collective.name());
                    }
                });
            }
        });
    }
    assert!(played > 40, "{played}");
}
