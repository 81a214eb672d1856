//! Every algorithm is proved: all its collectives, 1 to 17, 32 and 64 ranks, every size, in and out of place.

use std::collections::BTreeSet;

use weft_collective::{ALGORITHMS, Algorithm, Collective, Program, verify};

use crate::cases::{calls, name, terrains};

/// Proofs of an algorithm for a number of ranks: how many.
fn proved(algorithm: &dyn Algorithm, ranks: u32) -> u32 {
    let (mut proved, mut turn) = (0, 0);
    for collective in algorithm.collectives() {
        for case in calls(*collective, ranks) {
            let suited =
                terrains(ranks).into_iter().filter(|terrain| algorithm.suits(&case.1, terrain).is_ok());
            let mut suited: Vec<_> = suited.collect();
            if ranks > 17 && suited.len() > 1 {
                // The plainest or the one with most structure, in turns.
                turn += 1;
                let last = suited.len() - 1;
                suited = vec![suited.swap_remove(if turn % 2 == 0 { 0 } else { last })];
            }
            for terrain in suited {
                let plan = algorithm.plan(&case.1, &terrain);
                if let Err(violation) = verify(&plan, &case.1) {
                    panic!("{}: {violation}", name(algorithm, &case, &terrain));
                }
                proved += 1;
            }
        }
    }
    proved
}

fn all_proved(counts: &[u32], least: u32) {
    for algorithm in ALGORITHMS {
        let proved: u32 = counts.iter().map(|ranks| proved(*algorithm, *ranks)).sum();
        println!("{}: {proved} plans proved", algorithm.name());
        assert!(proved >= least, "{} has only {proved} plans", algorithm.name());
    }
}

#[test]
fn every_algorithm_is_proved_for_1_to_17_ranks() {
    all_proved(&(1..=17).collect::<Vec<_>>(), 40);
}

#[test]
fn every_algorithm_is_proved_for_32_ranks() {
    all_proved(&[32], 8);
}

#[test]
fn every_algorithm_is_proved_for_64_ranks() {
    all_proved(&[64], 8);
}

#[test]
fn what_is_folded_and_what_is_written_out_have_the_same_proof() {
    let mut compared = 0;
    for algorithm in ALGORITHMS {
        for (collective, ranks) in
            algorithm.collectives().iter().flat_map(|one| [1, 4, 6, 8].map(|ranks| (*one, ranks)))
        {
            for case in calls(collective, ranks) {
                for terrain in terrains(ranks) {
                    if algorithm.suits(&case.1, &terrain).is_ok() {
                        let plan = algorithm.plan(&case.1, &terrain);
                        let written = Program::of(&plan).into_plan();
                        assert_eq!(
                            verify(&written, &case.1),
                            verify(&plan, &case.1),
                            "{}",
                            name(*algorithm, &case, &terrain)
                        );
                        compared += 1;
                    }
                }
            }
        }
    }
    assert!(compared >= 100, "only {compared} compared");
}

#[test]
fn every_collective_has_an_algorithm_that_is_proved() {
    let planned = ALGORITHMS.iter().flat_map(|algorithm| algorithm.collectives().iter().copied());
    let planned: BTreeSet<Collective> = planned.collect();
    let lacking: Vec<_> = Collective::ALL.into_iter().filter(|one| !planned.contains(one)).collect();
    assert!(lacking.is_empty(), "{lacking:?}");
}
