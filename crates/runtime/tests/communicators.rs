//! Collectives between threads over shared memory.
#![allow(clippy::unwrap_used, clippy::panic, clippy::wildcard_enum_match_arm, reason = "tests may fail")]

mod common;

use std::time::Duration;

use common::cases::{cases, plays_all};
use weft_collective::{Call, Collective, Counts, Rank, Terrain};
use weft_runtime::transports::shared_memory::{Settings, SharedMemory};
use weft_runtime::{
    Choice, Communicator, Element, Fault, Joining, Listening, Meeting, Place, Reduction, Tcp, TcpSettings,
    bf16, f16, meet,
};

/// Does the same on every rank, each on a thread of its own; what each gives, in the order of ranks.
fn together<R: Send>(
    ranks: u32,
    algorithm: &str,
    work: impl Fn(&mut Communicator<SharedMemory>) -> R + Sync,
) -> Vec<R> {
    together_by(ranks, algorithm, Settings::default(), work)
}

/// The same by other settings.
fn together_by<R: Send>(
    ranks: u32,
    algorithm: &str,
    settings: Settings,
    work: impl Fn(&mut Communicator<SharedMemory>) -> R + Sync,
) -> Vec<R> {
    let region = SharedMemory::create(ranks as usize, &settings).unwrap();
    std::thread::scope(|scope| {
        let member = |rank| {
            let (region, work, settings) = (&region, &work, &settings);
            let choice = Choice::Named(algorithm.to_owned());
            scope.spawn(move || {
                let transport =
                    SharedMemory::join(region, Rank::new(rank), Duration::from_secs(5), settings).unwrap();
                work(&mut Communicator::new(Rank::new(rank), Terrain::flat(ranks), transport, choice))
            })
        };
        let members: Vec<_> = (0..ranks).map(member).collect();
        members.into_iter().map(|member| member.join().unwrap()).collect()
    })
}

#[test]
fn sums_come_to_all() {
    for (ranks, elements) in [(1, 5), (2, 1), (2, 100_000), (3, 7), (4, 1000)] {
        let sums = together(ranks, "ring", |group| {
            let mut data = vec![group.rank().get().cast_signed() + 1; elements];
            group.all_reduce(&mut data, Reduction::Sum).unwrap();
            data
        });
        let sum = (ranks * (ranks + 1) / 2).cast_signed();
        assert!(sums.iter().all(|data| data.iter().all(|value| *value == sum)), "{ranks}, {elements}");
    }
}

#[test]
fn halves_are_numbers_like_all_others() {
    let means = together(2, "ring", |group| {
        let number = u8::try_from(group.rank().get()).unwrap();
        let rank = f32::from(number);
        let mut half = group.buffer::<f16>(3).unwrap();
        half.fill(f16::from_f32(1.5 + rank));
        group.all_reduce(&mut half, Reduction::Average).unwrap();
        let mut brain = [bf16::from_f32(4.0 + rank); 5];
        group.all_reduce(&mut brain, Reduction::Average).unwrap();
        let mut bytes = [6 + number];
        group.all_reduce(&mut bytes, Reduction::Average).unwrap();
        (half.to_vec(), brain, bytes)
    });
    // (1.5 + 2.5) / 2, (4 + 5) / 2, (6 + 7) / 2 towards zero.
    for (half, brain, bytes) in means {
        assert_eq!(half, [f16::from_f32(2.0); 3]);
        assert_eq!(brain, [bf16::from_f32(4.5); 5]);
        assert_eq!(bytes, [6]);
    }
}

/// Sums of numbers that differ by rank and place, from buffers that others may read, smaller and larger than a page,
/// a large page, and what is given over at once; all of a buffer, and a part that begins anywhere.
#[test]
fn data_in_shared_buffers_is_combined_like_any_other() {
    for (ranks, algorithm) in [(2, "direct"), (2, "recursive-doubling"), (3, "ring"), (4, "rabenseifner")] {
        together(ranks, algorithm, |group| {
            let rank = i64::from(group.rank().get());
            for elements in [1, 100, 1000, 100_000, 700_000] {
                let mut buffer = group.buffer::<i64>(elements + 7).unwrap();
                assert!(buffer.is_shared() && buffer.iter().all(|number| *number == 0));
                for part in [0..elements, 7..elements + 7] {
                    let data = &mut buffer[part];
                    (0..).zip(&mut *data).for_each(|(at, number): (i64, _)| *number = at * (rank + 1));
                    group.all_reduce(data, Reduction::Sum).unwrap();
                    let ranks = i64::from(ranks);
                    let right = |at: i64| at * ranks * (ranks + 1) / 2;
                    assert!(
                        (0..).zip(&*data).all(|(at, number)| *number == right(at)),
                        "{algorithm}, {elements}"
                    );
                }
            }
        });
    }
}

#[test]
fn a_barrier_holds_nobody_back_for_ever() {
    for ranks in 1..=4 {
        together(ranks, "ring", |group| {
            for _ in 0..100 {
                group.barrier().unwrap();
            }
        });
    }
}

#[test]
fn what_a_message_takes_is_the_same_for_all() {
    let speeds = together(3, "ring", |group| {
        let speeds = group.calibrate().unwrap();
        group.barrier().unwrap();
        (speeds, group.algorithm().to_owned())
    });
    assert!(speeds.iter().all(|other| *other == speeds[0]), "{speeds:?}");
}

#[test]
fn every_algorithm_gives_over_shared_memory_what_its_plan_says_bit_by_bit() {
    let mut played = 0;
    for ranks in 1..=8 {
        let cases = cases(ranks);
        let counts = together(ranks, "ring", |group| plays_all(group, &cases, false));
        assert!(counts.iter().all(|count| *count == cases.len()));
        played += cases.len();
    }
    println!("{played} plans");
    assert!(played > 1000);
}

/// Past the caches, and read where they are: what is sent, what is passed on, and what plans need besides.
#[test]
fn every_algorithm_gives_the_same_past_the_caches_and_from_registered_buffers() {
    let settings = Settings {
        streamed_from_bytes: 64,
        registered_from_bytes: 64,
        part_bytes: 256,
        ..Settings::default()
    };
    for ranks in [2, 3, 4, 7] {
        let cases = cases(ranks);
        for registered in [false, true] {
            let counts = together_by(ranks, "ring", settings, |group| plays_all(group, &cases, registered));
            assert!(counts.iter().all(|count| *count == cases.len()));
        }
    }
}

#[test]
fn buffers_of_one_kind_on_all_ranks_are_chosen_for_and_others_are_named() {
    let call = Call { counts: Counts::Even(4096), in_place: true, ..Call::bytes(Collective::AllReduce, 0) };
    let by = (Element::U8, Reduction::Max);
    let run = |shared: fn(u32) -> bool| {
        together(2, "ring", |group| {
            group.calibrate().unwrap();
            let mut buffer = group.buffer::<u8>(4096).unwrap();
            let mut own = vec![1; 4096];
            buffer.fill(1);
            let data = if shared(group.rank().get()) { &mut buffer[..] } else { &mut own[..] };
            group.call(&call, by, &[], data)
        })
    };
    assert!(run(|_| true).iter().chain(&run(|_| false)).all(Result::is_ok));
    let mixed = run(|rank| rank == 0);
    assert!(
        mixed.iter().any(|ended| matches!(ended, Err(Fault::Differs { theirs, ours, .. })
            if format!("{theirs}{ours}").contains("registered buffers"))),
        "{mixed:?}"
    );
}

#[test]
fn every_algorithm_gives_over_tcp_what_its_plan_says_bit_by_bit() {
    for ranks in 1..=8_u32 {
        let cases = cases(ranks);
        let place = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        std::thread::scope(|scope| {
            let member = |rank| {
                let (cases, place) = (&cases, Place::Address(place.to_string()));
                scope.spawn(move || {
                    let settings = TcpSettings::default();
                    let (rank, listening) = (Rank::new(rank), Listening::open(&settings).unwrap());
                    let meeting = Meeting::new(place, rank, ranks);
                    let roster = meet(&meeting, listening.endpoints().to_vec(), "plans").unwrap();
                    let transport = Tcp::connect(listening, &roster, rank, settings).unwrap();
                    let choice = Choice::Named("ring".to_owned());
                    plays_all(
                        &mut Communicator::new(rank, Terrain::flat(ranks), transport, choice),
                        cases,
                        false,
                    )
                })
            };
            let members: Vec<_> = (0..ranks).map(member).collect();
            assert!(members.into_iter().all(|member| member.join().unwrap() == cases.len()));
        });
    }
}

#[test]
fn ranks_that_know_only_a_place_share_memory_or_use_tcp() {
    for (only_tcp, over) in [(false, "shared memory"), (true, "TCP")] {
        let file = std::env::temp_dir().join(format!("weft-join-{}-{only_tcp}", std::process::id()));
        let sums: Vec<(f64, String)> = std::thread::scope(|scope| {
            let member = |rank: u32| {
                let joining = Joining { only_tcp, ..Joining::new(Place::File(file.clone()), rank, 3) };
                scope.spawn(move || {
                    let mut group = Communicator::join(&joining).unwrap();
                    let mut data = [f64::from(rank) + 0.5];
                    group.all_reduce(&mut data, Reduction::Sum).unwrap();
                    (data[0], group.transport().describe())
                })
            };
            let members: Vec<_> = (0..3).map(member).collect();
            members.into_iter().map(|member| member.join().unwrap()).collect()
        });
        // 0.5 + 1.5 + 2.5, exact.
        assert!(
            sums.iter().all(|(sum, how)| sum.to_bits() == 4.5_f64.to_bits() && how.starts_with(over)),
            "{sums:?}"
        );
        let _ = std::fs::remove_file(file);
    }
}
