use std::time::Duration;

use weft_collective::{ALGORITHMS, Algorithm, Call, Collective, Counts, Rank, Terrain};

use super::choice::Chosen;
use super::*;
use crate::transports::shared_memory::{Settings, SharedMemory};

/// What a rank ends with of a call by an algorithm in so many parts. Elements are counted, so that those of different
/// places differ.
fn played(
    group: &mut Communicator<SharedMemory>,
    (call, entry, parts): (&Call, &'static dyn Algorithm, u32),
) -> Vec<u8> {
    let wanted = Wanted::of(call, Element::I32, Reduction::Sum);
    let chosen = Chosen { entry, tuning: None, parts };
    group.prepared = vec![Prepared::new(&wanted, group.rank, &group.terrain, chosen).unwrap()];
    group.last = 0;
    group.make_scratch();
    let (input, output) = group.lengths(call);
    let rank = i32::try_from(group.rank.get()).unwrap();
    let numbers = |bytes: usize| -> Vec<u8> {
        (0..i32::try_from(bytes / 4).unwrap()).flat_map(|at| (at * 8 + rank).to_ne_bytes()).collect()
    };
    let (input, mut output) = (numbers(input), numbers(output));
    group.call(call, (Element::I32, Reduction::Sum), &input, &mut output).unwrap();
    let ends = call.collective != Collective::Reduce || group.rank == call.root;
    if ends { output } else { Vec::new() }
}

#[test]
fn in_parts_every_algorithm_gives_what_it_gives_as_a_whole() {
    let mut cases = Vec::new();
    for (collective, in_place) in [Collective::AllReduce, Collective::Broadcast, Collective::Reduce]
        .map(|one| [(one, false), (one, true)])
        .concat()
    {
        let call = Call { counts: Counts::Even(37), in_place, ..Call::bytes(collective, 0) };
        let call = Call { data_type: Element::I32.data_type(), ..call };
        cases.extend(ALGORITHMS.iter().map(|entry| (call.clone(), *entry)));
    }
    for ranks in [2, 3, 4] {
        let settings = Settings { part_bytes: 16, registered_from_bytes: 16, ..Settings::default() };
        let (region, terrain) =
            (SharedMemory::create(ranks as usize, &settings).unwrap(), Terrain::flat(ranks));
        std::thread::scope(|scope| {
            for rank in (0..ranks).map(Rank::new) {
                let (region, terrain, cases) = (&region, &terrain, &cases);
                scope.spawn(move || {
                    let transport =
                        SharedMemory::join(region, rank, Duration::from_secs(5), &settings).unwrap();
                    let choice = Choice::Named("ring".to_owned());
                    let mut group = Communicator::new(rank, terrain.clone(), transport, choice);
                    let mut count = 0;
                    for (call, entry) in
                        cases.iter().filter(|(call, entry)| entry.suits(call, terrain).is_ok())
                    {
                        let whole = played(&mut group, (call, *entry, 1));
                        for parts in [2, 3, 5] {
                            let cut = played(&mut group, (call, *entry, parts));
                            assert_eq!(cut, whole, "{}, {call:?}, {parts}", entry.name());
                            count += 1;
                        }
                    }
                    assert!(count > 30, "{count}");
                });
            }
        });
    }
}
